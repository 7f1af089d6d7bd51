"""Loaders at their edges: before errors, closed while they wait, ramp-ups over lanes and passes."""

import asyncio
import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.sources import JsonShardedSource, ParquetShardedSource

from easydata import (
    AsyncDataLoader,
    Cancelled,
    DatasetConfig,
    HFDatasetShardedSource,
    LoadStageConfig,
    PackedShardedSource,
    Pipeline,
    PipelineConfig,
    ShardedDataSource,
    create_source,
    merge_states,
)


def numbers(folder: Path, files: int, rows: int) -> ParquetShardedSource:
    """Files of `rows` numbers each, all distinct."""
    if not folder.exists():
        folder.mkdir()
        for i in range(files):
            table = pa.table({"n": range(1000 * i, 1000 * i + rows)})
            pq.write_table(table, folder / f"{i}.parquet", row_group_size=7)
    return ParquetShardedSource(str(folder / "*.parquet"))


@pytest.mark.parametrize("factor", [0, -1, 1.5, True, "2", None])
def test_a_ramp_up_that_is_none_is_refused(factor: Any, tmp_path: Path) -> None:  # E13
    with pytest.raises((TypeError, ValueError), match=r"batch_rampup\[5\]"):
        AsyncDataLoader(numbers(tmp_path / "in", 1, 9), 2, batch_rampup={0: 1, 5: factor})
    load = LoadStageConfig(batch_rampup={0: 1, 5: factor})
    (problem,) = PipelineConfig([DatasetConfig("a.jsonl")], load=load).validate()
    assert problem.startswith("load.batch_rampup[5] must be ")


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), 1e30, 2**63, 2**62, -(2**63)])
def test_a_ramp_up_beyond_numbers_is_refused(factor: Any, tmp_path: Path) -> None:  # E13
    with pytest.raises((TypeError, ValueError), match=r"batch_rampup\[5\]"):
        AsyncDataLoader(numbers(tmp_path / "in", 1, 9), 2, batch_rampup={5: factor})
    load = LoadStageConfig(batch_size=2, batch_rampup={5: factor})
    (problem,) = PipelineConfig([DatasetConfig("a.jsonl")], load=load).validate()
    assert problem.startswith(("load.batch_rampup[5]", "load.batch_rampup.5"))


@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("rampup", [{0: 1}, {0: 1, 3: 2, 7: 4}, {0: 2, 2: 1, 9: 3}])
def test_rows_of_lanes_passes_and_ramp_ups(  # E6
    lanes: int, rampup: dict[int, int], tmp_path: Path
) -> None:
    """How many batches there are, of how many rows, follows from the data and the options alone."""
    files, rows, batch_size, epochs = 8, 30, 8, 3
    source = numbers(tmp_path / "in", files, rows)
    left = epochs * files * rows
    expected: list[int] = []
    while True:
        size = batch_size * rampup[max(step for step in rampup if step <= len(expected))]
        if left < size:
            break
        left -= size
        expected.append(size)
    options: dict[str, Any] = {"lanes": lanes, "epochs": epochs, "batch_rampup": rampup}
    with AsyncDataLoader(source, batch_size, **options) as loader:
        batches = [batch["n"] for batch in loader]
        assert [len(batch) for batch in batches] == expected
        assert loader.stats()["rows"] == sum(expected)
        assert loader.stats()["sources"][""]["dropped"] == ({"drop_last": left} if left else {})
    seen = np.concatenate(batches)
    assert np.unique(seen, return_counts=True)[1].max() <= epochs
    for stop in (1, len(expected) // 2, len(expected) - 1):
        with AsyncDataLoader(source, batch_size, **options) as first:
            list(islice(first, stop))
            state = json.loads(json.dumps(merge_states([first.state_dict()])))
        with AsyncDataLoader(source, batch_size, **options) as rest:
            rest.load_state_dict(state)
            again = [batch["n"].tolist() for batch in rest]
        assert again == [batch.tolist() for batch in batches[stop:]]
        if lanes > 1:
            continue
        parts = []
        for rank in range(2):
            with AsyncDataLoader(source, batch_size, rank=rank, world_size=2, **options) as part:
                part.load_state_dict(state)
                parts.append([batch["n"] for batch in part])
        joined = [np.concatenate(pair).tolist() for pair in zip(*parts, strict=True)]
        assert joined == again


@pytest.mark.parametrize("packed", [False, True])
def test_states_from_before_an_error_lead_to_it(packed: bool, tmp_path: Path) -> None:  # E10
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"input_ids": [i, i + 1, i + 2]}) for i in range(500)]
    lines[333] = "{broken"
    path.write_text("\n".join(lines))

    def loader() -> AsyncDataLoader:
        source: Any = JsonShardedSource(path)
        if packed:
            source = PackedShardedSource(source, 16, 1, strategy="greedy", shuffle=False)
        return AsyncDataLoader(source, 4)

    def rest(of: AsyncDataLoader) -> tuple[list[Any], str]:
        seen = []
        batches = iter(of)
        try:
            for batch in batches:
                seen.append(np.asarray(batch["input_ids"]).tolist())
        except ValueError as error:
            return seen, str(error)
        raise AssertionError("the broken row was passed over")

    with loader() as whole:
        batches, said = rest(whole)
        assert f"{path} row 333" in said
        behind = whole.state_dict()  # saved behind the error: the position before it
        assert len(batches) == (333 * 4 // 16 // 4 if packed else 333 // 4)
    with loader() as first:
        list(islice(first, len(batches) - 1))
        before = first.state_dict()
    for state, left in ((behind, 0), (before, 1)):
        for _ in range(2):  # and again: nothing was used up
            with loader() as again:
                again.load_state_dict(state)
                assert rest(again) == (batches[len(batches) - left :], said)
                assert again.state_dict() == behind
    with loader() as at_once:  # twice at the position of the error
        at_once.load_state_dict(behind)
        state = at_once.state_dict()
        assert state == behind
        assert rest(at_once) == ([], said)


class Blocking(ShardedDataSource[dict[str, int]]):
    """Rows that come until one does not, for as long as the test likes."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.go_on = threading.Event()
        self.reached = threading.Event()

    @property
    def shard_names(self) -> list[str]:
        return ["only"]

    def num_shards(self) -> int:
        return 1

    def open_shard(self, shard_name: str) -> Iterator[dict[str, int]]:
        for n in range(self.rows):
            yield {"n": n}
        self.reached.set()
        self.go_on.wait(30)


@pytest.mark.alone
@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize("rows", [0, 11])
def test_closing_while_the_source_blocks(rows: int, prefetch: bool) -> None:  # E11
    source = Blocking(rows)
    loader = AsyncDataLoader(source, 4, prefetch_enabled=prefetch)
    ends: list[object] = []

    def take() -> None:
        try:
            ends.append(len(list(loader)))
        except Exception as error:
            ends.append(error)

    taking = threading.Thread(target=take)
    taking.start()
    assert source.reached.wait(20)
    closing = threading.Thread(target=loader.close)
    begin = time.monotonic()
    closing.start()
    # The source does not give back control. Who takes batches does not wait for it, unless it is in
    # the source itself: without prefetching, and where the first row is looked at.
    if prefetch and rows > 0:
        taking.join(10)
        assert not taking.is_alive()
        # Nor do others, while close() waits for the source.
        asking = threading.Thread(target=lambda: (loader.state_dict(), loader.stats()))
        asking.start()
        asking.join(10)
        assert not asking.is_alive()
        assert closing.is_alive()
        with pytest.raises(ValueError, match="the loader is closed"):
            next(iter(loader))
        assert time.monotonic() - begin < 5
    source.go_on.set()
    closing.join(20)
    taking.join(20)
    assert not closing.is_alive()
    assert not taking.is_alive()
    with pytest.raises(ValueError, match="the loader is closed"):
        next(iter(loader))


BLOCKED = """
import sys, threading
from easydata import AsyncDataLoader
from easydata import ShardedDataSource

class Blocking(ShardedDataSource):
    shard_names = ["only"]

    def num_shards(self):
        return 1

    def open_shard(self, shard_name):
        for n in range(11):
            yield {"n": n}
        print("blocks", flush=True)
        threading.Event().wait()

loader = AsyncDataLoader(Blocking(), 4, prefetch_enabled=sys.argv[1] == "True")
try:
    for batch in loader:
        pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


@pytest.mark.alone
@pytest.mark.parametrize("prefetch", [True, False])
def test_an_interrupt_while_the_source_blocks(prefetch: bool) -> None:  # E11
    process = subprocess.Popen(
        [sys.executable, "-c", BLOCKED, str(prefetch)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    too_late = threading.Timer(40, process.kill)  # lines end then
    too_late.start()
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "blocks\n"
        time.sleep(0.2)  # until the main thread waits, too
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - begin < 5
        _, err = process.communicate(timeout=30)  # nor does the end wait for the source
    finally:
        too_late.cancel()
        process.kill()
    assert process.returncode == 130, err
    assert err == ""


def test_is_exhausted_is_of_the_last_iteration(tmp_path: Path) -> None:  # E12
    with AsyncDataLoader(numbers(tmp_path / "in", 1, 12), 4) as loader:
        for _ in range(2):
            batches = iter(loader)
            next(batches)
            assert not loader.is_exhausted
            assert len(list(batches)) == 2
            assert loader.is_exhausted

        async def one() -> bool:
            async for _ in loader:
                return loader.is_exhausted
            raise AssertionError("no batch came")

        assert not asyncio.run(one())


def test_rows_in_memory_are_told_by_their_name() -> None:
    rows = [{"input_ids": [1, 2, 3]}] * 8
    for source in (
        HFDatasetShardedSource(rows, "mine"),
        HFDatasetShardedSource(rows, "mine").shuffle("rows", 1),
        HFDatasetShardedSource(iter(rows), "mine"),
        create_source(DatasetConfig(name="mine", data_files=rows)),
    ):
        with AsyncDataLoader(source, 4) as loader:
            list(loader)
            (of_mine,) = loader.stats()["sources"].items()
        assert of_mine[0] == "mine"
        assert of_mine[1]["tokens"] == 24
    config = PipelineConfig(
        [DatasetConfig(name="mine", data_files=rows)], load=LoadStageConfig(batch_size=4)
    )
    with Pipeline.from_config(config).source().load().build() as loader:
        list(loader)
        assert list(loader.stats()["sources"]) == ["mine"]
    with AsyncDataLoader(HFDatasetShardedSource(rows), 4) as loader:  # that has none
        list(loader)
        assert list(loader.stats()["sources"]) == [""]


def test_closing_at_any_moment(tmp_path: Path) -> None:  # E11
    """Also between making a stage and keeping it: no thread is left that nobody can stop."""
    source = numbers(tmp_path / "in", 3, 200)
    draw = random.Random(11)
    before = set(threading.enumerate())
    for _ in range(150):
        loader = AsyncDataLoader(source.shuffle("rows", 1), 4, shuffle_buffer_size=9)
        taking = threading.Thread(target=lambda loader=loader: _take(loader))
        taking.start()
        time.sleep(draw.random() * 0.003)
        loader.close()
        taking.join(10)
        assert not taking.is_alive()
    assert set(threading.enumerate()) <= before


def _take(loader: AsyncDataLoader) -> None:
    with contextlib.suppress(Cancelled, ValueError):  # "the loader is closed"
        list(loader)
