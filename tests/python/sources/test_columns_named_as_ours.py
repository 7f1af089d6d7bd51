"""Files whose columns have names, or metadata, that EasyData gives to columns of its own."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet
import pytest

from easydata import (
    ArrowShardedSource,
    AsyncDataLoader,
    MixedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    save_dataset,
    wrap_hf_dataset,
)

ROWS = 12
NUMBERS = list(range(ROWS))
TEXTS = ["x", '{"a": 1}', "[1, 2]", '"y"'] * 3
COLUMNS = {
    "numbers": pa.array(NUMBERS),
    "texts": pa.array(TEXTS),
    "large texts": pa.array(TEXTS, pa.large_string()),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "objects": pa.array([{"n": n} for n in NUMBERS]),
}


def sources_of(table: pa.Table, folder: Path) -> list[ShardedDataSource[dict[str, Any]]]:
    pa.parquet.write_table(table, folder / "a.parquet")
    pa.feather.write_feather(table, str(folder / "a.arrow"), compression="uncompressed")
    return [
        ParquetShardedSource(str(folder / "a.parquet")),
        ArrowShardedSource(str(folder / "a.arrow")),
        wrap_hf_dataset(table),
    ]


def loaded(source: ShardedDataSource[dict[str, Any]], column: str) -> list[Any]:
    with AsyncDataLoader(source, batch_size=4) as loader:
        return [value for batch in loader for value in list(batch[column])]


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", ["__row__", "__refused__", "__rest__"])
def test_a_column_of_our_name_is_a_column(tmp_path: Path, name: str, kind: str) -> None:
    table = pa.table({"text": ["t"] * ROWS, name: COLUMNS[kind]})
    rows = table.to_pylist()
    for source in sources_of(table, tmp_path):
        assert list(source) == rows
        assert list(source.map(lambda row: row)) == rows
        assert list(source.filter(lambda row: True)) == rows
        assert source.head(1) == rows[:1]
        assert loaded(source, name) == [row[name] for row in rows]
        save_dataset(source, str(tmp_path / "saved"), format="parquet", overwrite=True)
        assert list(ParquetShardedSource(str(tmp_path / "saved/*.parquet"))) == rows


@pytest.mark.parametrize("kind", ["numbers", "texts", "large texts"])
def test_it_is_one_beside_rows_without_columns_too(tmp_path: Path, kind: str) -> None:
    table = pa.table({"text": ["t"] * ROWS, "__row__": COLUMNS[kind]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    typed = ParquetShardedSource(str(tmp_path / "a.parquet"))
    made = typed.map(lambda row: {"text": "made", "n": [1, "a"]})
    mixed = MixedShardedSource({"typed": typed, "made": made}, stop_strategy="all_exhausted")
    read = [row for row in mixed if row["text"] == "t"][:ROWS]
    assert [(row["text"], row["__row__"]) for row in read] == [
        ("t", v) for v in COLUMNS[kind].to_pylist()
    ]
    save_dataset(typed, str(tmp_path / "lines"), format="jsonl")
    [path] = (tmp_path / "lines").glob("*.jsonl")
    assert pa.json.read_json(path).num_rows == ROWS


@pytest.mark.parametrize("kind", ["large texts", "dictionary", "numbers"])
def test_metadata_of_json_on_other_columns_means_nothing(tmp_path: Path, kind: str) -> None:
    column = COLUMNS[kind]
    marked = pa.field("meta", column.type, metadata={"easydata.json": "1"})
    table = pa.table([column], schema=pa.schema([marked]))
    for source in sources_of(table, tmp_path):
        assert list(source) == table.to_pylist()
        assert loaded(source, "meta") == column.to_pylist()


def test_an_object_with_two_members_of_one_name_loses_none(tmp_path: Path) -> None:
    column = pa.StructArray.from_arrays(
        [pa.array(["a"] * 4), pa.array(["b"] * 4)], names=["x", "x"]
    )
    pa.feather.write_feather(pa.table({"both": column}), str(tmp_path / "a.arrow"))
    source = ArrowShardedSource(str(tmp_path / "a.arrow"))
    with pytest.raises(ValueError, match="duplicate field names"):
        list(source)
    with pytest.raises(ValueError, match="duplicate field names"):
        loaded(source, "both")
