"""Which fields the rows of a source have."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from easydata import _native
from easydata.core.config_class import ConfigError
from easydata.sources.sharded_source import ShardedDataSource, first_rows

# Rows that are looked at to learn what rows without a schema have.
LOOKED_AT = 1000


def absent_fields(
    source: ShardedDataSource[Any], wanted: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Which of the wanted fields no row has, and which fields there are.

    A schema tells; of rows without one the first 1,000 do, or as many as it takes to see all. Where
    there are no rows nothing is absent.
    """
    names = source._plan.column_names()
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
    absent, names = absent_fields(source, list(wanted))
    if absent:
        problems = [
            f"names {name!r}, but no row has it{_native.suggestion(name, names)}" for name in absent
        ]
        raise ConfigError(option, problems)
