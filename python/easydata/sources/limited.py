"""Sources that are cut off after some rows."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.sources.rows_in_shards import ShardInfo
from easydata.sources.sharded_source import ShardedDataSource, WrapperSource
from easydata.transforms.base import Example

# What saved states call it, wherever it lies.
_KIND = "easydata.transforms.source.LimitedShardedSource"


class LimitedShardedSource(WrapperSource[Example]):
    """The first `max_rows` rows of a source, over its shards in order.

    Rows are counted where they come out: downstream of a filter, a limit of 6 gives 6 rows if there
    are 6.
    """

    def __init__(self, source: ShardedDataSource[Any], max_rows: int) -> None:
        """Wraps a source; raises ValueError for a negative limit."""
        if max_rows < 0:
            raise ValueError(f"max_rows must not be negative, got {max_rows}")
        self._inputs = (source,)
        self._max_rows = max_rows
        self._counts: list[int] = []
        self._lock = threading.Lock()

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
        """The rows of a shard from `row` on that lie within the limit."""
        allowed = self._allowed(shard_name)
        if row >= allowed:
            return iter(())
        return itertools.islice(self.source.open_shard_at_row(shard_name, row), allowed - row)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard, rows beyond the limit left out."""
        info = self.source.get_shard_info(shard_name)
        if info is None or info.num_rows is None:
            return info
        return dataclasses.replace(info, num_rows=min(info.num_rows, self._allowed(shard_name)))

    def __len__(self) -> int:
        total = 0
        for index in range(self.num_shards()):
            total += self._count(index, self._max_rows - total)
            if total >= self._max_rows:
                return self._max_rows
        return total

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self.source, self._max_rows), {}

    def _allowed(self, shard_name: str) -> int:
        """How many rows of a shard lie within the limit, if it has that many."""
        left = self._max_rows
        for index, name in enumerate(self.shard_names):
            if name == shard_name:
                return left
            left -= self._count(index, left)
            if left <= 0:
                return 0
        raise _native.MissingKey(f"there is no shard {shard_name!r}")

    def _count(self, index: int, at_most: int) -> int:
        """Rows of a shard, counted by reading up to `at_most` where its source does not know."""
        with self._lock:
            if index < len(self._counts):
                return self._counts[index]
            name = self.shard_names[index]
            info = self.source.get_shard_info(name)
            if info is not None and info.num_rows is not None:
                count = info.num_rows
            else:
                rows = _countable(self.source).open_shard(name)
                count = sum(1 for _ in itertools.islice(rows, at_most))
            if index == len(self._counts):
                self._counts.append(count)
            return count

    def _make_plan(self) -> _native.Plan:
        limited = functools.partial(
            _native.limited_rows,
            self.source._plan,
            shards=self.shard_names,
            max_rows=self._max_rows,
            rows_within=copy.copy(self)._allowed,  # no circle with the plan
        )
        # Row by row it is made of the rows within the limit.
        return limited(rows=self._rows_plan([limited(rows=None)], description={"kind": _KIND}))


def _countable(source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
    """A source with as many rows in each shard, but without the work on them."""
    while "select" in source._passes_on:
        source = source._inputs[0]
    return source
