"""Batches for training."""

import asyncio
import gc
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import difference, first_rows, joined, rows_in
from easydata.execution import PadSpec
from python_rows import Rows
from thread_count import thread_numbers

from easydata import (
    AsyncDataLoader,
    HFDatasetShardedSource,
    LimitedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    PrefetchIterator,
    ShardingSpec,
    TokenizedShardedSource,
    TokenizerConfig,
    batch_iterator,
    collate_batch,
    create_data_iterator,
    preshard_batch,
)


def parquet(path: Path, table: pa.Table, row_group_size: int = 50) -> ParquetShardedSource:
    path.mkdir(exist_ok=True)
    file = path / "in.parquet"
    # A file that is written again is another one.
    if not file.exists() or not pq.read_table(file).equals(table):
        pq.write_table(table, file, row_group_size=row_group_size)
    return ParquetShardedSource(str(path / "*.parquet"))


def numbers(path: Path, rows: int = 100, length: int = 4) -> ParquetShardedSource:
    ids = np.arange(rows * length, dtype=np.int32).reshape(rows, length)
    return parquet(path, pa.table({"input_ids": list(ids), "n": range(rows)}))


def test_batches_hold_all_rows_in_order(tmp_path: Path) -> None:
    batches = list(AsyncDataLoader(numbers(tmp_path), batch_size=8))
    assert len(batches) == 12
    for step, batch in enumerate(batches):
        assert batch["input_ids"].dtype == np.int32
        assert batch["input_ids"].shape == (8, 4)
        first = step * 32
        np.testing.assert_array_equal(
            batch["input_ids"], np.arange(first, first + 32).reshape(8, 4)
        )
        np.testing.assert_array_equal(batch["n"], np.arange(step * 8, step * 8 + 8))
        assert batch["n"].dtype == np.int64


def test_arrays_are_views_that_outlive_the_loader(tmp_path: Path) -> None:
    with AsyncDataLoader(numbers(tmp_path), batch_size=8) as loader:
        iterator = iter(loader)
        batches = [next(iterator) for _ in range(3)]
    del loader, iterator
    gc.collect()
    for step, batch in enumerate(batches):
        ids = batch["input_ids"]
        assert not ids.flags.owndata
        assert not ids.flags.writeable
        assert ids.flags.c_contiguous
        np.testing.assert_array_equal(ids.ravel(), np.arange(step * 32, step * 32 + 32))
    # Steps of one row group share its memory: nothing was copied.
    first, second = (batch["input_ids"].__array_interface__["data"][0] for batch in batches[:2])
    assert second == first + 8 * 4 * 4


def test_breaking_off_keeps_the_position(tmp_path: Path) -> None:
    loader = AsyncDataLoader(numbers(tmp_path), batch_size=10)
    seen = []
    for batch in loader:
        seen.append(int(batch["n"][0]))
        if len(seen) == 3:
            break
    seen += [int(batch["n"][0]) for batch in loader]
    assert seen == list(range(0, 100, 10))
    # After the end the next iteration is the next epoch.
    assert loader.is_exhausted
    loader.load_state_dict(loader.state_dict())
    assert not loader.is_exhausted  # nothing was iterated since
    assert [int(batch["n"][0]) for batch in loader] == seen
    assert loader.stats()["sources"] is not None
    assert loader.state_dict()["epoch"] == 2


def test_drop_last(tmp_path: Path) -> None:
    assert [len(b["n"]) for b in AsyncDataLoader(numbers(tmp_path), batch_size=30)] == [30] * 3
    loader = AsyncDataLoader(numbers(tmp_path), batch_size=30, drop_last=False)
    assert [len(b["n"]) for b in loader] == [30, 30, 30, 10]


@pytest.mark.parametrize("prefetch", [True, False])
def test_every_step_restore(tmp_path: Path, prefetch: bool) -> None:
    random = np.random.default_rng(3)
    ids = [random.integers(0, 99, random.integers(0, 9), dtype=np.int32) for _ in range(83)]
    source = parquet(tmp_path, pa.table({"input_ids": pa.array(ids), "n": range(83)}), 7)

    def make() -> AsyncDataLoader:
        return AsyncDataLoader(
            source,
            batch_size=5,
            prefetch_enabled=prefetch,
            drop_last=False,
            shuffle_buffer_size=20,
            seed=5,
            epochs=2,
        )

    def lines(loader: AsyncDataLoader) -> list[str]:
        return [repr({k: v.tolist() for k, v in batch.items()}) for batch in loader]

    whole = lines(make())
    assert len(whole) == 34
    assert sorted(n for line in whole for n in eval(line)["n"]) == sorted([*range(83), *range(83)])
    running = make()
    iterator = iter(running)
    sizes = []
    for step in range(len(whole) + 1):
        state = json.loads(json.dumps(running.state_dict()))
        sizes.append(len(json.dumps(state)))
        restored = make()
        restored.load_state_dict(state)
        assert restored.state_dict() == state
        assert lines(restored) == whole[step:], step
        restored.close()
        next(iterator, None)
    assert max(sizes) < 1500


def test_states_of_other_streams_are_refused(tmp_path: Path) -> None:
    loader = AsyncDataLoader(numbers(tmp_path), batch_size=10)
    state = loader.state_dict()
    other = AsyncDataLoader(numbers(tmp_path), batch_size=5)
    with pytest.raises(ValueError, match=r"loader\.batch_size changed, from 10 to 5"):
        other.load_state_dict(state)
    within = {"version": 1, "loader": {}, "rows_taken": 1, "world_size": 1}
    with pytest.raises(ValueError, match=r"a state of easydata\.torch\.dataset\(\) within a batch"):
        loader.load_state_dict(within)
    with pytest.raises(ValueError, match="not a state of a loader"):
        loader.load_state_dict({"step": 1})
    # What may change between a save and a restore.
    same = AsyncDataLoader(
        numbers(tmp_path), 10, False, num_threads=1, rank=1, world_size=2, prefetch_buffer_size=9
    )
    same.load_state_dict(state)


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("num_threads", [1, 2, 4])
def test_ranks_join_to_the_global_batch(tmp_path: Path, world: int, num_threads: int) -> None:
    random = np.random.default_rng(3)
    ids = [random.integers(1, 99, random.integers(1, 9), dtype=np.int32) for _ in range(80)]
    table = pa.table({"input_ids": pa.array(ids), "labels": pa.array(ids)})
    table = table.append_column("attention_mask", pa.array([[1] * len(x) for x in ids]))
    source = parquet(tmp_path, table, 7)
    whole = AsyncDataLoader(source, batch_size=12, drop_last=False)
    expected = list(whole)
    loaders = [
        AsyncDataLoader(
            source, 12, drop_last=False, rank=rank, world_size=world, num_threads=num_threads
        )
        for rank in range(world)
    ]
    parts = [list(loader) for loader in loaders]
    assert {len(part) for part in parts} == {len(expected)}
    for step, batch in enumerate(expected):
        together, rows = joined([part[step] for part in parts]), rows_in(batch)
        assert difference([first_rows(together, rows)], [batch]) is None
        if world > 1:
            assert rows_in(together) == 12
            for name, values in together.items():
                filling = {"labels": -100}.get(name, 0)
                assert (values[rows:] == filling).all()
    total = sum(int(loader.digest(), 16) for loader in loaders) % 2**64
    assert f"{total:016x}" == whole.digest()
    assert len({json.dumps(loader.state_dict()) for loader in [*loaders, whole]}) == 1


def test_ragged_rows_are_padded(tmp_path: Path) -> None:
    rows = [[5], [6, 7, 8], []]
    table = pa.table(
        {name: pa.array(rows, pa.list_(pa.int32())) for name in ("input_ids", "labels", "other")}
    )
    source = parquet(tmp_path, table)
    (batch,) = AsyncDataLoader(source, batch_size=3)
    assert batch["input_ids"].tolist() == [[5, 0, 0], [6, 7, 8], [0, 0, 0]]
    assert batch["labels"].tolist() == [[5, -100, -100], [6, 7, 8], [-100] * 3]
    of_tokens = {"input_ids": PadSpec(9, "left", 4), "labels": PadSpec(-100, "left", 4)}
    padding = {**of_tokens, "other": PadSpec(-1, "left", 4)}
    (batch,) = AsyncDataLoader(source, batch_size=3, padding=padding)
    assert batch["input_ids"].tolist() == [[9, 9, 9, 5], [9, 6, 7, 8], [9] * 4]
    assert batch["other"].tolist() == [[-1, -1, -1, 5], [-1, 6, 7, 8], [-1] * 4]
    with pytest.raises(ValueError, match=r"row 1.*'other' has 3 values"):
        list(AsyncDataLoader(source, batch_size=3, padding={"other": PadSpec(length=2)}))


@pytest.mark.parametrize(
    ("column", "good", "bad", "said"),
    [
        ("ids", [1], [1, 2, 3], "has 3 values here, more"),
        ("n", 1, None, "has no value here"),
        ("lists", [1], [None], "has no value here"),
    ],
)
def test_a_row_that_no_batch_can_have_stops_all_ranks_at_one_step(
    column: str, good: Any, bad: Any, said: str, tmp_path: Path
) -> None:
    source = parquet(tmp_path, pa.table({column: [good] * 5 + [bad] + [good] * 6}))
    padding = {"ids": PadSpec(length=2)} if column == "ids" else None
    for rank in range(3):
        with AsyncDataLoader(source, 3, rank=rank, world_size=3, padding=padding) as loader:
            assert len(next(iter(loader))[column]) == 1
            state = loader.state_dict()
            with pytest.raises(ValueError, match=rf"row 5: column '{column}' {said}"):
                next(iter(loader))
            assert loader.state_dict() == state


def test_padding_of_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    padding = {"n": PadSpec(), "lables": PadSpec(-100)}
    said = (
        r"^padding\['lables'\]: the stream has no such column, it has 'n', 'labels'; leave it out"
    )
    source = parquet(tmp_path, pa.table({"n": [1, 2, 3], "labels": [[1], [2], [3]]}))
    loader = AsyncDataLoader(source, batch_size=2, padding=padding)
    for _ in range(2):
        with pytest.raises(ValueError, match=said):
            next(iter(loader))
    with pytest.raises(ValueError, match=said):
        loader.at(0)
    packed = PackedShardedSource(numbers(tmp_path / "ids"), seq_length=8, eos_token_id=1)
    with pytest.raises(ValueError, match=r"no such column, it has 'input_ids', "):
        next(iter(AsyncDataLoader(packed, batch_size=2, padding={"n": PadSpec()})))


def test_rows_of_json_may_come_with_a_padded_column_later() -> None:
    rows = [{"n": n, **({"late": [n]} if n > 3 else {})} for n in range(8)]
    loader = AsyncDataLoader(Rows(rows), batch_size=4, padding={"late": PadSpec(7, length=2)})
    first, second = loader
    assert "late" not in first
    assert second["late"].tolist() == [[n, 7] for n in range(4, 8)]


def test_tokens_are_padded_with_the_tokenizer_s_pad_id(own_tokenizers: Path) -> None:
    folder = str(own_tokenizers / "split")
    tokens = TokenizedShardedSource(
        Rows([{"text": "a"}, {"text": "a b c d"}]), folder, TokenizerConfig(name_or_path=folder)
    )
    pad = tokens.tokenizer.pad_token_id
    assert pad
    limited = LimitedShardedSource(tokens, 2)
    for source in (tokens, limited):
        (batch,) = AsyncDataLoader(source, batch_size=2)
        assert batch["input_ids"][0].tolist()[1:] == [pad] * 3
        assert batch["attention_mask"].tolist() == [[1, 0, 0, 0], [1, 1, 1, 1]]


def test_columns_of_every_type(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["a", "é", None],
            "flag": [True, False, True],
            "half": pa.array(np.array([1, 2, 3], np.float16)),
            "x": pa.array([1.5, None, 2.5], pa.float32()),
            "image": pa.array(
                np.arange(12, dtype=np.uint8).reshape(3, 4).tolist(), pa.list_(pa.uint8(), 4)
            ),
            "words": [["a"], ["b", "c"], []],
            "meta": [{"k": 1}, {"k": 2}, None],
        }
    )
    (batch,) = AsyncDataLoader(parquet(tmp_path, table), batch_size=3)
    assert batch["text"] == ["a", "é", None]
    assert batch["flag"].dtype == np.bool_
    assert batch["flag"].tolist() == [True, False, True]
    assert batch["half"].dtype == np.float16
    assert batch["half"].tolist() == [1, 2, 3]
    assert batch["x"].dtype == np.float32
    np.testing.assert_array_equal(batch["x"], np.array([1.5, np.nan, 2.5], np.float32))
    assert batch["image"].shape == (3, 4)
    assert batch["image"].dtype == np.uint8
    assert batch["words"] == [["a"], ["b", "c"], []]
    assert batch["meta"] == [{"k": 1}, {"k": 2}, None]
    assert all(isinstance(v, list) or v.dtype.kind != "O" for v in batch.values())


def test_missing_numbers(tmp_path: Path) -> None:
    source = parquet(tmp_path, pa.table({"n": [1, None, 3]}))
    with pytest.raises(ValueError, match=r"row 1.*'n' has no value.*PadSpec"):
        list(AsyncDataLoader(source, batch_size=3))
    (batch,) = AsyncDataLoader(source, batch_size=3, padding={"n": PadSpec(-1)})
    assert batch["n"].tolist() == [1, -1, 3]


def test_python_rows_become_arrays() -> None:
    rows = [
        {"input_ids": np.array([1, 2], np.int32), "x": 1, "y": 0.5, "text": "a", "mixed": 1},
        {"input_ids": [3], "x": 2, "y": 1, "text": "b", "mixed": "z", "extra": {"k": [None]}},
    ]
    (batch,) = AsyncDataLoader(Rows(rows), batch_size=2)
    assert batch["input_ids"].tolist() == [[1, 2], [3, 0]]
    assert batch["input_ids"].dtype == np.int32
    assert batch["x"].tolist() == [1, 2]
    assert batch["x"].dtype == np.int64
    assert batch["y"].tolist() == [0.5, 1.0]
    assert batch["text"] == ["a", "b"]
    assert batch["mixed"] == [1, "z"]
    assert batch["extra"] == [None, {"k": [None]}]


def test_a_packer_carries_on_from_epoch_to_epoch() -> None:
    documents = [{"input_ids": [10 + i] * (i + 1)} for i in range(4)]
    packed = PackedShardedSource(documents, 8, eos_token_id=1, pad_token_id=0, shuffle=False)
    once = [token for row in documents for token in [*row["input_ids"], 1]]
    with AsyncDataLoader(packed, batch_size=1, epochs=3, drop_last=False) as loader:
        rows = [batch["input_ids"][0].tolist() for batch in loader]
    tokens = [token for row in rows for token in row]
    assert tokens[: 3 * len(once)] == once * 3
    assert tokens[3 * len(once) :] == [0] * (len(rows) * 8 - 3 * len(once))
    assert len(rows) == -(-3 * len(once) // 8)


def test_epochs(tmp_path: Path) -> None:
    loader = AsyncDataLoader(numbers(tmp_path), batch_size=30, epochs=2, drop_last=False)
    sizes = [len(batch["n"]) for batch in loader]
    assert sizes == [30] * 6 + [20]


def test_shuffling_is_by_seed_and_epoch_and_leaves_random_alone(tmp_path: Path) -> None:  # D31
    import random

    def orders(seed: int) -> list[list[int]]:
        loader = AsyncDataLoader(
            numbers(tmp_path), batch_size=10, shuffle_buffer_size=40, seed=seed
        )
        return [[int(n) for batch in loader for n in batch["n"]] for _ in range(2)]

    state = random.getstate()
    first = orders(1)
    assert random.getstate() == state
    assert sorted(first[0]) == list(range(100))
    assert first[0] != list(range(100))
    assert first[0] != first[1], "another order in every epoch (D32)"
    assert orders(1) == first
    assert orders(2) != first


def test_slow_sources_do_not_end_early() -> None:  # D9
    rows = [{"n": n} for n in range(6)]
    source = Rows(rows, lambda number: time.sleep(0.7 if number in (2, 4) else 0))
    batches = list(AsyncDataLoader(source, batch_size=2))
    assert [batch["n"].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5]]


def test_errors_come_as_themselves_after_the_batches_before() -> None:
    def fail(number: int) -> None:
        if number == 600:
            raise ZeroDivisionError("my own error")

    loader = AsyncDataLoader(Rows([{"n": n} for n in range(1000)], fail), batch_size=10)
    seen = 0

    def drain() -> None:
        nonlocal seen
        for _ in loader:
            seen += 1

    with pytest.raises(ZeroDivisionError, match="my own error"):
        drain()
    assert seen == 60
    with pytest.raises(ZeroDivisionError):
        next(iter(loader))


@pytest.mark.alone
@pytest.mark.parametrize("prefetch", [True, False])
def test_ctrl_c_gets_through(prefetch: bool) -> None:
    source = Rows([{"n": n} for n in range(10)], lambda number: time.sleep(0.2))
    loader = AsyncDataLoader(source, batch_size=10, prefetch_enabled=prefetch)
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(iter(loader))
    assert time.monotonic() - begin < 1.4


@pytest.mark.alone
@pytest.mark.parametrize("prefetch", [True, False])
def test_closing_awaits_no_more_than_the_row_in_hand(prefetch: bool) -> None:
    source = Rows([{"n": n} for n in range(1000)], lambda number: time.sleep(0.2))
    begin = time.monotonic()
    for wrapped in (source, source.map(dict)):
        # The first row does not wait for others to go along with it.
        loader = AsyncDataLoader(wrapped, batch_size=1, prefetch_enabled=prefetch)
        assert next(iter(loader))["n"].tolist() == [0]
        loader.close()
    loader = AsyncDataLoader(source, batch_size=1000, prefetch_enabled=prefetch)
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(iter(loader))
    loader.close()
    assert time.monotonic() - begin < 8


def test_the_time_rows_take_changes_nothing_in_them() -> None:
    rows = [{"n": n} for n in range(300)]

    def batches(source: Rows, state: Any = None) -> tuple[list[list[int]], list[Any]]:
        loader = AsyncDataLoader(source, batch_size=7, shuffle_buffer_size=16, seed=3)
        if state is not None:
            loader.load_state_dict(state)
        out, states = [], []
        for batch in loader:
            out.append(batch["n"].tolist())
            states.append(loader.state_dict())
        return out, states

    fast, states = batches(Rows(rows))
    slow, _ = batches(Rows(rows, lambda number: time.sleep(0.03 if number % 9 == 0 else 0)))
    assert slow == fast
    slow, _ = batches(
        Rows(rows, lambda number: time.sleep(0.03 if number % 7 == 0 else 0)), states[11]
    )
    assert slow == fast[12:]


def test_close_leaves_no_thread(tmp_path: Path) -> None:  # D40
    source = numbers(tmp_path, 10_000)
    list(AsyncDataLoader(source, batch_size=10))
    gc.collect()
    before = thread_numbers()
    for take in (0, 1, 5):
        loader = AsyncDataLoader(source, batch_size=10, prefetch_buffer_size=1)
        iterator = iter(loader)
        for _ in range(take):
            next(iterator)
        loader.close()
        loader.close()
        assert thread_numbers() <= before
        with pytest.raises(ValueError, match="closed"):
            next(iter(loader))
    loader = AsyncDataLoader(source, batch_size=10)
    next(iter(loader))
    assert thread_numbers() - before
    del loader
    gc.collect()
    assert thread_numbers() <= before


def test_making_a_loader_starts_nothing(tmp_path: Path) -> None:
    before = thread_numbers()
    loader = AsyncDataLoader(numbers(tmp_path))
    assert thread_numbers() <= before
    loader.close()


def test_async_iteration(tmp_path: Path) -> None:
    loader = AsyncDataLoader(numbers(tmp_path), batch_size=10)

    async def take(count: int) -> list[int]:
        seen = []
        async for batch in loader:
            seen.append(int(batch["n"][0]))
            if len(seen) == count:
                break
        return seen

    assert asyncio.run(take(3)) == [0, 10, 20]
    assert asyncio.run(take(99)) == [30, 40, 50, 60, 70, 80, 90]
    assert loader.is_exhausted
    assert asyncio.run(take(1)) == [0]
    with pytest.raises(NotImplementedError, match="no batch by index"):
        asyncio.run(loader.aget(0))


def test_async_waiting_blocks_nothing_and_loses_nothing() -> None:
    source = Rows([{"n": n} for n in range(4)], lambda number: time.sleep(0.15))
    loader = AsyncDataLoader(source, batch_size=2)

    async def main() -> list[list[int]]:
        iterator = aiter(loader)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        # A wait that is given up takes no batch with it.
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(iterator), 0.05)
        seen = [batch["n"].tolist() async for batch in loader]
        ticking.cancel()
        assert ticks > 10
        return seen

    assert asyncio.run(main()) == [[0, 1], [2, 3]]


def test_stats(tmp_path: Path) -> None:
    loader = AsyncDataLoader(numbers(tmp_path), batch_size=30)
    list(loader)
    stats = loader.stats()
    assert stats["rows"] == 90
    assert stats["batches"] == 3
    assert stats["tokens"] == 90 * 4
    (source,) = stats["sources"].values()
    assert source["dropped"] == {"drop_last": 10}
    assert stats["seconds"] > 0
    assert "loader" in stats["wait_seconds"]


def test_a_forked_child_goes_on_by_itself(tmp_path: Path) -> None:
    loader = AsyncDataLoader(numbers(tmp_path), batch_size=10)
    iterator = iter(loader)
    next(iterator)
    child = os.fork()
    if child == 0:
        ok = [int(batch["n"][0]) for batch in loader] == list(range(10, 100, 10))
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert [int(batch["n"][0]) for batch in iterator] == list(range(10, 100, 10))


def test_wrong_options_are_named(tmp_path: Path) -> None:
    source = numbers(tmp_path)
    for message, options in {
        "batch_size": {"batch_size": 0},
        "multiple of world_size": {"batch_size": 8, "world_size": 3},
        "rank": {"rank": 2, "world_size": 2},
        "epochs": {"epochs": 0},
        "prefetch_buffer_size": {"prefetch_buffer_size": 0},
        "prefetch_workers": {"prefetch_workers": 0},
        "shuffle_buffer_size": {"shuffle_buffer_size": 0},
        r"batch_rampup\[7\]: must be at least 1": {"batch_rampup": {7: 0}},
        r"batch_rampup\[-7\]: .* counted from 0": {"batch_rampup": {-7: 2}},
    }.items():
        with pytest.raises(ValueError, match=message):
            AsyncDataLoader(source, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("prefetch", [True, False])
def test_threads_share_a_pass(tmp_path: Path, prefetch: bool) -> None:  # B16
    """An iterator each, over one loader: each batch goes to one of them, and all end with it."""
    with AsyncDataLoader(numbers(tmp_path), 10, prefetch_enabled=prefetch) as loader:
        for epoch in range(3):
            seen: list[int] = []
            ready = threading.Barrier(4)

            def take(seen: list[int] = seen, ready: threading.Barrier = ready) -> None:
                batches = iter(loader)
                first = next(batches, None)
                seen.extend([] if first is None else first["n"].tolist())
                ready.wait(20)
                for batch in batches:
                    seen.extend(batch["n"].tolist())

            threads = [threading.Thread(target=take) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
            assert sorted(seen) == list(range(100)), epoch
            assert loader.is_exhausted
            assert loader.state_dict()["epoch"] == epoch + 1


def test_an_iterator_ends_with_its_pass(tmp_path: Path) -> None:  # B16
    loader = AsyncDataLoader(numbers(tmp_path), batch_size=10)
    early = iter(loader)
    next(early)
    assert len(list(loader)) == 9
    assert next(early, None) is None
    assert len(list(loader)) == 10


def test_prefetch_iterator() -> None:
    assert list(PrefetchIterator(iter(range(100)), 3)) == list(range(100))

    def failing() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError("mine")

    iterator = PrefetchIterator(failing())
    assert next(iterator) == 1
    with pytest.raises(ZeroDivisionError, match="mine"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_prefetch_iterator_closes_with_a_full_queue() -> None:  # D40
    before = set(threading.enumerate())
    for _ in range(3):
        iterator = PrefetchIterator(iter(range(10**9)), 2)
        assert next(iterator) == 0
        time.sleep(0.02)
        iterator.close()
    assert set(threading.enumerate()) <= before
    dropped = PrefetchIterator(iter(range(10**9)), 2)
    next(dropped)
    del dropped
    gc.collect()
    time.sleep(0.3)
    assert set(threading.enumerate()) <= before


def test_prefetch_iterator_closes_while_another_thread_waits_for_a_row() -> None:
    given_back = threading.Event()

    def blocking() -> Iterator[int]:
        yield 1
        given_back.wait(20)

    iterator = PrefetchIterator(blocking())
    assert next(iterator) == 1
    rest: list[int] = []
    waiting = threading.Thread(target=lambda: rest.extend(iterator))
    waiting.start()
    time.sleep(0.1)
    closing = threading.Thread(target=iterator.close)
    closing.start()
    waiting.join(5)
    assert not waiting.is_alive()
    assert rest == []
    given_back.set()
    closing.join(5)
    assert not closing.is_alive()


def test_collate_and_batch_iterator() -> None:  # D3, D44
    rows = [
        {"input_ids": [1, 2], "n": 1, "labels": [1], "text": "a"},
        {"input_ids": [3], "n": 2, "labels": [1, 2], "text": "b", "late": [1]},
    ]
    batch = collate_batch(rows)
    assert batch["late"].tolist() == [[0], [1]]
    assert batch["input_ids"].tolist() == [[1, 2], [3, 0]]
    assert batch["labels"].tolist() == [[1, -100], [1, 2]]
    assert batch["text"] == ["a", "b"]
    assert collate_batch([]) == {}
    with pytest.raises(ValueError, match="'late' has no value in row 0"):
        collate_batch([{"n": 1}, {"n": 2, "late": 1.5}])
    stacked = collate_batch([{"x": np.ones((2, 3))}] * 4)
    assert stacked["x"].shape == (4, 2, 3)
    sizes = [len(b["n"]) for b in batch_iterator(({"n": n} for n in range(10)), 4)]
    assert sizes == [4, 4]
    sizes = [len(b["n"]) for b in batch_iterator(({"n": n} for n in range(10)), 4, False)]
    assert sizes == [4, 4, 2]


def test_create_data_iterator() -> None:
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_list([{"n": n} for n in range(10)])
    plain = list(create_data_iterator(dataset, 4, shuffle=False))
    assert plain == [
        [{"n": n} for n in range(4)],
        [{"n": n} for n in range(4, 8)],
        [{"n": 8}, {"n": 9}],
    ]
    assert list(create_data_iterator(dataset, 1, shuffle=False, prefetch=False))[3] == {"n": 3}
    rows = [row["n"] for rows in create_data_iterator(dataset, 5, seed=1) for row in rows]
    assert sorted(rows) == list(range(10))
    streaming = dataset.to_iterable_dataset()
    rows = [row["n"] for rows in create_data_iterator(streaming, 5, seed=1) for row in rows]
    assert sorted(rows) == list(range(10))
    assert len(list(create_data_iterator(dataset, 4, drop_last=True))) == 2


def test_without_a_mesh_batches_stay_where_they_are() -> None:
    batch = {"n": np.arange(3)}
    assert ShardingSpec().apply(batch) is batch
    assert preshard_batch(batch, None) is batch


def test_an_iterator_gives_its_error_again_and_its_end() -> None:
    def fails_at_33(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == 33:
            raise ZeroDivisionError("33")
        return row

    rows = HFDatasetShardedSource([{"n": n} for n in range(60)])
    with AsyncDataLoader(rows.map(fails_at_33), 8) as loader:
        batches = iter(loader)
        assert [int(next(batches)["n"][0]) for _ in range(4)] == [0, 8, 16, 24]
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                next(batches)
        assert not loader.is_exhausted
    with AsyncDataLoader(rows, 20) as loader:
        batches = iter(loader)
        assert len(list(batches)) == 3
        assert loader.is_exhausted
        # The next epoch is another iterator's.
        assert next(batches, None) is None
        assert int(next(iter(loader))["n"][0]) == 0
