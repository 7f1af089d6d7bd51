"""How a chain of transforms becomes part of a stream: what is read, native, called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.transforms.base import Columns, Example, _Step, run_steps
from easydata.transforms.fields import RenameFields


def needs_of(steps: Sequence[_Step], wanted: Columns | None) -> list[Columns | None]:
    """What each step must be given so that `wanted` come out; the last entry is `wanted` itself."""
    needs: list[Columns | None] = [wanted]
    for step in reversed(steps):
        needs.append(step._needs(needs[-1]))
    return needs[::-1]


def transform_stream(
    upstream: Callable[[Columns | None], _native.Stream],
    names: Sequence[str] | None,
    steps: Sequence[_Step],
    wanted: Columns | None,
    first_row: Callable[[], Example | None],
) -> _native.Stream:
    """The stream of what `steps` make of an upstream's rows.

    Steps work on columns as long as that is exact; what lies between two such steps is one
    callable, so that rows become Python objects once.

    Args:
        upstream: gives the stream of these columns of the source.
        names: the source's columns; None where its rows have no schema.
        steps: what to do.
        wanted: the columns to give, and their kinds; None for all.
        first_row: the source's first row, to see which fields there are.
    """
    needs = needs_of(steps, wanted)
    typed = names is not None
    read = needs[0]
    if read is not None and names is not None:
        # What a schema lacks no row has: steps see it as missing, the end of the chain as an error.
        read = {name: kind for name, kind in read.items() if name in names}
    stream = upstream(read)
    have: list[str] | None = list(names or ()) if read is None and typed else _names(read)
    called: list[_Step] = []
    for number, step in enumerate(steps):
        known = have if not called else _names(needs[number])
        if called and step._gives_columns:
            stream = _call(stream, called, needs[number])
            called = []
            known = have = _names(needs[number])
        if number == 0 and step._gives_columns and (row := first_row()) is not None:
            step._look_at(row)
        made = None
        if not called and (known is not None or step._gives_columns):
            made = step._natively(stream, needs[number + 1])
        if made is not None:
            stream = made
            have = _names(needs[number + 1])
            if have is None:
                have = step._names_after(known or ())
            typed = typed or step._gives_columns
            if number + 1 == len(steps):
                return stream  # of just what is wanted, and which rows are refused
            continue
        op = None
        if known is not None and not (called and needs[number] is None):
            op = step._column_op(known, typed and not called)
            if isinstance(step, RenameFields) and not _rename_is_exact(
                step, known, typed and not called, first_row
            ):
                op = None
        if op is None:
            test = step._keeps()
            if test is not None and typed and not called:
                stream = _native.apply_callable(
                    stream,
                    test,
                    "filter",
                    None,
                    type(step).__name__,
                    repr(step),
                    has_identity=step._has_identity(),
                )
            else:
                called.append(step)
            continue
        if called:
            stream = _call(stream, called, needs[number])
            called = []
            have = _names(needs[number])
        stream = _native.apply_column_op(stream, op)
        have = _names(needs[number + 1])
        if have is None and known is not None:
            have = step._names_after(known)
    if called:
        return _call(stream, called, wanted)
    if wanted is None:
        return stream
    return _native.conform(stream, dict(wanted), list(names or ()))


def _names(columns: Columns | None) -> list[str] | None:
    return None if columns is None else list(columns)


def _rename_is_exact(
    step: RenameFields,
    names: Sequence[str],
    typed: bool,
    first_row: Callable[[], Example | None],
) -> bool:
    """Whether renaming whole columns is what renaming rows is.

    Where two fields come to share a name, the one that stands later in its row stays; columns
    without a schema do not tell the order of a row. The first row tells whether rows have both at
    all.
    """
    if typed or not step._collides(names):
        return True
    row = first_row()
    return row is None or not step._collides(list(row))


def _call(
    stream: _native.Stream, steps: Sequence[_Step], columns: Columns | None
) -> _native.Stream:
    steps = list(steps)
    expands = any(step.is_expand for step in steps)
    name = type(steps[0]).__name__ if len(steps) == 1 else "transforms"
    what = " >> ".join(map(repr, steps))
    output: Mapping[str, str] | None = None if columns is None else dict(columns)
    callable_: Callable[[Example], Any]
    if expands:

        def callable_(row: Example) -> Any:
            return run_steps(steps, row)
    elif len(steps) == 1:
        callable_ = steps[0]  # type: ignore[assignment]
    else:

        def callable_(row: Example) -> Any:
            return next(run_steps(steps, row), None)

    return _native.apply_callable(
        stream,
        callable_,
        "expand" if expands else "map",
        output,
        name,
        what,
        refuses=steps[-1].refuses,
        has_identity=all(step._has_identity() for step in steps),
    )
