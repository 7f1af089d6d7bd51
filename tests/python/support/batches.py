"""Batches: comparing them to the bit, and joining those of several ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from easydata import AsyncDataLoader, ShardedDataSource

Batch = dict[str, Any]
END = "end of a pass"


def difference(left: Sequence[Batch | str], right: Sequence[Batch | str]) -> str | None:
    """Where two lists of events (batches, ends of passes, errors) are not the same, to the bit."""
    if len(left) != len(right):
        return f"{len(left)} events, and {len(right)}"
    for index, (one, other) in enumerate(zip(left, right, strict=True)):
        if isinstance(one, str) or isinstance(other, str):
            if one is not other and one != other:
                return f"event {index}: {one!r}, and {other!r}"
            continue
        if one.keys() != other.keys():
            return f"event {index}: columns {list(one)}, and {list(other)}"
        for name in one:
            if not same_column(one[name], other[name]):
                return f"event {index}, column {name!r}:\n{one[name]!r}\n{other[name]!r}"
    return None


def same_column(one: Any, other: Any) -> bool:
    if isinstance(one, list) or isinstance(other, list):
        return bool(type(one) is type(other) and one == other)
    return bool(one.dtype == other.dtype and np.array_equal(one, other))


def loaded_rows(source: ShardedDataSource[Any], **options: Any) -> Iterator[dict[str, Any]]:
    """The rows of a source as a loader gives them, one by one: what the engine makes of it."""
    with AsyncDataLoader(source, batch_size=1, drop_last=False, **options) as loader:
        for batch in loader:
            yield {
                name: column[0] if isinstance(column, list) else column[0].tolist()
                for name, column in batch.items()
            }


def rows_in(batch: Batch) -> int:
    return len(next(iter(batch.values())))


def joined(parts: Sequence[Batch]) -> Batch:
    """The ranks' shares of a step as one batch."""
    assert all(part.keys() == parts[0].keys() for part in parts)
    made: Batch = {}
    for name, first in parts[0].items():
        columns = [part[name] for part in parts]
        made[name] = (
            [value for column in columns for value in column]
            if isinstance(first, list)
            else np.concatenate(columns)
        )
    return made


def first_rows(batch: Batch, count: int) -> Batch:
    return {name: column[:count] for name, column in batch.items()}
