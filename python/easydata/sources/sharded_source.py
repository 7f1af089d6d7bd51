"""Data in shards: the base of every source, and what wraps one."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from easydata import _native
from easydata.core.choices import SourceShuffle
from easydata.transforms.base import (
    ChainedTransform,
    Columns,
    Example,
    MapTransform,
    _Step,
    as_step,
    fail_at,
    run_steps,
)
from easydata.transforms.chat import ChatTemplateTransform
from easydata.transforms.fields import DropFields, RenameFields, SelectFields
from easydata.transforms.filters import FilterTransform
from easydata.transforms.stream import transform_stream

if TYPE_CHECKING:
    import datasets

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass
class ShardInfo:
    """What is known of a shard without reading it.

    Attributes:
        shard_id: Index among the shards of its source.
        shard_name: Its name.
        num_rows: Rows, where the format says so at once.
        byte_size: Bytes of the file.
        url: Where it lies, for remote shards.
        checksum: Hash of its content, where known.
    """

    shard_id: int
    shard_name: str
    num_rows: int | None = None
    byte_size: int | None = None
    url: str | None = None
    checksum: str | None = None


@dataclass(frozen=True)
class Shuffle:
    """A random order of a source's rows; see ShardedDataSource.shuffle()."""

    shuffle: SourceShuffle
    seed: int
    window_bytes: int | None = None

    def __post_init__(self) -> None:
        _native.check_shuffle(**self.options())

    def options(self) -> dict[str, Any]:
        """The order as the engine's options."""
        return {"mode": self.shuffle, "seed": self.seed, "window_bytes": self.window_bytes}


class ShardedDataSource(ABC, Generic[T_co]):
    """Rows in named shards, each of which can be read from any row on.

    Subclasses in Python implement `shard_names`, `num_shards` and `open_shard`; they then work
    wherever a source of this package does. `open_shard_at_row` is worth overriding where a shard
    can be entered without reading what lies before.
    """

    # What stats() calls the rows of the source; nothing where it has no name.
    _source_name = ""

    # What plans and saved states call a source that is read row by row: its import path, or this.
    _kind = ""

    @property
    @abstractmethod
    def shard_names(self) -> Sequence[str]:
        """Names of the shards, distinct, in reading order."""

    @abstractmethod
    def num_shards(self) -> int:
        """Number of shards."""

    @abstractmethod
    def open_shard(self, shard_name: str) -> Iterator[T_co]:
        """The rows of a shard, in order."""

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[T_co]:
        """The rows of a shard from row number `row` (from 0) on; none where it has no more.

        This default reads and drops the rows before.
        """
        return itertools.islice(self.open_shard(shard_name), row, None)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard without reading it, or None."""
        return None

    def iter_shards(
        self,
        shard_indices: Sequence[int] | None = None,
        start_shard: int = 0,
        start_row: int = 0,
    ) -> Iterator[T_co]:
        """The rows of several shards, one shard after the other.

        Args:
            shard_indices: The shards to read, in this order; all by default.
            start_shard: Where to begin, as an index into `shard_indices`, not a shard's own number.
            start_row: Rows to pass over in the first shard that is read.
        """
        names = list(self.shard_names)
        indices = range(len(names)) if shard_indices is None else shard_indices
        for index in itertools.islice(indices, start_shard, None):
            if start_row > 0:
                yield from self.open_shard_at_row(names[index], start_row)
                start_row = 0
            else:
                yield from self.open_shard(names[index])

    def __iter__(self) -> Iterator[T_co]:
        return self.iter_shards()

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} does not know its number of rows")

    def __bool__(self) -> bool:
        # A source is there, whatever it holds; asking must not count its rows.
        return True

    # What follows wraps this source; nothing is read by it.

    def map(self, fn: Callable[[Any], Any]) -> ShardedDataSource[Any]:
        """A source of ``fn(row)`` for every row."""
        return MappedShardedDataSource(self, fn)

    def filter(self, predicate: Callable[[Any], bool]) -> ShardedDataSource[Any]:
        """A source of the rows for which `predicate` is true."""
        return self.transform(FilterTransform(predicate))

    def transform(self, transform: Any) -> ShardedDataSource[Any]:
        """A source of what `transform` makes of the rows."""
        return TransformedShardedSource(self, transform)

    def rename_fields(self, mapping: Mapping[str, str]) -> ShardedDataSource[Any]:
        """A source of the rows with other names for some fields."""
        return self.transform(RenameFields(dict(mapping)))

    def select_fields(self, fields: Sequence[str]) -> ShardedDataSource[Any]:
        """A source of the rows with these fields alone."""
        return self.transform(SelectFields(list(fields)))

    def drop_fields(self, fields: Sequence[str]) -> ShardedDataSource[Any]:
        """A source of the rows without these fields."""
        return self.transform(DropFields(list(fields)))

    def apply_chat_template(
        self,
        tokenizer: Any,
        messages_field: str = "messages",
        output_field: str = "text",
        **kwargs: Any,
    ) -> ShardedDataSource[Any]:
        """A source of the rows with their messages rendered as text by a chat template."""
        return self.transform(
            ChatTemplateTransform(
                tokenizer, messages_field=messages_field, output_field=output_field, **kwargs
            )
        )

    def shuffle(
        self,
        mode: SourceShuffle = "blocks",
        seed: int | None = None,
        *,
        window_bytes: int | None = None,
    ) -> ShardedDataSource[T_co]:
        """A source of the same rows in an order of each (seed, epoch).

        A source that is shuffled already is shuffled anew: the last order alone counts.

        Args:
            mode: "blocks": row groups, record batches, megabytes of lines (of sources in Python:
                shards) in random order, each read as it is. "rows": that, and the rows of all
                blocks in a window. "grain": Grain's permutation of all rows, which costs a block
                for nearly each row unless the blocks fit into memory.
            seed: None means 0. Of "grain" below 2^32, as in Grain.
            window_bytes: Content of a window of "rows"; None: 64 MB.
        """
        return self._shuffled(Shuffle(mode, 0 if seed is None else seed, window_bytes))

    def to_hf(self) -> datasets.IterableDataset:
        """The rows as a `datasets.IterableDataset`, which reads this source as it is iterated.

        Each iteration begins anew. `column_names` and `features` are known without reading a row
        where the rows have a schema of numbers, text and lists of these. A state_dict() is of the
        very next row; going on from it makes the rows before once more, and leaves them out
        (easydata.torch.dataset(loader) goes on without).

        A source that is shuffled comes in the order of epoch 0 each time.
        """
        import datasets

        return datasets.IterableDataset.from_generator(
            _rows_of_shards,
            features=_hf_features(self),
            gen_kwargs={"source": self, "shards": list(self.shard_names)},
        )

    def _shuffled(self, order: Shuffle) -> ShardedDataSource[T_co]:
        """What shuffle() gives: what makes rows of other rows shuffles those."""
        return ShuffledShardedSource(self, order)

    def _split_later(self) -> ShardedDataSource[T_co]:
        """This source upstream of a packer that splits documents.

        Documents that nobody said to cut are then whole. What makes rows of other rows asks those.
        """
        return self

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        """The rows as a stream of the engine.

        Args:
            columns: The fields that are read, and in which form; all by default.
            shards: The shards to read, in this order; all by default.
        """
        return self._python_stream(columns, shards)

    def _column_names(self) -> list[str] | None:
        """Names of the columns of `_stream()`; None where rows have no schema."""
        return _native.column_names(self._stream())

    def _shuffled_stream(self, columns: Columns | None, order: Shuffle) -> _native.Stream:
        """The rows in a random order."""
        if order.shuffle == "grain":
            raise ValueError(
                f'shuffle("grain") needs rows that can be read one by one, which '
                f'{type(self).__name__} does not offer; use "rows", or files'
            )
        return self._python_stream(columns, order=order)

    def _can_seek(self) -> bool:
        """Whether `_stream_from()` starts at any row without making those before."""
        return False

    def _stream_from(
        self, columns: Columns | None, shards: Sequence[str] | None, row: int
    ) -> _native.Stream | None:
        """The stream from row `row` of the first shard on; None where it cannot seek."""
        return self._stream(columns, shards) if row == 0 else None

    def _peek(self) -> Iterator[Any]:
        """The rows, for a look ahead that leaves no trace; of files, those at hand at once."""
        for name in self.shard_names:
            yield from self.open_shard(name)

    def _field_names(self) -> set[str]:
        """Names of the fields that rows have; without a schema, those of the first row."""
        names = self._column_names()
        return set(names if names is not None else first_row(self) or ())

    def _row_source(self) -> ShardedDataSource[Any] | None:
        """A source of as many rows in each shard that is cheaper to count; None where none is."""
        return None

    def _inputs(self) -> Sequence[ShardedDataSource[Any]]:
        """The sources that this one is made of."""
        return ()

    def _read_streams(self) -> Sequence[_native.Stream]:
        """What rows that are made in Python are made of: a state knows the files of these."""
        return [source._stream() for source in self._inputs()]

    def _joined(
        self,
        streams: Sequence[_native.Stream],
        shard_names: Sequence[dict[str, str]],
        columns: Columns | None,
        shards: Sequence[str] | None,
    ) -> _native.Stream:
        """Streams of shards, one after the other, as one; they may be called otherwise here."""
        wanted: dict[str, str] | None = None if columns is None else dict(columns)
        # Those that have no columns in common agree as rows.
        return _native.concat(streams, shard_names, wanted) or self._python_stream(columns, shards)

    def _python_stream(
        self,
        columns: Columns | None,
        shards: Sequence[str] | None = None,
        order: Shuffle | None = None,
        num_rows: int | None = None,
    ) -> _native.Stream:
        def rows(shard: str, row: int, epoch: int = 0) -> Iterator[Any]:
            return self.open_shard_at_row(shard, row) if row > 0 else self.open_shard(shard)

        return _native.python_stream(
            rows,
            list(self.shard_names if shards is None else shards),
            None if columns is None else dict(columns),
            description={
                "kind": self._kind or f"{type(self).__module__}.{type(self).__qualname__}"
            },
            name=self._source_name,
            num_rows=num_rows,
            inputs=list(self._read_streams()),
            **({} if order is None else order.options()),
        )


def _rows_of_shards(source: ShardedDataSource[Any], shards: list[str]) -> Iterator[Any]:
    for shard in shards:
        yield from source.open_shard(shard)


def _hf_features(source: ShardedDataSource[Any]) -> datasets.Features | None:
    """The columns of a source as `datasets` knows them; None where it must not be told.

    It brings rows into the form of features that it has, which is to change none.
    """
    import datasets
    import pyarrow as pa

    if source._column_names() is None:
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


def _mapped(fn: Callable[[Any], Any], rows: Iterator[Any], shard: str, first: int) -> Iterator[Any]:
    """``fn(row)`` for each row; its exceptions tell the row."""
    for number, row in enumerate(rows, first):
        try:
            made = fn(row)
        except Exception as error:
            fail_at(error, shard, number)
        yield made


class MappedShardedDataSource(ShardedDataSource[T]):
    """The rows of a source, each replaced by what a function makes of it.

    Args:
        source: Where the rows come from.
        fn: A pure function of one row.
    """

    def __init__(self, source: ShardedDataSource[Any], fn: Callable[[Any], T]) -> None:
        self._source = source
        self._fn: Callable[[Any], Any] = fn

    @property
    def shard_names(self) -> Sequence[str]:
        """Names of the shards, those of the source below."""
        return self._source.shard_names

    def num_shards(self) -> int:
        """Number of shards."""
        return self._source.num_shards()

    def open_shard(self, shard_name: str) -> Iterator[T]:
        """The rows of a shard, in order."""
        return _mapped(self._fn, self._source.open_shard(shard_name), shard_name, 0)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[T]:
        """The rows from row `row` on; the function does not see those before."""
        return _mapped(self._fn, self._source.open_shard_at_row(shard_name, row), shard_name, row)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard: one row comes of one row."""
        return self._source.get_shard_info(shard_name)

    def __len__(self) -> int:
        return len(self._source)

    def _shuffled(self, order: Shuffle) -> ShardedDataSource[T]:
        return MappedShardedDataSource(self._source._shuffled(order), self._fn)

    def _split_later(self) -> ShardedDataSource[T]:
        return MappedShardedDataSource(self._source._split_later(), self._fn)

    def _row_source(self) -> ShardedDataSource[Any] | None:
        return self._source if type(self) is MappedShardedDataSource else None

    def _inputs(self) -> Sequence[ShardedDataSource[Any]]:
        return (self._source,)

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        return TransformedShardedSource(self._source, MapTransform(self._fn))._stream(
            columns, shards
        )


class TransformedShardedSource(ShardedDataSource[Example]):
    """What a transform makes of a source's rows, made as they are read."""

    def __init__(
        self,
        source: ShardedDataSource[Any],
        transform: _Step | Callable[[Example], Example | None],
    ) -> None:
        """Wraps a source.

        Args:
            source: where the rows come from.
            transform: a `Transform`, an `ExpandTransform`, a chain of them, or a function of a row.
        """
        self._source = source
        self._transform = as_step(transform)
        self._root = source
        self._steps: list[_Step] = self._transform._steps()
        if isinstance(source, TransformedShardedSource):
            self._root = source._root
            self._steps = [*source._steps, *self._steps]
        elif type(source) is MappedShardedDataSource:
            self._root = source._source
            self._steps = [MapTransform(source._fn), *self._steps]
        self._names: list[str] | None = None
        self._names_known = False

    @property
    def source(self) -> ShardedDataSource[Any]:
        """The source that is transformed."""
        return self._source

    @property
    def transform_fn(self) -> _Step:
        """The transform."""
        return self._transform

    @property
    def shard_names(self) -> Sequence[str]:
        """Names of the shards, those of the source below."""
        return self._source.shard_names

    def num_shards(self) -> int:
        """Number of shards."""
        return self._source.num_shards()

    def open_shard(self, shard_name: str) -> Iterator[Example]:
        """The transformed rows of a shard, in order."""
        if any(step._gives_columns for step in self._steps) or (
            all(self._works_on_columns(step) for step in self._steps) and self._schema() is not None
        ):
            return _native.iterate_rows(self._stream(None, [shard_name]))
        return self._rows(self._root.open_shard(shard_name), shard_name, 0)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
        """The rows of a shard from row number `row` of the transformed rows on.

        Where every row gives one row the source below seeks; otherwise the rows before are made and
        passed over.
        """
        if self._keeps_rows():
            return self._rows(self._root.open_shard_at_row(shard_name, row), shard_name, row)
        return itertools.islice(self.open_shard(shard_name), row, None)

    def _shuffled(self, order: Shuffle) -> ShardedDataSource[Example]:
        return TransformedShardedSource(self._source._shuffled(order), self._transform)

    def _split_later(self) -> ShardedDataSource[Example]:
        steps = [step._split_later() for step in self._transform._steps()]
        return TransformedShardedSource(self._source._split_later(), ChainedTransform(steps))

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard; its number of rows only where the transform keeps it."""
        info = self._source.get_shard_info(shard_name)
        if info is None or self._transform.keeps_rows:
            return info
        return dataclasses.replace(info, num_rows=None)

    def __len__(self) -> int:
        if not self._transform.keeps_rows:
            raise TypeError(
                f"the number of rows is not known before they are made: {self._transform!r} "
                "may drop or add rows"
            )
        return len(self._source)

    def __repr__(self) -> str:
        return f"TransformedShardedSource({self._source!r}, {self._transform!r})"

    def _rows(self, rows: Iterator[Any], shard: str, first: int) -> Iterator[Example]:
        for number, row in enumerate(rows, first):
            try:
                yield from run_steps(self._steps, row)
            except Exception as error:
                fail_at(error, shard, number)

    def _keeps_rows(self) -> bool:
        return all(step.keeps_rows for step in self._steps)

    @staticmethod
    def _works_on_columns(step: _Step) -> bool:
        return step._column_op([], True) is not None

    def _schema(self) -> list[str] | None:
        """Names of the root's columns; None where its rows have no schema."""
        if not self._names_known:
            self._names = self._root._column_names()
            self._names_known = True
        return self._names

    def _first_row(self) -> Example | None:
        return first_row(self._root)

    def _row_source(self) -> ShardedDataSource[Any] | None:
        return self._root if self._keeps_rows() else None

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        return self._stream_of(lambda read: self._root._stream(read, shards), columns)

    def _can_seek(self) -> bool:
        return self._keeps_rows() and self._root._can_seek()

    def _stream_from(
        self, columns: Columns | None, shards: Sequence[str] | None, row: int
    ) -> _native.Stream | None:
        if row == 0:
            return self._stream(columns, shards)
        if not self._can_seek():
            return None

        def upstream(read: Columns | None) -> _native.Stream:
            stream = self._root._stream_from(read, shards, row)
            assert stream is not None
            return stream

        return self._stream_of(upstream, columns)

    def _inputs(self) -> Sequence[ShardedDataSource[Any]]:
        return (self._source,)

    def _stream_of(
        self, upstream: Callable[[Columns | None], _native.Stream], columns: Columns | None
    ) -> _native.Stream:
        return transform_stream(upstream, self._schema(), self._steps, columns, self._first_row)


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
        return self._source

    def _inputs(self) -> Sequence[ShardedDataSource[Any]]:
        return (self._source,)

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        if shards is not None and list(shards) != [_SHARD]:
            raise KeyError(f"the shard of a shuffled source is {_SHARD!r}, not {list(shards)!r}")
        return self._source._shuffled_stream(columns, self._order)


def first_row(source: ShardedDataSource[Any]) -> Example | None:
    """The first row of a source, or None if there is none."""
    return next(first_rows(source), None)


def first_rows(source: ShardedDataSource[Any], steps: Sequence[_Step] = ()) -> Iterator[Example]:
    """The first rows that `steps` make of a source's rows; of files, those at hand at once.

    The steps get copies: looking must not change what is looked at.
    """
    rows = source._peek()
    try:
        for row in rows:
            for made in run_steps(steps, copy.deepcopy(row) if steps else row):
                yield dict(made)
    finally:
        close = getattr(rows, "close", None)
        if close is not None:
            close()
