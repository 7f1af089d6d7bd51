"""Positions far into a stream: as small as near ones, as fast to go back to, in as much memory."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from resident_memory import resident

from easydata import (
    AsyncDataLoader,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
)

SHARD = 1_000_000
GROUP = 10_000
ROWS = 1_000_000
EOS = 7


@pytest.fixture(scope="module")
def billion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 1,001 shards of a million rows each: one file by many names."""
    folder = tmp_path_factory.mktemp("billion")
    numbers = pa.table({"n": np.arange(SHARD, dtype=np.int32)})
    pq.write_table(numbers, folder / "part", row_group_size=GROUP)
    for shard in range(1001):
        os.symlink(folder / "part", folder / f"{shard:04}.parquet")
    return folder


@pytest.mark.parametrize("order", ["as listed", "blocks", "rows"])
def test_the_billionth_row_is_reached_in_a_second(order: str, billion: Path) -> None:
    def make() -> AsyncDataLoader:
        source: Any = ParquetShardedSource(str(billion / "*.parquet"))
        if order != "as listed":
            window: dict[str, Any] = {"window_bytes": 1 << 20} if order == "rows" else {}
            source = source.shuffle(order, 1, **window)
        return AsyncDataLoader(source, 1000)

    with make() as near:
        next(iter(near))
        state = near.state_dict()
    # The state that the billionth row would have left: nothing in it is larger than in this one.
    shards, blocks = 10**9 // SHARD, 10**9 // GROUP
    group_of_shards = 64 * SHARD // GROUP
    far: dict[str, Any] = {"group": blocks // group_of_shards, "block": blocks % group_of_shards}
    if order == "as listed":
        assert state["cursor"].keys() == {"shard", "row"}
        far = {"shard": str(billion / f"{shards:04}.parquet"), "row": 5000}
    elif order == "rows":
        window_of_rows = 2**20 // 4
        far = {"upstream": far, "records": 0, "rows": 0, "window": 10**9 // window_of_rows}
        assert state["cursor"].keys() == far.keys()
    else:
        assert state["cursor"].keys() == far.keys()
    state |= {"cursor": far, "skip": 0, "step": 10**6, "rows": 10**9}

    start = time.perf_counter()
    with make() as loader:
        loader.load_state_dict(state)
        first = next(iter(loader))["n"]
        assert time.perf_counter() - start < 1
        saved = loader.state_dict()
        second = next(iter(loader))["n"]
        assert loader.at(10**6 + 1)["n"].tolist() == second.tolist()
    if order == "as listed":
        assert first.tolist() == list(range(5000, 6000))
    if order == "blocks":
        assert (first % GROUP).tolist() == list(range(1000))
    with make() as again:
        again.load_state_dict(json.loads(json.dumps(saved)))
        assert next(iter(again))["n"].tolist() == second.tolist()


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million documents of some tokens, as Parquet and as JSONL."""
    folder = tmp_path_factory.mktemp("million")
    for shard, numbers in enumerate(np.split(np.arange(ROWS), 10)):
        tokens = [[n % 50_000] * (1 + n % 9) for n in numbers.tolist()]
        table = pa.table({"input_ids": pa.array(tokens, pa.list_(pa.int32()))})
        pq.write_table(table, folder / f"{shard}.parquet", row_group_size=2000)
        lines = "".join(f'{{"input_ids": {ids}}}\n' for ids in tokens)
        (folder / f"{shard}.jsonl").write_text(lines)
    return folder


def packed(source: Any) -> AsyncDataLoader:
    return AsyncDataLoader(PackedShardedSource(source, 128, EOS, strategy="first_fit"), 64)


def parquet(folder: Path) -> Any:
    return ParquetShardedSource(str(folder / "*.parquet"))


def mix(folder: Path) -> Any:
    sources = {"even": parquet(folder), "odd": JsonShardedSource(str(folder / "*.jsonl"))}
    weights = {"even": 0.6, "odd": 0.4}
    return MixedShardedSource(sources, weights, stop_strategy="first_exhausted")


PIPELINES: dict[str, Callable[[Path], AsyncDataLoader]] = {
    "parquet": lambda folder: packed(parquet(folder)),
    "jsonl": lambda folder: packed(JsonShardedSource(str(folder / "*.jsonl"))),
    "shuffled": lambda folder: packed(parquet(folder).shuffle("rows", 3, window_bytes=1 << 18)),
    "mix": lambda folder: packed(mix(folder)),
}


def cost(make: Callable[[Path], AsyncDataLoader], folder: Path, state: Any) -> tuple[float, int]:
    """Seconds (the best of three times) and bytes read, up to the first batch behind a state."""
    seconds, read = float("inf"), 0
    for _ in range(3):
        with make(folder) as loader:
            start = time.perf_counter()
            loader.load_state_dict(state)
            next(iter(loader))
            seconds = min(seconds, time.perf_counter() - start)
            read = max(read, loader.stats()["bytes_read"])
    return seconds, read


@pytest.mark.parametrize("kind", PIPELINES)
def test_a_million_rows(kind: str, million: Path) -> None:
    """States do not grow, nor does memory; going back to 90 % costs what going to 10 % does."""
    make = PIPELINES[kind]
    with make(million) as loader:
        states, memory = [], []
        for _ in loader:
            states.append(json.dumps(loader.state_dict()))
            memory.append(resident())
    assert len(states) > 500
    steps = len(states)
    near, far = states[steps // 10], states[steps * 9 // 10]
    # A digit more here and there.
    assert max(map(len, states)) <= max(map(len, states[: steps // 10])) + 40
    assert max(memory) - max(memory[: steps // 5]) < 32 << 20
    (near_seconds, near_bytes), (far_seconds, far_bytes) = (
        cost(make, million, json.loads(state)) for state in (near, far)
    )
    assert far_seconds < 2 * near_seconds + 0.05  # the clock of a shared machine gets some room
    assert far_bytes < 2 * near_bytes + (1 << 20)
