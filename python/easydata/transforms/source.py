"""Sources that are made of another source: transformed, or cut off after some rows."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from easydata.core.source import (
    Columns,
    MappedShardedDataSource,
    ShardedDataSource,
    ShardInfo,
    Shuffle,
    fail_at,
)
from easydata.sources.files import FileSource
from easydata.transforms.base import (
    ChainedTransform,
    Example,
    MapTransform,
    _Step,
    as_step,
    run_steps,
)
from easydata.transforms.plan import transform_stream

if TYPE_CHECKING:
    from easydata import _native


# Rows that are looked at to learn what rows without a schema have.
LOOKED_AT = 1000


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
        if all(self._works_on_columns(step) for step in self._steps) and self._schema() is not None:
            from easydata import _native

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
        """A source of as many rows that is cheaper to count."""
        return self._root if self._keeps_rows() else None

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        return self._stream_of(lambda read: self._root._stream(read, shards), columns)

    def _stream_from(
        self, columns: Columns | None, shards: Sequence[str] | None, row: int
    ) -> _native.Stream | None:
        if not self._keeps_rows() or not _can_seek(self._root):
            return None

        def upstream(read: Columns | None) -> _native.Stream:
            stream = stream_from(self._root, read, shards, row)
            assert stream is not None
            return stream

        return self._stream_of(upstream, columns)

    def _stream_of(
        self, upstream: Callable[[Columns | None], _native.Stream], columns: Columns | None
    ) -> _native.Stream:
        return transform_stream(upstream, self._schema(), self._steps, columns, self._first_row)


class LimitedShardedSource(ShardedDataSource[Example]):
    """The first `max_rows` rows of a source, over its shards in order.

    Rows are counted where they come out: behind a filter, a limit of 6 gives 6 rows if there are 6.
    """

    def __init__(self, source: ShardedDataSource[Any], max_rows: int) -> None:
        """Wraps a source; raises ValueError for a negative limit."""
        if max_rows < 0:
            raise ValueError(f"max_rows must not be negative, got {max_rows}")
        self._source = source
        self._max_rows = max_rows
        self._counts: list[int] = []
        self._lock = threading.Lock()

    @property
    def shard_names(self) -> Sequence[str]:
        """Names of the shards, those of the source below; the last ones may be empty."""
        return self._source.shard_names

    def num_shards(self) -> int:
        """Number of shards."""
        return self._source.num_shards()

    def open_shard(self, shard_name: str) -> Iterator[Example]:
        """The rows of a shard that lie within the limit."""
        return self.open_shard_at_row(shard_name, 0)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
        """The rows of a shard from `row` on that lie within the limit."""
        allowed = self._allowed(shard_name)
        if row >= allowed:
            return iter(())
        return itertools.islice(self._source.open_shard_at_row(shard_name, row), allowed - row)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard, rows beyond the limit left out."""
        info = self._source.get_shard_info(shard_name)
        if info is None or info.num_rows is None:
            return info
        return dataclasses.replace(info, num_rows=min(info.num_rows, self._allowed(shard_name)))

    def __len__(self) -> int:
        total = 0
        for index in range(self.num_shards()):
            total += self._count(index, self._max_rows - total)
            if total >= self._max_rows:
                return self._max_rows
        return total

    def __repr__(self) -> str:
        return f"LimitedShardedSource({self._source!r}, {self._max_rows})"

    def _split_later(self) -> ShardedDataSource[Example]:
        return LimitedShardedSource(self._source._split_later(), self._max_rows)

    def _allowed(self, shard_name: str) -> int:
        """How many rows of a shard lie within the limit, if it has that many."""
        left = self._max_rows
        for index, name in enumerate(self.shard_names):
            if name == shard_name:
                return left
            left -= self._count(index, left)
            if left <= 0:
                return 0
        raise KeyError(f"there is no shard {shard_name!r}")

    def _count(self, index: int, at_most: int) -> int:
        """Rows of a shard, counted by reading up to `at_most` where its source does not know."""
        with self._lock:
            if index < len(self._counts):
                return self._counts[index]
            name = self.shard_names[index]
            info = self._source.get_shard_info(name)
            if info is not None and info.num_rows is not None:
                count = info.num_rows
            else:
                rows = _countable(self._source).open_shard(name)
                count = sum(1 for _ in itertools.islice(rows, at_most))
            if index == len(self._counts):
                self._counts.append(count)
            return count

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        from easydata import _native

        if shards is None or list(shards) == list(self.shard_names):
            return _native.limit(self._source._stream(columns), self._max_rows)
        if len(shards) == 1:
            return _native.limit(self._source._stream(columns, shards), self._allowed(shards[0]))
        return super()._stream(columns, shards)


def first_row(source: ShardedDataSource[Any]) -> Example | None:
    """The first row of a source, or None if there is none."""
    return next(first_rows(source), None)


def first_rows(source: ShardedDataSource[Any], steps: Sequence[_Step] = ()) -> Iterator[Example]:
    """The first rows that `steps` make of a source's rows; of files, those at hand at once.

    The steps get copies: looking must not change what is looked at.
    """
    shards: Iterable[Iterator[Any]] = (
        [source._peek()]
        if isinstance(source, FileSource)
        else (iter(source.open_shard(name)) for name in source.shard_names)
    )
    for rows in shards:
        try:
            for row in rows:
                for made in run_steps(steps, copy.deepcopy(row) if steps else row):
                    yield dict(made)
        finally:
            close = getattr(rows, "close", None)
            if close is not None:
                close()


def absent_fields(
    source: ShardedDataSource[Any], wanted: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Which of the wanted fields no row has, and which fields there are.

    A schema tells; of rows without one the first 1,000 do, or as many as it takes to see all. Where
    there are no rows nothing is absent.
    """
    names = source._column_names()
    if names is None:
        seen: dict[str, None] = {}
        for row in itertools.islice(first_rows(source), LOOKED_AT):
            seen.update(dict.fromkeys(row))
            if all(name in seen for name in wanted):
                break
        if not seen:
            return [], []
        names = list(seen)
    return [name for name in wanted if name not in names], names


def require_fields(source: ShardedDataSource[Any], wanted: Iterable[str], option: str) -> None:
    """Raises ConfigError for fields that an option names and no row has (see absent_fields)."""
    from easydata import _native
    from easydata.core.config_class import ConfigError

    absent, names = absent_fields(source, list(wanted))
    if absent:
        problems = [
            f"names {name!r}, but no row has it{_native.suggestion(name, names)}" for name in absent
        ]
        raise ConfigError(option, problems)


def stream_from(
    source: ShardedDataSource[Any],
    columns: Columns | None,
    shards: Sequence[str] | None,
    row: int,
) -> _native.Stream | None:
    """The stream of a source from row `row` of the first shard on; None where it cannot seek."""
    if row == 0:
        return source._stream(columns, shards)
    if isinstance(source, TransformedShardedSource):
        return source._stream_from(columns, shards, row)
    if isinstance(source, FileSource):
        return source._open_stream(columns, shards, row)
    return None


def _can_seek(source: ShardedDataSource[Any]) -> bool:
    return isinstance(source, FileSource)


def _countable(source: ShardedDataSource[Any]) -> ShardedDataSource[Any]:
    """A source with as many rows in each shard, but without the work on them."""
    while True:
        if type(source) is MappedShardedDataSource:
            source = source._source
            continue
        find = getattr(source, "_row_source", None)
        below = None if find is None else find()
        if below is None:
            return source
        source = below
