"""The pipeline: order of stages, precedence of options, outputs, several datasets."""

import logging
from pathlib import Path
from typing import Any

import pytest
from easydata.core.config import ConfigError
from small_data import jsonl, three, tokens

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
    create_pipeline,
)

# The order of stages


def test_source_comes_first_and_once(folder: Path) -> None:
    pipeline = create_pipeline([{"data_files": jsonl("a.jsonl", [{"text": "x"}])}])
    for method in ("tokenize", "cache", "mix", "pack", "save", "load", "build", "get_data"):
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
        (("mix", "cache"), r"cache\(\) cannot follow mix\(\); call it before, right after"),
        (("pack", "cache"), r"cache\(\) cannot follow pack\(\); call it before, right after"),
        (("cache", "cache"), r"cache\(\) was called before"),
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
    with pytest.raises(ConfigError, match=r"save\.hub_repo_id must name the repository"):
        pipeline.save(SaveStageConfig(push_to_hub=True))
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
