"""Sources in a random order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from easydata.core.source import Columns, ShardedDataSource, Shuffle

if TYPE_CHECKING:
    from easydata import _native

_SHARD = "shuffled"


class ShuffledShardedSource(ShardedDataSource[Any]):
    """The rows of a source in an order of each (seed, epoch), as one shard.

    Iterated from Python, it gives the order of epoch 0; a loader goes through one epoch after the
    other. Made by `source.shuffle()`.

    Args:
        source: Where the rows come from.
        mode: "blocks", "rows" or "grain"; see ShardedDataSource.shuffle().
        seed: None means 0.
        window_bytes: Content of a window of "rows"; None: 64 MB.
    """

    def __init__(
        self,
        source: ShardedDataSource[Any],
        mode: Literal["blocks", "rows", "grain"] = "blocks",
        seed: int | None = None,
        window_bytes: int | None = None,
    ) -> None:
        if mode not in ("blocks", "rows", "grain"):
            raise ValueError(f'mode must be "blocks", "rows" or "grain", not {mode!r}')
        if seed is not None and seed < 0:
            raise ValueError(f"seed must not be negative: {seed}")
        if window_bytes is not None and window_bytes < 1:
            raise ValueError(f"window_bytes must be at least 1, not {window_bytes}")
        if window_bytes is not None and mode != "rows":
            raise ValueError(f'window_bytes is for mode "rows"; the mode is {mode!r}')
        self._source = source
        self._order = Shuffle(mode, seed or 0, window_bytes)

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

    def shuffle(
        self,
        mode: Literal["blocks", "rows", "grain"] = "blocks",
        seed: int | None = None,
        *,
        window_bytes: int | None = None,
    ) -> ShardedDataSource[Any]:
        """The source below in another order."""
        return self._source.shuffle(mode, seed, window_bytes=window_bytes)

    def _row_source(self) -> ShardedDataSource[Any]:
        """A source of as many rows that is cheaper to count."""
        return self._source

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        if shards is not None and list(shards) != [_SHARD]:
            raise KeyError(f"the shard of a shuffled source is {_SHARD!r}, not {list(shards)!r}")
        return self._source._shuffled_stream(columns, self._order)
