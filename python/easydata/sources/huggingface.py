"""Datasets of Hugging Face's `datasets`, and rows in memory."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.core.config import DatasetConfig
from easydata.sources.read_once import ReadOnce
from easydata.sources.rows_in_shards import ShardInfo, no_length
from easydata.sources.sharded_source import (
    Part,
    PlannedSource,
    Rewrite,
    Selection,
    ShardedDataSource,
    Shuffle,
    ShuffledShardedSource,
)
from easydata.sources.tables import (
    BatchesOnce,
    TableRows,
    arrow_of,
    batches_from,
    digest_of,
    stored,
    stored_schema,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


_ROWS_AT_ONCE = 1024
# Of an iterator: more than anybody looks at before its rows are read.
_KEPT_ROWS = 2000
# Where rows are made by Python code, which may be slow.
_MADE_ROWS_AT_ONCE = 64
# Steps of a streaming dataset whose state is exact between any two batches.
_EXACT_STEPS = {
    "ArrowExamplesIterable",
    "ExamplesIterable",
    "FilteredExamplesIterable",
    "FormattedExamplesIterable",
    "MappedExamplesIterable",
    "SelectColumnsIterable",
    "VerticallyConcatenatedMultiSourcesExamplesIterable",
}


class _OneShard(PlannedSource[dict[str, Any]]):
    """Data that people have, as one shard that is called after it."""

    _unnamed = ""
    """What it is called where nobody gives it a name."""

    def __init__(self, name: str | None) -> None:
        self._label = name or ""

    @property
    def shard_names(self) -> Sequence[str]:
        """The one shard's name."""
        return (f"{self._label or self._unnamed}:0",)


class HFDatasetShardedSource(_OneShard):
    """A dataset in memory as one shard.

    Map-style datasets are read as Arrow tables with their indices applied, streaming ones in Arrow
    batches where they know their columns. Rows come as they are stored, whatever format the
    dataset is set to; a transform of its own (`with_transform`, `set_transform`) is applied to
    each. A streaming dataset resumes by its own state where that is exact, and by passing over
    the rows before otherwise; one that is shuffled cannot be resumed exactly, and is refused.

    Args:
        dataset: A `datasets.Dataset` or `datasets.IterableDataset`, or anything with `__len__` and
            `__getitem__`, or an iterable, of dicts.
        name: What stats() calls the dataset, and the shard's name, to which ":0" is added.
    """

    _unnamed = "hf_dataset"

    def __init__(self, dataset: Any, name: str | None = None) -> None:
        if not (hasattr(dataset, "__iter__") or _is_indexable(dataset)):
            raise TypeError(
                "expected data: a table (of pandas, polars, pyarrow, DuckDB, or whatever hands out "
                "Arrow), a dict of columns, a list of dicts, an iterable, or a Hugging Face "
                f"Dataset; got {type(dataset).__name__}"
            )
        if hasattr(dataset, "keys") and not isinstance(dataset, (list, tuple)):
            splits = ", ".join(str(key) for key in dataset)
            raise TypeError(f"got a dict of datasets: choose one of its splits ({splits})")
        # What looks at the first rows of an iterator must not take them from who reads them.
        self._dataset: Any = _read_once(dataset) if isinstance(dataset, Iterator) else dataset
        super().__init__(name)

    @property
    def is_streaming(self) -> bool:
        """Whether rows can only be read one after the other."""
        return not _is_indexable(self._dataset)

    @property
    def estimated_length(self) -> int | None:
        """Number of rows, where the dataset knows it."""
        return None if self.is_streaming else len(self._dataset)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """The number of rows, where the dataset knows it."""
        self._check(shard_name)
        return ShardInfo(shard_id=0, shard_name=shard_name, num_rows=self.estimated_length)

    def __len__(self) -> int:
        if self.is_streaming:
            raise no_length("a streaming dataset")
        return len(self._dataset)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self._dataset,), {"name": self._label} if self._label else {}

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[dict[str, Any]] | None:
        if isinstance(rewrite, Shuffle):
            return ShuffledShardedSource(self, rewrite, self._shuffled_plan)
        if isinstance(rewrite, Selection):
            if self.is_streaming:
                raise rewrite.refused("a streaming dataset reads one row after the other")
            return self._selected(rewrite.numbers(len(self)))
        if isinstance(rewrite, Part) and rewrite.name == "split" and not self.is_streaming:
            return self._selected(
                _native.part_numbers(len(self), _native.PartOptions(**rewrite.options))
            )
        return None

    def _selected(
        self, numbers: Sequence[int] | NDArray[np.int64]
    ) -> ShardedDataSource[dict[str, Any]]:
        selected = copy.copy(self)
        if hasattr(self._dataset, "select"):
            selected._dataset = self._dataset.select(numbers)
        else:
            selected._dataset = _Chosen(self._dataset, numbers)
        return selected

    def _check(self, shard_name: str) -> None:
        if shard_name != self.shard_names[0]:
            raise _native.MissingKey(f"there is no shard {shard_name}, only {self.shard_names[0]}")

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[dict[str, Any]]:
        """The rows from row `row` on; a streaming dataset passes over those before."""
        self._check(shard_name)
        if self._arrow_schema() is not None:
            return super().open_shard_at_row(shard_name, row)
        return self._plain_rows(row)

    def _plain_rows(self, row: int) -> Iterator[dict[str, Any]]:
        if self.is_streaming:
            rows = _skipped(self._dataset, row)
        else:
            rows = (self._dataset[index] for index in range(row, len(self._dataset)))
        yield from map(dict, rows)  # copies: what is done to a row must not change the caller's

    def _arrow_schema(self) -> pa.Schema | None:
        """The columns, or None where the rows have to be asked for one by one."""
        features = getattr(self._dataset, "features", None)
        if features is None or not hasattr(self._dataset, "with_format"):
            return None
        if _has_transform(self._dataset):
            return None
        if any(_is_decoded(feature) for feature in features.values()):
            return None
        schema: pa.Schema = features.arrow_schema
        return schema

    def _tables(self, shard: str, row: int, state: str | None = None) -> Iterator[pa.RecordBatch]:
        dataset = self._dataset.with_format("arrow")
        return _StreamedTables(dataset, row, state) if self.is_streaming else _tables(dataset, row)

    def _make_plan(self) -> _native.Plan:
        schema = self._arrow_schema()
        if schema is None:
            known: dict[str, Any] = {"num_rows": self.estimated_length}
            if isinstance(self._dataset, _Chosen):
                known["description"] = {**self._description(), "numbers": self._dataset.digest}
            return self._rows_as_they_are(**known)

        return self._rows_as_they_are(
            open=copy.copy(self)._tables,  # no circle with the plan
            schema=schema,
            description=self._description(),
            num_rows=self.estimated_length,
        )

    def _rows_as_they_are(self, **known: Any) -> _native.Plan:
        return self._rows_plan(name=self._label, is_at_hand=not self.is_streaming, **known)

    def _shuffled_plan(self, order: Shuffle) -> _native.Plan:
        if self.is_streaming:
            if order.shuffle == "blocks":
                raise ValueError(
                    'a streaming dataset has no blocks to shuffle; use "rows", which shuffles its '
                    "rows within windows"
                )
            return _native.shuffled_rows(self._rows_as_they_are(), order.options())
        if order.window_bytes is not None:
            raise ValueError(
                "window_bytes is for rows that are read in a window; those of a dataset at hand "
                "are permuted as a whole: leave it out (shuffle_window_bytes in a config)"
            )

        schema = self._arrow_schema()
        dataset = self._dataset

        def rows(_: str, row: int, epoch: int) -> Iterator[Any]:
            chunks = _shuffled(order, len(dataset), epoch, row)
            if schema is None:
                return (dict(dataset[index]) for chunk in chunks for index in chunk)
            tables = dataset.with_format("arrow")
            return (batch for chunk in chunks for batch in _batches(tables[chunk]))

        shuffled = self._rows_as_they_are(
            open=rows,
            schema=schema,
            description={**self._description(), "shuffle": order.shuffle},
            num_rows=self.estimated_length,
            # rows() shuffles; any row is at hand, so there is no window
            order=_native.SourceShuffleOptions(mode="blocks", seed=order.seed),
        )
        return _native.shuffled_rows(shuffled, order.options())

    def _description(self) -> dict[str, Any]:
        return {
            "kind": "rows in memory",
            "rows": self.estimated_length,
            "fingerprint": getattr(self._dataset, "_fingerprint", None),
        }


class TableShardedSource(HFDatasetShardedSource):
    """A table in memory as one shard, whose rows are read as Arrow.

    Args:
        table: A `pyarrow.Table`.
        name: What stats() calls it, and the shard's name, to which ":0" is added.
    """

    _unnamed = "table"

    def __init__(self, table: pa.Table, name: str | None = None) -> None:
        super().__init__(TableRows(table), name)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (), {"rows": len(self), "columns": self._dataset.table.column_names}

    def _arrow_schema(self) -> pa.Schema:
        schema: pa.Schema = self._dataset.table.schema
        return schema

    def _description(self) -> dict[str, Any]:
        schema = self._arrow_schema()
        columns = {field.name: str(field.type) for field in schema}
        described = {"kind": "table", "rows": len(self), "columns": columns}
        digest = self._dataset.digest
        return described if digest is None else {**described, "numbers": digest}


class ArrowBatchesSource(_OneShard):
    """Batches of Arrow's as one shard: of a `pyarrow.dataset`, or of what can be read once.

    Args:
        data: A `pyarrow.dataset.Dataset`, or batches that are read once.
        name: What stats() calls it, and the shard's name, to which ":0" is added.
    """

    _unnamed = "arrow"

    def __init__(self, data: Any, name: str | None = None) -> None:
        super().__init__(name)
        self._data = data

    def __len__(self) -> int:
        if isinstance(self._data, BatchesOnce):
            raise TypeError(
                "what can be read once does not know its number of rows; give a table "
                "(reader.read_all()), or save the rows, and read the files"
            )
        return int(self._data.count_rows())

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        kind = "read once" if isinstance(self._data, BatchesOnce) else "dataset"
        return (kind,), {"columns": list(self._data.schema.names)}

    def _batches(self, shard: str, row: int, state: str | None = None) -> Iterator[pa.RecordBatch]:
        if isinstance(self._data, BatchesOnce):
            return batches_from(self._data.batches(), row)
        return batches_from(map(stored, self._data.to_batches()), row)

    def _rewritten(self, rewrite: Rewrite) -> None:
        if isinstance(rewrite, Shuffle) and rewrite.shuffle != "rows":
            raise ValueError(
                f"batches of Arrow's come one after the other: {rewrite.shuffle!r} cannot be; use "
                'shuffle("rows"), which shuffles rows within windows, or give a table or files'
            )

    def _make_plan(self) -> _native.Plan:
        schema = stored_schema(self._data.schema)
        columns = {field.name: str(field.type) for field in schema}
        return self._rows_plan(
            name=self._label,
            open=copy.copy(self)._batches,  # no circle with the plan
            schema=schema,
            description={"kind": "Arrow batches", "columns": columns},
        )


def wrap_hf_dataset(dataset: Any, name: str | None = None) -> ShardedDataSource[Any]:
    """Make a source of data in memory; a source comes back as it is.

    Tables are read as Arrow: those of pandas, polars, pyarrow and DuckDB, dicts of columns, and
    whatever hands out Arrow (`__arrow_c_stream__`). So is a `pyarrow.dataset`, batch by batch, and
    a `RecordBatchReader`, once. Others are read row by row.

    Raises:
        TypeError: `dataset` is neither a source nor anything that holds rows.
        ValueError: It is a table whose rows could not be dicts.
    """
    if isinstance(dataset, ShardedDataSource):
        return dataset
    if isinstance(dataset, (str, bytes)):
        raise TypeError("expected a dataset, got text; use create_source() for files")
    if isinstance(dataset, DatasetConfig):
        raise TypeError("expected a dataset, got its config; create_source(config) makes one")
    if isinstance(dataset, (list, tuple)) and any(
        isinstance(each, ShardedDataSource) for each in dataset
    ):
        raise TypeError(
            "expected a dataset, got a list of sources; CompositeShardedSource([...]) reads one "
            "after the other, MixedShardedSource([...]) mixes them"
        )
    if not hasattr(dataset, "with_format"):  # as those of `datasets` have
        arrow = arrow_of(dataset)
        if arrow is not None and hasattr(arrow, "num_rows"):
            return TableShardedSource(arrow, name)
        if arrow is not None:
            return ArrowBatchesSource(arrow, name)
    return HFDatasetShardedSource(dataset, name)


class _Chosen:
    """Rows of what has rows by number."""

    def __init__(self, rows: Any, numbers: Sequence[int] | NDArray[np.int64]) -> None:
        self._rows = rows
        self._numbers = numbers
        self.digest = digest_of(numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> Any:
        return self._rows[int(self._numbers[index])]

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))


def _read_once(rows: Iterator[Any]) -> ReadOnce[Any]:
    return ReadOnce(
        rows,
        lambda row: 1,
        _KEPT_ROWS,
        "an iterator can be read once, and this one was: give what can be read again, as "
        "list(rows), a datasets.Dataset, or files",
    )


def _is_indexable(dataset: Any) -> bool:
    return hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")


def _has_transform(dataset: Any) -> bool:
    """Whether a dataset makes its rows by a function when they are asked for."""
    form = getattr(dataset, "format", None)
    return isinstance(form, Mapping) and form.get("type") == "custom"


def _is_decoded(feature: Any) -> bool:
    """Whether a feature's rows are other objects than what is stored (images, audio)."""
    if isinstance(feature, Mapping):
        return any(_is_decoded(item) for item in feature.values())
    if isinstance(feature, (list, tuple)):
        return any(_is_decoded(item) for item in feature)
    if hasattr(feature, "decode_example"):
        return True
    inner = getattr(feature, "feature", None)
    return inner is not None and _is_decoded(inner)


def _batches(table: pa.Table) -> list[pa.RecordBatch]:
    # Rows chosen by index come as one chunk each.
    return list(table.combine_chunks().to_batches())


def _tables(dataset: Any, row: int) -> Iterator[pa.RecordBatch]:
    for begin in range(row, len(dataset), _ROWS_AT_ONCE):
        yield from _batches(dataset[begin : begin + _ROWS_AT_ONCE])


def _shuffled(order: Shuffle, size: int, epoch: int, begin: int) -> Iterator[Sequence[int]]:
    """The rows, of `size`, at the indices from `begin` on of a pass, in chunks on a fixed grid."""
    if order.shuffle == "blocks":
        blocks = -(-size // _ROWS_AT_ONCE)
        for block in _native.permuted(blocks, order.seed, epoch, 0, blocks):
            rows = range(block * _ROWS_AT_ONCE, min((block + 1) * _ROWS_AT_ONCE, size))
            if begin < len(rows):
                yield rows[begin:]
            begin = max(0, begin - len(rows))
        return
    choose = _native.grain_permuted if order.shuffle == "grain" else _native.permuted
    while begin < size:
        end = min((begin // _ROWS_AT_ONCE + 1) * _ROWS_AT_ONCE, size)
        yield choose(size, order.seed, epoch, begin, end)
        begin = end


class _StreamedTables:
    """Batches of a streaming dataset from a row on, and where the last of them ended."""

    def __init__(self, dataset: Any, row: int, state: str | None) -> None:
        examples = getattr(dataset, "_ex_iterable", None)
        self._has_state = _is_exact(examples) and (row == 0 or state is not None)
        if self._has_state:
            # Passes over one dataset would share their position otherwise.
            dataset._ex_iterable = _own(examples)
            if state is not None:
                dataset.load_state_dict(json.loads(state))
        else:
            dataset = _skipped(dataset, row)
        self._dataset = dataset
        is_stored = getattr(examples, "iter_arrow", None) is not None
        self._tables = dataset.iter(batch_size=_ROWS_AT_ONCE if is_stored else _MADE_ROWS_AT_ONCE)
        self._batches: list[pa.RecordBatch] = []

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        while not self._batches:
            self._batches = _batches(next(self._tables))[::-1]
        return self._batches.pop()

    def state(self) -> str | None:
        """From where to resume after the last batch; None where only its row tells."""
        if not self._has_state or self._batches:
            return None
        return json.dumps(self._dataset.state_dict())


def _steps(examples: Any) -> Iterator[Any]:
    """What a streaming dataset goes through, the last step first."""
    if examples is not None:
        yield examples
        for below in getattr(examples, "ex_iterables", None) or ():
            yield from _steps(below)
        yield from _steps(getattr(examples, "ex_iterable", None))


def _own(examples: Any) -> Any:
    """The same steps with positions of their own."""
    made = copy.copy(examples)
    if hasattr(made, "ex_iterable"):
        made.ex_iterable = _own(made.ex_iterable)
    if hasattr(made, "ex_iterables"):
        made.ex_iterables = [_own(below) for below in made.ex_iterables]
    return made


def _is_exact(examples: Any) -> bool:
    """Whether the state of a streaming dataset says exactly where it is."""
    return examples is not None and all(
        type(step).__name__ in _EXACT_STEPS and not getattr(step, "batched", False)
        for step in _steps(examples)
    )


def _is_shuffled(dataset: Any) -> bool:
    """Whether a streaming dataset goes through a shuffle buffer or shuffles its shards."""
    steps = _steps(getattr(dataset, "_ex_iterable", None))
    return any("Shuffle" in type(step).__name__ for step in steps)


def _skipped(dataset: Any, rows: int) -> Any:
    if rows == 0:
        return dataset
    if _is_shuffled(dataset):
        raise ValueError(
            "a streaming dataset that was shuffled cannot be resumed exactly; shuffle it "
            "where it is stored, or read it unshuffled"
        )
    if hasattr(dataset, "skip"):
        return dataset.skip(rows)
    return itertools.islice(dataset, rows, None)
