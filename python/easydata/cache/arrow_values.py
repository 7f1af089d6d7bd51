"""Arrow's values as IPC streams, and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from easydata.cache.refusal import Refused, refusal

_COLUMN = "value"
# As docs/formats/cache_entries.md has them.
_TABLE, _BATCH, _CHUNKED, _ARRAY = b"Y", b"y", b"X", b"x"


def arrow_stream(value: Any) -> tuple[bytes, bytes]:
    """The tag of a table, batch or array, and its stream.

    Raises:
        Refused: It is something else, or of a type that another process may not know.
    """
    if type(value) is pa.Table:
        tag, schema, batches = _TABLE, value.schema, value.to_batches()
    elif type(value) is pa.RecordBatch:
        tag, schema, batches = _BATCH, value.schema, [value]
    elif isinstance(value, pa.ChunkedArray):
        tag, schema = _CHUNKED, pa.schema([(_COLUMN, value.type)])
        batches = [pa.record_batch([chunk], schema=schema) for chunk in value.chunks]
    elif isinstance(value, pa.Array):
        tag, schema = _ARRAY, pa.schema([(_COLUMN, value.type)])
        batches = [pa.record_batch([value], schema=schema)]
    else:
        raise refusal(value)
    for field in schema:
        for each in _types_within(field.type):
            if isinstance(each, pa.BaseExtensionType) and not each.extension_name.startswith(
                "arrow."
            ):
                raise Refused(
                    f"has the extension type {each.extension_name!r}, which another process may "
                    "not know: give its .storage"
                )
    sink = pa.BufferOutputStream()
    try:
        with pa.ipc.new_stream(sink, schema) as stream:
            for batch in batches:
                batch.validate(full=True)  # as it is when it is read
                stream.write_batch(batch)
    except pa.ArrowException as error:
        raise Refused(f"cannot be written as an Arrow stream: {error}") from None
    return tag, sink.getvalue().to_pybytes()


def arrow_value(tag: bytes, data: memoryview) -> Any:
    """What `arrow_stream()` was given."""
    # A copy of its own: values must not hold the bytes of all that came with them.
    with pa.ipc.open_stream(pa.py_buffer(bytes(data))) as stream:
        schema = stream.schema
        batches = list(stream)
    for batch in batches:
        batch.validate(full=True)  # somebody may have made it up
    if tag == _TABLE:
        return pa.Table.from_batches(batches, schema)
    if tag == _CHUNKED:
        return pa.chunked_array([each.column(0) for each in batches], schema.field(0).type)
    (batch,) = batches
    return batch if tag == _BATCH else batch.column(0)


def _types_within(kind: pa.DataType) -> Iterator[pa.DataType]:
    yield kind
    if isinstance(kind, pa.BaseExtensionType):
        yield from _types_within(kind.storage_type)
    elif isinstance(kind, pa.DictionaryType):
        yield from _types_within(kind.value_type)
    else:
        for index in range(kind.num_fields):
            yield from _types_within(kind.field(index).type)
