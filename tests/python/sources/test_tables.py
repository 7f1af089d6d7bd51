"""Tables as data: the rows are those of the library that the table is of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows

from easydata import AsyncDataLoader, DatasetConfig, create_source, save_dataset, wrap_hf_dataset

COLUMNS: dict[str, list[Any]] = {
    "text": [f"text {n}" if n % 7 else None for n in range(3000)],
    "n": list(range(3000)),
    "score": [n / 8 for n in range(3000)],
    "ids": [list(range(n % 5)) for n in range(3000)],
}
ROWS = pa.table(COLUMNS).to_pylist()


def of_pandas() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(COLUMNS)


def of_polars() -> Any:
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def of_duckdb() -> Any:
    duckdb = pytest.importorskip("duckdb")
    made = pa.table(COLUMNS)
    assert made.num_rows == 3000
    return duckdb.sql("select * from made order by n")


class Capsule:
    """What hands out Arrow and is nothing else."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


def dataset_of(folder: Path) -> pads.Dataset:
    for part in range(3):
        table = pa.table(COLUMNS).slice(part * 1000, 1000)
        pq.write_table(table, folder / f"{part}.parquet", row_group_size=300)
    return pads.dataset(folder)


MAKERS: dict[str, Callable[[], Any]] = {
    "pandas": of_pandas,
    "polars": of_polars,
    "duckdb": of_duckdb,
    "table": lambda: pa.table(COLUMNS),
    "batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "reader": lambda: pa.table(COLUMNS).to_reader(100),
    "capsule": Capsule,
    "dict": lambda: COLUMNS,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_rows_everywhere_that_data_are_taken(kind: str, tmp_path: Path) -> None:
    make = MAKERS[kind]
    assert list(wrap_hf_dataset(make())) == ROWS
    assert list(create_source(DatasetConfig(data_files=make(), name="t"))) == ROWS
    save_dataset(make(), str(tmp_path / "out"))
    assert pq.ParquetDataset(str(tmp_path / "out")).read().to_pylist() == ROWS
    with AsyncDataLoader(make(), 64, drop_last=False) as loader:
        assert [n for batch in loader for n in batch["n"]] == COLUMNS["n"]


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "reader"])
def test_a_table_is_shuffled_counted_and_gone_on_with(kind: str) -> None:
    source = wrap_hf_dataset(MAKERS[kind]())
    assert len(source) == 3000
    assert source[2999] == ROWS[2999]
    assert list(source.select([5, 1, 5])) == [ROWS[5], ROWS[1], ROWS[5]]
    shuffled = list(source.shuffle("rows", seed=1))
    assert shuffled != ROWS
    assert sorted(row["n"] for row in shuffled) == COLUMNS["n"]
    with AsyncDataLoader(source.shuffle(seed=2), 100) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        expected = [n for batch in batches for n in batch["n"]]
    with AsyncDataLoader(source.shuffle(seed=2), 100) as loader:
        loader.load_state_dict(state)
        assert [n for batch in loader for n in batch["n"]] == expected
    other = wrap_hf_dataset(pa.table({"n": [1]}))
    with (
        AsyncDataLoader(other.shuffle(seed=2), 100) as loader,
        pytest.raises(ValueError, match=r"rows|columns"),
    ):
        loader.load_state_dict(state)


def test_a_dataset_of_pyarrow(tmp_path: Path) -> None:
    data = dataset_of(tmp_path)
    source = wrap_hf_dataset(data)
    assert list(source) == list(loaded_rows(source)) == ROWS == list(source)
    assert len(source) == 3000
    assert list(source.open_shard_at_row("arrow:0", 1500)) == ROWS[1500:]
    few = wrap_hf_dataset(data.filter(pads.field("n") > 2500))
    assert list(few) == ROWS[2501:]
    scanned = wrap_hf_dataset(data.scanner(columns=["n"]))
    assert [row["n"] for row in scanned] == COLUMNS["n"]
    with AsyncDataLoader(source, 50) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        expected = [n for batch in batches for n in batch["n"]]
    with AsyncDataLoader(source, 50) as loader:
        loader.load_state_dict(state)
        assert [n for batch in loader for n in batch["n"]] == expected


def test_a_reader_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Little of it is kept for those who look at it before.
    monkeypatch.setattr("easydata.sources.tables._KEPT_BYTES", 1)
    table = pa.table(COLUMNS)
    asked = []

    def batches() -> Any:
        for batch in table.to_batches(100):
            asked.append(batch.num_rows)
            yield batch

    source = wrap_hf_dataset(pa.RecordBatchReader.from_batches(table.schema, batches()))
    assert source.head(3) == ROWS[:3]
    assert len(asked) < 30, "a look must not read all"
    with pytest.raises(TypeError, match=r"reader.read_all\(\)"):
        len(source)
    source = wrap_hf_dataset(table.to_reader(100))
    assert list(source) == ROWS
    with pytest.raises(ValueError, match=r"can be read once, and this one was: .*pyarrow.dataset"):
        list(source)


def test_indices_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a", "b", "c"]})
    assert list(wrap_hf_dataset(frame[frame.text != "a"])) == [{"text": "b"}, {"text": "c"}]
    named = frame.set_index(pandas.Index([7, 8, 9], name="id"))
    assert next(iter(wrap_hf_dataset(named))) == {"id": 7, "text": "a"}


def test_columns_of_numpy_and_categories() -> None:
    source = wrap_hf_dataset({"ids": np.arange(6).reshape(3, 2), "n": np.array([1.5, 2, 3])})
    assert list(source) == [{"ids": [2 * n, 2 * n + 1], "n": x} for n, x in enumerate([1.5, 2, 3])]
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"c": ["x", "y", None], "views": [["a"], [], None]})
    frame = frame.with_columns(polars.col("c").cast(polars.Categorical))
    source = wrap_hf_dataset(frame)
    assert list(source) == list(loaded_rows(source)) == frame.to_dicts()


def test_what_is_no_table_says_what_to_give(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = pandas.DataFrame({"a": [1, "x"]})
    cases = [
        (pandas.Series([1]), TypeError, r'series.to_frame\("text"\)'),
        (polars.LazyFrame({"a": [1]}), TypeError, r"what collect\(\) returns"),
        (polars.Series("a", [1]), TypeError, r"one column"),
        (np.zeros(3), TypeError, r'\{"input_ids": array\}'),
        (frame, TypeError, r"column a .*list of dicts"),
        ({"a": [1, "x"]}, TypeError, r"column 'a'"),
        ({"a": [1, 2], "b": [1]}, ValueError, r"'a' has 2, 'b' has 1"),
        ({"a": 1}, TypeError, r"one row is given as \[row\]"),
        ({"train": [{"a": 1}]}, TypeError, r"choose one of its splits \(train\)"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, r"column 'a' twice"),
        (pa.table({}), ValueError, r"no columns"),
        (17, TypeError, r"expected data: a table .*got int"),
    ]
    for data, error, match in cases:
        with pytest.raises(error, match=match):
            wrap_hf_dataset(data)
