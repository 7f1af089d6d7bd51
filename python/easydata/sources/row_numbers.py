"""Numbers of rows, as people write them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex


def count_of(method: str, n: Any) -> int:
    """The number of rows that a method takes."""
    try:
        count = operator.index(n)
    except TypeError:
        raise TypeError(f"{method}() takes a number of rows, not {type(n).__name__}") from None
    if isinstance(n, bool) or count < 0:
        raise ValueError(f"{method}() takes a number of rows from 0 on, not {n!r}")
    return count


def index_of(index: Any) -> int:
    """The row number that stands in brackets."""
    if isinstance(index, str):
        raise TypeError(
            f"source[{index!r}]: a source is indexed by the number of a row, or a slice; of a "
            f"column, read what you need: [row[{index!r}] for row in source.head(3)]"
        )
    try:
        return operator.index(index)
    except TypeError:
        raise TypeError(
            f"a source is indexed by the number of a row, or a slice, not by "
            f"{type(index).__name__}; for several rows: source.select([...])"
        ) from None


def bounds_of(index: slice, total: Callable[[], int]) -> tuple[int, int | None] | range:
    """The first row of a slice and the one after its last, or the rows of one with steps."""
    for bound in (index.start, index.stop, index.step):
        if bound is not None:
            index_of(bound)
    step = 1 if index.step is None else operator.index(index.step)
    start = 0 if index.start is None else operator.index(index.start)
    stop = None if index.stop is None else operator.index(index.stop)
    if step == 1 and start >= 0 and (stop is None or stop >= 0):
        return start, stop
    chosen = range(*index.indices(total()))
    return chosen if step != 1 else (chosen.start, max(chosen.start, chosen.stop))


def numbers_of(indices: Iterable[SupportsIndex], rows: int) -> list[int]:
    """The numbers of rows that are selected of so many, each of which there is.

    Raises:
        TypeError: These are no numbers.
        IndexError: There is no such row.
    """
    if isinstance(indices, str) or not isinstance(indices, Iterable):
        raise TypeError(f"select() takes the numbers of rows, not {type(indices).__name__}")
    numbers = []
    for index in indices:
        if isinstance(index, bool) or type(index).__name__ in ("bool_", "bool"):
            raise TypeError(
                "select() takes the numbers of rows, not whether each is wanted: filter() does"
            )
        number = index_of(index)
        if not -rows <= number < rows:
            raise IndexError(f"there is no row {number}: the source has {rows}")
        numbers.append(number + rows if number < 0 else number)
    return numbers
