"""Data in shards: the base of every source, and what wraps one."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeAlias, TypeVar

if TYPE_CHECKING:
    import datasets

    from easydata import _native

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Columns: TypeAlias = Mapping[str, Literal["any", "text", "tokens"]]
"""Fields that a later stage reads, and the form in which it wants them; None means all."""


@dataclass
class ShardInfo:
    """What is known of a shard without reading it.

    Attributes:
        shard_id: Place among the shards of its source.
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

    shuffle: Literal["blocks", "rows", "grain"]
    seed: int
    window_bytes: int | None = None

    def __post_init__(self) -> None:
        from easydata import _native

        _native.check_shuffle(self.shuffle, self.seed, self.window_bytes)


class ShardedDataSource(ABC, Generic[T_co]):
    """Rows in named shards, each of which can be read from any row on.

    Subclasses in Python implement `shard_names`, `num_shards` and `open_shard`; they then work
    wherever a source of this package does. `open_shard_at_row` is worth overriding where a shard
    can be entered without reading what lies before.
    """

    # What stats() calls the rows of the source; nothing where it has no name.
    _source_name = ""

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
            start_shard: Where to begin, as a place in `shard_indices` (not a shard's own number).
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
        from easydata.transforms import FilterTransform

        return self.transform(FilterTransform(predicate))

    def transform(self, transform: Any) -> ShardedDataSource[Any]:
        """A source of what `transform` makes of the rows."""
        from easydata.transforms import TransformedShardedSource

        return TransformedShardedSource(self, transform)

    def rename_fields(self, mapping: Mapping[str, str]) -> ShardedDataSource[Any]:
        """A source of the rows with other names for some fields."""
        from easydata.transforms import RenameFields

        return self.transform(RenameFields(dict(mapping)))

    def select_fields(self, fields: Sequence[str]) -> ShardedDataSource[Any]:
        """A source of the rows with these fields alone."""
        from easydata.transforms import SelectFields

        return self.transform(SelectFields(list(fields)))

    def drop_fields(self, fields: Sequence[str]) -> ShardedDataSource[Any]:
        """A source of the rows without these fields."""
        from easydata.transforms import DropFields

        return self.transform(DropFields(list(fields)))

    def apply_chat_template(
        self,
        tokenizer: Any,
        messages_field: str = "messages",
        output_field: str = "text",
        **kwargs: Any,
    ) -> ShardedDataSource[Any]:
        """A source of the rows with their messages rendered as text by a chat template."""
        from easydata.transforms import ChatTemplateTransform

        return self.transform(
            ChatTemplateTransform(
                tokenizer, messages_field=messages_field, output_field=output_field, **kwargs
            )
        )

    def shuffle(
        self,
        mode: Literal["blocks", "rows", "grain"] = "blocks",
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
        """The rows as a `datasets.IterableDataset`, which reads this source as it is iterated."""
        import datasets

        return datasets.IterableDataset.from_generator(
            _rows_of_shards, gen_kwargs={"source": self, "shards": list(self.shard_names)}
        )

    def _shuffled(self, order: Shuffle) -> ShardedDataSource[T_co]:
        """What shuffle() gives: what makes rows of other rows shuffles those."""
        from easydata.sources.shuffled import ShuffledShardedSource

        return ShuffledShardedSource(self, order)

    def _split_later(self) -> ShardedDataSource[T_co]:
        """This source in front of a packer that splits documents.

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
        from easydata import _native

        return _native.column_names(self._stream())

    def _shuffled_stream(self, columns: Columns | None, order: Shuffle) -> _native.Stream:
        """The rows in a random order."""
        if order.shuffle == "grain":
            raise ValueError(
                f'shuffle("grain") needs rows that can be read one by one, which '
                f'{type(self).__name__} does not offer; use "rows", or files'
            )
        return self._python_stream(columns, order=order)

    def _python_stream(
        self,
        columns: Columns | None,
        shards: Sequence[str] | None = None,
        order: Shuffle | None = None,
        num_rows: int | None = None,
    ) -> _native.Stream:
        from easydata import _native

        def rows(shard: str, row: int, epoch: int = 0) -> Iterator[Any]:
            return self.open_shard_at_row(shard, row) if row > 0 else self.open_shard(shard)

        return _native.python_stream(
            rows,
            list(self.shard_names if shards is None else shards),
            None if columns is None else dict(columns),
            description={"kind": f"{type(self).__module__}.{type(self).__qualname__}"},
            name=self._source_name,
            num_rows=num_rows,
            **({} if order is None else vars(order)),
        )


def _rows_of_shards(source: ShardedDataSource[Any], shards: list[str]) -> Iterator[Any]:
    for shard in shards:
        yield from source.open_shard(shard)


def _mapped(fn: Callable[[Any], Any], rows: Iterator[Any], shard: str, first: int) -> Iterator[Any]:
    """``fn(row)`` for each row; its exceptions tell the row."""
    for number, row in enumerate(rows, first):
        try:
            made = fn(row)
        except Exception as error:
            fail_at(error, shard, number)
        yield made


def fail_at(error: Exception, shard: str, row: int) -> NoReturn:
    """Raises an exception of a callable with a note of the row that it was called for.

    A StopIteration, which would look like the end of the rows, becomes a RuntimeError, as in a
    generator (PEP 479).
    """
    note = f"at {shard} row {row}"
    if isinstance(error, StopIteration):
        stopped = RuntimeError("the callable raised StopIteration")
        stopped.add_note(note)
        raise stopped from error
    error.add_note(note)
    raise error


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

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        from easydata.transforms import MapTransform, TransformedShardedSource

        return TransformedShardedSource(self._source, MapTransform(self._fn))._stream(
            columns, shards
        )
