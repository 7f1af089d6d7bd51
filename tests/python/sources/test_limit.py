"""LimitedShardedSource gives exactly the rows that it promises."""

import json
from pathlib import Path

import pytest
from batches import loaded_rows
from easydata.sources import JsonShardedSource
from easydata.transforms import LimitedShardedSource, TransformedShardedSource

from easydata import AsyncDataLoader


@pytest.fixture
def three(tmp_path: Path) -> JsonShardedSource:
    for shard, rows in enumerate((5, 3, 4)):
        lines = "".join(json.dumps({"s": shard, "i": i}) + "\n" for i in range(rows))
        (tmp_path / f"{shard}.jsonl").write_text(lines)
    return JsonShardedSource(str(tmp_path / "*.jsonl"))


@pytest.mark.parametrize("limit", range(14))
def test_rows_shards_and_length(three: JsonShardedSource, limit: int) -> None:
    everything = list(three)
    limited = LimitedShardedSource(three, limit)
    assert list(limited) == everything[:limit]
    assert len(limited) == min(limit, 12)
    assert list(loaded_rows(limited)) == everything[:limit]
    by_shard = [list(limited.open_shard(name)) for name in limited.shard_names]
    assert [row for rows in by_shard for row in rows] == everything[:limit]
    for name, rows in zip(limited.shard_names, by_shard, strict=True):
        assert list(limited.open_shard_at_row(name, 2)) == rows[2:]


def test_recorded_limits(shared: Path, three: JsonShardedSource) -> None:
    limits = json.loads((shared / "data/golden/easydel/sources.json").read_text())["limited"]
    assert len(limits) == 6
    for limit in limits:
        source = LimitedShardedSource(three, limit["max_rows"])
        assert [[row["s"], row["i"]] for row in source] == limit["rows"]


def test_limit_counts_what_a_filter_lets_through(three: JsonShardedSource) -> None:
    """D19: EasyDeL counts the rows before the filter, and delivers 4 of 6."""
    odd = three.filter(lambda row: row["i"] % 2 == 1)
    limited = LimitedShardedSource(odd, 5)
    expected = [row for row in three if row["i"] % 2 == 1][:5]
    assert len(expected) == 5
    assert list(limited) == expected
    assert len(limited) == 5
    assert list(loaded_rows(limited)) == expected
    assert len(LimitedShardedSource(odd, 100)) == 5
    again = TransformedShardedSource(limited, lambda row: {**row, "again": True})
    assert len(list(again)) == 5


def test_counting_does_not_work_on_the_rows(three: JsonShardedSource) -> None:
    calls = []
    mapped = three.map(lambda row: calls.append(row) or row)
    limited = LimitedShardedSource(mapped, 7)
    assert len(limited) == 7
    assert calls == []
    assert len(list(limited)) == 7
    assert len(calls) == 7


def test_negative_limit() -> None:
    with pytest.raises(ValueError, match="negative"):
        LimitedShardedSource(JsonShardedSource.__new__(JsonShardedSource), -1)


def test_states_of_0_1_0_go_on(three: JsonShardedSource) -> None:
    """The class moved to another module since, whose path the plan of a shuffled limit has."""
    loader = AsyncDataLoader(LimitedShardedSource(three, 7).shuffle("rows"), batch_size=1)
    assert loader.state_dict()["plan"]["source.kind"] == "#b7b868fc71323ec4"
