"""Transforms that drop rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from easydata import _native
from easydata.transforms.base import Columns, Example, Transform, _name, column_op


class _Filter(Transform):
    @property
    def is_filter(self) -> bool:
        """True."""
        return True

    def passes(self, example: Example) -> bool:
        """Whether the row stays."""
        raise NotImplementedError

    def __call__(self, example: Example) -> Example | None:
        """Returns the row itself, or None to drop it."""
        return example if self.passes(example) else None

    def _keeps(self) -> Callable[[Example], bool]:
        return self.passes


class FilterTransform(_Filter):
    """Keeps the rows for which a predicate is true."""

    def __init__(self, predicate: Callable[[Example], bool]) -> None:
        """Keeps rows by `predicate(row)`."""
        self._predicate = predicate

    def passes(self, example: Example) -> bool:
        """Whether the row stays."""
        return bool(self._predicate(example))

    def _calls(self) -> Sequence[object]:
        return (self._predicate,)

    def __repr__(self) -> str:
        return f"FilterTransform({_name(self._predicate)})"


class FilterByField(_Filter):
    """Keeps the rows whose field passes a predicate; rows without the field are dropped."""

    def __init__(self, field: str, predicate: Callable[[Any], bool]) -> None:
        """Keeps rows by `predicate(row[field])`."""
        self._field = field
        self._predicate = predicate

    def passes(self, example: Example) -> bool:
        """Whether the row stays."""
        return self._field in example and bool(self._predicate(example[self._field]))

    def _needs(self, wanted: Columns | None) -> Columns | None:
        return None if wanted is None else {**wanted, self._field: "any"}

    def _calls(self) -> Sequence[object]:
        return (self._predicate,)

    def __repr__(self) -> str:
        return f"FilterByField({self._field!r}, {_name(self._predicate)})"


class FilterNonEmpty(_Filter):
    """Keeps the rows in which none of the fields is missing, None, ``""`` or ``[]``."""

    def __init__(self, fields: Sequence[str]) -> None:
        """Looks at `fields`; 0, ``{}`` and blanks do not count as empty."""
        self._fields = [fields] if isinstance(fields, str) else list(fields)

    def passes(self, example: Example) -> bool:
        """Whether the row stays."""
        for field in self._fields:
            value = example.get(field)
            if value is None or (isinstance(value, str | list) and len(value) == 0):
                return False
        return True

    def _needs(self, wanted: Columns | None) -> Columns | None:
        return None if wanted is None else {**wanted, **dict.fromkeys(self._fields, "any")}

    def _column_op(self, names: Sequence[str], typed: bool) -> _native.ColumnOp:
        return column_op("filter_non_empty", fields=self._fields)

    def __repr__(self) -> str:
        return f"FilterNonEmpty({self._fields!r})"
