"""take, skip, head, select, source[i] and slices give the rows that a list of all rows gives."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from easydata.sources import JsonShardedSource, ParquetShardedSource
from easydata.sources.sharded_source import ShardedDataSource

from easydata import (
    AsyncDataLoader,
    CompositeShardedSource,
    MixedShardedSource,
    wrap_hf_dataset,
)

Row = dict[str, Any]


@pytest.fixture(params=["json", "parquet", "list", "table", "mapped"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> ShardedDataSource[Row]:
    rows = [{"n": n, "text": f"t{n}"} for n in range(40)]
    kind = request.param
    if kind == "list":
        return wrap_hf_dataset(rows)
    if kind == "table":
        return wrap_hf_dataset(pa.Table.from_pylist(rows))
    for shard, (begin, end) in enumerate([(0, 15), (15, 15), (15, 40)]):
        if kind == "parquet":
            table = pa.Table.from_pylist(
                rows[begin:end], pa.schema([("n", "int64"), ("text", "string")])
            )
            pq.write_table(table, tmp_path / f"{shard}.parquet", row_group_size=4)
        else:
            text = "".join(json.dumps(row) + "\n" for row in rows[begin:end])
            (tmp_path / f"{shard}.jsonl").write_text(text)
    if kind == "parquet":
        return ParquetShardedSource(str(tmp_path))
    files = JsonShardedSource(str(tmp_path))
    return files.map(doubled) if kind == "mapped" else files


def doubled(row: Row) -> Row:
    return {**row, "n": row["n"] * 2}


def test_ranges(source: ShardedDataSource[Row]) -> None:
    rows = list(source)
    assert len(rows) == 40
    for begin, end in [(0, 3), (0, 40), (0, 99), (7, 20), (15, 16), (39, 40), (40, 41), (3, 3)]:
        chosen = source[begin:end]
        assert list(chosen) == rows[begin:end]
        assert len(chosen) == len(rows[begin:end])
        assert list(chosen.open_shard_at_row("rows", 2)) == rows[begin:end][2:]
        if end > begin and begin < 40:
            assert list(loaded_rows(chosen)) == rows[begin:end]
    assert list(source.take(5)) == rows[:5] == source.head()
    assert source.head(3) == rows[:3]
    assert list(source.skip(30)) == list(loaded_rows(source.skip(30))) == rows[30:]
    assert list(source.skip(5).take(10).skip(2).take(4)) == rows[7:11]
    assert list(source.take(10).take(99)) == rows[:10]
    for part in (
        slice(-3, None),
        slice(None, -38),
        slice(-5, -2),
        slice(3, 20, 4),
        slice(None, None, -9),
    ):
        assert list(source[part]) == rows[part]


def test_numbers(source: ShardedDataSource[Row]) -> None:
    rows = list(source)
    rng = random.Random(1)
    numbers = [rng.randrange(-40, 40) for _ in range(60)]
    chosen = source.select(numbers)
    expected = [rows[number] for number in numbers]
    assert list(chosen) == list(loaded_rows(chosen)) == expected
    assert len(chosen) == 60
    assert list(chosen.select([5, 1])) == [expected[5], expected[1]]
    assert list(source.skip(10).select([0, -1])) == [rows[10], rows[-1]]
    assert [source[n] for n in (0, 14, 15, 39, -1, -40)] == [
        rows[n] for n in (0, 14, 15, 39, -1, -40)
    ]
    assert list(source.select([])) == []
    for wrong in (40, -41):
        with pytest.raises(IndexError, match=f"there is no row {wrong}: the source has 40"):
            source[wrong]
        with pytest.raises(IndexError):
            source.select([0, wrong])


def test_numbers_are_of_datasets_rows() -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"n": list(range(20))})
    source = wrap_hf_dataset(data)
    assert list(source.select([3, 1, 1])) == list(data.select([3, 1, 1]))
    assert list(source.skip(3).take(2)) == list(data.skip(3).take(2))
    assert source[-1] == data[-1]


def test_a_stream_goes_on_where_it_was(source: ShardedDataSource[Row]) -> None:
    for chosen in (source[7:33], source.select([*range(30, 5, -1)])):
        expected = list(chosen)
        with AsyncDataLoader(chosen, 4, drop_last=False) as loader:
            batches = iter(loader)
            next(batches), next(batches)
            state = loader.state_dict()
        with AsyncDataLoader(chosen, 4, drop_last=False) as loader:
            loader.load_state_dict(state)
            rest = [n for batch in loader for n in batch["n"]]
        assert rest == [row["n"] for row in expected[8:]]
        with (
            AsyncDataLoader(source, 4, drop_last=False) as loader,
            pytest.raises(ValueError, match="state"),
        ):
            loader.load_state_dict(state)


def test_shuffled_and_in_lanes(source: ShardedDataSource[Row]) -> None:
    expected = sorted(row["n"] for row in list(source)[7:33])
    for chosen in (source[7:33], source.select(range(7, 33))):
        shuffled = [row["n"] for row in loaded_rows(chosen.shuffle("rows", seed=3))]
        assert sorted(shuffled) == expected != shuffled
        if type(source).__name__ == "HFDatasetShardedSource":
            continue
        lanes = []
        for rank in range(2):
            with AsyncDataLoader(chosen, 2, rank=rank, world_size=2, drop_last=False) as loader:
                lanes += [n for batch in loader for n in batch["n"]]
        assert sorted(lanes) == expected


def test_what_is_no_choice_says_what_is(source: ShardedDataSource[Row]) -> None:
    with pytest.raises(ValueError, match=r"take\(\) takes a number of rows from 0 on, not -1"):
        source.take(-1)
    with pytest.raises(TypeError, match=r"skip\(\) takes a number of rows, not str"):
        source.skip("3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"\[row\['text'\] for row in source.head\(3\)\]"):
        source["text"]  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"filter\(\) does"):
        source.select([True, False])
    with pytest.raises(TypeError, match=r"source.select\(\[...\]\)"):
        source[[1, 2]]  # type: ignore[call-overload]


def test_rows_that_are_not_counted(source: ShardedDataSource[Row]) -> None:
    odd = source.filter(lambda row: row["n"] % 4 == 0)
    rows = list(odd)
    assert odd.head(3) == rows[:3]
    assert list(odd[2:5]) == list(loaded_rows(odd[2:5])) == rows[2:5]
    with pytest.raises(TypeError, match=r"count them by sum\(1 for _ in source\)"):
        len(odd)
    with pytest.raises(TypeError, match=r"take\(\), skip\(\), head\(\)"):
        odd.select([1])
    with pytest.raises(TypeError, match=r"one row after the other|one by one"):
        odd[1]
    mixed = MixedShardedSource({"a": source, "b": source}, stop_strategy="restart", seed=1)
    picked = [row["n"] for row in mixed.take(7)]
    assert picked == [row["n"] for row in mixed.head(7)]
    assert len(picked) == 7
    assert [row["n"] for row in loaded_rows(mixed.skip(3).take(4))] == picked[3:]


def test_rows_of_composites_by_their_numbers(tmp_path: Path) -> None:
    rows = [{"n": n, "text": f"t{n}"} for n in range(40)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:15]))
    pq.write_table(pa.Table.from_pylist(rows[15:30]), tmp_path / "b.parquet", row_group_size=4)
    both = CompositeShardedSource(
        [
            JsonShardedSource(str(tmp_path / "a.jsonl")),
            ParquetShardedSource(str(tmp_path / "b.parquet")),
            wrap_hf_dataset(rows[30:]),
        ]
    )
    assert both.head(3) == rows[:3]
    assert list(both[13:33]) == rows[13:33]
    assert list(both[-12:]) == rows[-12:]
    numbers = [39, 0, 14, 15, 15, 29, 30, -1, 3, 2]
    chosen = both.select(numbers)
    expected = [rows[number] for number in numbers]
    assert list(chosen) == list(loaded_rows(chosen)) == expected
    assert len(chosen) == 10
    assert [both[n] for n in (0, 15, 39, -25)] == [rows[n] for n in (0, 15, 39, -25)]
    assert list(both.select([])) == []
    assert list(chosen.select([9, 0])) == [expected[9], expected[0]]
    assert list(both.map(doubled).select([31, 1])) == [doubled(rows[31]), doubled(rows[1])]
    with pytest.raises(IndexError, match="there is no row 40: the source has 40"):
        both.select([40])
    with pytest.raises(ValueError, match=r"1999 times.*sort them, or select from each source"):
        both.select([0, 39] * 1000)
    assert len(both.select(sorted([0, 39] * 1000))) == 2000
    uncounted = CompositeShardedSource([both, both.filter(lambda row: row["n"] > 3)])
    with pytest.raises(TypeError, match="which select"):
        uncounted.select([0])
    assert list(uncounted[38:42]) == [*rows[38:], *rows[4:6]]


def test_rows_of_mixes_come_one_after_the_other(tmp_path: Path) -> None:
    rows = [{"n": n} for n in range(20)]
    options: dict[str, Any] = {"block_size": 4, "seed": 1, "stop_strategy": "first_exhausted"}
    mix = MixedShardedSource({"a": rows[:10], "b": rows[10:]}, [0.5, 0.5], **options)
    mixed = list(mix)
    assert mix.head(3) == mixed[:3]
    assert list(mix[2:7]) == mixed[2:7]
    with pytest.raises(TypeError, match=r"a mix draws its rows.*head\(\) and source\[i:j\]"):
        mix.select([0])
    with pytest.raises(TypeError, match="a mix draws its rows"):
        mix[0]
