"""Tables that people have, as Arrow: of pandas, polars, DuckDB, dicts of columns, and Arrow."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from easydata.sources.read_once import ReadOnce

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.dataset as ds
    from numpy.typing import NDArray

    Arrow: TypeAlias = "pa.Table | BatchesOnce | ds.Dataset"

# Of what can be read once, so much is kept for whoever looks at it before it is read.
_KEPT_BYTES = 64 << 20
_SPLITS = ("train", "training", "validation", "valid", "val", "dev", "test", "testing", "eval")


def arrow_of(data: Any) -> Arrow | None:
    """What a table is in Arrow; None for what is no table.

    A table keeps its memory where it can. pandas' index is a column where it has a name, and is
    left out otherwise. A relation of DuckDB is run, and any other stream of Arrow's read, into
    memory, but for a `RecordBatchReader`, which is read once, as the rows are asked for.

    Raises:
        TypeError: It is no whole table yet, or no column of Arrow's can hold what a column has.
        ValueError: It has no columns, two of one name, or some of other lengths.
    """
    found = _kind_of(data)
    if found in _HALF_TABLES:
        raise TypeError(f"{found[0]}.{found[1]} is no table: {_HALF_TABLES[found]}")
    if found == ("pandas", "DataFrame"):
        return _checked(_of_pandas(data))
    if _is_dict_of_columns(data):
        return _checked(_of_columns(data))
    return _of_arrow(data)


_HALF_TABLES = {
    ("pandas", "Series"): 'it is one column; give it a name, series.to_frame("text")',
    ("polars", "Series"): 'it is one column; give it a name, series.alias("text").to_frame()',
    ("polars", "LazyFrame"): "it is yet to be computed; give what collect() returns",
    ("pyarrow", "Array"): 'it is one column; give it a name, {"text": array}',
    ("pyarrow", "ChunkedArray"): 'it is one column; give it a name, {"text": array}',
    ("numpy", "ndarray"): 'it is one column; give it a name, {"input_ids": array}',
}
_KINDS = {*_HALF_TABLES, ("pandas", "DataFrame"), ("polars", "DataFrame")}


def _kind_of(data: Any) -> tuple[str, str]:
    """The library and the name of a type of theirs, without importing one."""
    for base in type(data).__mro__:
        found = (base.__module__.split(".")[0], base.__name__)
        if found in _KINDS:
            return found
    return "", ""


def _of_arrow(data: Any) -> Arrow | None:
    """What is Arrow's, or hands it out."""
    is_pyarrow = type(data).__module__.split(".")[0] == "pyarrow"
    has_capsule = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    if not (is_pyarrow or has_capsule):
        return None
    import pyarrow as pa

    if isinstance(data, pa.RecordBatchReader):
        return BatchesOnce(data)
    if is_pyarrow and hasattr(data, "to_batches") and not has_capsule:
        import pyarrow.dataset as ds

        if isinstance(data, ds.Dataset):
            check_columns(data.schema.names)
            return data
        return BatchesOnce(data.to_reader()) if isinstance(data, ds.Scanner) else None
    if not has_capsule:
        return None
    try:
        return _checked(pa.table(data))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(
            f"{type(data).__name__} hands out Arrow data that are no table: {error}"
        ) from error


def _of_pandas(frame: Any) -> pa.Table:
    import pyarrow as pa

    check_columns([str(name) for name in frame.columns])
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"the DataFrame {_cannot_be_held(error)}") from error


def _cannot_be_held(error: Exception) -> str:
    return (
        "has a column whose values are of no one type: "
        + "; ".join(str(part) for part in error.args)
        + "; give it one type, or give the rows as a list of dicts, whose fields may differ"
    )


def _is_dict_of_columns(data: Any) -> bool:
    """Whether it is a dict of columns, and none of datasets."""
    if not isinstance(data, Mapping) or not data:
        return False
    of_data = ("column_names", "columns", "open_shard")
    if any(hasattr(value, name) for value in data.values() for name in of_data):
        return False
    for name, value in data.items():
        is_rows = isinstance(value, Sequence) and len(value) > 0 and isinstance(value[0], Mapping)
        if str(name).lower() in _SPLITS and is_rows:
            return False
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
            raise TypeError(
                f"the dict of columns has {type(value).__name__} as {name!r}, where a column is a "
                "list, or an array; one row is given as [row]"
            )
    return True


def _of_columns(columns: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            "the columns are of different lengths: "
            + ", ".join(f"{name!r} has {rows}" for name, rows in lengths.items())
        )
    arrays = {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise TypeError(f"a column is named by text, not by {name!r}")
        try:
            arrays[name] = _column(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise TypeError(f"the dict {_cannot_be_held(error)} (column {name!r})") from error
    return pa.table(arrays)


def _column(values: Any) -> Any:
    import pyarrow as pa

    has_capsule = hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")
    if hasattr(values, "__array__") and not has_capsule:  # of torch and JAX, too
        import numpy as np

        values = np.asarray(values)
    if getattr(values, "ndim", 1) == 2 and hasattr(values, "reshape"):  # one list a row
        flat = pa.array(values.reshape(-1))
        lists = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        return lists.cast(pa.list_(flat.type))
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    return pa.array(values)


def check_columns(names: Sequence[str]) -> None:
    """Raises ValueError where there are no columns, or two of one name."""
    if not names:
        raise ValueError("the table has no columns")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(
            f"the table has column {twice[0]!r} twice: a row is a dict, and would lose one; rename "
            "one of them"
        )


def _checked(table: pa.Table) -> pa.Table:
    """The table in types that files have, too."""
    check_columns(table.column_names)
    return stored(table)


def stored(data: Any) -> Any:
    """A table, or a batch, without metadata, and with views as what they show."""
    schema = stored_schema(data.schema)
    if data.schema.types == schema.types:
        return type(data).from_arrays(data.columns, schema=schema)
    columns = [
        _stored_column(column, kind)
        for column, kind in zip(data.columns, schema.types, strict=True)
    ]
    return type(data).from_arrays(columns, schema=schema)


def _stored_column(column: Any, kind: pa.DataType) -> Any:
    import pyarrow as pa

    if column.type == kind or not pa.types.is_dictionary(kind):
        return column if column.type == kind else column.cast(kind)
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_stored_column(chunk, kind) for chunk in column.chunks], kind)
    # Arrow casts no dictionary of views.
    values = column.dictionary.cast(kind.value_type)
    return pa.DictionaryArray.from_arrays(column.indices, values, ordered=kind.ordered)


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of a table in types that files have."""
    import pyarrow as pa

    return pa.schema(
        [field.with_type(_stored_type(field.type)).remove_metadata() for field in schema]
    )


def _stored_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _stored_type(kind.value_type), kind.ordered)
    if pa.types.is_list(kind):
        return pa.list_(_stored_type(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_stored_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_stored_type(field.type)) for field in kind])
    return kind


def digest_of(numbers: Any) -> str:
    """A hash of row numbers."""
    import numpy as np

    data = np.asarray(numbers, np.int64).tobytes()
    return hashlib.blake2b(data, digest_size=8).hexdigest()


class TableRows:
    """A table as rows that are numbered.

    Args:
        table: The table.
        numbers: Which of its rows, in which order; None: all.
    """

    def __init__(self, table: pa.Table, numbers: NDArray[np.int64] | None = None) -> None:
        self.table = table
        self._numbers = numbers

    def __len__(self) -> int:
        return int(self.table.num_rows if self._numbers is None else len(self._numbers))

    def __getitem__(self, key: Any) -> Any:
        import numpy as np

        if not isinstance(key, slice):
            return self.table.take(self._of(np.asarray(key, np.int64)))
        start, stop, _ = key.indices(len(self))
        if self._numbers is None:
            return self.table.slice(start, stop - start)
        return self.table.take(self._numbers[start:stop])

    def _of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of rows of the table."""
        return numbers if self._numbers is None else self._numbers[numbers]

    @property
    def digest(self) -> str | None:
        """What tells the choice of rows from others; None where all are chosen."""
        return None if self._numbers is None else digest_of(self._numbers)

    def with_format(self, form: str) -> TableRows:
        """Itself: it has one form."""
        return self

    def select(self, numbers: Sequence[int] | NDArray[np.int64]) -> TableRows:
        """The rows of these numbers, which are taken as they are read."""
        import numpy as np

        return TableRows(self.table, self._of(np.asarray(numbers, np.int64)))


class BatchesOnce:
    """Batches that can be read once, but for the first of them, which others may look at before.

    Args:
        reader: Where they come from.
    """

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        check_columns(reader.schema.names)
        self.schema = stored_schema(reader.schema)
        self._batches = ReadOnce(
            map(stored, reader),
            lambda batch: int(batch.nbytes),
            _KEPT_BYTES,
            "a RecordBatchReader can be read once, and this one was: give what can be read "
            "again, as a table (reader.read_all()), a pyarrow.dataset, or files",
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All batches, as often as they are kept."""
        return iter(self._batches)


def batches_from(batches: Iterator[pa.RecordBatch], row: int) -> Iterator[pa.RecordBatch]:
    """The batches from a row on."""
    for batch in batches:
        if row < batch.num_rows:
            yield batch.slice(row)
        row = max(0, row - batch.num_rows)
