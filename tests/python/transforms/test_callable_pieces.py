"""A callable's block is worked on in pieces, whose rows are handed on as they are done."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.sources import JsonShardedSource, ParquetShardedSource, wrap_hf_dataset
from easydata.transforms import ExpandTransform, MapTransform
from small_data import Rows, jsonl

from easydata import AsyncDataLoader, ShardedDataSource

PIECE = 64
ROWS: Rows = [{"n": i, "text": f"row {i}"} for i in range(1000)]
Source = ShardedDataSource[Any]
Row = dict[str, Any]


class Twice(ExpandTransform):
    def __init__(self, look: Callable[[Row], Row]) -> None:
        self.look = look

    def __call__(self, example: Row) -> Iterator[Row]:
        yield self.look(example)
        yield example


WAYS: dict[str, Callable[[Source, Callable[[Row], Row]], Source]] = {
    "map": lambda source, look: source.map(look),
    "filter": lambda source, look: source.filter(lambda row: look(row)["n"] % 3 != 1),
    "expand": lambda source, look: source.transform(Twice(look)),
    "two callables": lambda source, look: (
        source.map(dict).select_fields(["n", "text"]).map(look).select_fields(["n"])
    ),
    "a map of what a filter leaves": lambda source, look: source.filter(
        lambda row: row["n"] % 4 > 0
    ).map(look),
    "drops": lambda source, look: source.transform(
        MapTransform(lambda row: look(row) if row["n"] % 5 else None)
    ),
}


def source_of(kind: str, folder: Path) -> Source:
    if kind == "memory":
        return wrap_hf_dataset(ROWS)
    path = folder / f"a.{kind}"
    if kind == "jsonl":
        if not path.exists():
            jsonl(str(path), ROWS)
        return JsonShardedSource(str(path))
    if not path.exists():
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    return ParquetShardedSource(str(path))


@pytest.mark.parametrize("kind", ["memory", "jsonl", "parquet"])
@pytest.mark.parametrize("way", WAYS)
def test_rows_come_before_their_block_is_done(tmp_path: Path, way: str, kind: str) -> None:  # M6
    has_batch = threading.Event()

    def look(row: Row) -> Row:
        # Later rows are not done before the first batch is out.
        assert row["n"] < PIECE or has_batch.wait(60), "no batch without the rest of the block"
        return row

    with AsyncDataLoader(WAYS[way](source_of(kind, tmp_path), look), 32) as loader:
        batches = iter(loader)
        numbers = next(batches)["n"].tolist()
        has_batch.set()
        numbers += itertools.chain.from_iterable(batch["n"].tolist() for batch in batches)
    assert numbers == [row["n"] for row in WAYS[way](wrap_hf_dataset(ROWS), dict)][: len(numbers)]
    assert len(numbers) > 600


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("way", WAYS)
def test_positions_between_pieces_are_gone_on_from(
    tmp_path: Path, way: str, kind: str, threads: int
) -> None:
    seen: list[int] = []

    def look(row: Row) -> Row:
        seen.append(row["n"])
        return row

    def loader() -> AsyncDataLoader:
        made = WAYS[way](source_of(kind, tmp_path), look)
        return AsyncDataLoader(made, 30, drop_last=False, num_threads=threads)

    states = []
    batches = []
    with loader() as whole:
        for batch in whole:
            batches.append(batch["n"].tolist())
            states.append(json.loads(json.dumps(whole.state_dict())))
    for step in range(0, len(states) - 1, 4):
        with loader() as again:
            seen.clear()  # a look at the first row tells which fields there are
            again.load_state_dict(states[step])
            assert [batch["n"].tolist() for batch in again] == batches[step + 1 :]
        # The pieces before that of the position are not worked on again.
        assert min(seen) > batches[step][-1] - 2 * PIECE


def test_states_do_not_depend_on_threads(tmp_path: Path) -> None:
    def states(threads: int) -> list[Any]:
        made = source_of("jsonl", tmp_path).map(dict)
        with AsyncDataLoader(made, 30, num_threads=threads) as loader:
            return [loader.state_dict() for _ in loader]

    assert states(1) == states(4)


def test_a_state_of_a_whole_block_is_gone_on_from(tmp_path: Path) -> None:
    """As they were saved before there were pieces: the block's start, and rows to skip."""
    made = source_of("jsonl", tmp_path).map(dict)
    with AsyncDataLoader(made, 30) as loader:
        batches = iter(loader)
        for _ in range(5):
            next(batches)
        state = loader.state_dict()
        expected = next(batches)["n"].tolist()
    assert state["cursor"]["in_batch"] + state["skip"] == 150
    state["skip"] = 150
    state["cursor"] = state["cursor"]["upstream"]
    with AsyncDataLoader(made, 30) as loader:
        loader.load_state_dict(state)
        assert next(iter(loader))["n"].tolist() == expected


def test_what_pyarrow_cannot_convert_is_an_error_of_its_piece_alone(tmp_path: Path) -> None:
    days = pa.array(list(range(1000)), pa.int32()).cast(pa.date32())
    late = pa.array([10_000_000], pa.int32()).cast(pa.date32())  # after the year 9999
    column = pa.chunked_array([pa.concat_arrays([days[:500], late, days[501:]])])
    numbers = pa.array(range(1000))
    pq.write_table(pa.table({"day": column, "n": numbers}), tmp_path / "days.parquet")
    source = ParquetShardedSource(tmp_path / "days.parquet")
    for made in (source.map(lambda row: {"n": row["n"]}), source.filter(lambda row: True)):
        for _ in range(3):
            rows = 0
            with AsyncDataLoader(made.select_fields(["n"]), 32) as loader:
                batches = iter(loader)
                for _ in range(500 // PIECE * PIECE // 32):
                    rows += len(next(batches)["n"])
                with pytest.raises((ValueError, OverflowError)):
                    next(batches)
            assert rows == 500 // PIECE * PIECE


def test_an_error_comes_after_the_rows_before_it_in_its_piece(tmp_path: Path) -> None:
    def fails(row: Row) -> Row:
        if row["n"] == 200:
            raise ZeroDivisionError
        return row

    taken = []

    def drain() -> None:
        with AsyncDataLoader(source_of("jsonl", tmp_path).map(fails), 1) as loader:
            for batch in loader:
                taken.extend(batch["n"].tolist())

    with pytest.raises(ZeroDivisionError) as caught:
        drain()
    assert taken == list(range(200))
    assert [note.endswith("a.jsonl row 200") for note in caught.value.__notes__] == [True]
