"""What a transform is: a pure function of one row, and how transforms are chained."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn, Self, TypeAlias

from easydata import _native
from easydata.core.short_repr import short
from easydata.transforms.identity import UnrecognisedError, identity_of, import_name

Example: TypeAlias = dict[str, Any]
"""One row: field names and values."""

Columns: TypeAlias = Mapping[str, Literal["any", "text", "tokens"]]
"""Fields that a later stage reads, and the form in which it wants them; None means all."""


class _Step:
    """What transforms and expansions share: chaining, and what a plan asks of them.

    A step may say more about itself than that it can be called, so that files are read no wider
    than needed and work on whole columns is done without Python (_plan_step). Steps that say
    nothing get whole rows, and are called.
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

    def __call__(self, example: Example) -> Any:
        """Returns what the step makes of a row."""
        raise NotImplementedError

    def _fields_named(self) -> Sequence[str]:
        """Fields of its rows that the user named and that some row must have."""
        return ()

    def _fields_one_of(self) -> Sequence[str]:
        """Fields of which some row must have one, where the user's call says that it has."""
        return ()

    def _fields_taken(self) -> Mapping[str, str]:
        """Other names for fields, which no row may have beside them."""
        return {}

    # Whether it makes tokens of rows, so that a field that it does not read is lost.
    _claims_fields = False

    def _fields_read(self, example: Example) -> Sequence[str]:
        """Names of the fields of a row that it reads, where it claims them."""
        return list(example)

    def _template_date(self) -> str | None:
        """The date that its chat template's clock is told, where nobody gave one."""
        return None

    def _with_template_date(self, date: str) -> _Step:
        """The same with that date, where nobody gave one."""
        return self

    def __rshift__(self, other: Transform | ExpandTransform) -> ChainedTransform:
        """Chains two steps: ``(a >> b)(row)`` is ``b(a(row))``."""
        return ChainedTransform([self, other])

    def _steps(self) -> list[_Step]:
        return [self]

    @property
    def refuses(self) -> bool:
        """Whether what it returns may be an exception: the row is refused for this reason."""
        return False

    def _plan_step(self) -> _native.Step:
        """What a plan knows of the step: that it is called, unless a subclass knows more."""
        return self._callable_step(reads_all=True)

    def _callable_step(self, **fields: Any) -> _native.Step:
        """A step that is called for each row; `fields` say which fields it reads and gives."""
        return _native.callable_step(
            self,
            **self._described(),
            expands=self.is_expand,
            refuses=self.refuses,
            **fields,
        )

    def _column_step(self, op: str, options: Mapping[str, Any], **more: Any) -> _native.Step:
        """A step that is an operation of the engine's on columns."""
        return _native.column_step(self._callable_step(**more), op, _json_of(options))

    def _described(self) -> dict[str, Any]:
        try:
            identity, has_identity = identity_of(self), True
        except UnrecognisedError as error:
            identity, has_identity = str(error), False
        return {
            "name": type(self).__name__,
            "text": repr(self),
            "keeps_rows": self.keeps_rows,
            "has_identity": has_identity,
            "identity": identity,
        }

    # What of its attributes is found out from the others as it works.
    _found_out: Sequence[str] = ()

    version: str | int | None = None
    """Tells what the step does from what it did before it was changed; see source.cache().

    Steps of ours need none for themselves: it is that of the functions that they call.
    """

    def _calls(self) -> Sequence[object]:
        """The user's functions that it calls."""
        return ()


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


class _Claiming(_Step):
    """A step that may claim that there are the fields that it names.

    By itself it takes rows as they are, as EasyDeL's do.
    """

    _claims = False

    def claiming(self) -> Self:
        """The same, where a source without these fields is an error: its own methods say so."""
        other = copy.copy(self)
        other._claims = True
        return other


class OneToOneTransform(Transform):
    """A transform that makes one row of each."""

    @property
    def keeps_rows(self) -> bool:
        """True: one row in, one row out."""
        return True


class ColumnTransform(Transform):
    """An operation of the engine's on columns, which does the same to single rows."""

    def __init__(self, op: str, **options: Any) -> None:
        """Takes the operation's name and its options, which are those of plans."""
        self._op = op
        self._options = options
        self._row_op: _native.RowOp | None = None

    @property
    def keeps_rows(self) -> bool:
        """Whether a row always stays: all but filters keep them."""
        return not self.is_filter

    def __call__(self, example: Example) -> Example | None:
        """Returns a new row, or None where it is dropped."""
        if self._row_op is None:
            self._row_op = _native.RowOp(self._op, _json_of(self._options))
        return self._row_op(example)

    def _plan_step(self) -> _native.Step:
        return self._column_step(self._op, self._options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_row_op": None}


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
        row: Any = example
        for step in self._transforms:
            row = step(row)
            if row is None:
                return None
        return row

    def _steps(self) -> list[_Step]:
        return list(self._transforms)

    def _template_date(self) -> str | None:
        dates = (step._template_date() for step in self._transforms)
        return next((date for date in dates if date is not None), None)

    def _with_template_date(self, date: str) -> _Step:
        return ChainedTransform([step._with_template_date(date) for step in self._transforms])

    def __len__(self) -> int:
        return len(self._transforms)

    def __iter__(self) -> Iterator[_Step]:
        return iter(self._transforms)

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self._transforms))


class MapTransform(Transform):
    """Wraps a function of a row that returns a row, or None to drop it."""

    def __init__(
        self, fn: Callable[[Example], Example | None], *, version: str | int | None = None
    ) -> None:
        """Wraps `fn`; `version`: another one whenever `fn` does something else."""
        self._fn: Callable[[Example], Example | None] = checked_function(fn, type(self).__name__)
        if version is not None:
            self.version = version

    def __call__(self, example: Example) -> Example | None:
        """Returns ``fn(example)``."""
        return self._fn(example)

    def _calls(self) -> Sequence[object]:
        return (self._fn,)

    def __repr__(self) -> str:
        return f"MapTransform({_name(self._fn)})"


class ExpandingFunction(MapTransform):
    """Wraps a function that yields rows, and says so by `is_expand`: a transform of EasyDeL's."""

    is_filter = ExpandTransform.is_filter
    is_expand = ExpandTransform.is_expand


class RowFunction(MapTransform):
    """The function of `source.map()`: a row for every row, so that None drops nothing unsaid."""

    def __call__(self, example: Example) -> Example | None:
        """Returns ``fn(example)``; TypeError where that is None or text."""
        made: Example = checked_row(self._fn(example))
        return made


_NO_ROW = (
    "map(): the function returned {what}, where it must return a row; {cure}; a row is a dict of "
    "fields by name"
)


def checked_row(made: Any) -> Any:
    """What the function of `source.map()` returned; TypeError where that cannot be meant."""
    if made is None:
        cure = "to leave rows out use filter(), or transform(), where None drops a row"
        raise TypeError(_NO_ROW.format(what="None", cure=cure))
    if isinstance(made, str | bytes):
        cure = 'return it in a field, such as {**row, "text": text}, or leave rows out by filter()'
        raise TypeError(_NO_ROW.format(what=f"a {type(made).__name__}", cure=cure))
    return made


def as_step(transform: Any) -> _Step:
    """Returns `transform` itself, or a `MapTransform` of a function, or of another's transform."""
    if isinstance(transform, _Step):
        return transform
    function = checked_function(transform, "transform()", wanted="a Transform or ")
    expands = getattr(function, "is_expand", False) is True
    return ExpandingFunction(function) if expands else MapTransform(function)


def checked_function(function: Any, taker: str, *, wanted: str = "", of: str = "a row") -> Any:
    """`function`, which `taker` is to call; TypeError where it cannot be meant."""
    if isinstance(function, type) and issubclass(function, _Step):
        name = function.__name__
        cure = f"the class {name}; make one of it: {name}(...)"
    elif callable(function):
        return function
    elif isinstance(function, list | tuple):
        cure = "a list; chain them: ChainedTransform([...]), or one >> another"
    elif isinstance(function, str):
        cure = (
            f"the text {function!r}; give the function itself (names and import paths are for "
            "configs)"
        )
    else:
        cure = short(function)
    raise TypeError(f"{taker} takes {wanted}a function of {of}, not {cure}")


def run_steps(steps: Sequence[_Step], example: Example) -> Iterator[Example]:
    """Yields the rows that `steps` make of one row."""
    for number, step in enumerate(steps):
        result = step(example)
        if result is None:
            return
        if step.refuses and isinstance(result, Exception):
            yield result  # type: ignore[misc]
            return
        if step.is_expand:
            for row in result:
                yield from run_steps(steps[number + 1 :], row)
            return
        example = _made_by(step, result)
    yield example


def _made_by(step: _Step, row: Any) -> Any:
    """A row that a step made; TypeError where it is none, as the engine says it."""
    if isinstance(row, _Step | str | bytes):
        what = type(row).__name__
        raise TypeError(f"{step!r} returned {what}, expected a dict, or None to drop it")
    return row


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


def _json_of(options: Mapping[str, Any]) -> str:
    return json.dumps(options, ensure_ascii=False, allow_nan=False)


def _name(fn: object) -> str:
    """What a plan calls a function: its import path where it has one."""
    return import_name(fn) or str(getattr(fn, "__qualname__", None) or repr(fn))
