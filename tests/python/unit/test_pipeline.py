"""The pipeline: order of stages, precedence of options, outputs, several datasets."""

import itertools
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from easydata.core.config import ConfigError

import easydata
from easydata import (
    BaseStage,
    DatasetConfig,
    LoadStageConfig,
    MixStageConfig,
    PackStageConfig,
    Pipeline,
    PipelineConfig,
    SaveStageConfig,
    TokenizerConfig,
    TokenizeStageConfig,
    WeightSchedulePoint,
    create_pipeline,
)

Rows = list[dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def gpt2(shared: Path) -> str:
    return str(shared / "data/tokenizers/gpt2")


def jsonl(path: str, rows: Rows) -> str:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def tokens(path: str, count: int, first: int = 100) -> str:
    rows = [{"input_ids": [first + i] * (1 + i % 5)} for i in range(count)]
    return jsonl(path, rows)


def encode(folder: str, *texts: str, max_length: int = 2048) -> list[list[int]]:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.enable_truncation(max_length)
    return [tokenizer.encode(text).ids for text in texts]


# The order of stages


def test_source_comes_first_and_once(folder: Path) -> None:
    pipeline = create_pipeline([{"data_files": jsonl("a.jsonl", [{"text": "x"}])}])
    for method in ("tokenize", "mix", "pack", "save", "load", "build", "get_data"):
        with pytest.raises(RuntimeError, match=r"Call source\(\) before other pipeline stages"):
            getattr(pipeline, method)()
    pipeline.source()
    with pytest.raises(RuntimeError, match="one source stage"):
        pipeline.source()


@pytest.mark.parametrize(
    ("chain", "said"),
    [
        (("tokenize", "tokenize"), r"tokenize\(\) was called before"),
        (("pack", "tokenize"), r"tokenize\(\) cannot follow pack\(\)"),
        (("pack", "mix"), r"mix\(\) cannot follow pack\(\)"),
        (("load", "pack"), r"pack\(\) cannot follow load\(\)"),
        (("load", "save"), r"save\(\) cannot follow load\(\)"),
        (("load", "load"), r"load\(\) cannot follow load\(\)"),
    ],
)
def test_stages_that_make_no_sense(folder: Path, chain: tuple[str, ...], said: str) -> None:
    pipeline = create_pipeline([{"data_files": tokens("a.jsonl", 4)}]).source()
    for method in chain[:-1]:
        getattr(pipeline, method)()
    with pytest.raises(RuntimeError, match=said):
        getattr(pipeline, chain[-1])()


def test_cache_comes_later(folder: Path) -> None:
    pipeline = create_pipeline([{"data_files": tokens("a.jsonl", 4)}]).source()
    with pytest.raises(NotImplementedError, match="caching comes with a later version"):
        pipeline.cache()


def test_methods_give_the_pipeline_back(folder: Path) -> None:
    pipeline = create_pipeline([{"data_files": tokens("a.jsonl", 4)}], seed=7)
    assert pipeline.source().mix().pack() is pipeline
    assert pipeline.get_stages() == ["source", "mix", "pack"]
    context = pipeline.get_context()
    assert (context.seed, context.step, context.epoch) == (7, 0, 0)
    assert context.config.datasets[0].data_files == "a.jsonl"


# Options: those given to a stage replace the config's, and all are checked together


def test_a_stage_called_with_options_uses_them(folder: Path) -> None:
    pipeline = create_pipeline(
        [{"data_files": tokens("a.jsonl", 40)}], pack={"seq_length": 64, "enabled": True}
    )
    options = PackStageConfig(seq_length=16, eos_token_id=9, shuffle_packed=False)
    rows = list(pipeline.source().pack(options).build())
    assert {len(row["input_ids"]) for row in rows} == {16}, "enabled=False has no say"
    assert pipeline.get_context().config.pack is options


def test_options_given_to_a_stage_are_checked(folder: Path) -> None:
    pipeline = create_pipeline([{"data_files": tokens("a.jsonl", 4)}]).source()
    with pytest.raises(ConfigError, match=r"pack\.seq_length must be at least 2"):
        pipeline.pack(PackStageConfig(seq_length=1))
    with pytest.raises(ConfigError, match='names no dataset with "b"'):
        pipeline.mix(MixStageConfig(weights={"b": 1.0}))
    with pytest.raises(NotImplementedError, match="best-fit packing comes with a later version"):
        pipeline.pack(PackStageConfig(strategy="best_fit"))
    with pytest.raises(TypeError, match=r"pack\(\) takes a PackStageConfig, not LoadStageConfig"):
        pipeline.pack(LoadStageConfig())
    assert pipeline.get_stages() == ["source"]


def test_a_config_is_checked_before_anything_is_read(folder: Path) -> None:
    config = PipelineConfig(
        [DatasetConfig("absent.jsonl", num_rows=0)], load=LoadStageConfig(batch_size=0)
    )
    with pytest.raises(ConfigError) as raised:
        Pipeline(config).source()
    assert raised.value.problems == [
        "datasets[0].num_rows must be at least 1, not 0",
        "load.batch_size must be at least 1, not 0",
    ]


def test_from_config_takes_configs_dicts_and_files(folder: Path) -> None:
    values = {"datasets": [{"data_files": tokens("a.jsonl", 3), "name": "a"}], "seed": 5}
    Path("p.yaml").write_text("datasets: [{data_files: a.jsonl, name: a}]\nseed: 5\n")
    for given in (values, PipelineConfig.from_dict(values), "p.yaml", Path("p.yaml")):
        pipeline = Pipeline.from_config(given)
        assert pipeline.get_context().config == PipelineConfig.from_dict(values)
        assert len(list(pipeline.source().build())) == 3
    with pytest.raises(ConfigError, match='sed is not an option; did you mean "seed"'):
        Pipeline.from_config({**values, "sed": 1})


# Bad input of the list, as a pipeline meets it


def test_a_pattern_that_matches_nothing(folder: Path) -> None:
    jsonl("data/a.jsonl", [{"text": "x"}])
    with pytest.raises(FileNotFoundError, match=r"dat/\*\.jsonl"):
        create_pipeline([{"data_files": "dat/*.jsonl"}]).source()


def test_a_tokenizer_that_does_not_exist(folder: Path) -> None:
    jsonl("a.jsonl", [{"text": "x"}])
    pipeline = create_pipeline([{"data_files": "a.jsonl", "tokenizer": "no/such/model"}]).source()
    with pytest.raises(FileNotFoundError, match="no/such/model"):
        pipeline.tokenize()


def test_a_typo_in_a_column(folder: Path, gpt2: str) -> None:
    jsonl("a.jsonl", [{"text": "x"}])
    dataset = {"data_files": "a.jsonl", "tokenizer": gpt2, "content_field": "txt"}
    pipeline = create_pipeline([dataset], save={"output_dir": "out"}).source().tokenize()
    with pytest.raises((ValueError, KeyError), match="txt"):
        pipeline.save()
    assert not list(Path().glob("out/*.parquet")), "nothing half-written"


def test_an_output_that_exists(folder: Path) -> None:
    data = [{"data_files": tokens("a.jsonl", 3)}]
    create_pipeline(data, save={"output_dir": "out"}).source().save()
    before = {path.name: path.read_bytes() for path in Path("out").iterdir() if path.is_file()}
    with pytest.raises(FileExistsError, match="out"):
        create_pipeline(data, save={"output_dir": "out"}).source().save()
    after = {path.name: path.read_bytes() for path in Path("out").iterdir() if path.is_file()}
    assert after == before
    tokens("a.jsonl", 5)
    create_pipeline(data, save={"output_dir": "out", "overwrite": True}).source().save()
    assert len(list(easydata.ParquetShardedSource("out/*.parquet"))) == 5


# Tokenizing


def test_tokenizer_precedence(folder: Path, gpt2: str, shared: Path) -> None:
    llama = str(shared / "data/tokenizers/llama3.1")
    text = "The quick brown fox jumps over the lazy dog."
    jsonl("a.jsonl", [{"text": text}])
    datasets = [
        DatasetConfig("a.jsonl", name="own", tokenizer=TokenizerConfig(gpt2, max_length=5)),
        DatasetConfig("a.jsonl", name="named", tokenizer=gpt2),
        DatasetConfig("a.jsonl", name="kwargs", tokenizer=gpt2, tokenizer_kwargs={"max_length": 4}),
        DatasetConfig("a.jsonl", name="stage"),
    ]
    stage = TokenizeStageConfig(default_tokenizer=llama, max_length=7)
    config = PipelineConfig(datasets, default_tokenizer="not/used", tokenize=stage)
    data = Pipeline(config).source().tokenize().get_data()
    found = {name: next(iter(source))["input_ids"] for name, source in data.items()}
    assert (
        found
        == {
            "own": encode(gpt2, text)[0][:5],
            "named": encode(gpt2, text)[0][:7],  # D7: the stage's max_length holds
            "kwargs": encode(gpt2, text)[0][:4],
            "stage": encode(llama, text, max_length=7)[0],
        }
    )


def test_a_dataset_without_a_tokenizer_goes_through(folder: Path) -> None:
    tokens("a.jsonl", 3)
    rows = list(create_pipeline([{"data_files": "a.jsonl"}]).source().tokenize().build())
    assert rows == [{"input_ids": [100 + i] * (1 + i)} for i in range(3)]


def test_remove_columns_and_additional_fields(folder: Path, gpt2: str) -> None:
    jsonl("a.jsonl", [{"text": "x", "id": 1, "note": "n"}])
    dataset = {"data_files": "a.jsonl", "additional_fields": ["id", "note"]}
    pipeline = create_pipeline([dataset], gpt2).source()
    pipeline.tokenize(TokenizeStageConfig(remove_columns=["note", "attention_mask"]))
    assert list(pipeline.build()) == [{"input_ids": encode(gpt2, "x")[0], "id": 1}]
    with pytest.raises(ValueError, match="must keep input_ids"):
        create_pipeline([dataset], gpt2).source().tokenize(
            TokenizeStageConfig(remove_columns=["input_ids"])
        )


def test_tokenizing_after_mixing_is_mixing_tokens(folder: Path, gpt2: str, shared: Path) -> None:
    llama = str(shared / "data/tokenizers/llama3.1")
    jsonl("a.jsonl", [{"text": f"some words {i}"} for i in range(30)])
    jsonl("b.jsonl", [{"content": f"other words {i}"} for i in range(50)])
    datasets = [
        {"data_files": "a.jsonl", "name": "a", "tokenizer": gpt2},
        {"data_files": "b.jsonl", "name": "b", "tokenizer": llama, "content_field": "content"},
    ]
    mix = {"weights": {"a": 0.25, "b": 0.75}, "block_size": 8, "seed": 3}

    def first(chain: Callable[[Pipeline], Pipeline]) -> Rows:
        return list(
            itertools.islice(chain(create_pipeline(datasets, mix=mix).source()).build(), 100)
        )

    after = first(lambda pipeline: pipeline.mix().tokenize())
    before = first(lambda pipeline: pipeline.tokenize().mix())
    assert after == before
    assert {row["__source__"] for row in after} == {"a", "b"}
    for row in after[:20]:
        words = "some words" if row["__source__"] == "a" else "other words"
        model = gpt2 if row["__source__"] == "a" else llama
        assert row["input_ids"][:-1] == encode(model, f"{words} 0")[0][:-1] or len(
            row["input_ids"]
        ) == len(encode(model, f"{words} 10")[0])


def test_tokenizing_a_stage_of_ones_own_that_joins_datasets(folder: Path, gpt2: str) -> None:
    class Join(BaseStage):
        name = "join"

        def process(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
            return {"all": easydata.CompositeShardedSource(list(data.values()))}

    jsonl("a.jsonl", [{"text": "a"}])
    jsonl("b.jsonl", [{"text": "b"}])
    datasets = [{"data_files": "a.jsonl"}, {"data_files": "b.jsonl"}]
    pipeline = create_pipeline(datasets, gpt2).source().apply(Join()).tokenize()
    assert [row["input_ids"] for row in pipeline.build()] == encode(gpt2, "a", "b")
    datasets[1]["content_field"] = "other"
    with pytest.raises(RuntimeError, match="content_field differs between"):
        create_pipeline(datasets, gpt2).source().apply(Join()).tokenize()


# Sources' options


def test_num_rows_limits(folder: Path) -> None:
    tokens("a.jsonl", 30)
    rows = list(create_pipeline([{"data_files": "a.jsonl", "num_rows": 7}]).source().build())
    assert [row["input_ids"][0] for row in rows] == list(range(100, 107))


def test_rows_are_formatted_where_no_tokenizer_is_named_too(folder: Path) -> None:
    jsonl("a.jsonl", [{"ids": [1, 2], "note": "n"}, {"ids": []}])
    dataset = {
        "data_files": "a.jsonl",
        "format_callback": lambda row: row if row["ids"] else None,
        "format_fields": {"ids": "input_ids"},
    }
    assert list(create_pipeline([dataset]).source().build()) == [{"input_ids": [1, 2], "note": "n"}]
    stage = TokenizeStageConfig(remove_columns=["note"])
    rows = list(create_pipeline([dataset]).source().tokenize(stage).build())
    assert rows == [{"input_ids": [1, 2]}]
    with pytest.raises(ValueError, match="has tokenizer_kwargs, but names no tokenizer"):
        create_pipeline([{**dataset, "tokenizer_kwargs": {"padding": False}}]).source().tokenize()


def test_rows_in_memory_are_data(folder: Path) -> None:
    rows = [{"input_ids": [1, 2]}, {"input_ids": [3]}]
    pack = PackStageConfig(seq_length=5, eos_token_id=9)
    (row,) = create_pipeline([{"data_files": rows}]).source().pack(pack).build()
    assert row["input_ids"].tolist() == [1, 2, 9, 3, 9]


def test_bad_rows_are_left_out_where_that_is_asked_for(folder: Path, gpt2: str) -> None:
    Path("a.jsonl").write_text('{"text": "one"}\n{"text": \n{"no": 1}\n{"text": "two"}\n')
    dataset = {"data_files": "a.jsonl", "on_error": "quarantine", "quarantine_path": "bad.jsonl"}
    rows = list(create_pipeline([dataset], gpt2).source().tokenize().build())
    assert [row["input_ids"] for row in rows] == encode(gpt2, "one", "two")
    bad = [json.loads(line) for line in Path("bad.jsonl").read_text().splitlines()]
    assert {(row["source"], row["shard"], row["row"]) for row in bad} == {
        ("dataset_0", "a.jsonl", 1),
        ("dataset_0", "a.jsonl", 2),
    }


def test_format_callback_and_fields(folder: Path, gpt2: str) -> None:
    jsonl("a.jsonl", [{"body": "x", "keep": True}, {"body": "y", "keep": False}])

    def keep(row: dict[str, Any]) -> dict[str, Any] | None:
        return row if row["keep"] else None

    dataset = {"data_files": "a.jsonl", "format_callback": keep, "format_fields": {"body": "text"}}
    rows = list(create_pipeline([dataset], gpt2).source().tokenize().build())
    assert [row["input_ids"] for row in rows] == encode(gpt2, "x")


# Mixing


def three(folder: Path) -> list[dict[str, Any]]:
    return [
        {"data_files": tokens(f"{name}.jsonl", 20, first), "name": name}
        for name, first in (("a", 100), ("b", 200), ("c", 300))
    ]


def test_mixing_uses_weights_and_seed(folder: Path) -> None:
    mix = {"weights": {"a": 0.5, "b": 0.25, "c": 0.25}, "block_size": 40}

    def names(**options: Any) -> list[str]:
        pipeline = create_pipeline(three(folder), **options).source().mix()
        return [row["__source__"] for row in itertools.islice(pipeline.build(), 200)]

    one = names(mix=mix, seed=1)
    assert [one[:40].count(name) for name in "abc"] == [20, 10, 10]
    assert names(mix=mix, seed=1) == one
    assert names(mix=mix, seed=2) != one
    assert names(mix={**mix, "seed": 1}, seed=2) == one, "the stage's seed goes before"
    # 0 is a seed like any other, not "unset" (EasyDeL: `stage.seed or context.seed`).
    assert names(mix={**mix, "seed": 0}, seed=1) == names(mix=mix, seed=0)


def test_one_dataset_is_not_mixed(folder: Path) -> None:
    pipeline = create_pipeline([{"data_files": tokens("a.jsonl", 3)}]).source().mix()
    assert list(pipeline.get_data()) == ["dataset_0"]


def test_an_endless_mixture_is_not_saved(folder: Path) -> None:
    pipeline = create_pipeline(three(folder), save={"output_dir": "out"}).source().mix()
    with pytest.raises(ValueError, match=r"(?i)never end|endless"):
        pipeline.save()
    assert not Path("out").exists() or not list(Path("out").glob("*.parquet"))


def test_a_schedule_counts_the_loaders_steps(folder: Path) -> None:
    """With batches of 10, step 8 is example 80; the batch size is given to load() itself."""
    schedule = [
        WeightSchedulePoint(0, {"a": 1.0, "b": 0.0, "c": 0.0}),
        WeightSchedulePoint(8, {"a": 0.0, "b": 1.0, "c": 0.0}),
    ]
    mix = MixStageConfig(weight_schedule=schedule, block_size=10)
    pipeline = Pipeline(PipelineConfig([DatasetConfig(**d) for d in three(folder)], mix=mix))
    loader = pipeline.source().mix().load(LoadStageConfig(batch_size=10)).build()
    with loader:
        batches = list(itertools.islice(loader, 12))
    found = ["".join(sorted(set(batch["__source__"]))) for batch in batches]
    assert found == ["a"] * 8 + ["b"] * 4


# Packing


def test_eos_is_the_tokenizers_where_it_is_not_set(
    folder: Path, gpt2: str, caplog: pytest.LogCaptureFixture
) -> None:
    jsonl("a.jsonl", [{"text": "one"}, {"text": "two"}])
    pack = PackStageConfig(seq_length=8, shuffle_packed=False)

    def packed(pipeline: Pipeline) -> list[int]:
        (row,) = pipeline.pack(pack).build()
        return list(row["input_ids"])

    one, two = encode(gpt2, "one", "two")
    found = packed(create_pipeline([{"data_files": "a.jsonl"}], gpt2).source().tokenize())
    assert found == [*one, 50256, *two, 50256, *[0] * (6 - len(one) - len(two))]
    # Tokens without a tokenizer: the manual's 2, and a warning.
    jsonl("b.jsonl", [{"input_ids": [7, 8]}, {"input_ids": [9]}])
    with caplog.at_level(logging.WARNING, "easydata"):
        found = packed(create_pipeline([{"data_files": "b.jsonl"}]).source())
    assert found == [7, 8, 2, 9, 2, 0, 0, 0]
    assert "pack.eos_token_id is not set" in caplog.text
    pack.eos_token_id = 3
    found = packed(create_pipeline([{"data_files": "b.jsonl"}]).source())
    assert found == [7, 8, 3, 9, 3, 0, 0, 0]


# Saving


def test_one_dataset_is_saved_flat_and_several_in_folders(folder: Path) -> None:
    one = create_pipeline(three(folder)[:1], save={"output_dir": "one"}).source().save()
    assert Path("one/shard-00000.parquet").exists()
    assert {name: stats.num_examples for name, stats in one.build().items()} == {"a": 20}
    many = three(folder)
    many[1] |= {"save_path": "elsewhere", "save_format": "jsonl", "num_shards": 2}
    written = create_pipeline(many, save={"output_dir": "many"}).source().save().build()
    assert list(written) == ["a", "b", "c"]
    assert Path("many/a/shard-00000.parquet").exists()
    assert Path("many/c/shard-00000.parquet").exists()
    assert sorted(path.name for path in Path("elsewhere").glob("*.jsonl")) == [
        "shard-00000.jsonl",
        "shard-00001.jsonl",
    ]


def test_a_save_path_has_no_meaning_behind_mix(folder: Path) -> None:
    datasets = three(folder)
    datasets[0]["save_path"] = "lost"
    mix = {"stop_strategy": "first_exhausted"}
    pipeline = create_pipeline(datasets, mix=mix).source().mix()
    with pytest.raises(ValueError, match="save_path of dataset 'a' has no meaning for 'mixed'"):
        pipeline.save()


def test_a_finite_mixture_is_saved(folder: Path) -> None:
    mix = {"stop_strategy": "all_exhausted", "block_size": 10}
    pipeline = create_pipeline(three(folder), mix=mix, save={"output_dir": "out"})
    (stats,) = pipeline.source().mix().save().build().values()
    rows = list(easydata.ParquetShardedSource("out/*.parquet"))
    assert len(rows) == stats.num_examples >= 60
    assert {row["input_ids"][0] // 100 for row in rows} == {1, 2, 3}


def test_saving_is_followed_by_loading(folder: Path) -> None:
    pipeline = create_pipeline(three(folder)[:1], save={"output_dir": "out"}).source().save()
    with pipeline.load(LoadStageConfig(batch_size=5)).build() as loader:
        assert sum(len(batch["input_ids"]) for batch in loader) == 20
    assert len(list(easydata.ParquetShardedSource("out"))) == 20


def test_saved_columns_can_be_named(folder: Path) -> None:
    jsonl("a.jsonl", [{"text": "x", "id": 1}])
    save = SaveStageConfig(output_dir="out", columns=["id"])
    create_pipeline([{"data_files": "a.jsonl"}]).source().save(save)
    assert list(easydata.ParquetShardedSource("out")) == [{"id": 1}]


# Loading


def test_several_datasets_take_turns(folder: Path) -> None:
    datasets = three(folder)
    tokens("b.jsonl", 40, 200)

    def pipeline() -> Any:
        load = {"batch_size": 10}
        return create_pipeline(datasets, load=load).source().load().build()

    def names(loader: Any, count: int | None = None) -> list[int]:
        batches = itertools.islice(loader, count)
        return [int(batch["input_ids"][0][0]) for batch in batches]

    with pipeline() as loader:
        assert list(loader.loaders) == ["a", "b", "c"]
        everything = names(loader)
        assert [first // 100 for first in everything] == [1, 2, 3, 1, 2, 3, 2, 2]
        assert names(loader) == everything, "the next pass"
    for stop in range(9):
        with pipeline() as loader, pipeline() as other:
            begun = names(loader, stop)
            state = json.loads(json.dumps(loader.state_dict()))
            other.load_state_dict(state)
            assert other.state_dict() == state
            assert begun + names(other) == everything
    with pipeline() as loader, pytest.raises(ValueError, match="of other datasets"):
        loader.load_state_dict({"version": 1, "turn": 0, "ended": [], "loaders": {"x": {}}})


def test_build_without_loading_gives_rows(folder: Path) -> None:
    rows = list(create_pipeline(three(folder)).source().build())
    assert [row["input_ids"][0] for row in rows] == [
        first + i for first in (100, 200, 300) for i in range(20)
    ]


# Stages of one's own


def test_stages_of_ones_own(folder: Path) -> None:
    class Double(BaseStage):
        def __init__(self, factor: int) -> None:
            super().__init__({"factor": factor})

        @property
        def name(self) -> str:
            return "double"

        def validate_config(self, config: Any) -> bool:
            return bool(config["factor"] > 0)

        def process(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
            self._update_metric("datasets", len(data))
            context.record_metric(self.name, "datasets", len(data))
            assert self._get_dataset_config("a", context).data_files == "a.jsonl"
            assert self._get_dataset_config("zzz", context) is None
            return {
                name: source.map(lambda row: {"input_ids": [2 * t for t in row["input_ids"]]})
                for name, source in data.items()
            }

    stage = Double(2)
    pipeline = create_pipeline(three(folder)).source().apply(stage)
    assert pipeline.get_stages() == ["source", "double"]
    assert next(iter(pipeline.build()))["input_ids"] == [200]
    assert stage.get_metrics() == {"datasets": 3}
    assert pipeline.get_context().get_metrics() == {"double": {"datasets": 3}}
    with pytest.raises(ValueError, match="stage 'double' refuses its options"):
        pipeline.apply(Double(0))
    with pytest.raises(TypeError, match="derive it from BaseStage; got int"):
        pipeline.apply(3)
    loaded = create_pipeline(three(folder)).source().load()
    with pytest.raises(RuntimeError, match=r"double\(\) cannot follow load\(\)"):
        loaded.apply(stage)


def test_a_stage_must_give_sources(folder: Path) -> None:
    class Nothing(BaseStage):
        name = "nothing"

        def process(self, data: dict[str, Any], context: Any) -> Any:
            return None

    with pytest.raises(TypeError, match="stage 'nothing' must give a dict of sources by name"):
        create_pipeline(three(folder)).source().apply(Nothing())


def test_the_context(folder: Path, gpt2: str) -> None:
    context = create_pipeline(three(folder)).get_context()
    context.update_step(5)
    context.update_epoch(2)
    assert (context.step, context.epoch) == (5, 2)
    assert context.get_tokenizer(gpt2) is context.get_tokenizer(gpt2)
    with pytest.raises(NotImplementedError, match="caching comes with a later version"):
        _ = context.cache_manager
    context.config.observability.metrics_enabled = False
    context.record_metric("a", "b", 1)
    assert context.get_metrics() == {}


def test_log_level(folder: Path) -> None:
    logger = logging.getLogger("easydata")
    before = logger.level
    try:
        create_pipeline(three(folder), observability={"log_level": "ERROR"}).source()
        assert logger.level == logging.ERROR
    finally:
        logger.setLevel(before)
