"""Data in shards: the base of every source, and what wraps one."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import logging
import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NoReturn,
    SupportsIndex,
    TypeVar,
    cast,
    overload,
)

from easydata import _native
from easydata.core.choices import SourceShuffle
from easydata.core.short_repr import call, table
from easydata.sources.easydel_sources import known_to_easydel
from easydata.sources.first_rows import first_fields
from easydata.sources.row_numbers import bounds_of, count_of, index_of, numbers_of
from easydata.sources.seen_files import named_files, note_files
from easydata.sources.token_stores import Keeping, OpenStore
from easydata.sources.unread_fields import UnreadFields, dataset_of, find_unread, tell_unread
from easydata.transforms.base import (
    Columns,
    Example,
    RowFunction,
    _Step,
    as_step,
    checked_function,
    checked_row,
    fail_at,
    run_steps,
)
from easydata.transforms.chat import ChatTemplateTransform
from easydata.transforms.fields import DropFields, RenameFields, SelectFields
from easydata.transforms.filters import FilterTransform

if TYPE_CHECKING:
    import datasets

_log = logging.getLogger("easydata")

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


class _ColumnNames:
    """Names of the columns; of rows without a schema, those of the first one.

    No property: a source of a user's own may have an attribute by that name.
    """

    def __get__(self, source: ShardedDataSource[Any] | None, owner: type) -> list[str]:
        if source is None:
            return cast("list[str]", self)  # for who looks at the class
        return source._plan.field_names()


class ShardedDataSource(ABC, Generic[T_co]):
    """Rows in named shards, each of which can be read from any row on.

    Subclasses in Python implement `shard_names`, `num_shards` and `open_shard`; they then work
    wherever a source of this package does. `open_shard_at_row` is worth overriding where a shard
    can be entered without reading what lies before.
    """

    _in_easydel = False

    @property  # type: ignore[misc]
    def __class__(self) -> type[ShardedDataSource[T_co]]:
        # An ABC that is asked whether this is an instance looks here first, whatever was imported
        # before what: the first time that it may be EasyDeL's, sources are registered there.
        if not ShardedDataSource._in_easydel:
            ShardedDataSource._in_easydel = known_to_easydel(ShardedDataSource)
        return type(self)

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
        say_if_examples(self)
        names = list(self.shard_names)
        indices = range(len(names)) if shard_indices is None else shard_indices
        for index in itertools.islice(indices, start_shard, None):
            try:
                name = names[index]
            except IndexError:
                raise IndexError(
                    f"shard_indices: there is no shard {index}: the source has {len(names)}, "
                    "numbered from 0"
                ) from None
            if start_row > 0:
                yield from self.open_shard_at_row(name, start_row)
                start_row = 0
            else:
                yield from self.open_shard(name)

    def __iter__(self) -> Iterator[T_co]:
        return self.iter_shards()

    def __len__(self) -> int:
        raise TypeError(
            f"{type(self).__name__} does not know its number of rows before they are read; count "
            "them by sum(1 for _ in source), or save them, and read the files"
        )

    def __bool__(self) -> bool:
        # A source is there, whatever it holds; asking must not count its rows.
        return True

    def __repr__(self) -> str:
        return call(type(self).__name__, *self._shown()[0], **self._shown()[1])

    def _repr_html_(self) -> str:
        given, options = self._shown()
        below = {"of": given[0]} if len(given) == 1 else {"of": list(given)} if given else {}
        return table(type(self).__name__, {**below, **options})

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """What it is made of and with which options, for its repr; nothing is read for it."""
        return self._inputs, {}

    column_names = _ColumnNames()

    def head(self, n: int = 5) -> list[T_co]:
        """Read the first `n` rows, into a list."""
        return list(itertools.islice(self, count_of("head", n)))

    @overload
    def __getitem__(self, index: SupportsIndex) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> ShardedDataSource[T_co]: ...

    def __getitem__(self, index: Any) -> Any:
        """Row `index`, or a source of the rows of a slice."""
        if isinstance(index, slice):
            bounds = bounds_of(index, self._total)
            return self.select(bounds) if isinstance(bounds, range) else self._between(*bounds)
        return next(
            iter(self._select(numbers_of([index_of(index)], self._total, self._why_unselected)))
        )

    def __add__(self, other: object) -> NoReturn:
        raise TypeError(
            "sources are joined by CompositeShardedSource([one, another]), and mixed by "
            "MixedShardedSource"
        )

    # What other libraries call it, and what it is called here.
    _names_elsewhere: ClassVar[Mapping[str, str]] = {
        "batch": "AsyncDataLoader(source, batch_size=...) makes batches",
        "collect": "list(source) reads all rows, source.head(5) the first",
        "column_names": "source.head(1) shows the first row with its fields",
        "columns": "source.head(1) shows the first row with its fields",
        "concatenate": "CompositeShardedSource([one, another]) reads one after the other",
        "features": "source.head(1) shows the first row with its fields",
        "flat_map": "transform() takes an ExpandTransform, which makes several rows of one",
        "num_rows": "len(source), where it is known before the rows are read",
        "remove_columns": "drop_fields([...])",
        "rename_column": "rename_fields({old: new})",
        "rename_columns": "rename_fields({old: new})",
        "repeat": "epochs= of AsyncDataLoader",
        "select_columns": "select_fields([...])",
        "shard": "rank= and world_size= of AsyncDataLoader",
        "to_list": "list(source) reads all rows, source.head(5) the first",
        "to_pandas": "pandas.DataFrame(list(source))",
        "train_test_split": 'split({"train": 0.9, "test": 0.1})',
        "with_format": "AsyncDataLoader gives arrays, easydata.torch tensors",
    }

    # What follows wraps this source; nothing is read by it.

    def take(self, n: int) -> ShardedDataSource[T_co]:
        """Take the first `n` rows, as a source; all where there are fewer."""
        return self._between(0, count_of("take", n))

    def skip(self, n: int) -> ShardedDataSource[T_co]:
        """Leave out the first `n` rows: a source of the others.

        Where the source knows its rows it is entered after them; else they are read.
        """
        return self._between(count_of("skip", n), None)

    def select(self, indices: Iterable[SupportsIndex]) -> ShardedDataSource[T_co]:
        """Choose rows by their numbers: a source of these, in this order.

        Args:
            indices: Numbers from 0, in any order and any number of times; negative ones count from
                the end.

        Raises:
            TypeError: Rows of this source cannot be read one by one.
            IndexError: There are fewer rows. Where files do not say how many, they are counted.
        """
        return self._select(numbers_of(indices, self._total, self._why_unselected))

    def split(
        self, parts: Mapping[str, float], seed: int = 0, *, by: str | None = None
    ) -> dict[str, ShardedDataSource[T_co]]:
        """Divide the rows into parts at random, as ``{name: source}``.

        Every row is in one part, and in the same one in each run and each epoch, in whatever order
        and by however many processes it is read. Shares are exact where all files say how many rows
        they have, or the rows are in memory. Else a row's part is drawn from the seed, the name of
        its file below the folder that all files are in, and its number there: data that moves keeps
        its parts.

        Args:
            parts: The share of each, ``{"train": 0.98, "validation": 0.02}``; they make up 1.
            seed: Another one divides the rows in another way.
            by: A field of text or whole numbers: rows that have one value are in one part, wherever
                they are. So duplicates are not in two, and files may be added later.
        """
        if not isinstance(parts, Mapping):
            raise TypeError(
                'split() takes the share of each part, {"train": 0.98, "validation": 0.02}, not '
                f"{_shown(parts)}"
            )
        options: dict[str, Any] = {"parts": dict(parts), "part_seed": seed}
        if by is not None:
            options["part_by"] = by
        _native.part_numbers(0, **options, part=next(iter(parts), None))  # refuses wrong ones
        return {name: self._divided({**options, "part": name}) for name in parts}

    def map(
        self,
        fn: Callable[..., T],
        *,
        version: str | int | None = None,
        fn_kwargs: Mapping[str, Any] | None = None,
        writer_batch_size: int | None = None,
    ) -> ShardedDataSource[T]:
        """A source of ``fn(row)`` for every row; one that leaves rows out is for filter().

        Args:
            fn: A pure function of one row.
            version: Another one whenever `fn` does something else: what was kept of its rows
                (cache()) is then made anew.
            fn_kwargs: Arguments by name that `fn` gets beside the row.
            writer_batch_size: For trainers that call the map() of `datasets`: says how that one
                writes its rows. This one writes none.
        """
        if fn_kwargs:
            fn = functools.partial(fn, **fn_kwargs)
        return MappedShardedDataSource(self, fn, version=version)

    def filter(
        self, predicate: Callable[[Any], bool], *, version: str | int | None = None
    ) -> ShardedDataSource[T_co]:
        """A source of the rows for which `predicate` is true; `version` as of map()."""
        return self.transform(FilterTransform(predicate, version=version))

    def transform(self, transform: Any) -> ShardedDataSource[Any]:
        """A source of what `transform` makes of the rows."""
        return TransformedShardedSource(self, transform)

    def rename_fields(self, mapping: Mapping[str, str]) -> ShardedDataSource[dict[str, Any]]:
        """A source of the rows with other names for some fields."""
        if not isinstance(mapping, Mapping):
            raise TypeError(
                f"rename_fields() takes a dict {{old name: new name}}, not {_shown(mapping)}"
            )
        return self.transform(RenameFields(dict(mapping)).claiming())

    def select_fields(self, fields: Sequence[str]) -> ShardedDataSource[dict[str, Any]]:
        """A source of the rows with these fields alone."""
        return self.transform(SelectFields(_names("select_fields", fields)).claiming())

    def drop_fields(self, fields: Sequence[str]) -> ShardedDataSource[dict[str, Any]]:
        """A source of the rows without these fields."""
        return self.transform(DropFields(_names("drop_fields", fields)).claiming())

    def apply_chat_template(
        self,
        tokenizer: Any,
        messages_field: str = "messages",
        output_field: str = "text",
        **kwargs: Any,
    ) -> ShardedDataSource[dict[str, Any]]:
        """A source of the rows with their messages rendered as text by a chat template."""
        return self.transform(
            ChatTemplateTransform(
                tokenizer, messages_field=messages_field, output_field=output_field, **kwargs
            ).claiming()
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

    def cache(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        max_bytes: str | int | None = None,
        compression: Literal["none", "gzip", "lz4", "zstd"] = "none",
        memory_blocks: int = 0,
        storage_options: Mapping[str, Any] | None = None,
    ) -> ShardedDataSource[T_co]:
        """A source of the same rows, each block of which is made once and kept.

        Blocks are kept as they are read, and found when they are read again: by this process, a
        later one, other machines that share the folder. They are known by the content of their
        file and by all that was done to it, so that what has changed is made anew. Of a source that
        is kept already the last place alone counts.

        Rows of sources in Python, of functions without a name or a `version=`, and of data in
        memory cannot be recognised again: they are made each time, which is said once.

        Args:
            path: Folder, here or on an object store; None: `.cache/easydel_pipeline`.
            max_bytes: Of all files in it, or "100GB": beyond it those go that were used longest
                ago; None: a tenth of what is free on its disk, at most 100 GB. Nothing is removed
                from an object store.
            compression: Of files that are written; files of any are read.
            memory_blocks: Blocks that are kept in memory, too.
            storage_options: How an object store is reached.

        Raises:
            ValueError: Of rows that are mixed or packed, which are made of blocks of many files:
                keep those.
        """
        return self._kept(
            Keeping.at(
                path,
                max_bytes=max_bytes,
                compression=compression,
                memory_blocks=memory_blocks,
                storage_options=storage_options,
            )
        )

    def to_hf(self) -> datasets.IterableDataset:
        """The rows as a `datasets.IterableDataset`, which reads this source as it is iterated.

        Each iteration begins anew. `column_names` and `features` are known without reading a row
        where the rows have a schema of numbers, text and lists of these. A state_dict() is of the
        very next row; going on from it makes the rows before once more, and leaves them out
        (easydata.torch.dataset(loader) does without). `labels` in arrays, as packed rows have
        them, are int64, which torch's losses want.

        A source that is shuffled comes in the order of epoch 0 each time.
        """
        import datasets

        return datasets.IterableDataset.from_generator(
            _rows_of_shards,
            features=_hf_features(self),
            gen_kwargs={"source": self, "shards": list(self.shard_names)},
        )

    # What a subclass in Python may have to say, beside the three methods that it must have.

    # The sources that it is made of: a state knows their files.
    _inputs: Sequence[ShardedDataSource[Any]] = ()
    # Whether shuffling it is shuffling those.
    _shuffles_inputs = False
    # The name of the dataset that it is, for people.
    _dataset_name = ""
    # What its rows have and nobody reads, once they were looked at (sources/unread_fields.py).
    _unread: UnreadFields | None = None

    @property
    def _plan(self) -> _native.Plan:
        """Its rows, as the engine knows them."""
        return self._rows_plan()

    def _rows_plan(
        self, inputs: Sequence[_native.Plan] | None = None, **known: Any
    ) -> _native.Plan:
        """Its rows, which are asked for one by one.

        Args:
            inputs: What they are made of; the plans of its inputs by default.
            known: What else is known of them, as _native.python_rows() takes it: their `name` in
                stats(), and a `description`, by which plans and saved states know them.
        """
        if inputs is None:
            inputs = [source._plan for source in self._inputs]
        known.setdefault("open", self._open_rows)
        known.setdefault("description", {"kind": _import_path(type(self))})
        return _native.python_rows(
            shard_names=self._list_shards,
            type_name=type(self).__name__,
            is_at_hand=self._at_hand,
            inputs=inputs,
            **known,
        )

    def _chain(self) -> tuple[ShardedDataSource[Any], list[_Step]]:
        """The source below all steps that make other rows of its rows, and these steps."""
        return self, []

    def _unshuffled(self) -> ShardedDataSource[Any]:
        """The same rows in an order that costs nothing to look at."""
        return self

    @property
    def _at_hand(self) -> bool:
        """Whether many of its rows can be looked at for next to nothing."""
        return False

    def _open_rows(self, shard: str, row: int, epoch: int = 0) -> Iterator[Any]:
        return self.open_shard_at_row(shard, row) if row > 0 else self.open_shard(shard)

    def _list_shards(self) -> Sequence[str]:
        return self.shard_names

    def _shuffled(self, order: Shuffle) -> ShardedDataSource[T_co]:
        """What shuffle() gives."""
        if not self._shuffles_inputs:
            return ShuffledShardedSource(self, order)
        return self._over([source._shuffled(order) for source in self._inputs])

    def _between(self, begin: int, end: int | None) -> ShardedDataSource[T_co]:
        """The rows from one to before another, or to the last."""
        return RowsBetweenSource(self, begin, end)

    # Whether selecting rows, which _inputs[0] has one for one, is selecting those.
    _selects_input = False

    def _why_unselected(self) -> str:
        """Why rows cannot be read one by one; "" where they can."""
        if self._selects_input:
            return self._inputs[0]._why_unselected()
        return f"{type(self).__name__} does not read rows one by one"

    def _total(self) -> int:
        """How many rows there are to select from."""
        return self._inputs[0]._total() if self._selects_input else len(self)

    def _select(self, numbers: list[int]) -> ShardedDataSource[T_co]:
        """The rows of these numbers, all of which there are, where they can be selected."""
        return self._over([self._inputs[0]._select(numbers)])

    def _divided(self, options: dict[str, Any]) -> ShardedDataSource[T_co]:
        """One part of the rows; see split()."""
        # A row is in the part of the row that it was made of.
        if not self._shuffles_inputs or options.get("part_by") is not None:
            return PartShardedSource(self, options)
        return self._over([source._divided(options) for source in self._inputs])

    def _kept(self, keeping: Keeping) -> ShardedDataSource[T_co]:
        """What cache() gives."""
        if where := _where_to_keep(self):
            raise ValueError(where)
        return CachedShardedSource(self, keeping)

    def _unkept(self) -> ShardedDataSource[T_co]:
        """The same rows, of which none is kept right here."""
        return self

    # Why its own rows are not kept, and what is instead; "" where they may be.
    _keep_instead = ""

    def _listings(self) -> list[_native.FileListing]:
        """The files that it reads."""
        return [listing for source in self._inputs for listing in source._listings()]

    def _counts_steps(self) -> bool:
        """Whether a weight schedule in it counts the steps of a loader."""
        return any(source._counts_steps() for source in self._inputs)

    def _template_date(self) -> str | None:
        """The date that clocks of chat templates are told, where nobody gave one."""
        dates = (source._template_date() for source in self._inputs)
        return next((date for date in dates if date is not None), None)

    def _with_template_date(self, date: str) -> ShardedDataSource[T_co]:
        """The same with that date, where nobody gave one."""
        if all(source._template_date() is None for source in self._inputs):
            return self
        return self._over([source._with_template_date(date) for source in self._inputs])

    def _over(self, inputs: Sequence[ShardedDataSource[Any]]) -> ShardedDataSource[T_co]:
        """The same, made of other sources."""
        other = copy.copy(self)
        other._inputs = tuple(inputs)
        return other

    def _shuffled_plan(self, order: Shuffle) -> _native.Plan:
        """Its rows in a random order."""
        return _native.shuffled_rows(self._plan, **order.options())

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        """Its rows as a stream of the engine.

        Args:
            columns: The fields that are read, and in which form; all by default.
            shards: The shards to read, in this order; all by default.
        """
        return self._plan.stream(columns, shards)

    def _row_source(self) -> ShardedDataSource[Any] | None:
        """A source of as many rows in each shard that is cheaper to count; None where none is."""
        return None


class PlannedSource(ShardedDataSource[T_co]):
    """A source of the engine's: what it has is its plan, which is made when it is first used."""

    _made_plan: _native.Plan | None = None

    def _make_plan(self) -> _native.Plan:
        raise NotImplementedError

    @property
    def _plan(self) -> _native.Plan:
        if self._made_plan is None:
            self._made_plan = self._make_plan()
        return self._made_plan

    def _rows_plan(
        self, inputs: Sequence[_native.Plan] | None = None, **known: Any
    ) -> _native.Plan:
        # The plan holds a copy, so that source and plan are no circle.
        return super(PlannedSource, copy.copy(self))._rows_plan(inputs, **known)

    def __getstate__(self) -> dict[str, Any]:
        # Whoever gets a copy, which may have other inputs, makes its plan anew.
        return {**self.__dict__, "_made_plan": None}


class WrapperSource(PlannedSource[T_co]):
    """A source of the engine's over another one, whose shards it has where it says nothing else."""

    @property
    def _source(self) -> ShardedDataSource[Any]:
        return self._inputs[0]

    @property
    def shard_names(self) -> Sequence[str]:
        """Names of the shards, those of the source below."""
        return self._source.shard_names

    def num_shards(self) -> int:
        """Number of shards."""
        return self._source.num_shards()


def _import_path(type_: type) -> str:
    return f"{type_.__module__}.{type_.__qualname__}"


def _rows_of_shards(source: ShardedDataSource[Any], shards: list[str]) -> Iterator[Any]:
    import numpy as np

    for shard in shards:
        for row in source.open_shard(shard):
            labels = row.get("labels") if isinstance(row, Mapping) else None
            if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
                row = {**row, "labels": labels.astype(np.int64)}
            yield row


def _hf_features(source: ShardedDataSource[Any]) -> datasets.Features | None:
    """The columns of a source as `datasets` knows them; None where it must not be told.

    It brings rows into the form of features that it has, which is to change none.
    """
    import datasets
    import pyarrow as pa

    if source._plan.column_names() is None:
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
            made = checked_row(fn(row))
        except Exception as error:
            fail_at(error, shard, number)
        yield made


class MappedShardedDataSource(WrapperSource[T]):
    """The rows of a source, each replaced by what a function makes of it.

    Args:
        source: Where the rows come from.
        fn: A pure function of one row.
        version: Another one whenever `fn` does something else; see cache().
    """

    def __init__(
        self,
        source: ShardedDataSource[Any],
        fn: Callable[[Any], T],
        *,
        version: str | int | None = None,
    ) -> None:
        self._inputs = (source,)
        self._fn: Callable[[Any], Any] = checked_function(fn, "map()")
        self._version = version

    _shuffles_inputs = True
    _selects_input = True

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

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self._source, self._fn), {}

    def _row_source(self) -> ShardedDataSource[Any] | None:
        return self._source if type(self) is MappedShardedDataSource else None

    def _chain(self) -> tuple[ShardedDataSource[Any], list[_Step]]:
        if type(self) is not MappedShardedDataSource:
            return self, []
        return self._source, [RowFunction(self._fn, version=self._version)]

    def _make_plan(self) -> _native.Plan:
        step = RowFunction(self._fn, version=self._version)
        return TransformedShardedSource(self._source, step)._plan


class TransformedShardedSource(WrapperSource[Example]):
    """What a transform makes of a source's rows, made as they are read."""

    _shuffles_inputs = True

    @property
    def _selects_input(self) -> bool:  # type: ignore[override]
        return self._transform.keeps_rows

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
        self._inputs = (source,)
        self._transform = as_step(transform)
        self._fields_checked = False

    def _chain(self) -> tuple[ShardedDataSource[Any], list[_Step]]:
        """The source below all transforms, and their steps."""
        root, before = self._source._chain()
        return root, [*before, *self._transform._steps()]

    @property
    def source(self) -> ShardedDataSource[Any]:
        """The source that is transformed."""
        return self._source

    @property
    def transform_fn(self) -> _Step:
        """The transform."""
        return self._transform

    def open_shard(self, shard_name: str) -> Iterator[Example]:
        """The transformed rows of a shard, in order."""
        self._check_fields()
        root, steps = self._chain()
        known = [step._plan_step() for step in steps]
        if any(step.gives_columns for step in known) or (
            all(step.works_on_columns for step in known)
            and (
                all(step.takes_whole_rows for step in known)
                or root._plan.column_names() is not None
            )
        ):
            return _native.iterate_rows(self._stream(None, [shard_name]))
        return _rows(steps, root.open_shard(shard_name), shard_name, 0)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
        """The rows of a shard from row number `row` of the transformed rows on.

        Where every row gives one row the source below seeks; otherwise the rows before are made and
        passed over.
        """
        self._check_fields()
        root, steps = self._chain()
        if all(step.keeps_rows for step in steps):
            return _rows(steps, root.open_shard_at_row(shard_name, row), shard_name, row)
        return itertools.islice(self.open_shard(shard_name), row, None)

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
                "may drop or add rows; count them by sum(1 for _ in source), or save them, and "
                "read the files"
            )
        return len(self._source)

    def _template_date(self) -> str | None:
        return self._transform._template_date() or super()._template_date()

    def _with_template_date(self, date: str) -> ShardedDataSource[Example]:
        source = self._source._with_template_date(date)
        made = TransformedShardedSource(source, self._transform._with_template_date(date))
        made._fields_checked, made._unread = self._fields_checked, self._unread
        return made

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self._source, self._transform), {}

    def _row_source(self) -> ShardedDataSource[Any] | None:
        root, steps = self._chain()
        return root if all(step.keeps_rows for step in steps) else None

    def _check_fields(self) -> None:
        """Looks once, before the first rows are read, whether there are the fields that are named.

        Raises:
            ValueError: One is in no row, or a field would be renamed onto one beside it.
        """
        if self._fields_checked:
            return
        root, steps = self._chain()
        for number, step in enumerate(steps):
            if step._fields_named() or step._fields_one_of():
                _check_step(root, steps[:number], step)
            if step._claims_fields:
                self._unread = find_unread(root, steps[:number], step._fields_read)
                tell_unread(root, self._unread, type(step).__name__)
        self._fields_checked = True

    def _make_plan(self) -> _native.Plan:
        self._check_fields()
        root, steps = self._chain()
        return _native.transformed_rows(root._plan, [step._plan_step() for step in steps])


def _rows(steps: Sequence[_Step], rows: Iterator[Any], shard: str, first: int) -> Iterator[Example]:
    for number, row in enumerate(rows, first):
        try:
            yield from run_steps(steps, row)
        except Exception as error:
            fail_at(error, shard, number)


def _check_step(root: ShardedDataSource[Any], before: Sequence[_Step], step: _Step) -> None:
    """Raises ValueError where the rows that come of `before` lack what a step names."""
    wanted, taken = step._fields_named(), step._fields_taken()
    one_of = step._fields_one_of()
    onto: dict[str, str] = {}
    seen: dict[str, None] = {}
    try:
        for fields in first_fields(root, wanted or one_of, before):
            seen.update(dict.fromkeys(fields))
            if one_of and not seen.keys().isdisjoint(one_of):
                break
            onto = onto or _clashes(taken, fields)
    except Exception as error:
        # It comes again where the row is read, with its address, or is left out there.
        _log.debug("%r: the fields of the rows before it are not known: %s", step, error)
        return
    names = list(seen)
    absent = [name for name in wanted if name not in seen] if seen else []
    if absent:
        raise ValueError(
            "; ".join(
                f"{step!r} names {name!r}, but no row has it{_native.suggestion(name, names)}"
                for name in absent
            )
        )
    if one_of and names and seen.keys().isdisjoint(one_of):
        found = " or ".join(map(repr, one_of))
        raise ValueError(
            f"{step!r} finds no conversation: no row has {found}; name its field; there are: "
            f"{', '.join(names)}"
        )
    for old, new in onto.items():
        raise ValueError(
            f"{step!r} renames {old!r} onto {new!r}, which rows have beside it: one of the two "
            f"would be lost; drop it before, drop_fields([{new!r}]), or take another name"
        )


def _clashes(taken: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The new names that fields beside them have already, by the old one."""
    there = set(names)
    return {
        old: new
        for old, new in taken.items()
        if old != new and old in there and new in there and new not in taken
    }


def _names(method: str, fields: Any) -> list[str]:
    """The names of fields that a method takes."""
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        cure = f"write [{fields!r}]" if isinstance(fields, str) else "write a list of texts"
        raise TypeError(f"{method}() takes a list of names, not {_shown(fields)}; {cure}")
    return list(fields)


def _shown(value: object) -> str:
    return f"the text {value!r}" if isinstance(value, str) else type(value).__name__


_told_examples: weakref.WeakSet[ShardedDataSource[Any]] = weakref.WeakSet()


def say_if_examples(source: ShardedDataSource[Any]) -> None:
    """Says once that the steps of a weight schedule are examples, where nothing makes steps."""
    if source not in _told_examples and source._counts_steps():
        _told_examples.add(source)
        _log.warning(
            'the weight schedule counts the steps of a loader (schedule_unit="steps"), and there '
            "is none: each example counts as a step; give the source to a loader, or say "
            'schedule_unit="examples"'
        )


_SHARD = "shuffled"


class ShuffledShardedSource(WrapperSource[Any]):
    """The rows of a source in an order of each (seed, epoch), as one shard.

    Iterated from Python, it gives the order of epoch 0; a loader goes through one epoch after the
    other. Made by `source.shuffle()`.

    Args:
        source: Where the rows come from.
        order: Theirs.
    """

    def __init__(self, source: ShardedDataSource[Any], order: Shuffle) -> None:
        self._inputs = (source,)
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
        return len(self.source)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self.source, self._order.shuffle, self._order.seed), {}

    def _shuffled(self, order: Shuffle) -> ShardedDataSource[Any]:
        return self.source._shuffled(order)

    def _divided(self, options: dict[str, Any]) -> ShardedDataSource[Any]:
        return self._over([self.source._divided(options)])

    def _unshuffled(self) -> ShardedDataSource[Any]:
        return self.source

    def _row_source(self) -> ShardedDataSource[Any]:
        return self.source

    def _make_plan(self) -> _native.Plan:
        return self.source._shuffled_plan(self._order)


_CHOSEN = "rows"


class RowsBetweenSource(WrapperSource[Any]):
    """The rows of a source from one to before another, as one shard.

    Made by `take()`, `skip()` and slices.

    Args:
        source: Where the rows come from.
        begin: The number of the first row.
        end: The number after the last one; None: to the end.
    """

    def __init__(self, source: ShardedDataSource[Any], begin: int, end: int | None) -> None:
        self._inputs = (source,)
        self._begin = begin
        self._end = end if end is None else max(begin, end)

    @property
    def shard_names(self) -> Sequence[str]:
        """The one shard's name."""
        return (_CHOSEN,)

    def num_shards(self) -> int:
        """One."""
        return 1

    def open_shard(self, shard_name: str) -> Iterator[Any]:
        """The rows, in order."""
        return self.open_shard_at_row(shard_name, 0)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Any]:
        """The rows from row `row` on."""
        begin = self._begin + row
        most = None if self._end is None else max(0, self._end - begin)
        return itertools.islice(_rows_from(self._source, begin), most)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """The number of rows, where the source knows its own at once."""
        total = rows_known(self._source)
        known = None if total is None else self._rows_of(total)
        return ShardInfo(shard_id=0, shard_name=shard_name, num_rows=known)

    def _rows_of(self, total: int) -> int:
        end = total if self._end is None else min(self._end, total)
        return max(0, end - self._begin)

    def __len__(self) -> int:
        return self._rows_of(len(self._source))

    def __repr__(self) -> str:
        return f"RowsBetweenSource({self._source!r}, {self._begin}, {self._end})"

    def _between(self, begin: int, end: int | None) -> ShardedDataSource[Any]:
        ends = [] if self._end is None else [self._end]
        if end is not None:
            ends.append(self._begin + end)
        return RowsBetweenSource(self._source, self._begin + begin, min(ends, default=None))

    def _why_unselected(self) -> str:
        return self._source._why_unselected()

    def _total(self) -> int:
        return self._rows_of(self._source._total())

    def _select(self, numbers: list[int]) -> ShardedDataSource[Any]:
        return self._source._select([self._begin + number for number in numbers])

    @property
    def _at_hand(self) -> bool:
        return self._source._at_hand

    def _make_plan(self) -> _native.Plan:
        return _native.rows_between(self._source._plan, self._begin, self._end)


def rows_known(source: ShardedDataSource[Any]) -> int | None:
    """How many rows there will be, where the files say so without being read; else None."""
    infos = [source.get_shard_info(shard) for shard in source.shard_names]
    rows = [info.num_rows for info in infos if info is not None and info.num_rows is not None]
    return sum(rows) if len(rows) == len(infos) else None


def _rows_from(source: ShardedDataSource[Any], row: int) -> Iterator[Any]:
    """The rows of a source from number `row` on; shards whose rows are known are passed over."""
    if row == 0:
        return iter(source)
    for first, name in enumerate(source.shard_names):
        info = source.get_shard_info(name)
        rows = None if info is None else info.num_rows
        if rows is None:
            return itertools.islice(source.iter_shards(start_shard=first), row, None)
        if row < rows:
            return source.iter_shards(start_shard=first, start_row=row)
        row -= rows
    return iter(())


class PartShardedSource(WrapperSource[Any]):
    """One part of the rows of a source.

    Made by `split()`.

    Args:
        source: Where the rows come from.
        options: Which part, as the engine has it.
    """

    def __init__(self, source: ShardedDataSource[Any], options: dict[str, Any]) -> None:
        self._inputs = (source,)
        self._options = options

    def open_shard(self, shard_name: str) -> Iterator[Any]:
        """The rows of a shard that are in the part, in order."""
        return _native.iterate_rows(self._stream(None, [shard_name]))

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard; how many of its rows are in the part is not."""
        info = self._source.get_shard_info(shard_name)
        return None if info is None else dataclasses.replace(info, num_rows=None)

    def __iter__(self) -> Iterator[Any]:
        return _native.iterate_rows(self._stream())

    def __len__(self) -> int:
        total = None if "part_by" in self._options else self._source._plan.stated_rows()
        if total is None:
            raise TypeError(
                f"part {self._options['part']!r}: rows that are not counted beforehand are divided "
                "one by one, so that their number is not known; count them by "
                "sum(1 for _ in source), or save the parts, and read the files"
            )
        return len(_native.part_numbers(total, **self._options))

    def __repr__(self) -> str:
        return f"PartShardedSource({self._source!r}, {self._options['part']!r})"

    def _make_plan(self) -> _native.Plan:
        return _native.part_rows(self._source._plan, **self._options)


# What was said of rows that cannot be kept.
_told_unkept: set[str] = set()


class CachedShardedSource(WrapperSource[Any]):
    """The rows of a source, each block of which is made once and kept.

    Made by `source.cache()`.

    Args:
        source: Where the rows come from.
        keeping: Where they are kept.
    """

    _shuffles_inputs = True
    _selects_input = True

    def __init__(self, source: ShardedDataSource[Any], keeping: Keeping) -> None:
        self._inputs = (source,)
        self._keeping = keeping
        self._store: OpenStore | None = None

    @property
    def source(self) -> ShardedDataSource[Any]:
        """The source whose rows are kept."""
        return self._source

    def open_shard(self, shard_name: str) -> Iterator[Any]:
        """The rows of a shard, in order."""
        return _native.iterate_rows(self._stream(None, [shard_name]))

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Any]:
        """The rows of a shard from row `row` on."""
        if row > 0 and self._plan.can_seek:
            return _native.iterate_rows(self._plan.stream(None, [shard_name], row))
        return itertools.islice(self.open_shard(shard_name), row, None)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard."""
        return self._source.get_shard_info(shard_name)

    def __len__(self) -> int:
        return len(self._source)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self._source, self._keeping.folder), {}

    def _kept(self, keeping: Keeping) -> ShardedDataSource[Any]:
        return self._source._kept(keeping)

    def _unkept(self) -> ShardedDataSource[Any]:
        return self._source

    def _divided(self, options: dict[str, Any]) -> ShardedDataSource[Any]:
        return PartShardedSource(self, options)  # whose blocks are kept whole

    def _row_source(self) -> ShardedDataSource[Any]:
        return self._source

    @property
    def _at_hand(self) -> bool:
        return self._source._at_hand

    def _make_plan(self) -> _native.Plan:
        below = self._source._plan
        try:
            reason = _native.why_nothing_is_kept(below)
            if not reason:
                self._store = self._keeping.open()
        except (OSError, ValueError, KeyError, TypeError, NotImplementedError) as error:
            reason = str(error)  # of a folder, or of rows, whoever reads them will see
        if reason or self._store is None:
            self._tell_unkept(reason)
            return below
        if self._keeping.is_here:
            note_files(self._keeping.folder, named_files(self._listings()))
        return _native.cached(below, self._store.native)

    def _tell_unkept(self, reason: str) -> None:
        name = dataset_of(self)
        said = (f"dataset {name!r}: " if name else "") + f"its rows are not kept: {reason}"
        if said not in _told_unkept:
            _told_unkept.add(said)
            _log.warning("%s", said)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_store": None}


def _where_to_keep(source: ShardedDataSource[Any]) -> str:
    """What to keep in place of a source's rows; "" where these may be."""
    if source._keep_instead or len(source._inputs) != 1:
        return source._keep_instead
    return _where_to_keep(source._inputs[0])
