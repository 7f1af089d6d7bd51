"""Rows in shards: what every source is, before anything is made of it."""

from __future__ import annotations

import itertools
import logging
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from easydata import _native
from easydata.core.short_repr import Shown
from easydata.sources.row_numbers import count_of
from easydata.transforms.base import Columns

_log = logging.getLogger("easydata")

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


class _ColumnNames:
    """Names of the columns; of rows without a schema, those of the first one.

    No property: a source of a user's own may have an attribute by that name.
    """

    def __get__(self, source: RowsInShards[Any] | None, owner: type) -> list[str]:
        if source is None:
            return cast("list[str]", self)  # for who looks at the class
        return source._plan.field_names()


class RowsInShards(Shown, ABC, Generic[T_co]):
    """What reads rows in named shards, from any row on, and what the engine knows of them."""

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
        raise no_length(type(self).__name__)

    def __bool__(self) -> bool:
        # A source is there, whatever it holds; asking must not count its rows.
        return True

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """What it is made of and with which options, for its repr; nothing is read for it."""
        return self._inputs, {}

    column_names = _ColumnNames()

    def head(self, n: int = 5) -> list[T_co]:
        """Read the first `n` rows, into a list."""
        return list(itertools.islice(self, count_of("head", n)))

    # The sources that it is made of: a state knows their files.
    _inputs: Sequence[RowsInShards[Any]] = ()
    # The name of the dataset that it is, for people.
    _dataset_name = ""
    # Whether its weight schedule counts the steps of a loader; None: what it is made of says it.
    _counts_steps: bool | None = None

    def _make_plan(self) -> _native.Plan:
        """Its rows, as the engine knows them: by default they are asked for one by one."""
        return self._rows_plan()

    @property
    def _plan(self) -> _native.Plan:
        return self._make_plan()

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
        type_ = type(self)
        known.setdefault("open", self._open_rows)
        known.setdefault("description", {"kind": f"{type_.__module__}.{type_.__qualname__}"})
        return _native.python_rows(
            shard_names=lambda: self.shard_names, type_name=type_.__name__, inputs=inputs, **known
        )

    def _open_rows(self, shard: str, row: int, epoch: int = 0) -> Iterator[Any]:
        return self.open_shard_at_row(shard, row) if row > 0 else self.open_shard(shard)

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        """Its rows as a stream of the engine.

        Args:
            columns: The fields that are read, and in which form; all by default.
            shards: The shards to read, in this order; all by default.
        """
        return self._plan.stream(columns, shards)


def no_length(name: str) -> TypeError:
    """The error where somebody asks a source for its number of rows, which nobody knows."""
    return TypeError(
        f"{name} does not know its number of rows before they are read; count them by "
        "sum(1 for _ in source), or save them, and read the files"
    )


def made_of(source: RowsInShards[Any]) -> Iterator[RowsInShards[Any]]:
    """A source, and all that it is made of, each before its own inputs."""
    yield source
    for each in source._inputs:
        yield from made_of(each)


def rows_known(source: RowsInShards[Any]) -> int | None:
    """How many rows there will be, where the files say so without being read; else None."""
    infos = [source.get_shard_info(shard) for shard in source.shard_names]
    rows = [info.num_rows for info in infos if info is not None and info.num_rows is not None]
    return sum(rows) if len(rows) == len(infos) else None


def rows_from(source: RowsInShards[Any], row: int) -> Iterator[Any]:
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


def counts_steps(source: RowsInShards[Any]) -> bool:
    """Whether a weight schedule in a source counts the steps of a loader."""
    own = source._counts_steps
    return any(map(counts_steps, source._inputs)) if own is None else own


_told_examples: weakref.WeakSet[RowsInShards[Any]] = weakref.WeakSet()


def say_if_examples(source: RowsInShards[Any]) -> None:
    """Says once that the steps of a weight schedule are examples, where nothing makes steps."""
    if source not in _told_examples and counts_steps(source):
        _told_examples.add(source)
        _log.warning(
            'the weight schedule counts the steps of a loader (schedule_unit="steps"), and there '
            "is none: each example counts as a step; give the source to a loader, or say "
            'schedule_unit="examples"'
        )
