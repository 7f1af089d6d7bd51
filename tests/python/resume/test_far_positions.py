"""Positions far into a stream: as small as near ones, as fast to go back to, in as much memory."""

import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from programs import run_python
from resident_memory import GIVES_BACK, resident
from thread_count import handles, threads

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

# The pipelines of a million documents, each of 5 tokens on average and one that closes it.
SHARDS, ROW_GROUP, CHUNK = 10, 2000, 1 << 20
LENGTH, BATCH, THREADS, TOKENS_PER_DOCUMENT = 128, 64, 2, 6
SHUFFLED_ROWS, PACK_WINDOW, ROW_WINDOW = 1000, 1000, 1 << 18


@pytest.fixture(scope="module")
def billion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 1,001 shards of a million rows each: one file by many names."""
    folder = tmp_path_factory.mktemp("billion")
    numbers = pa.table({"n": np.arange(SHARD, dtype=np.int32)})
    pq.write_table(numbers, folder / "part", row_group_size=GROUP)
    for shard in range(1001):
        os.symlink(folder / "part", folder / f"{shard:04}.parquet")
    return folder


@pytest.mark.alone
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
    for shard, numbers in enumerate(np.split(np.arange(ROWS), SHARDS)):
        tokens = [[n % 50_000] * (1 + n % 9) for n in numbers.tolist()]
        table = pa.table({"input_ids": pa.array(tokens, pa.list_(pa.int32()))})
        pq.write_table(table, folder / f"{shard}.parquet", row_group_size=ROW_GROUP)
        lines = "".join(f'{{"input_ids": {ids}}}\n' for ids in tokens)
        (folder / f"{shard}.jsonl").write_text(lines)
    return folder


def packed(source: Any, **options: Any) -> AsyncDataLoader:
    rows = PackedShardedSource(
        source,
        LENGTH,
        EOS,
        strategy="first_fit",
        shuffle_buffer_factor=SHUFFLED_ROWS // 100,
        pack_window=PACK_WINDOW,
    )
    return AsyncDataLoader(rows, BATCH, num_threads=THREADS, **options)


def parquet(folder: Path) -> Any:
    return ParquetShardedSource(str(folder / "*.parquet"))


def mix(folder: Path) -> Any:
    sources = {"even": parquet(folder), "odd": JsonShardedSource(str(folder / "*.jsonl"))}
    weights = {"even": 0.6, "odd": 0.4}
    return MixedShardedSource(sources, weights, stop_strategy="first_exhausted")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "parquet": parquet,
    "jsonl": lambda folder: JsonShardedSource(str(folder / "*.jsonl")),
    "shuffled": lambda folder: parquet(folder).shuffle("rows", 3, window_bytes=ROW_WINDOW),
    "mix": mix,
}


def open_documents(kind: str) -> float:
    """Documents that the windows hold which a restored pipeline fills before its first batch.

    Those of the window of rows, of the packer's window and of the batch; where the documents are
    shuffled, their windows at both ends are filled whole.
    """
    documents = (SHUFFLED_ROWS + BATCH) * LENGTH / TOKENS_PER_DOCUMENT + PACK_WINDOW
    if kind == "shuffled":
        documents += 2 * ROW_WINDOW / (4 * (TOKENS_PER_DOCUMENT - 1))
    return documents


def bytes_of_windows(kind: str, folder: Path) -> float:
    """Bytes at most that going back to any position may read.

    Of each source: the blocks that the open windows' documents lie in, the first and the last of
    which belong to them in part, and those that are read ahead, two for each thread and one.
    """
    groups = pq.read_metadata(folder / "9.parquet")
    row_groups = [groups.row_group(index).column(0) for index in range(groups.num_row_groups)]
    lines = (folder / "9.jsonl").stat().st_size
    blocks = {  # documents and bytes of a block
        "parquet": (ROW_GROUP, max(group.total_compressed_size for group in row_groups)),
        "jsonl": (CHUNK / lines * ROWS / SHARDS, CHUNK + 4096),
    }
    shares = {"mix": {"parquet": 0.6, "jsonl": 0.4}, "jsonl": {"jsonl": 1.0}}
    most = 0.0
    for files, share in shares.get(kind, {"parquet": 1.0}).items():
        documents, size = blocks[files]
        count = math.ceil(open_documents(kind) * share / documents) + 1 + 2 * THREADS + 1
        most += count * size
    return most


def cost(kind: str, folder: Path, state: Any) -> tuple[float, int]:
    """Seconds (the best of three times) and bytes read, up to the first batch behind a state."""
    seconds, read = float("inf"), 0
    for _ in range(3):
        with packed(SOURCES[kind](folder), prefetch_enabled=False) as loader:
            start = time.perf_counter()
            loader.load_state_dict(state)
            next(iter(loader))
            seconds = min(seconds, time.perf_counter() - start)
            read = max(read, loader.stats()["bytes_read"])
    return seconds, read


def follow(kind: str, folder: Path) -> dict[str, Any]:
    """What each step of a pipeline leaves, and what going back near and far costs."""
    pa.set_io_thread_count(1)
    files_before = handles()
    with packed(SOURCES[kind](folder)) as loader:
        states, memory, files, workers = [], [], [], []
        for _ in loader:
            states.append(json.dumps(loader.state_dict()))
            memory.append(resident())
            files.append(handles() - files_before)
            if len(states) % 100 == 0:
                workers.append(threads())
    near, far = states[len(states) // 10], states[len(states) * 9 // 10]
    return {
        "states": [len(state) for state in states],
        "memory": memory,
        "files": files,
        "workers": workers,
        "near": cost(kind, folder, json.loads(near)),
        "far": cost(kind, folder, json.loads(far)),
    }


@pytest.mark.alone
@pytest.mark.parametrize("kind", SOURCES)
def test_a_million_rows(kind: str, million: Path) -> None:
    """Nothing grows: states, memory, threads, files; nor does what going back to a state costs.

    Going back to 90 % costs what going to 10 % does, and reads no more than open windows hold.
    """
    seen = json.loads(run_python(__file__, kind, million, variables=GIVES_BACK).stdout)
    states, memory, workers = seen["states"], seen["memory"], seen["workers"]
    assert len(states) > 500
    fifth = len(states) // 5
    # A digit more here and there.
    assert max(states) <= max(states[: fifth // 2]) + 40
    # What is held at the least shows what stays; how many blocks are under way at once varies.
    assert min(memory[3 * fifth : -fifth // 2]) - min(memory[fifth // 2 : 2 * fifth]) < 6 << 20
    assert max(memory) - max(memory[:fifth]) < 32 << 20
    # Each block that is read ahead may be of another file.
    assert max(seen["files"]) <= 2 * THREADS + 1
    assert len(workers) > 5
    assert max(workers) == workers[0]
    (near_seconds, near_bytes), (far_seconds, far_bytes) = seen["near"], seen["far"]
    assert far_bytes <= bytes_of_windows(kind, million)
    assert far_seconds < 2 * near_seconds + 0.05  # the clock of a shared machine gets some room
    assert far_bytes < 2 * near_bytes + (1 << 20)


if __name__ == "__main__":
    print(json.dumps(follow(sys.argv[1], Path(sys.argv[2]))))
