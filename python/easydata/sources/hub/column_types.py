"""The types that the features of a card give to columns, as `column_types` names them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

# So many rows tell what the columns of a CSV file are, as in `datasets`.
_LOOKED_AT = 10_000
_NAMED = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float", "double", "string",
}  # fmt: skip


def types_of_schema(schema: pa.Schema | None) -> dict[str, str]:
    """Types by the paths of columns, {"n": "int64", "m.b": "string"}.

    What has no name among them (times, bytes, decimals) is left as the files have it.
    """
    types: dict[str, str] = {}
    for column in schema or []:
        types.update(_named(column.name, column.type))
    return types


def _named(path: str, kind: Any) -> Iterator[tuple[str, str]]:
    import pyarrow as pa

    item = kind
    lists = 0
    while (
        pa.types.is_list(item) or pa.types.is_large_list(item) or pa.types.is_fixed_size_list(item)
    ):
        item = item.value_type
        lists += 1
    if pa.types.is_struct(item):
        for index in range(item.num_fields):
            inner = item.field(index)
            yield from _named(f"{path}.{inner.name}", inner.type)
        return
    name = "string" if pa.types.is_large_string(item) else str(item)
    if name in _NAMED:
        yield path, "list<" * lists + name + ">" * lists


def types_of_text(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Types of the columns of a CSV file, by its first rows, as pandas tells them.

    Whole numbers, numbers (also where values are missing), True and False; all else is text.
    """
    looked_at = list(itertools.islice(rows, _LOOKED_AT))
    columns = dict.fromkeys(name for row in looked_at for name in row)
    types = {name: _type_of_text([row.get(name) for row in looked_at]) for name in columns}
    return {name: kind for name, kind in types.items() if kind is not None}


def _type_of_text(values: list[Any]) -> str | None:
    import pyarrow as pa

    texts = pa.array([value or None for value in values], pa.string())
    if texts.null_count == len(texts):
        return None
    kinds = [("float64", pa.float64()), ("bool", pa.bool_())]
    if texts.null_count == 0:
        kinds.insert(0, ("int64", pa.int64()))
    for name, kind in kinds:
        try:
            texts.cast(kind)
        except pa.ArrowInvalid:
            continue
        return name
    return None
