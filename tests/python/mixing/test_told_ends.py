"""A mix that ends says which source ended it, what was read of each and what is left."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small_data import jsonl

from easydata import (
    AsyncDataLoader,
    HFDatasetShardedSource,
    JsonShardedSource,
    LimitedShardedSource,
    MixedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    save_dataset,
)

SIZES = {"code": 600, "prose": 150, "multi": 26}


def in_memory(name: str, rows: int) -> ShardedDataSource[Any]:
    return HFDatasetShardedSource([{"input_ids": [n] * (n % 5 + 1)} for n in range(rows)], name)


def mixed(stop: str, unit: str = "examples", **sources: ShardedDataSource[Any]) -> Any:
    made = sources or {name: in_memory(name, rows) for name, rows in SIZES.items()}
    return MixedShardedSource(made, None, stop_strategy=stop, unit=unit, block_size=30, seed=3)


def counted(source: Any) -> Counter[str]:
    return Counter(row["__source__"] for row in source)


@pytest.mark.parametrize("stop", ["first_exhausted", "all_exhausted"])
@pytest.mark.parametrize("unit", ["examples", "tokens"])
def test_saving_counts_what_was_read_of_each(tmp_path: Path, stop: str, unit: str) -> None:
    rows = counted(mixed(stop, unit))
    written = save_dataset(mixed(stop, unit), tmp_path / "out")
    end = written.mix_end
    assert end is not None
    assert end["ended_by"] == ("multi" if stop == "first_exhausted" else "code")
    for name, size in SIZES.items():
        passes, rest = divmod(rows[name], size)
        assert end["sources"][name] == {
            "rows": rows[name],
            "passes": passes,
            "rows_in_pass": size,
            "rows_left": size - rest if rest else 0,
        }, name
    assert json.loads((tmp_path / "out" / ".metadata.json").read_text())["mix_end"] == end


def test_rows_of_text_files_are_counted_where_they_were_read_whole(tmp_path: Path) -> None:
    files = {}
    for name, rows in {"long": 200, "short": 20}.items():
        jsonl(tmp_path / f"{name}.jsonl", [{"n": n} for n in range(rows)])
        files[name] = JsonShardedSource(str(tmp_path / f"{name}.jsonl"))
    end = save_dataset(mixed("first_exhausted", **files), tmp_path / "out").mix_end
    assert end is not None
    long, short = end["sources"]["long"], end["sources"]["short"]
    assert short == {"rows": 20, "passes": 1, "rows_in_pass": 20, "rows_left": 0}
    assert long["rows"] + short["rows"] == sum(counted(mixed("first_exhausted", **files)).values())
    assert (long["rows_in_pass"], long["rows_left"]) == (None, None)


def test_a_stream_that_is_cut_has_no_end_of_a_mix(tmp_path: Path) -> None:
    assert save_dataset(in_memory("a", 9), tmp_path / "plain").mix_end is None
    cut = LimitedShardedSource(mixed("first_exhausted"), 10)
    assert save_dataset(cut, tmp_path / "cut").mix_end is None


@pytest.mark.parametrize("stop", ["first_exhausted", "all_exhausted"])
def test_a_resumed_loader_counts_from_the_beginning(tmp_path: Path, stop: str) -> None:
    def loader() -> AsyncDataLoader:
        parquet = {}
        for name, rows in SIZES.items():
            path = tmp_path / name
            if not path.exists():
                save_dataset(in_memory(name, rows), path)
            parquet[name] = ParquetShardedSource(str(path / "*.parquet"))
        return AsyncDataLoader(mixed(stop, **parquet), 8, drop_last=False)

    with loader() as whole:
        batches = iter(whole)
        for _ in range(7):
            next(batches)
        assert whole.stats()["stream"]["mix_end"] is None
        state = json.loads(json.dumps(whole.state_dict()))
        list(batches)
        end = whole.stats()["stream"]["mix_end"]
        first = next(iter(whole))
        assert whole.stats()["stream"]["mix_end"] is None  # the next pass has begun
        assert len(first["input_ids"]) == 8
    assert end["sources"]["multi"]["rows"] >= 26
    with loader() as resumed:
        resumed.load_state_dict(state)
        list(resumed)
        assert resumed.stats()["stream"]["mix_end"] == end


def test_counts_say_since_when_and_of_whom() -> None:
    data = [{"input_ids": [1] * (n % 7 + 1)} for n in range(64)]
    tokens = sum(len(row["input_ids"]) for row in data)
    ranks = [
        AsyncDataLoader(HFDatasetShardedSource(data), 8, rank=rank, world_size=2)
        for rank in range(2)
    ]
    states = []
    for rank in ranks:
        batches = iter(rank)
        for _ in range(3):
            next(batches)
        states.append(rank.state_dict())
        rank.close()
    assert states[0] == states[1]
    parts = []
    for number in range(2):
        again = AsyncDataLoader(HFDatasetShardedSource(data), 8, rank=number, world_size=2)
        with again as loader:
            loader.load_state_dict(states[0])
            steps = len(list(loader))
            stats = loader.stats()
        assert steps == 5
        since, stream = stats["since_start"], stats["stream"]
        assert (since["batches"], since["rows"]) == (5, 20)
        assert (stream["steps"], stream["rows"], stream["tokens"]) == (8, 64, tokens)
        assert since["tokens_per_second"] == pytest.approx(since["tokens"] / since["seconds"])
        assert stats["rows"] == since["rows"]
        assert stats["tokens"] == stream["tokens"]
        parts.append(since["tokens"])
    assert sum(parts) == sum(len(row["input_ids"]) for row in data[24:])
    assert parts[0] != sum(parts)
