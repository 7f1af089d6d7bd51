"""Sources as datasets of Hugging Face's `datasets`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.sources.rows_in_shards import RowsInShards

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa


def rows_of_shards(source: RowsInShards[Any], shards: list[str]) -> Iterator[Any]:
    """The rows of some shards, with labels as torch's losses want them."""
    import numpy as np

    for shard in shards:
        for row in source.open_shard(shard):
            labels = row.get("labels") if isinstance(row, Mapping) else None
            if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
                row = {**row, "labels": labels.astype(np.int64)}
            yield row


def features_of(source: RowsInShards[Any]) -> datasets.Features | None:
    """The columns of a source as `datasets` knows them; None where it must not be told.

    It brings rows into the form of features that it has, which is to change none.
    """
    import datasets
    import pyarrow as pa

    if source._plan.column_names() is None:
        return None
    schema = _native.schema_of(source._stream())

    def is_plain(kind: pa.DataType) -> bool:
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return is_plain(kind.value_type)
        return bool(
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_string(kind)
            or pa.types.is_large_string(kind)
        )

    if any(field.metadata or not is_plain(field.type) for field in schema):
        return None
    return datasets.Features.from_arrow_schema(schema)
