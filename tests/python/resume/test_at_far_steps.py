"""Steps by their number, however far, where the position of each row is known without reading."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import difference

from easydata import (
    AsyncDataLoader,
    HFDatasetShardedSource,
    MixedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    WeightSchedulePoint,
    WeightScheduler,
)

Source = ShardedDataSource[Any]
ROWS = {"a": 311, "b": 97, "c": 8}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("files")
    for first, (name, rows) in enumerate(ROWS.items()):
        for shard, begin in enumerate(range(0, rows, 40)):
            numbers = range(1000 * first + begin, 1000 * first + min(begin + 40, rows))
            table = pa.table({"n": numbers, "other": [str(n) for n in numbers]})
            pq.write_table(table, folder / f"{name}-{shard:02}.parquet", row_group_size=7)
    return {name: str(folder / f"{name}-*.parquet") for name in ROWS}


def mixed(files: dict[str, str], **options: Any) -> Source:
    each: dict[str, Source] = {
        "a": ParquetShardedSource(files["a"]).shuffle("blocks", 3),
        "b": ParquetShardedSource(files["b"]).shuffle("grain", 5),
        "c": ParquetShardedSource(files["c"]).drop_fields(["other"]),
    }
    sources = {name: source.select_fields(["n"]) for name, source in each.items()}
    weights = None if "weight_scheduler" in options else {"a": 0.57, "b": 0.3, "c": 0.13}
    return MixedShardedSource(sources, weights, **options)


def dicts(files: dict[str, str]) -> list[dict[str, Any]]:
    return list(ParquetShardedSource(files["a"]))


SCHEDULE = WeightScheduler(
    [
        WeightSchedulePoint(0, {"a": 0.8, "b": 0.1, "c": 0.1}),
        WeightSchedulePoint(40, {"a": 0.2, "b": 0.4, "c": 0.4}),
    ],
    "linear",
)

STREAMS: dict[str, Callable[[dict[str, str]], tuple[Source, dict[str, Any]]]] = {
    "files": lambda files: (ParquetShardedSource(files["a"]), {"steps": 150}),
    "epochs": lambda files: (ParquetShardedSource(files["a"]), {"epochs": 3}),
    "blocks": lambda files: (ParquetShardedSource(files["a"]).shuffle("blocks", 1), {"epochs": 3}),
    "grain": lambda files: (ParquetShardedSource(files["a"]).shuffle("grain", 1), {"epochs": 3}),
    "rampup": lambda files: (
        ParquetShardedSource(files["a"]),
        {"epochs": 3, "batch_rampup": {5: 2, 30: 3}},
    ),
    "mix": lambda files: (mixed(files), {}),
    "mix in Grain's order": lambda files: (mixed(files, order="grain"), {}),
    "list": lambda files: (HFDatasetShardedSource(dicts(files)), {"epochs": 3}),
    "data set": lambda files: (
        HFDatasetShardedSource(datasets.Dataset.from_list(dicts(files))).shuffle("rows", 2),
        {"epochs": 3},
    ),
    "schedule": lambda files: (mixed(files, weight_scheduler=SCHEDULE), {}),
    # Those whose rows must be read to be known.
    "filter": lambda files: (mixed(files).filter(lambda row: row["n"] % 3 > 0), {}),
    "rows": lambda files: (ParquetShardedSource(files["a"]).shuffle("rows", 1), {"epochs": 3}),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_as_iterating_gives_them(kind: str, files: dict[str, str]) -> None:
    def loader(**more: Any) -> AsyncDataLoader:
        source, options = STREAMS[kind](files)
        return AsyncDataLoader(source, batch_size=6, **options, **more)

    with loader() as whole:
        batches = list(islice(whole, 150))
    with loader() as fresh:
        for step in [*range(0, len(batches), 17), len(batches) - 1]:
            assert difference([fresh.at(step)], [batches[step]]) is None, step
        # The loader itself has not moved, nor does it matter where it is.
        assert difference([next(iter(fresh))], batches[:1]) is None
        assert difference([fresh.at(len(batches) - 3)], [batches[-3]]) is None
    with loader(rank=2, world_size=3) as rank:
        part = rank.at(len(batches) - 2)["n"]
    assert part.tolist() == batches[-2]["n"][-len(part) :].tolist()


def test_a_step_behind_the_end_is_still_an_error(files: dict[str, str]) -> None:
    with AsyncDataLoader(ParquetShardedSource(files["a"]), batch_size=6, epochs=2) as loader:
        assert loader.at(102)["n"].shape == (6,)
        for step in (103, 10**12):
            with pytest.raises(IndexError, match=rf"no step {step}.*103 steps"):
                loader.at(step)


def test_steps_that_cannot_be_counted_are_an_error(files: dict[str, str]) -> None:
    with AsyncDataLoader(mixed(files), batch_size=16) as loader:
        for step in (2**60, 2**63 - 1):
            with pytest.raises(IndexError, match=f"the rows up to step {step} cannot be counted"):
                loader.at(step)


@pytest.mark.alone
def test_ctrl_c_gets_through_while_a_step_is_looked_for(files: dict[str, str]) -> None:
    sources = {name: ParquetShardedSource(files[name]) for name in ("a", "b")}
    weights = {"a": 1 / 3.14159265, "b": 1 - 1 / 3.14159265}
    mix = MixedShardedSource(sources, weights, block_size=1)
    with AsyncDataLoader(mix, batch_size=16) as loader:
        threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            loader.at(10**11)
        assert time.monotonic() - start < 1.4
        threading.Timer(0.4, loader.close).start()
        with pytest.raises(RuntimeError, match=r"given up|closed"):
            loader.at(10**11)


@pytest.mark.alone
@pytest.mark.parametrize(
    "kind", ["files", "list", "data set", "mix", "mix in Grain's order", "schedule"]
)
def test_a_far_step_takes_no_longer(kind: str, files: dict[str, str]) -> None:
    source, _ = STREAMS[kind](files)
    steps = None if source.__class__ is MixedShardedSource else 10**9
    with AsyncDataLoader(source, batch_size=5, steps=steps) as loader:
        loader.at(100)
        start = time.perf_counter()
        far = loader.at(10**8)
        assert time.perf_counter() - start < 1
        # It goes on from there.
        behind = loader.at(10**8 + 1)
    assert far["n"].shape == behind["n"].shape == (5,)
    if kind in ("files", "list"):
        assert far["n"].tolist() == [(5 * 10**8 + i) % ROWS["a"] for i in range(5)]
        assert behind["n"].tolist() == [(5 * 10**8 + 5 + i) % ROWS["a"] for i in range(5)]
