"""Rows of an iterator, which others may look at before they are read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

# More than anybody looks at before rows are read.
_KEPT_ROWS = 2000


class RowsOnce:
    """Rows that can be read once, but for the first of them.

    Args:
        rows: Where they come from.
    """

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows
        self._kept: list[Any] = []
        self._read = 0
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Any]:
        """All rows.

        Raises:
            ValueError: They were read before, further than is kept of them.
        """
        index = 0
        while (found := self._row(index)) is not None:
            index += 1
            yield found[0]

    def _row(self, index: int) -> tuple[Any] | None:
        with self._lock:
            if index < len(self._kept):
                return (self._kept[index],)
            if index < self._read:
                raise ValueError(
                    "an iterator can be read once, and this one was: give what can be read again, "
                    "as list(rows), a datasets.Dataset, or files"
                )
            try:
                row = next(self._rows)
            except StopIteration:
                return None
            if self._read < _KEPT_ROWS:
                self._kept.append(row)
            self._read += 1
            return (row,)
