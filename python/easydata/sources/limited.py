"""Sources that are cut off after some rows."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from easydata import _native
from easydata.sources.sharded_source import ShardedDataSource, ShardInfo
from easydata.transforms.base import Columns, Example


class LimitedShardedSource(ShardedDataSource[Example]):
    """The first `max_rows` rows of a source, over its shards in order.

    Rows are counted where they come out: downstream of a filter, a limit of 6 gives 6 rows if there
    are 6.
    """

    # States that were saved when it lived there go on.
    _kind = "easydata.transforms.source.LimitedShardedSource"

    def __init__(self, source: ShardedDataSource[Any], max_rows: int) -> None:
        """Wraps a source; raises ValueError for a negative limit."""
        if max_rows < 0:
            raise ValueError(f"max_rows must not be negative, got {max_rows}")
        self._source = source
        self._max_rows = max_rows
        self._counts: list[int] = []
        self._lock = threading.Lock()

    @property
    def shard_names(self) -> Sequence[str]:
        """Names of the shards, those of the source below; the last ones may be empty."""
        return self._source.shard_names

    def num_shards(self) -> int:
        """Number of shards."""
        return self._source.num_shards()

    def open_shard(self, shard_name: str) -> Iterator[Example]:
        """The rows of a shard that lie within the limit."""
        return self.open_shard_at_row(shard_name, 0)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
        """The rows of a shard from `row` on that lie within the limit."""
        allowed = self._allowed(shard_name)
        if row >= allowed:
            return iter(())
        return itertools.islice(self._source.open_shard_at_row(shard_name, row), allowed - row)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard, rows beyond the limit left out."""
        info = self._source.get_shard_info(shard_name)
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

    def __repr__(self) -> str:
        return f"LimitedShardedSource({self._source!r}, {self._max_rows})"

    def _split_later(self) -> ShardedDataSource[Example]:
        return LimitedShardedSource(self._source._split_later(), self._max_rows)

    def _inputs(self) -> Sequence[ShardedDataSource[Any]]:
        return (self._source,)

    def _allowed(self, shard_name: str) -> int:
        """How many rows of a shard lie within the limit, if it has that many."""
        left = self._max_rows
        for index, name in enumerate(self.shard_names):
            if name == shard_name:
                return left
            left -= self._count(index, left)
            if left <= 0:
                return 0
        raise KeyError(f"there is no shard {shard_name!r}")

    def _count(self, index: int, at_most: int) -> int:
        """Rows of a shard, counted by reading up to `at_most` where its source does not know."""
        with self._lock:
            if index < len(self._counts):
                return self._counts[index]
            name = self.shard_names[index]
            info = self._source.get_shard_info(name)
            if info is not None and info.num_rows is not None:
                count = info.num_rows
            else:
                rows = _countable(self._source).open_shard(name)
                count = sum(1 for _ in itertools.islice(rows, at_most))
            if index == len(self._counts):
                self._counts.append(count)
            return count

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        if shards is None or list(shards) == list(self.shard_names):
            return _native.limit(self._source._stream(columns), self._max_rows)
        streams = [
            _native.limit(self._source._stream(columns, [shard]), self._allowed(shard))
            for shard in shards
        ]
        if len(streams) == 1:
            return streams[0]
        return self._joined(streams, [{} for _ in streams], columns, shards)

    def _read_streams(self) -> Sequence[_native.Stream]:
        return [self._stream()]  # with the limit


def _countable(source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
    """A source with as many rows in each shard, but without the work on them."""
    while (below := source._row_source()) is not None:
        source = below
    return source
