"""The splits of a dataset on the Hub, as they were found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class HubSplits:
    """The splits of a dataset at a commit.

    Attributes:
        root: The repository's address, with the commit.
        files: Addresses of the files of each split, in the order of their rows.
        format: Of the files, by a name of the registry.
        options: How they are read, by the names of DatasetConfig.
        column_types: Types that the card gives to columns.
        columns: Those that rows have, where the card says so; a row may lack some, which are null.
        num_rows: Rows of splits, where the card tells them.
    """

    root: str
    files: Mapping[str, Sequence[str]]
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    column_types: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[str] | None = None
    num_rows: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As other processes of a job are told it."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def splits_of_json(values: Mapping[str, Any]) -> HubSplits:
    """What HubSplits.to_json() told.

    Raises:
        ValueError: It is another thing.
    """
    try:
        return HubSplits(**{name: values[name] for name in HubSplits.__dataclass_fields__})
    except (KeyError, TypeError):
        raise ValueError(f"no splits of a dataset: {json.dumps(values)[:200]}") from None
