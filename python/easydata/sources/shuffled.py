"""Sources in a random order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from easydata.sources.base import Columns, ShardedDataSource, Shuffle

if TYPE_CHECKING:
    from easydata import _native

_SHARD = "shuffled"


class ShuffledShardedSource(ShardedDataSource[Any]):
    """The rows of a source in an order of each (seed, epoch), as one shard.

    Iterated from Python, it gives the order of epoch 0; a loader goes through one epoch after the
    other. Made by `source.shuffle()`.

    Args:
        source: Where the rows come from.
        order: Theirs.
    """

    def __init__(self, source: ShardedDataSource[Any], order: Shuffle) -> None:
        self._source = source
        self._order = order

    @property
    def source(self) -> ShardedDataSource[Any]:
        """The source that is shuffled."""
        return self._source

    @property
    def shard_names(self) -> Sequence[str]:
        """The one shard's name."""
        return (_SHARD,)

    def num_shards(self) -> int:
        """One."""
        return 1

    def open_shard(self, shard_name: str) -> Iterator[Any]:
        """The rows in the order of epoch 0."""
        from easydata import _native

        return _native.iterate_rows(self._stream(None, [shard_name]))

    def __len__(self) -> int:
        return len(self._source)

    def __repr__(self) -> str:
        return (
            f"ShuffledShardedSource({self._source!r}, {self._order.shuffle!r}, {self._order.seed})"
        )

    def _shuffled(self, order: Shuffle) -> ShardedDataSource[Any]:
        return self._source._shuffled(order)

    def _split_later(self) -> ShardedDataSource[Any]:
        return ShuffledShardedSource(self._source._split_later(), self._order)

    def _row_source(self) -> ShardedDataSource[Any]:
        """A source of as many rows that is cheaper to count."""
        return self._source

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        if shards is not None and list(shards) != [_SHARD]:
            raise KeyError(f"the shard of a shuffled source is {_SHARD!r}, not {list(shards)!r}")
        return self._source._shuffled_stream(columns, self._order)
