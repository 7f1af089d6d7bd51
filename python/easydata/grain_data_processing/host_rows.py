"""A host's documents of a dataset, in Grain's order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.grain_data_processing.record_datasets import PaddedDataset, RandomAccess
from easydata.sources.array_record import ArrayRecordDataSource, ArrayRecordShardedSource

if TYPE_CHECKING:
    import pyarrow as pa

PADDING = "is_padding"
# Rows that are taken from a dataset in Python at once.
_ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class HostRows:
    """Which documents of a dataset a host gets, and in which order.

    Attributes:
        num_rows: Documents of the dataset that are shared out.
        real_rows: Those that it has; the others are empty.
        seed: Grain's seed of the first epoch's order; None: as they are.
        part: Number of the host.
        parts: Number of hosts.
    """

    num_rows: int
    real_rows: int
    seed: int | None
    part: int
    parts: int


def grain_seed(seed: int) -> int:
    """The seed of the `.shuffle()` that follows `.source()` and `.seed(seed)`."""
    import numpy as np

    return int(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint32)[0])


def unpadded(dataset: RandomAccess) -> RandomAccess:
    """The dataset itself, where it is one that was filled up or cut."""
    while isinstance(dataset, PaddedDataset):
        dataset = dataset.dataset
    return dataset


def real_rows(dataset: RandomAccess) -> int:
    """Documents of a dataset that are its own: others fill it up."""
    if isinstance(dataset, PaddedDataset):
        return min(len(dataset), real_rows(dataset.dataset))
    return len(dataset)


def document_stream(
    dataset: RandomAccess, column: str, is_text: bool, rows: HostRows, name: str
) -> _native.Stream:
    """The documents, with a column that says which ones fill up.

    Args:
        dataset: Without padding.
        column: The column of texts; tokens are in "input_ids".
        is_text: Whether documents are texts, else tokens.
        rows: Which ones.
        name: What errors and statistics call the dataset.
    """
    if isinstance(dataset, ArrayRecordDataSource):
        source = ArrayRecordShardedSource(
            dataset._files,
            column=column if is_text else "input_ids",
            decode="text" if is_text else "int32",
        )
        options = _native.GrainOrderOptions(
            name=name,
            padding_column=PADDING,
            **vars(rows),
        )
        return source._source.grain_rows(options)
    return _Documents(dataset, column, is_text, rows).stream(name)


class _Documents:
    """Documents that Python gives."""

    def __init__(self, dataset: Any, column: str, is_text: bool, rows: HostRows) -> None:
        import pyarrow as pa

        self._size = rows.real_rows
        self._dataset = dataset
        self._is_arrow = hasattr(self._dataset, "with_format")  # one of the library datasets
        if self._is_arrow:
            self._dataset = self._dataset.select_columns([column]).with_format("arrow")
        self._column = column
        self._is_text = is_text
        self._rows = rows
        self._begin, end = _native.share_of_rows(rows.num_rows, rows.part, rows.parts)
        self._count = end - self._begin
        self._field = pa.field(
            column if is_text else "input_ids", pa.string() if is_text else pa.list_(pa.int32())
        )

    def stream(self, name: str) -> _native.Stream:
        import pyarrow as pa

        return _native.python_rows(
            self._batches,
            lambda: ["rows"],
            type(self._dataset).__name__,
            schema=pa.schema([self._field, pa.field(PADDING, pa.bool_())]),
            description={
                "kind": "rows in memory",
                "rows": len(self._dataset),
                "fingerprint": getattr(self._dataset, "_fingerprint", None),
                "order": None if self._rows.seed is None else "grain",
                "part": self._rows.part,
                "parts": self._rows.parts,
                "num_rows": self._rows.num_rows,
                "real_rows": self._rows.real_rows,
            },
            name=name,
            # _batches() orders them
            order=_native.SourceShuffleOptions(mode="blocks", seed=self._rows.seed or 0),
            num_rows=self._count,
        ).stream()

    def _batches(self, _: str, row: int, epoch: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        while row < self._count:
            end = min((row // _ROWS_AT_ONCE + 1) * _ROWS_AT_ONCE, self._count)
            indices: Any = range(row, end)
            if self._rows.seed is not None:
                indices = _native.grain_permuted(self._count, self._rows.seed, epoch, row, end)
            numbers = [self._begin + index for index in indices]
            taken = self._take([number for number in numbers if number < self._size])
            padding = [number >= self._size for number in numbers]
            if any(padding):
                # The row that is taken for padding is the empty one behind them.
                order, next_row = [], 0
                for is_padding in padding:
                    order.append(len(taken) if is_padding else next_row)
                    next_row += not is_padding
                empty = pa.array(["" if self._is_text else []], self._field.type)
                taken = pa.concat_arrays([taken, empty]).take(pa.array(order, pa.int64()))
            yield pa.RecordBatch.from_arrays(
                [taken, pa.array(padding, pa.bool_())], names=[self._field.name, PADDING]
            )
            row = end

    def _take(self, numbers: list[int]) -> pa.Array:
        import pyarrow as pa

        if self._is_arrow:
            column = self._dataset[numbers].column(self._column) if numbers else pa.array([])
            if isinstance(column, pa.ChunkedArray):
                column = column.combine_chunks()
            return column.cast(self._field.type)
        records = [self._dataset[number] for number in numbers]
        if not self._is_text:
            import numpy as np

            return pa.array([np.frombuffer(record, "<i4") for record in records], self._field.type)
        return pa.array([self._text(record) for record in records], self._field.type)

    def _text(self, record: Any) -> str:
        if isinstance(record, bytes):
            return record.decode()
        return str(record[self._column])
