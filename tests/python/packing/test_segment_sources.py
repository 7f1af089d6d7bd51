"""Where the segments of packed rows come from: pack(segment_sources=True) (C21)."""

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from easydata.core.config import PackStageConfig, PipelineConfig
from small_data import jsonl

import easydata
from easydata import Pipeline

_STRATEGIES = ["greedy", "pool", "first_fit", "best_fit"]
_LENGTH = 24


@pytest.fixture
def config(tmp_path: Path, tiny: str) -> dict[str, Any]:
    """Two datasets, of two files and one, some of whose rows are longer than a packed one."""
    for name, rows in (("a-0", 30), ("a-1", 20), ("b", 40)):
        made = [{"text": f"{name} {i} " + "xyz " * (i * 7 % 13)} for i in range(rows)]
        jsonl(str(tmp_path / f"{name}.jsonl"), made)
    return {
        "seed": 3,
        "default_tokenizer": tiny,
        "datasets": [
            {"name": "a", "data_files": str(tmp_path / "a-*.jsonl")},
            {"name": "b", "data_files": str(tmp_path / "b.jsonl")},
        ],
        "mix": {"weights": {"a": 0.5, "b": 0.5}, "stop_strategy": "all_exhausted"},
        "pack": {"seq_length": _LENGTH, "shuffle_packed": True},
        "load": {"batch_size": 4, "shuffle_buffer_size": 16},
    }


def pipeline(config: dict[str, Any], **pack: Any) -> Pipeline[Any]:
    made = Pipeline(PipelineConfig.from_dict({**config, "pack": {**config["pack"], **pack}}))
    return made.source().tokenize().mix().pack()


def loader(config: dict[str, Any], load: dict[str, Any] | None = None, **pack: Any) -> Any:
    values = {**config, "load": {**config["load"], **(load or {})}}
    return pipeline(values, segment_sources=True, **pack).load().build()


def documents(config: dict[str, Any]) -> dict[tuple[str, str, int], list[int]]:
    """The tokens of each document, by where it is."""
    tokenizer = easydata.Tokenizer(config["default_tokenizer"])
    found = {}
    for dataset in config["datasets"]:
        for file in sorted(Path("/").glob(dataset["data_files"][1:])):
            for number, line in enumerate(file.read_text().splitlines()):
                ids = tokenizer.encode(json.loads(line)["text"]).tolist()
                found[dataset["name"], str(file), number] = [*ids, tokenizer.eos_token_id]
    return found


def segments_of(row: dict[str, Any]) -> list[list[int]]:
    kept = [i for i in range(_LENGTH) if row["attention_mask"][i]]
    runs = itertools.groupby(kept, key=lambda i: int(row["segment_ids"][i]))
    return [[int(row["input_ids"][i]) for i in run] for _, run in runs]


@pytest.mark.parametrize("strategy", _STRATEGIES)
def test_each_segment_is_where_it_says(strategy: str, config: dict[str, Any]) -> None:
    expected = documents(config)
    (source,) = pipeline(config, segment_sources=True, strategy=strategy).get_data().values()
    seen: dict[tuple[str, str, int], int] = dict.fromkeys(expected, 0)
    for row in source.open_shard(source.shard_names[0]):
        segments = segments_of(row)
        assert len(segments) == len(row["segment_sources"])
        for ids, told in zip(segments, row["segment_sources"], strict=True):
            assert list(told) == ["source", "file", "row", "offset"]
            where = (told["source"], told["file"], told["row"])
            assert ids == expected[where][told["offset"] : told["offset"] + len(ids)]
            seen[where] += len(ids)
    # Of a pass over each source at least, whole.
    assert all(seen[where] >= len(expected[where]) for where in expected)


def test_nothing_is_told_unless_it_is_asked_for(config: dict[str, Any]) -> None:
    (without,) = pipeline(config).get_data().values()
    (told,) = pipeline(config, segment_sources=True).get_data().values()
    names = ["input_ids", "attention_mask", "position_ids", "segment_ids"]
    rows = [list(source.open_shard(source.shard_names[0])) for source in (without, told)]
    assert [list(row) for row in rows[0]] == [names] * len(rows[0])
    assert [list(row) for row in rows[1]] == [[*names, "segment_sources"]] * len(rows[0])
    for a, b in zip(*rows, strict=True):
        assert all((a[name] == b[name]).all() for name in names)
    # It is part of the plan only where it is set.
    states = []
    for sources in (False, True):
        with pipeline(config, segment_sources=sources).load().build() as made:
            next(iter(made))
            states.append(made.state_dict())
    assert "segment_sources" not in json.dumps(states[0])
    with (
        pipeline(config, segment_sources=True).load().build() as made,
        pytest.raises(ValueError, match=r"pack\.segment_sources"),
    ):
        made.load_state_dict(states[0])


@pytest.mark.parametrize("strategy", ["greedy", "best_fit"])
def test_threads_ranks_and_restarts_change_nothing(strategy: str, config: dict[str, Any]) -> None:
    def told(batch: dict[str, Any]) -> list[Any]:
        return list(zip(batch["input_ids"].tolist(), batch["segment_sources"], strict=True))

    with loader(config, {"num_threads": 1}, strategy=strategy) as made:
        states, expected = [], []
        for batch in made:
            expected.append(told(batch))
            states.append(made.state_dict())
    assert len(expected) > 8
    with loader(config, {"num_threads": 3}, strategy=strategy) as made:
        assert [told(batch) for batch in made] == expected
    ranks = []
    for rank in (0, 1):
        with loader(config, {"rank": rank, "world_size": 2}, strategy=strategy) as made:
            ranks.append([told(batch) for batch in made])
    assert [[*a, *b] for a, b in zip(*ranks, strict=True)] == expected
    for step in (0, 3, len(expected) - 2):
        with loader(config, strategy=strategy) as made:
            made.load_state_dict(states[step])
            assert [told(batch) for batch in made] == expected[step + 1 :]


def test_rows_that_fill_up_a_batch_come_from_nowhere(config: dict[str, Any]) -> None:
    lasts = []
    for rank in (0, 1):
        load = {"rank": rank, "world_size": 2, "batch_size": 60, "drop_last": False}
        with loader(config, load) as made:
            lasts.append(list(made)[-1])
    told = [each for last in lasts for each in last["segment_sources"]]
    masks = [row for last in lasts for row in last["attention_mask"]]
    assert None in told
    assert [each is None for each in told] == [not mask.any() for mask in masks]


@pytest.mark.parametrize("form", ["parquet", "jsonl", "arrow"])
def test_files_have_it(form: str, config: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    saved = {**config, "save": {"output_dir": str(out), "format": form}}
    (source,) = pipeline(config, segment_sources=True).get_data().values()
    expected = [row["segment_sources"] for row in source.open_shard(source.shard_names[0])]
    pipeline(saved, segment_sources=True).save().build()
    made = easydata.create_source(str(out))
    assert [row["segment_sources"] for row in made] == expected
    if form == "parquet":
        assert pq.read_table(out)["segment_sources"].to_pylist() == expected


def test_rows_in_memory_and_other_names(tiny: str) -> None:
    rows = [{"input_ids": [5] * (3 + i)} for i in range(4)]
    packed = easydata.PackedShardedSource(rows, 8, 1, segment_sources=True, shuffle=False)
    told = [each for row in packed.open_shard("packed_shard_0") for each in row["segment_sources"]]
    assert [(each["row"], each["offset"]) for each in told] == [
        (0, 0), (1, 0), (1, 4), (2, 0), (3, 0), (3, 1),
    ]  # fmt: skip
    assert {each["source"] for each in told} == {""}


def test_it_is_an_option_of_the_config() -> None:
    assert PackStageConfig().segment_sources is False
    config = PipelineConfig.from_dict(
        {"datasets": [{"data_files": "a.jsonl"}], "pack": {"segment_sources": True}}
    )
    assert config.to_dict()["pack"]["segment_sources"] is True
