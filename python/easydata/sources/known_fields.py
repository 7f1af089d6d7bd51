"""Which fields the rows of a source have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from easydata import _native
from easydata.core.config_class import ConfigError
from easydata.sources.first_rows import first_fields
from easydata.sources.sharded_source import ShardedDataSource


def absent_fields(
    source: ShardedDataSource[Any], wanted: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Which of the wanted fields no row has, and which fields there are.

    A schema tells; of rows without one the first 1,000 do, or as many as it takes to see all. Where
    there are no rows nothing is absent.
    """
    wanted = list(wanted)
    seen: dict[str, None] = {}
    for fields in first_fields(source, wanted):
        seen.update(dict.fromkeys(fields))
    return [name for name in wanted if name not in seen] if seen else [], list(seen)


def require_fields(source: ShardedDataSource[Any], wanted: Iterable[str], option: str) -> None:
    """Raises ConfigError for fields that an option names and no row has (see absent_fields)."""
    absent, names = absent_fields(source, list(wanted))
    if absent:
        problems = [
            f"names {name!r}, but no row has it{_native.suggestion(name, names)}" for name in absent
        ]
        raise ConfigError(option, problems)
