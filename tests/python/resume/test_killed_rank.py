"""Ranks are processes; one is killed in mid-run, and its replacement goes on as if nothing were."""

import hashlib
import itertools
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from programs import environment

from easydata import AsyncDataLoader, MixedShardedSource, PackedShardedSource, ParquetShardedSource

STEPS = 60
WORLD = 3

RANK = """
import json, os, sys, time
from test_killed_rank import STEPS, loader_of, named
folder, rank, lanes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
state, log = f"{folder}/state-{rank}", open(f"{folder}/log-{rank}", "a")
with loader_of(folder, rank, lanes) as loader:
    if os.path.exists(state):
        loader.load_state_dict(json.load(open(state)))
    for batch in loader:
        step = loader.state_dict()["step"]
        print(step, named(batch), file=log, flush=True)
        json.dump(loader.state_dict(), open(state + ".part", "w"))
        os.replace(state + ".part", state)
        time.sleep(0.01)
        if step == STEPS:
            break
"""


def named(batch: dict[str, Any]) -> str:
    """What tells a batch from every other."""
    columns = (name.encode() + np.asarray(batch[name]).tobytes() for name in sorted(batch))
    return hashlib.sha256(b"".join(columns)).hexdigest()


def loader_of(folder: str, rank: int, lanes: int) -> AsyncDataLoader:
    sources = {
        name: ParquetShardedSource(f"{folder}/{name}-*.parquet").shuffle("rows", 2)
        for name in ("a", "b")
    }
    mix = MixedShardedSource(sources, {"a": 0.7, "b": 0.3}, block_size=10)
    packed = PackedShardedSource(mix, 32, 9, strategy="best_fit", pack_window=30)
    return AsyncDataLoader(packed, 12, rank=rank, world_size=WORLD, lanes=lanes)


@pytest.mark.parametrize("lanes", [1, 3])
def test_a_killed_rank_is_replaced(lanes: int, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    for name, shard in itertools.product("ab", range(4)):
        tokens = [random.integers(10, 90, random.integers(1, 50)).tolist() for _ in range(60)]
        table = pa.table({"input_ids": pa.array(tokens, pa.list_(pa.int32()))})
        pq.write_table(table, tmp_path / f"{name}-{shard}.parquet", row_group_size=10)

    def start(rank: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", RANK, str(tmp_path), str(rank), str(lanes)],
            env=environment([Path(__file__).parent]),
        )

    ranks = [start(rank) for rank in range(WORLD)]
    log = tmp_path / "log-1"
    deadline = time.monotonic() + 60
    while not log.exists() or log.read_text().count("\n") < 7:
        assert time.monotonic() < deadline, "rank 1 gave no seven batches within a minute"
        time.sleep(0.005)
    ranks[1].kill()
    assert ranks[1].wait() < 0
    assert log.read_text().count("\n") < STEPS, "it was killed in mid-run"
    ranks[1] = start(1)
    assert [rank.wait(timeout=60) for rank in ranks] == [0] * WORLD

    for rank in range(WORLD):
        with loader_of(str(tmp_path), rank, lanes) as loader:
            undisturbed = {
                step: named(batch)
                for step, batch in enumerate(itertools.islice(loader, STEPS), start=1)
            }
        lines = [line.split() for line in (tmp_path / f"log-{rank}").read_text().splitlines()]
        # A batch that was given, but not saved as given, comes again: the same one.
        assert all(undisturbed[int(step)] == name for step, name in lines)
        assert {int(step) for step, _ in lines} == set(undisturbed)
        assert len(lines) <= STEPS + (1 if rank == 1 else 0)
