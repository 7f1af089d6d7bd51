"""Names of columns that are no text: an error with the file, not one of Python's codecs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import easydata


def write_arrow(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


KINDS: list[tuple[str, Callable[[Path, pa.Table], None], type[easydata.ShardedDataSource]]] = [
    ("a.arrow", write_arrow, easydata.ArrowShardedSource),
    ("a.parquet", lambda path, table: pq.write_table(table, path), easydata.ParquetShardedSource),
]
TABLES = {
    "column": pa.table({"n": [1, 2], "column_one": ["a", "b"]}),
    "member": pa.table({"n": [1, 2], "s": [{"column_one": 1}, {"column_one": 2}]}),
}


@pytest.mark.parametrize(("name", "write", "source"), KINDS, ids=lambda kind: str(kind)[:9])
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_damaged_name_of_a_column(
    tmp_path: Path,
    name: str,
    write: Callable[[Path, pa.Table], None],
    source: type[easydata.ShardedDataSource],
    table: pa.Table,
) -> None:
    path = tmp_path / name
    write(path, table)
    data = path.read_bytes()
    assert b"column_one" in data
    path.write_bytes(data.replace(b"column_one", b"column\xff\xfene"))
    with pytest.raises((ValueError, OSError), match=r"column\\xff\\xfene") as failed:
        list(source(str(path)))
    assert str(path) in str(failed.value)
    assert not isinstance(failed.value, UnicodeError)
