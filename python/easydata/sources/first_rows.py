"""Looks at the first rows of a source, which leave no trace."""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from easydata import _native
from easydata.sources.rows_in_shards import RowsInShards
from easydata.transforms.base import Example, _Step, run_steps

# Rows that a look ahead reads at once: the first, which often tells all, and a good many.
_LOOKS = (1, 1000)
# Rows that are looked at to learn which fields rows without a schema have.
LOOKED_AT = 1000


def first_row(source: RowsInShards[Any]) -> Example | None:
    """The first row of a source, or None if there is none."""
    return next(first_rows(source), None)


def first_rows(source: RowsInShards[Any], steps: Sequence[_Step] = ()) -> Iterator[Example]:
    """The first rows that `steps` make of a source's rows; of files, those at hand at once.

    The steps get copies: looking must not change what is looked at.
    """
    with contextlib.closing(_peeked(source)) as rows:
        for row in rows:
            for made in run_steps(steps, copy.deepcopy(row) if steps else row):
                yield dict(made)


def first_fields(
    source: RowsInShards[Any], wanted: Sequence[str], steps: Sequence[_Step] = ()
) -> Iterator[Sequence[str]]:
    """The fields of the first rows that `steps` make of a source's, row by row.

    A schema tells once and for all; rows without one are looked at until all wanted fields were
    seen, 1,000 at most.
    """
    names = None if steps else source._plan.column_names()
    if names is not None:
        # Later files may have more columns: they are looked at where the first one lacks some.
        yield names if set(wanted) <= set(names) else source._plan.field_names()
        return
    missing = set(wanted)
    for row in itertools.islice(first_rows(source, steps), LOOKED_AT):
        yield list(row)
        missing.difference_update(row)
        if not missing:
            return


def _peeked(source: RowsInShards[Any]) -> Generator[Any]:
    """The rows of a source, for a look ahead that leaves no trace."""
    seen = 0
    for count in _LOOKS:
        peeked = source._plan.peek(count)
        if peeked is None:
            yield from source.iter_shards()
            return
        rows, is_all = peeked
        yield from rows[seen:]
        seen = len(rows)
        if is_all:
            return
        if seen < count:
            break
    stream = source._plan.stream(is_look=True)
    yield from itertools.islice(_native.iterate_rows(stream, ahead=False), seen, None)
