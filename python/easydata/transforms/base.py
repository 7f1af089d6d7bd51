"""What a transform is: a pure function of one row, and how transforms are chained."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeAlias

from easydata import _native

Example: TypeAlias = dict[str, Any]
"""One row: field names and values."""

Columns: TypeAlias = Mapping[str, Literal["any", "text", "tokens"]]
"""Fields that a later stage reads, and the form in which it wants them; None means all."""


def column_op(name: str, **options: Any) -> _native.ColumnOp:
    """An operation of the engine's on whole columns; its name and options are those of plans."""
    return _native.ColumnOp(name, json.dumps(options, ensure_ascii=False, allow_nan=False))


class _Step:
    """What transforms and expansions share: chaining, and what a plan asks of them.

    A step may say more about itself than that it can be called, so that files are read no wider
    than needed and work on whole columns is done without Python. Steps that say nothing get whole
    rows, and are called.
    """

    @property
    def is_filter(self) -> bool:
        """Whether rows may be dropped."""
        return False

    @property
    def is_expand(self) -> bool:
        """Whether one row may become several."""
        return False

    @property
    def keeps_rows(self) -> bool:
        """Whether every row gives exactly one row, so that row counts and numbers stay true."""
        return False

    def __rshift__(self, other: Transform | ExpandTransform) -> ChainedTransform:
        """Chains two steps: ``(a >> b)(row)`` is ``b(a(row))``."""
        return ChainedTransform([self, other])

    def _steps(self) -> list[_Step]:
        return [self]

    def _needs(self, wanted: Columns | None) -> Columns | None:
        """The fields to read so that `wanted` come out; None stands for all fields."""
        return None

    def _column_op(self, names: Sequence[str], typed: bool) -> _native.ColumnOp | None:
        """The same work on whole columns, where that is exact for a batch of columns `names`.

        `typed` says whether the columns come from a schema; otherwise a null slot means that a row
        lacks the key.
        """
        return None

    def _natively(self, stream: _native.Stream, output: Columns | None) -> _native.Stream | None:
        """The same work by a part of the engine's own, which gives the columns `output`."""
        return None

    @property
    def _gives_columns(self) -> bool:
        """Whether the engine always does it, and typed columns come out of it."""
        return False

    def _look_at(self, row: Example) -> None:
        """Raises where a stream's first row shows that all of its rows are of no use."""

    def _names_after(self, names: Sequence[str]) -> list[str]:
        """The columns that `_column_op` makes of columns `names`: the same, unless said here."""
        return list(names)

    @property
    def refuses(self) -> bool:
        """Whether what it returns may be an exception: the row is refused for this reason."""
        return False

    def _split_later(self) -> _Step:
        """The step upstream of a packer that splits; see ShardedDataSource._split_later."""
        return self

    def _has_identity(self) -> bool:
        """Whether its repr tells it from all other steps, in other processes too.

        Ours do, with the import paths of the functions that they call; what a step of somebody
        else's does, only it knows.
        """
        return type(self).__module__.startswith("easydata.") and all(
            map(_importable, self._calls())
        )

    def _calls(self) -> Sequence[object]:
        """The user's functions that it calls."""
        return ()

    def _keeps(self) -> Callable[[Example], bool] | None:
        """For steps that only drop rows: the test that a row must pass."""
        return None


class Transform(_Step, ABC):
    """A function of one row that returns a row, or None to drop it.

    Subclasses implement ``__call__`` and leave the row they are given as it is. Chain them by
    ``>>``.
    """

    @abstractmethod
    def __call__(self, example: Example) -> Example | None:
        """Returns the row made of `example`, or None to drop it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ExpandTransform(_Step, ABC):
    """A function of one row that yields any number of rows."""

    @abstractmethod
    def __call__(self, example: Example) -> Iterator[Example]:
        """Yields the rows made of `example`."""

    @property
    def is_filter(self) -> bool:
        """True: a row may yield nothing."""
        return True

    @property
    def is_expand(self) -> bool:
        """True: a row may yield several."""
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ChainedTransform(Transform):
    """Several steps, one after the other; a row dropped by one never reaches the next.

    A chain that holds an `ExpandTransform` is called like one: it returns an iterator of rows.
    """

    def __init__(self, transforms: Sequence[_Step | Callable[[Example], Example | None]]) -> None:
        """Chains steps; chains among them are opened, functions become `MapTransform`."""
        self._transforms: list[_Step] = []
        for transform in transforms:
            self._transforms.extend(as_step(transform)._steps())

    @property
    def is_filter(self) -> bool:
        """Whether one of the steps may drop rows."""
        return any(step.is_filter for step in self._transforms)

    @property
    def is_expand(self) -> bool:
        """Whether one of the steps may make several rows of one."""
        return any(step.is_expand for step in self._transforms)

    @property
    def keeps_rows(self) -> bool:
        """Whether every step makes one row of each."""
        return all(step.keeps_rows for step in self._transforms)

    def __call__(self, example: Example) -> Any:
        """Returns the row, or None to drop it; an iterator of rows where a step expands."""
        if self.is_expand:
            return run_steps(self._transforms, example)
        row: Example | None = example
        for step in self._transforms:
            row = step(row)  # type: ignore[operator]
            if row is None:
                return None
        return row

    def _steps(self) -> list[_Step]:
        return list(self._transforms)

    def __len__(self) -> int:
        return len(self._transforms)

    def __iter__(self) -> Iterator[_Step]:
        return iter(self._transforms)

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self._transforms))


class MapTransform(Transform):
    """Wraps a function of a row that returns a row, or None to drop it."""

    def __init__(self, fn: Callable[[Example], Example | None]) -> None:
        """Wraps `fn`."""
        self._fn = fn

    def __call__(self, example: Example) -> Example | None:
        """Returns ``fn(example)``."""
        return self._fn(example)

    def _calls(self) -> Sequence[object]:
        return (self._fn,)

    def __repr__(self) -> str:
        return f"MapTransform({_name(self._fn)})"


def as_step(transform: Any) -> _Step:
    """Returns `transform` itself, or a `MapTransform` of a plain function."""
    if isinstance(transform, _Step):
        return transform
    if callable(transform):
        return MapTransform(transform)
    raise TypeError(f"expected a Transform or a function of a row, got {transform!r}")


def run_steps(steps: Sequence[_Step], example: Example) -> Iterator[Example]:
    """Yields the rows that `steps` make of one row."""
    for number, step in enumerate(steps):
        result = step(example)  # type: ignore[operator]
        if result is None:
            return
        if step.refuses and isinstance(result, Exception):
            yield result  # type: ignore[misc]
            return
        if step.is_expand:
            for row in result:
                yield from run_steps(steps[number + 1 :], row)
            return
        example = result
    yield example


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


def _name(fn: object) -> str:
    """What a plan calls a function: its import path where it has one."""
    name = str(getattr(fn, "__qualname__", None) or repr(fn))
    return f"{fn.__module__}.{name}" if _importable(fn) else name


def _importable(fn: object) -> bool:
    """Whether another process finds a function by its import path: no lambda, closure or script."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if module in (None, "__main__") or name is None or "<" in name:
        return False
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is fn
