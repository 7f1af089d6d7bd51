"""Whether rows have the fields that steps name."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.sources.first_rows import first_fields
from easydata.sources.rows_in_shards import RowsInShards
from easydata.transforms.base import _Step

_log = logging.getLogger("easydata")


def check_step(root: RowsInShards[Any], before: Sequence[_Step], step: _Step) -> None:
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
