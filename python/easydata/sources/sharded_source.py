"""Data in shards: the base of every source, and what wraps one."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Self,
    SupportsIndex,
    TypeVar,
    overload,
)

from easydata import _native
from easydata.core.choices import SourceShuffle
from easydata.sources.easydel_sources import known_to_easydel
from easydata.sources.field_checks import check_step
from easydata.sources.hf_features import features_of, rows_of_shards
from easydata.sources.row_numbers import bounds_of, count_of, index_of, numbers_of
from easydata.sources.rows_in_shards import RowsInShards, ShardInfo, T_co, rows_from, rows_known
from easydata.sources.seen_files import listings_of, named_files, note_files
from easydata.sources.token_stores import Keeping, OpenStore
from easydata.sources.unread_fields import UnreadFields, dataset_of, find_unread, tell_unread
from easydata.transforms.base import (
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


class ShardedDataSource(RowsInShards[T_co]):
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

    @overload
    def __getitem__(self, index: SupportsIndex) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> ShardedDataSource[T_co]: ...

    def __getitem__(self, index: Any) -> Any:
        """Row `index`, or a source of the rows of a slice."""
        if isinstance(index, slice):
            bounds = bounds_of(index, functools.partial(_rows_to_number, self))
            return self.select(bounds) if isinstance(bounds, range) else Between(*bounds).of(self)
        return next(iter(self.select([index_of(index)])))

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
        return Between(0, count_of("take", n)).of(self)

    def skip(self, n: int) -> ShardedDataSource[T_co]:
        """Leave out the first `n` rows: a source of the others.

        Where the source knows its rows it is entered after them; else they are read.
        """
        return Between(count_of("skip", n), None).of(self)

    def select(self, indices: Iterable[SupportsIndex]) -> ShardedDataSource[T_co]:
        """Choose rows by their numbers: a source of these, in this order.

        Args:
            indices: Numbers from 0, in any order and any number of times; negative ones count from
                the end.

        Raises:
            TypeError: Rows of this source cannot be read one by one.
            IndexError: There are fewer rows. Where files do not say how many, they are counted.
        """
        return Selection(functools.partial(numbers_of, indices)).of(self)

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
        _native.PartOptions(**options, part=next(iter(parts), None))  # refuses wrong ones
        return {name: Part({**options, "part": name}).of(self) for name in parts}

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
        return Shuffle(mode, 0 if seed is None else seed, window_bytes).of(self)

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
        keeping = Keeping.at(
            path,
            max_bytes=max_bytes,
            compression=compression,
            memory_blocks=memory_blocks,
            storage_options=storage_options,
        )
        return Keep(keeping).of(self)

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
            rows_of_shards,
            features=features_of(self),
            gen_kwargs={"source": self, "shards": list(self.shard_names)},
        )

    # What a subclass may have to say, beside the three methods that it must have, and _shown().

    # The sources that it is made of: a state knows their files.
    _inputs: Sequence[ShardedDataSource[Any]] = ()
    # What is done to it by doing it to those: names of rewrites.
    _passes_on: Collection[str] = ()

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[T_co] | None:
        """What a rewrite makes of it, where it has a way of its own; else None."""
        return None

    def _over(self, inputs: Sequence[ShardedDataSource[Any]]) -> Self:
        """The same, made of other sources."""
        other = copy.copy(self)
        other._inputs = tuple(inputs)
        return other


class Rewrite:
    """What makes another source of one: another order, some of the rows, rows that are kept."""

    name = ""
    """What sources that pass it on to their inputs call it."""

    def of(self, source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
        """What it makes of a source."""
        made = source._rewritten(self)
        if made is not None:
            return made
        return self.through(source) if self.name in source._passes_on else self.around(source)

    def through(self, source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
        """The same source over what it makes of its inputs."""
        inputs = [self.of(each) for each in source._inputs]
        is_same = all(one is other for one, other in zip(inputs, source._inputs, strict=True))
        return source if is_same else source._over(inputs)

    def around(self, source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
        """What it makes of a source that says nothing of it."""
        return source


class PlannedSource(ShardedDataSource[T_co]):
    """A source of the engine's: what it has is its plan, which is made when it is first used."""

    _made_plan: _native.Plan | None = None

    @property
    def _plan(self) -> _native.Plan:
        if self._made_plan is None:
            self._made_plan = self._make_plan()
        return self._made_plan

    def num_shards(self) -> int:
        """Number of shards."""
        return len(self.shard_names)

    def open_shard(self, shard_name: str) -> Iterator[T_co]:
        """The rows of a shard, in order. Of files they are read ahead on the engine's threads."""
        return self.open_shard_at_row(shard_name, 0)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[T_co]:
        """The rows of a shard from row `row` on; those before are read where it cannot seek.

        Of files: Parquet is entered by row group, Arrow by record batch, lines of text by an index
        that is built while reading (or by counting line ends); compressed text and JSON arrays are
        read, though not parsed, from their start.
        """
        if row > 0 and not self._plan.can_seek:
            return itertools.islice(self.open_shard(shard_name), row, None)
        rows: Iterator[Any] = _native.iterate_rows(self._plan.stream(None, [shard_name], row))
        return rows

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
    def source(self) -> ShardedDataSource[Any]:
        """The source that it is made of."""
        return self._inputs[0]

    @property
    def shard_names(self) -> Sequence[str]:
        """Names of the shards, those of the source below."""
        return self.source.shard_names


class ShardwiseSource(WrapperSource[T_co]):
    """A source of the engine's over another one, each of whose shards it makes another of."""

    _keeps_rows = True
    """Whether each row gives exactly one row."""

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard; its number of rows only where each gives one row."""
        info = self.source.get_shard_info(shard_name)
        if info is None or self._keeps_rows:
            return info
        return dataclasses.replace(info, num_rows=None)

    def __len__(self) -> int:
        return len(self.source)


def _mapped(fn: Callable[[Any], Any], rows: Iterator[Any], shard: str, first: int) -> Iterator[Any]:
    """``fn(row)`` for each row; its exceptions tell the row."""
    for number, row in enumerate(rows, first):
        try:
            made = checked_row(fn(row))
        except Exception as error:
            fail_at(error, shard, number)
        yield made


class MappedShardedDataSource(ShardwiseSource[T]):
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

    _passes_on = ("shuffle", "split", "select")

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Any]:
        """The rows from row `row` on; the function does not see those before."""
        below = self.source
        rows = below.open_shard_at_row(shard_name, row) if row > 0 else below.open_shard(shard_name)
        return _mapped(self._fn, rows, shard_name, row)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self.source, self._fn), {}

    @property
    def _step(self) -> _Step:
        return RowFunction(self._fn, version=self._version)

    def _make_plan(self) -> _native.Plan:
        return TransformedShardedSource(self.source, self._step)._plan


class TransformedShardedSource(ShardwiseSource[Example]):
    """What a transform makes of a source's rows, made as they are read."""

    # What its rows have and nobody reads, once they were looked at.
    _unread: UnreadFields | None = None

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
        self._keeps_rows = self._transform.keeps_rows
        selects = ("select",) if self._keeps_rows else ()
        self._passes_on = ("shuffle", "split", *selects)

    @property
    def transform_fn(self) -> _Step:
        """The transform."""
        return self._transform

    def open_shard(self, shard_name: str) -> Iterator[Example]:
        """The transformed rows of a shard, in order."""
        self._check_fields()
        root, steps = chain_of(self)
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
        root, steps = chain_of(self)
        if all(step.keeps_rows for step in steps):
            return _rows(steps, root.open_shard_at_row(shard_name, row), shard_name, row)
        return itertools.islice(self.open_shard(shard_name), row, None)

    def __len__(self) -> int:
        if not self._keeps_rows:
            raise TypeError(
                f"the number of rows is not known before they are made: {self._transform!r} "
                "may drop or add rows; count them by sum(1 for _ in source), or save them, and "
                "read the files"
            )
        return len(self.source)

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Example] | None:
        if not isinstance(rewrite, TemplateDate) or self._transform._template_date() is None:
            return None
        made = self._over([rewrite.of(self.source)])
        made._transform = self._transform._with_template_date(rewrite.date)
        return made

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self.source, self._transform), {}

    def _check_fields(self) -> None:
        """Looks once, before the first rows are read, whether there are the fields that are named.

        Raises:
            ValueError: One is in no row, or a field would be renamed onto one beside it.
        """
        if self._fields_checked:
            return
        root, steps = chain_of(self)
        for number, step in enumerate(steps):
            if step._fields_named() or step._fields_one_of():
                check_step(root, steps[:number], step)
            if step._claims_fields:
                below, before = root_of(root, steps[:number])
                self._unread = find_unread(below, before, step._fields_read)
                tell_unread(root, self._unread, type(step).__name__)
        self._fields_checked = True

    def _make_plan(self) -> _native.Plan:
        self._check_fields()
        root, steps = chain_of(self)
        return _native.transformed_rows(root._plan, [step._plan_step() for step in steps])


def chain_of(source: ShardedDataSource[Any]) -> tuple[ShardedDataSource[Any], list[_Step]]:
    """The source below all steps that make other rows of its rows, and these steps."""
    if isinstance(source, TransformedShardedSource):
        root, before = chain_of(source.source)
        return root, [*before, *source._transform._steps()]
    if type(source) is MappedShardedDataSource:
        return source.source, [source._step]
    return source, []


def root_of(
    source: ShardedDataSource[Any], steps: Sequence[_Step]
) -> tuple[ShardedDataSource[Any], list[_Step]]:
    """The source below all steps and orders, and all steps: what costs least to look at."""
    while True:
        plain = source.source if isinstance(source, ShuffledShardedSource) else source
        below, before = chain_of(plain)
        if below is source:
            return source, list(steps)
        source, steps = below, [*before, *steps]


class TemplateDate(Rewrite):
    """Tells the clocks of chat templates a date, where nobody gave one."""

    def __init__(self, date: str) -> None:
        self.date = date

    def around(self, source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
        """The same over inputs whose clocks are told it."""
        return self.through(source)


def _rows(steps: Sequence[_Step], rows: Iterator[Any], shard: str, first: int) -> Iterator[Example]:
    for number, row in enumerate(rows, first):
        try:
            yield from run_steps(steps, row)
        except Exception as error:
            fail_at(error, shard, number)


def _names(method: str, fields: Any) -> list[str]:
    """The names of fields that a method takes."""
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        cure = f"write [{fields!r}]" if isinstance(fields, str) else "write a list of texts"
        raise TypeError(f"{method}() takes a list of names, not {_shown(fields)}; {cure}")
    return list(fields)


def _shown(value: object) -> str:
    return f"the text {value!r}" if isinstance(value, str) else type(value).__name__


@dataclass(frozen=True)
class Shuffle(Rewrite):
    """A random order of a source's rows; see ShardedDataSource.shuffle()."""

    name = "shuffle"

    shuffle: SourceShuffle
    seed: int
    window_bytes: int | None = None

    def __post_init__(self) -> None:
        self.options()

    def options(self) -> _native.SourceShuffleOptions:
        """The order as the engine's options; refuses wrong ones."""
        return _native.SourceShuffleOptions(
            mode=self.shuffle, seed=self.seed, window_bytes=self.window_bytes
        )

    def around(self, source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
        """Its rows in this order."""
        return ShuffledShardedSource(source, self)


class ShuffledShardedSource(WrapperSource[Any]):
    """The rows of a source in an order of each (seed, epoch), as one shard.

    Iterated from Python, it gives the order of epoch 0; a loader goes through one epoch after the
    other. Made by `source.shuffle()`.

    Args:
        source: Where the rows come from.
        order: Theirs.
        shuffled: What plans the rows in this order, where the engine's shuffle of them does not.
    """

    def __init__(
        self,
        source: ShardedDataSource[Any],
        order: Shuffle,
        shuffled: Callable[[Shuffle], _native.Plan] | None = None,
    ) -> None:
        self._inputs = (source,)
        self._order = order
        self._shuffled = shuffled

    shard_names = ("shuffled",)
    """The one shard's name."""

    def __len__(self) -> int:
        return len(self.source)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self.source, self._order.shuffle, self._order.seed), {}

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Any] | None:
        if isinstance(rewrite, Shuffle):
            return rewrite.of(self.source)
        return self._order.of(rewrite.of(self.source)) if isinstance(rewrite, Part) else None

    def _make_plan(self) -> _native.Plan:
        if self._shuffled is not None:
            return self._shuffled(self._order)
        return _native.shuffled_rows(self.source._plan, self._order.options())


class Between(Rewrite):
    """Leaves the rows from one to before another, or to the last."""

    name = "take"

    def __init__(self, begin: int, end: int | None) -> None:
        self.begin, self.end = begin, end

    def around(self, source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
        """Those of its rows."""
        return RowsBetweenSource(source, self.begin, self.end)


class Selection(Rewrite):
    """Chooses rows by their numbers.

    Args:
        numbers: Gives them, of how many rows there are.
    """

    name = "select"

    def __init__(self, numbers: Callable[[int], list[int]]) -> None:
        self.numbers = numbers

    def refused(self, why: str) -> TypeError:
        """What is raised where rows cannot be read one by one."""
        return TypeError(
            f"{why}, which select() and source[i] need; take(), skip(), head() and source[i:j] "
            "read one row after the other, and saved rows can be selected"
        )

    def around(self, source: ShardedDataSource[Any]) -> NoReturn:
        """TypeError: it does not say that its rows have numbers."""
        raise self.refused(f"{type(source).__name__} does not read rows one by one")


def rows_to_select(source: ShardedDataSource[Any]) -> int:
    """How many rows there are to select from; TypeError where they cannot be selected."""
    found: list[int] = []

    def none(total: int) -> list[int]:
        found.append(total)
        return []

    Selection(none).of(source)
    return found[0]


def _rows_to_number(source: ShardedDataSource[Any]) -> int:
    """How many rows the numbers of a slice count from the end of."""
    try:
        return rows_to_select(source)
    except TypeError:
        return len(source)


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

    shard_names = ("rows",)
    """The one shard's name."""

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Any]:
        """The rows from row `row` on."""
        begin = self._begin + row
        most = None if self._end is None else max(0, self._end - begin)
        return itertools.islice(rows_from(self.source, begin), most)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """The number of rows, where the source knows its own at once."""
        total = rows_known(self.source)
        known = None if total is None else self._rows_of(total)
        return ShardInfo(shard_id=0, shard_name=shard_name, num_rows=known)

    def _rows_of(self, total: int) -> int:
        end = total if self._end is None else min(self._end, total)
        return max(0, end - self._begin)

    def __len__(self) -> int:
        return self._rows_of(len(self.source))

    def __repr__(self) -> str:
        return f"RowsBetweenSource({self.source!r}, {self._begin}, {self._end})"

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Any] | None:
        if isinstance(rewrite, Between):
            ends = [] if self._end is None else [self._end]
            if rewrite.end is not None:
                ends.append(self._begin + rewrite.end)
            begin = self._begin + rewrite.begin
            return RowsBetweenSource(self.source, begin, min(ends, default=None))
        if isinstance(rewrite, Selection):
            numbers = rewrite.numbers
            return Selection(
                lambda total: [self._begin + number for number in numbers(self._rows_of(total))]
            ).of(self.source)
        return None

    def _make_plan(self) -> _native.Plan:
        return _native.rows_between(self.source._plan, self._begin, self._end)


class Part(Rewrite):
    """Leaves one part of the rows; see ShardedDataSource.split().

    Args:
        options: Which, as the engine has it.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        # A row is in the part of the row that it was made of, unless a field of its own says it.
        self.name = "split" if options.get("part_by") is None else "split_by"

    def around(self, source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
        """Those of its rows that are in the part."""
        return PartShardedSource(source, self.options)


class PartShardedSource(ShardwiseSource[Any]):
    """One part of the rows of a source.

    Made by `split()`.

    Args:
        source: Where the rows come from.
        options: Which part, as the engine has it.
    """

    def __init__(self, source: ShardedDataSource[Any], options: dict[str, Any]) -> None:
        self._inputs = (source,)
        self._options = options

    _keeps_rows = False

    def __iter__(self) -> Iterator[Any]:
        return _native.iterate_rows(self._stream())

    def __len__(self) -> int:
        total = None if "part_by" in self._options else self.source._plan.stated_rows()
        if total is None:
            raise TypeError(
                f"part {self._options['part']!r}: rows that are not counted beforehand are divided "
                "one by one, so that their number is not known; count them by "
                "sum(1 for _ in source), or save the parts, and read the files"
            )
        return len(_native.part_numbers(total, _native.PartOptions(**self._options)))

    def __repr__(self) -> str:
        return f"PartShardedSource({self.source!r}, {self._options['part']!r})"

    def _make_plan(self) -> _native.Plan:
        return _native.part_rows(self.source._plan, _native.PartOptions(**self._options))


# What was said of rows that cannot be kept.
_told_unkept: set[str] = set()


class Keep(Rewrite):
    """Keeps the rows that are made; see ShardedDataSource.cache()."""

    name = "cache"

    def __init__(self, keeping: Keeping) -> None:
        self.keeping = keeping

    def around(self, source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
        """Its rows, kept; ValueError where what they are made of refuses it."""
        if len(source._inputs) == 1:
            self.of(source._inputs[0])
        return CachedShardedSource(source, self.keeping)


class Unkeep(Rewrite):
    """Takes away a cache right here."""

    name = "cache"


class CachedShardedSource(ShardwiseSource[Any]):
    """The rows of a source, each block of which is made once and kept.

    Made by `source.cache()`.

    Args:
        source: Where the rows come from.
        keeping: Where they are kept.
    """

    # A part of the rows is one of blocks that are kept whole.
    _passes_on = ("shuffle", "select")

    def __init__(self, source: ShardedDataSource[Any], keeping: Keeping) -> None:
        self._inputs = (source,)
        self._keeping = keeping
        self._store: OpenStore | None = None

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self.source, self._keeping.folder), {}

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Any] | None:
        if isinstance(rewrite, Keep):
            return rewrite.of(self.source)
        return self.source if isinstance(rewrite, Unkeep) else None

    def _make_plan(self) -> _native.Plan:
        below = self.source._plan
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
            note_files(self._keeping.folder, named_files(listings_of(self)))
        return _native.cached(below, self._store.native)

    def _tell_unkept(self, reason: str) -> None:
        name = dataset_of(self)
        said = (f"dataset {name!r}: " if name else "") + f"its rows are not kept: {reason}"
        if said not in _told_unkept:
            _told_unkept.add(said)
            _log.warning("%s", said)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_store": None}
