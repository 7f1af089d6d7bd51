"""What people give first, and what they are told: items of look 3 and of the trials, by number."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from easydata.sources import wrap_hf_dataset
from easydata.tokenizers.hub_errors import HubError
from small_data import jsonl

import easydata
from easydata import (
    AsyncDataLoader,
    ConfigError,
    DatasetConfig,
    JsonShardedSource,
    LoadStageConfig,
    MixedShardedSource,
    PackedShardedSource,
    Pipeline,
    PipelineConfig,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    create_pipeline,
    create_source,
    verify,
)

_ANY: Any = easydata  # what is given wrong is no matter for type checkers


def loader_of(rows: int, **options: Any) -> AsyncDataLoader:
    return AsyncDataLoader(
        wrap_hf_dataset([{"id": number} for number in range(rows)]), batch_size=2, **options
    )


def ids(batches: Any) -> list[int]:
    return [int(value) for batch in batches for value in batch["id"]]


# By number: what is called, the type of the error, and what it says.
MISTAKES: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "C14 one config for a list of them": (
        lambda _: _ANY.PipelineConfig(datasets=DatasetConfig("a")),
        ConfigError,
        r"datasets must be a list of DatasetConfigs, not a DatasetConfig; "
        r"write \[DatasetConfig\(...\)\]",
    ),
    "C14 a path for a list of configs": (
        lambda _: _ANY.PipelineConfig(datasets="a.jsonl"),
        ConfigError,
        r"not a str; write \[DatasetConfig\(path\)\]",
    ),
    "C14 a dict for a list of configs": (
        lambda _: PipelineConfig.from_dict({"datasets": {"data_files": "a"}}),
        ConfigError,
        "datasets must be a list",
    ),
    "C14 one config for a pipeline": (
        lambda _: _ANY.create_pipeline(DatasetConfig("a")),
        ConfigError,
        r"write \[DatasetConfig\(...\)\]",
    ),
    "C14 a path for a pipeline of datasets": (
        lambda _: _ANY.create_pipeline("a.jsonl"),
        ConfigError,
        r"write \[DatasetConfig\(path\)\]",
    ),
    "C14 a config file for a config": (
        lambda _: _ANY.Pipeline("config.yaml"),
        TypeError,
        r"takes a PipelineConfig, not a str; .* takes Pipeline.from_config\(\)",
    ),
    "C14 a dict for a config": (
        lambda _: _ANY.Pipeline({"datasets": []}),
        TypeError,
        r"takes a PipelineConfig, not a dict; .* takes Pipeline.from_config\(\)",
    ),
    "C14 rows for a config": (
        lambda _: _ANY.create_source([{"text": "secret rows"}]),
        TypeError,
        r"not <list of 1 row: text>; rows in memory are DatasetConfig\(data_files=rows\)",
    ),
    "C14 no text": (
        lambda tiny: _ANY.Tokenizer(str(tiny)).encode(None),
        TypeError,
        r"^encode\(\): text must be one text, not a NoneType; a text is a str$",
    ),
    "C14 several texts": (
        lambda tiny: _ANY.Tokenizer(str(tiny)).encode(["a", "b"]),
        TypeError,
        r"not a list; several texts take encode_batch\(\)$",
    ),
    "C14 no files": (
        lambda _: _ANY.JsonShardedSource(None),
        TypeError,
        "data_files: must be a path, a pattern or a folder, or a list of them, not None",
    ),
    "N31 a source is verified": (
        lambda _: _ANY.verify(wrap_hf_dataset([{"text": "a"}])),
        TypeError,
        r"verify\(\) takes a folder, .* not HFDatasetShardedSource\(<list of 1 row: text>\)",
    ),
    "N31 a number is verified": (lambda _: _ANY.verify(3), TypeError, r"verify\(\) takes .*not 3"),
    "N29 the length of an endless mix": (
        lambda _: len(MixedShardedSource([wrap_hf_dataset([{"a": 1}])])),
        TypeError,
        r'never ends \(stop_strategy="restart"\) and has no length',
    ),
    "N30 a wrong name of a column for a sharding": (
        lambda _: next(iter(loader_of(4, sharding_map={"ids": object()}))),
        ValueError,
        "the batches have no column 'ids'; did you mean \"id\"",
    ),
}


@pytest.mark.parametrize("number", MISTAKES)
def test_a_mistake_is_answered(number: str, tiny: str) -> None:
    call, error, said = MISTAKES[number]
    with pytest.raises(error) as failed:
        call(Path(tiny))
    assert re.search(said, str(failed.value), re.DOTALL), str(failed.value)
    assert "incompatible function arguments" not in str(failed.value)


def test_a_wrong_column_for_a_sharding_stays_wrong() -> None:  # N31
    """Each time that it is asked for, and of several datasets, too, each of which may lack it."""
    loader = loader_of(4, sharding_map={"ids": object()})
    for _ in range(2):
        with pytest.raises(ValueError, match="the batches have no column 'ids'"):
            next(iter(loader))
    datasets = [DatasetConfig([{name: 1} for _ in range(8)], name=name) for name in ("id", "n")]
    for wrong, hint in (("ids", "id"), ("m", "")):
        pipeline = create_pipeline(datasets, load={"batch_size": 4}).source()
        several = pipeline.load(sharding_map={wrong: object()}).build()
        with pytest.raises(ValueError, match=f"no column {wrong!r}.*{hint}"):
            list(several)
    right = create_pipeline(datasets, load={"batch_size": 4}).source()
    assert len(list(right.load(sharding_map={"id": None, "other": None}).build())) == 4


def test_a_mesh_by_the_name_of_its_axis() -> None:  # N31
    pytest.importorskip("jax")
    pipeline = create_pipeline([DatasetConfig([{"id": 1}])]).source()
    with pytest.raises(
        TypeError, match=r"must be a jax.sharding.Mesh, not 'data'; .* batch_axes=\"data\""
    ):
        pipeline.load(mesh="data")


def test_a_path_or_a_dict_does_for_the_config_of_a_source(folder: Path) -> None:  # C14
    jsonl("a.jsonl", [{"text": "one"}, {"text": "two"}])
    rows = list(create_source(DatasetConfig("a.jsonl")))
    assert len(rows) == 2
    assert list(create_source("a.jsonl")) == rows
    assert list(create_source(Path("a.jsonl"))) == rows
    assert list(create_source({"data_files": "a.jsonl", "num_rows": 1})) == rows[:1]
    with pytest.raises(ConfigError, match='did you mean "num_rows"'):
        create_source({"data_files": "a.jsonl", "num_row": 1})
    with pytest.raises(FileNotFoundError, match=r"no data files match b\.jsonl"):
        create_source("b.jsonl")


def test_padding_is_a_dict_in_python_too() -> None:  # C15
    rows = [{"labels": [1] * length} for length in (1, 3)]
    config = LoadStageConfig(batch_size=2, padding={"labels": {"value": -7}})
    loader = Pipeline(PipelineConfig(datasets=[DatasetConfig(rows)])).source().load(config).build()
    assert next(iter(loader))["labels"].tolist() == [[1, -7, -7], [1, 1, 1]]


@pytest.mark.parametrize("options", [{}, {"prefetch_enabled": False}, {"shuffle_buffer_size": 4}])
def test_a_loader_starts_over(options: dict[str, Any]) -> None:  # C17
    loader = loader_of(12, seed=3, **options)
    first = ids(loader)
    second = ids(loader)
    if not options.get("shuffle_buffer_size"):
        assert first == second == list(range(12))
    loader.reset()
    assert loader.stats()["batches"] == 0
    old = iter(loader)
    started = ids([next(old)])
    assert started == first[:2]
    assert ids(loader) == first[2:], "an iteration goes on where the last one stopped"
    assert loader.is_exhausted
    loader.reset()
    assert not loader.is_exhausted
    state = loader.state_dict()
    assert ids(loader) == first
    assert ids(loader) == second
    fresh = loader_of(12, seed=3, **options)
    assert state == fresh.state_dict()


def test_loaders_in_turn_start_over(folder: Path) -> None:  # C17
    datasets = [DatasetConfig([{"id": at + i} for i in range(6)]) for at in (0, 100)]
    load = LoadStageConfig(batch_size=2)
    loader = Pipeline(PipelineConfig(datasets=datasets)).source().load(load).build()
    whole = ids(loader)
    next(iter(loader))
    loader.reset()
    assert ids(loader) == whole


def test_an_edited_mix_says_how_it_is_taken_over(tiny: str) -> None:  # C8
    def loader(weights: list[float], seq_length: int = 16) -> AsyncDataLoader:
        texts = wrap_hf_dataset([{"text": f"row {number}"} for number in range(200)])
        tokens = TokenizedShardedSource(texts, Tokenizer(tiny), TokenizerConfig(tiny))
        mix = MixedShardedSource({"a": tokens, "b": tokens}, weights)
        return AsyncDataLoader(PackedShardedSource(mix, seq_length), batch_size=2)

    one = loader([1, 2])
    next(iter(one))
    state = json.loads(json.dumps(one.state_dict()))
    with pytest.raises(ValueError, match=r"mix.weights\[0\] changed, from 1.0 to 2.0") as failed:
        loader([2, 1]).load_state_dict(state)
    assert 'load_state_dict(state, allow=("mix",)); it acts from the first block' in str(
        failed.value
    )
    loader([2, 1]).load_state_dict(state, allow=("mix",))
    # What allowing it does not mend does not offer it.
    with pytest.raises(ValueError) as failed:
        loader([2, 1], seq_length=32).load_state_dict(state)
    assert "allow=" not in str(failed.value)


def test_packed_rows_are_padded_with_the_pad_token_of_the_tokenizer(tiny: str) -> None:  # N32
    tokenizer = Tokenizer(tiny)
    assert tokenizer.pad_token_id
    for packed in (
        PackedShardedSource(
            TokenizedShardedSource(
                wrap_hf_dataset([{"text": "row"}]), tokenizer, TokenizerConfig(tiny)
            ),
            16,
        ),
        create_pipeline(
            [DatasetConfig([{"text": "row"}], tokenizer=tiny)],
            pack={"enabled": True, "seq_length": 16},
        )
        .source()
        .tokenize()
        .pack()
        .build(),
    ):
        (row,) = packed
        assert row["attention_mask"][-1] == 0
        assert row["input_ids"][-1] == tokenizer.pad_token_id


def test_names_on_the_hub_come_with_the_command_that_gets_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # N26
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    # It is read once, when the library is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FileNotFoundError, match="hf download some/name"):
        Tokenizer("some/name")
    with pytest.raises(FileNotFoundError, match="hf download --repo-type dataset some/data"):
        JsonShardedSource("some/data")
    unreachable = HubError("some/name", "some/name", "main", None).unreachable("no answer", None)
    assert "hf download some/name tokenizer.json tokenizer_config.json" in str(unreachable)


def test_a_finished_file_is_verified_as_before(folder: Path) -> None:
    jsonl("a.jsonl", [{"text": "one"}])
    assert verify("a.jsonl").ok
    assert verify([Path("a.jsonl")]).ok
    assert verify(("a.jsonl",)).ok
