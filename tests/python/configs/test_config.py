"""The config classes: made from the engine's declarations, checked by them."""

import copy
import dataclasses
import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest
from easydata.core.config import (
    ConfigError,
    check,
    config_hash,
    get_dataset_name,
    merge_tokenizer_config,
)
from programs import run_python

from easydata import (
    CacheStageConfig,
    DatasetConfig,
    LoadStageConfig,
    MixStageConfig,
    PackStageConfig,
    PipelineConfig,
    RayConfig,
    SaveStageConfig,
    SourceStageConfig,
    TokenizerConfig,
    TokenizeStageConfig,
    WeightSchedulePoint,
)

ROOT = Path(__file__).parents[3]

CONFIGS = (
    TokenizerConfig,
    DatasetConfig,
    SourceStageConfig,
    TokenizeStageConfig,
    MixStageConfig,
    PackStageConfig,
    LoadStageConfig,
    SaveStageConfig,
    RayConfig,
)


def pipeline(**options: object) -> PipelineConfig:
    return PipelineConfig(datasets=[DatasetConfig("a.jsonl", name="a")], **options)


@pytest.mark.parametrize("cls", CONFIGS)
def test_options_and_defaults_are_the_manuals(cls: type) -> None:
    """Fields are those of the signature, which test_public_api.py compares with the manual's."""
    found = [
        (field.name, ... if field.default is dataclasses.MISSING else field.default)
        for field in dataclasses.fields(cls)
    ]
    assert found == [
        (name, ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in inspect.signature(cls).parameters.items()
    ]


def test_configs_are_dataclasses() -> None:
    config = PackStageConfig(True, 128, strategy="pool")
    assert (config.enabled, config.seq_length, config.strategy) == (True, 128, "pool")
    assert repr(config) == "PackStageConfig(enabled=True, seq_length=128, strategy='pool')"
    assert config == PackStageConfig(enabled=True, seq_length=128, strategy="pool")
    assert config != PackStageConfig()
    other = dataclasses.replace(config, seq_length=64)
    assert (other.seq_length, config.seq_length) == (64, 128)
    config.seq_length = 32
    assert config.seq_length == 32
    assert copy.deepcopy(config) == config
    assert pickle.loads(pickle.dumps(config)) == config
    assert list(inspect.signature(PackStageConfig).parameters)[:2] == ["enabled", "seq_length"]
    assert "seq_length: Tokens of every row." in (PackStageConfig.__doc__ or "")


def test_an_unknown_option_is_named_with_the_nearest_one() -> None:
    with pytest.raises(
        TypeError, match="PackStageConfig has no option 'seq_lenght'; did you mean \"seq_length\""
    ):
        PackStageConfig(seq_lenght=128)
    config = PackStageConfig()
    with pytest.raises(AttributeError, match="no option 'stratgy'; did you mean \"strategy\""):
        config.stratgy = "pool"


def test_an_unknown_key_of_a_dict_is_named_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError) as raised:
        PipelineConfig.from_dict(
            {
                "datasets": [{"data_file": "a.jsonl"}],
                "pack": {"seq_lenght": 128},
                "lod": {},
                "mix": {"block_size": "many", "weights": {"dataset_0": "most"}},
            }
        )
    assert raised.value.problems == [
        'lod is not an option; did you mean "load"?',
        'datasets[0].data_file is not an option; did you mean "data_files"?',
        "datasets[0].data_files is required",
        'mix.weights["dataset_0"] must be a number, not "most"',
        'mix.block_size must be a whole number, not "many"',
        'pack.seq_lenght is not an option; did you mean "seq_length"?',
    ]


@pytest.mark.parametrize("nothing", [None, "", []])
def test_data_files_are_required(nothing: object) -> None:
    with pytest.raises(ValueError, match="data_files"):
        DatasetConfig(data_files=nothing)


def test_paths_may_be_path_objects() -> None:
    config = PipelineConfig([DatasetConfig(Path("a.jsonl")), DatasetConfig([Path("b"), "c"])])
    assert config.validate() == []
    assert config.to_dict()["datasets"][1]["data_files"] == ["b", "c"]


@dataclasses.dataclass
class NamedPath:
    """A path of somebody's own, which is a dataclass as well."""

    name: str

    def __fspath__(self) -> str:
        return self.name


def test_paths_may_be_dataclasses() -> None:
    files: Any = [NamedPath("b"), "c"]
    config = PipelineConfig([DatasetConfig(files)])
    assert config.validate() == []
    assert config.to_dict()["datasets"][0]["data_files"] == ["b", "c"]


def test_rows_in_memory_may_be_data_files() -> None:
    rows = [{"text": "a"}]
    config = PipelineConfig.from_dict({"datasets": [DatasetConfig(rows), {"data_files": rows}]})
    assert config.validate() == []
    assert config.datasets[1].data_files is rows
    assert config.to_dict()["datasets"][0]["data_files"] is rows


def test_weights_must_sum_to_one() -> None:
    with pytest.raises(ValueError, match=r"weights must sum to 1; they sum to 0\.9"):
        MixStageConfig(weights={"a": 0.5, "b": 0.4})
    with pytest.raises(ValueError, match="weights must sum to 1"):
        WeightSchedulePoint(step=0, weights={"a": 2.0})
    MixStageConfig(weights={"a": 0.1, "b": 0.2, "c": 0.7})  # 0.9999999999999999


def test_datasets_are_required_and_named() -> None:
    with pytest.raises(ValueError, match="at least one dataset"):
        PipelineConfig(datasets=[])
    config = PipelineConfig([DatasetConfig("a"), DatasetConfig("b", name="b"), DatasetConfig("c")])
    assert [dataset.name for dataset in config.datasets] == ["dataset_0", "b", "dataset_2"]
    assert config.get_dataset_by_name("b") is config.datasets[1]
    assert config.get_dataset_by_name("c") is None
    assert get_dataset_name(DatasetConfig("x"), 7) == "dataset_7"


def test_windows_are_those_of_shuffled_rows() -> None:
    def problems(**options: Any) -> list[str]:
        return PipelineConfig([DatasetConfig("a.jsonl", **options)]).validate()

    assert problems(shuffle="rows", shuffle_window_bytes="64MB") == []
    assert problems(shuffle="rows", shuffle_window_bytes=1) == []
    option = "datasets[0].shuffle_window_bytes"
    assert problems(shuffle="rows", shuffle_window_bytes=0) == [
        f"{option} must be at least 1, not 0"
    ]
    assert problems(shuffle="grain", shuffle_window_bytes=9) == [
        f'{option} needs shuffle="rows", which is "grain"'
    ]
    assert problems(shuffle_window_bytes=9) == [f'{option} needs shuffle="rows", which is unset']


def test_validate_lists_every_problem_at_once() -> None:
    config = PipelineConfig(
        datasets=[
            DatasetConfig("a.jsonl", name="code", num_rows=0),
            DatasetConfig("b.jsonl", name="code", type="parqet"),
            DatasetConfig("c.jsonl", name="text", on_error="quarantine"),
        ],
        mix=MixStageConfig(weights={"cod": 0.5, "text": 0.5}, block_size=0),
        pack=PackStageConfig(seq_length=1, strategy="greedi"),
        load=LoadStageConfig(batch_size=10, world_size=4),
        save=SaveStageConfig(format="arrow", compression="gzip"),
    )
    assert config.validate() == [
        "datasets[0].num_rows must be at least 1, not 0",
        'datasets[1].type must be one of "json", "jsonl", "parquet", "csv", "tsv", "arrow", "txt", '
        '"array_record", "bin", "npy", "huggingface", "hf", not "parqet"; did you mean "parquet"?',
        'datasets[2].quarantine_path is required with on_error="quarantine": name a JSONL file',
        "mix.block_size must be at least 1, not 0",
        "pack.seq_length must be at least 2, not 1",
        'pack.strategy must be one of "greedy", "pool", "first_fit", "best_fit", '
        '"grain_first_fit", "grain_best_fit", "grain_concat", not "greedi"; '
        'did you mean "greedy"?',
        "load.batch_size must be a multiple of world_size (4), not 10: it counts the rows of "
        "all ranks",
        'save.compression must be one of none, lz4, zstd for arrow files, not "gzip"',
        'datasets[1].name = "code" is a duplicate of datasets[0]; names are unique',
        'mix.weights names no dataset with "cod"; did you mean "code"?',
        'mix.weights has no weight for the dataset "code"; give it one (0 leaves it out)',
        'mix.weights has no weight for the dataset "code"; give it one (0 leaves it out)',
    ]
    with pytest.raises(ConfigError, match="did you mean"):
        check(config)


def test_a_sound_config_has_no_problems() -> None:
    config = pipeline(
        mix=MixStageConfig(
            weight_schedule=[
                WeightSchedulePoint(0, {"a": 1.0}),
                WeightSchedulePoint(10, {"a": 1.0}),
            ],
            weight_schedule_type="linear",
        ),
    )
    assert config.validate() == []
    check(config)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"save": SaveStageConfig(output_dir="abfs://bucket/x")}, "save.output_dir"),
        ({"save": SaveStageConfig(output_dir="https://host/x")}, "save.output_dir"),
        ({"datasets": [DatasetConfig("a", save_path="abfs://b/x")]}, "datasets[0].save_path"),
        ({"datasets": [DatasetConfig("a", cache_path="abfs://b/x")]}, "datasets[0].cache_path"),
        ({"cache": CacheStageConfig(cache_dir="https://host/x")}, "cache.cache_dir"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_comes_later_is_refused_with_one_sentence(options: dict, named: str) -> None:
    config = PipelineConfig(**{"datasets": [DatasetConfig("a.jsonl")], **options})
    (said,) = config.validate()
    assert said.startswith(named)
    assert "not supported" in said
    with pytest.raises(NotImplementedError, match="not supported"):
        check(config)


@pytest.mark.parametrize(
    ("dataset", "option", "said"),
    [
        (DatasetConfig("a.jsonl", split="test"), "split", "files have no splits"),
        (DatasetConfig("a.jsonl", dataset_split_name="en"), "dataset_split_name", "names files"),
        (
            DatasetConfig("hf://datasets/org/name/data/*.parquet", split="test"),
            "split",
            "files have no splits",
        ),
        (DatasetConfig("hf://datasets/org/name", type="parquet"), "type", "of what format it is"),
    ],
)
def test_what_names_files_names_no_split(dataset: DatasetConfig, option: str, said: str) -> None:
    problems = PipelineConfig(datasets=[dataset]).validate()
    assert [problem for problem in problems if option in problem and said in problem], problems


@pytest.mark.parametrize("data_files", [["org/a", "org/b"], [{"text": "a"}]])
def test_a_dataset_of_the_hub_has_one_name(data_files: Any) -> None:
    with pytest.raises(ConfigError, match='the name of one dataset, org/name, where type is "hf"'):
        DatasetConfig(data_files, type="hf")


@pytest.mark.parametrize("name", ["org/name", "org/name@v1", "hf://datasets/org/name@v1"])
def test_a_dataset_of_the_hub_is_named_with_its_split(name: str) -> None:
    dataset = DatasetConfig(name, type="hf", split="train[:1%]", dataset_split_name="en")
    assert PipelineConfig(datasets=[dataset]).validate() == []


def test_a_config_goes_into_a_dict_and_back() -> None:
    config = PipelineConfig(
        datasets=[
            DatasetConfig(
                ["a.jsonl", "b.jsonl"],
                tokenizer=TokenizerConfig("gpt2", max_length=7),
                format_callback=pickle.dumps,
            ),
            DatasetConfig("c.jsonl", tokenizer="llama"),
        ],
        seed=3,
        mix=MixStageConfig(
            weight_schedule=[WeightSchedulePoint(0, {"dataset_1": 0.25, "dataset_0": 0.75})]
        ),
        load=LoadStageConfig(batch_rampup={0: 1, 10: 2}),
    )
    values = config.to_dict()
    assert values["datasets"][0]["format_callback"] == "_pickle:dumps"
    assert list(values["mix"]["weight_schedule"][0]["weights"]) == ["dataset_1", "dataset_0"]
    again = PipelineConfig.from_dict(values)
    assert again == config
    assert isinstance(again.mix.weight_schedule[0], WeightSchedulePoint)
    assert again.datasets[0].format_callback is pickle.dumps
    # Stages that a dict leaves out, or gives as null, have their defaults (D28).
    short = PipelineConfig.from_dict({"datasets": [{"data_files": "a"}], "mix": None})
    assert short == PipelineConfig([DatasetConfig("a")])
    assert short.validate() == []


def test_objects_live_through_a_dict() -> None:
    tokenizer = object()

    def callback(row: dict) -> dict:
        return row

    config = PipelineConfig.from_dict(
        {
            "datasets": [
                {"data_files": "a", "tokenizer": tokenizer, "format_callback": callback},
                {"data_files": "b", "tokenizer": {"name_or_path": "gpt2"}},
                DatasetConfig("c"),
            ]
        }
    )
    assert config.datasets[0].tokenizer is tokenizer
    assert config.datasets[0].format_callback is callback
    assert config.datasets[1].tokenizer == TokenizerConfig("gpt2")
    assert config.datasets[2].name == "dataset_2"
    assert config.validate() == []


def test_config_files(tmp_path: Path) -> None:
    wanted = pipeline(pack=PackStageConfig(enabled=True, seq_length=64))
    (tmp_path / "p.yaml").write_text(
        "datasets:\n- {data_files: a.jsonl, name: a}\npack:\n  enabled: true\n  seq_length: 64\n"
    )
    (tmp_path / "p.json").write_text(
        '{"datasets": [{"data_files": "a.jsonl", "name": "a"}], '
        '"pack": {"enabled": true, "seq_length": 64}}'
    )
    assert PipelineConfig.from_file(tmp_path / "p.yaml") == wanted
    assert PipelineConfig.from_file(str(tmp_path / "p.json")) == wanted


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.json", "{", "p.json: is not JSON"),
        ("p.yaml", "a: [", "p.yaml: is not YAML"),
        ("p.yml", "- 1", "must hold the options of a PipelineConfig by name"),
        ("p.toml", "", "is not a config file: use .yaml, .yml or .json"),
        ("p.json", '{"dataset": []}', 'dataset is not an option; did you mean "datasets"'),
        (
            "p.json",
            '{"datasets": [{"data_files": "a", "format_callback": "json:dmps"}]}',
            "nothing can be imported as 'json:dmps'",
        ),
    ],
)
def test_bad_config_files(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError) as raised:
        PipelineConfig.from_file(tmp_path / name)
    assert said in str(raised.value)


def test_a_missing_config_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.yaml"):
        PipelineConfig.from_file(tmp_path / "absent.yaml")


def test_tokenizer_precedence() -> None:
    stage = TokenizeStageConfig(default_tokenizer="stage", max_length=100)

    def merged(dataset: DatasetConfig, stage: TokenizeStageConfig | None = stage) -> object:
        config = merge_tokenizer_config(dataset, "pipeline", stage)
        return config and (config.name_or_path, config.max_length, config.add_special_tokens)

    assert merged(DatasetConfig("x")) == ("stage", 100, True)
    assert merged(DatasetConfig("x", tokenizer="own")) == ("own", 100, True)
    own = TokenizerConfig("own", max_length=7)
    assert merged(DatasetConfig("x", tokenizer=own)) == ("own", 7, True)
    kwargs = {"add_special_tokens": False, "use_fast": True}
    assert merged(DatasetConfig("x", tokenizer=own, tokenizer_kwargs=kwargs)) == ("own", 7, False)
    assert own.add_special_tokens
    assert merged(DatasetConfig("x"), TokenizeStageConfig(max_length=9)) == ("pipeline", 9, True)
    assert merged(DatasetConfig("x"), None) == ("pipeline", 2048, True)
    assert merge_tokenizer_config(DatasetConfig("x")) is None
    assert DatasetConfig("x").get_tokenizer_config() is None
    assert DatasetConfig("x", tokenizer="t").get_tokenizer_config() == TokenizerConfig("t")


def test_call_options_of_a_tokenizer() -> None:
    assert TokenizerConfig("x", max_length=5).to_dict() == {
        "max_length": 5,
        "truncation": True,
        "padding": False,
        "add_special_tokens": True,
        "return_attention_mask": True,
    }


def test_the_hash_of_a_config_is_of_what_it_says() -> None:
    assert config_hash(PackStageConfig()) == config_hash(PackStageConfig(seq_length=2048))
    assert config_hash(PackStageConfig()) != config_hash(PackStageConfig(seq_length=2049))
    assert config_hash(pipeline(seed=1)) != config_hash(pipeline(seed=2))


def test_generated_files_are_up_to_date() -> None:
    run_python(ROOT / "script/generate_configs.py", "--check")
