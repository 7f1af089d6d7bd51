"""Which row of a source comes at which index of an epoch, told without reading the rows.

Orders follow from the sizes of blocks, which the heads or feet of files tell. Permutations are the
engine's own; what is modelled here is how they lie one upon another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from easydata import _native
from easydata.core.choices import OnError

if TYPE_CHECKING:
    import pyarrow as pa

    from easydata.sources.files import FileSource
    from easydata.transforms.base import Columns

Rows = npt.NDArray[np.int64]

# Files whose rows only reading tells are counted up to so many bytes in all, and estimated beyond.
_COUNTED_BYTES = 256 << 20
_SAMPLES = 16


@dataclass(frozen=True)
class Setting:
    """How the rows of a dataset are shuffled.

    Attributes:
        mode: DatasetConfig.shuffle.
        window_bytes: DatasetConfig.shuffle_window_bytes; None: the engine's own.
        buffer_rows: LoadStageConfig.shuffle_buffer_size.
    """

    mode: str | None = None
    window_bytes: int | None = None
    buffer_rows: int | None = None


@dataclass(frozen=True)
class RowOrder:
    """An order of the rows of a source, which are numbered through all shards.

    Attributes:
        size: Rows of an epoch.
        rows: Gives the rows at indices `begin` to `end` of an `epoch`.
        window_rows: Rows that are permuted at once, all of which it costs to know one.
        moves: Rows that a row can be away from where it lies in the source, at most.
        parts: Rows that two neighbours in a block can be apart, at most.
    """

    size: int
    rows: Callable[[int, int, int], Rows]
    window_rows: int = 1
    moves: int = 0
    parts: int = 1


class BlockMap:
    """Where the rows of a source of files lie.

    Attributes:
        starts: Rows before each block, and all of them: int64 [blocks + 1].
        shards: The shard of each block: int64 [blocks].
        block_bytes: Bytes of file of each block: float64 [blocks].
        uncounted_bytes: Bytes of the files that do not tell their rows, which "grain" reads once
            more to count them.
        estimated: Whether rows of blocks are estimated, from counts of a sample.
        row_bytes: Content of a row on average, as windows count it, of a sample.
    """

    def __init__(self, source: FileSource, columns: Columns | None = None) -> None:
        self._source = source
        self._native = source._source
        self._orders: dict[tuple[int, int], Rows] = {}
        self.estimated = False
        files = source._listing
        sizes = [files.size_of(number) or 0 for number in range(len(files))]
        starts, self.uncounted_bytes = self._shard_starts(sizes)
        counts = np.array([len(rows) - 1 for rows in starts], np.int64)
        self._first_blocks = np.concatenate([[0], np.cumsum(counts)])
        self.shards = np.repeat(np.arange(len(starts), dtype=np.int64), counts)
        block_rows = np.concatenate([np.diff(rows) for rows in starts]).astype(np.int64)
        self.starts: Rows = np.concatenate([[0], np.cumsum(block_rows)]).astype(np.int64)
        shard_rows = np.array([max(1, rows[-1]) for rows in starts], np.float64)
        self.block_bytes = block_rows * (np.array(sizes) / shard_rows)[self.shards]
        self.row_bytes = self._content_of_a_row(columns)

    @property
    def num_rows(self) -> int:
        """Rows of all shards."""
        return int(self.starts[-1])

    @property
    def num_blocks(self) -> int:
        """Blocks of all shards."""
        return len(self.shards)

    def blocks_of(self, rows: Rows) -> Rows:
        """The block that each of `rows` lies in."""
        found: Rows = np.searchsorted(self.starts, rows, "right") - 1
        return found

    def block_order(self, seed: int, epoch: int) -> Rows:
        """The blocks in the order in which an epoch that shuffles them reads them."""
        if (seed, epoch) not in self._orders:
            pairs = np.array(_native.block_order(self._native, seed, epoch), np.int64)
            pairs = pairs.reshape(-1, 2)
            self._orders[seed, epoch] = self._first_blocks[pairs[:, 0]] + pairs[:, 1]
        return self._orders[seed, epoch]

    def _shard_starts(self, sizes: Sequence[int]) -> tuple[list[Rows], int]:
        """Rows of each shard before each of its blocks, and the bytes of files that do not say."""
        blocks = [_native.blocks_of(self._native, shard) for shard in range(len(sizes))]
        unknown = [shard for shard, known in enumerate(blocks) if not known.row_starts]
        uncounted = sum(sizes[shard] for shard in unknown)
        if uncounted <= _COUNTED_BYTES:
            for shard in unknown:
                blocks[shard] = _native.blocks_of(self._native, shard, count=True)
            return [np.array(known.row_starts, np.int64) for known in blocks], uncounted
        self.estimated = True
        rows_per_byte = self._rows_per_byte(unknown, sizes, blocks)
        starts = []
        for known, size in zip(blocks, sizes, strict=True):
            # The last block ends with its file; one block is the file.
            ends = np.minimum(np.arange(known.count + 1) * (known.bytes or size), size)
            estimate = np.rint(ends * rows_per_byte).astype(np.int64)
            starts.append(np.array(known.row_starts, np.int64) if known.row_starts else estimate)
        return starts, uncounted

    def _rows_per_byte(
        self, shards: Sequence[int], sizes: Sequence[int], blocks: Sequence[_native.Blocks]
    ) -> float:
        """Rows in a byte of the files that do not say, of some that are counted."""
        budget = _COUNTED_BYTES // _SAMPLES
        small = [shard for shard in shards if 0 < sizes[shard] <= budget]
        lines = [shard for shard in shards if blocks[shard].bytes > 0]
        if lines and not small:
            shard = max(lines, key=lambda shard: sizes[shard])
            batches = list(itertools.islice(self._batches(None, shard), _SAMPLES))
            rows = sum(batch.num_rows for batch in batches)
            return float(rows / min(len(batches) * blocks[shard].bytes, sizes[shard]))
        chosen = small[:: max(1, len(small) // _SAMPLES)][:_SAMPLES]
        chosen = chosen or [min(shards, key=lambda shard: sizes[shard])]
        counted = sum(self._native.count_rows(shard) for shard in chosen)
        return counted / sum(sizes[shard] for shard in chosen)

    def _batches(
        self, columns: Columns | None, shard: int, row: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Rows of a shard from a row on; block by block at random where that is None."""
        order: dict[str, Any] = {"mode": "blocks"} if row is None else {}
        on_error: OnError = "raise" if self._source._errors["on_error"] == "raise" else "skip"
        stream = self._native.stream(
            None if columns is None else dict(columns),
            [self._source.shard_names[shard]],
            row or 0,
            _native.SourceStageOptions(on_error=on_error, **order),
        )
        return iter(_native.iterate_batches(stream))

    def _content_of_a_row(self, columns: Columns | None) -> float:
        full = np.flatnonzero(np.diff(self.starts))
        rows = content = 0
        for block in full[:: max(1, len(full) // _SAMPLES)][:_SAMPLES]:
            shard = int(self.shards[block])
            row = int(self.starts[block] - self.starts[self._first_blocks[shard]])
            for batch in self._batches(columns, shard, None if self.estimated else row):
                rows += batch.num_rows
                content += int(_native.content_bytes(batch).sum())
                if batch.num_rows:
                    break
        return content / max(1, rows)


def _source_order(blocks: BlockMap) -> RowOrder:
    """The rows as they lie."""
    return RowOrder(blocks.num_rows, lambda begin, end, epoch: np.arange(begin, end))


def _block_order(blocks: BlockMap, seed: int) -> RowOrder:
    """Blocks in random order, each read as it is."""

    def rows(begin: int, end: int, epoch: int) -> Rows:
        order = blocks.block_order(seed, epoch)
        sizes = np.diff(blocks.starts)[order]
        ends = np.cumsum(sizes)
        first, last = np.searchsorted(ends, [begin, end - 1], "right")
        own = slice(first, last + 1)
        before = ends[own] - sizes[own]
        indices = np.arange(before[0], ends[last], dtype=np.int64)
        found = indices + np.repeat(blocks.starts[order[own]] - before, sizes[own])
        chosen: Rows = found[begin - before[0] : end - before[0]]
        return chosen

    return RowOrder(blocks.num_rows, rows, moves=blocks.num_rows - 1)


def _window_order(order: RowOrder, window_rows: int, seed: int) -> RowOrder:
    """Rows of another order, permuted within windows of so many."""
    most = order.size - 1

    def rows(begin: int, end: int, epoch: int) -> Rows:
        parts = []
        for window in range(begin // window_rows, -(-end // window_rows)):
            first = window * window_rows
            last = min(first + window_rows, order.size)
            permuted = _native.window_order(seed, epoch, window, last - first)
            wanted = permuted[max(begin - first, 0) : end - first]
            parts.append(order.rows(first, last, epoch)[wanted])
        return np.concatenate(parts)

    return RowOrder(
        order.size,
        rows,
        window_rows=max(order.window_rows, min(window_rows, order.size)),
        moves=min(order.moves + window_rows - 1, most),
        # Neighbours may lie in windows side by side.
        parts=min(order.parts + 2 * (window_rows - 1), most),
    )


def grain_order(blocks: BlockMap, seed: int) -> RowOrder:
    """Grain's permutation of all rows."""
    size = blocks.num_rows

    def rows(begin: int, end: int, epoch: int) -> Rows:
        return np.array(_native.grain_permuted(size, seed, epoch, begin, end), np.int64)

    return RowOrder(size, rows, moves=size - 1, parts=size - 1)


def order_of(setting: Setting, blocks: BlockMap, seed: int, buffer_seed: int) -> RowOrder:
    """The order of rows that a setting gives.

    Exact but for the ends of windows, which close by bytes: they are laid as if every row had the
    average content.

    Args:
        setting: How the rows are shuffled.
        blocks: Where they lie.
        seed: Of the source.
        buffer_seed: Of LoadStageConfig.shuffle_buffer_size.
    """
    limits = _native.shuffle_limits()
    if setting.mode is None:
        order = _source_order(blocks)
    elif setting.mode == "grain":
        order = grain_order(blocks, seed)
    else:
        order = _block_order(blocks, seed)
    if setting.mode == "rows":
        content = setting.window_bytes or limits["rows_window_bytes"]
        order = _window_order(order, rows_within(content, blocks), seed)
    if setting.buffer_rows is not None:
        most = rows_within(limits["window_bytes"], blocks)
        order = _window_order(order, min(setting.buffer_rows, most), buffer_seed)
    return order


def rows_within(content: int, blocks: BlockMap) -> int:
    """Rows of average content with which a window of so many bytes closes."""
    return max(1, int(np.ceil(content / max(blocks.row_bytes, 1e-9))))
