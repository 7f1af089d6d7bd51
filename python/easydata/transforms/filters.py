"""Transforms that drop rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from easydata import _native
from easydata.transforms.base import Example, Transform, _name, checked_function
from easydata.transforms.fields import _NamedFields


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

    def _plan_step(self) -> _native.Step:
        return self._callable_step(reads_all=True, test=self.passes)


class FilterTransform(_Filter):
    """Keeps the rows for which a predicate is true."""

    def __init__(
        self, predicate: Callable[[Example], bool], *, version: str | int | None = None
    ) -> None:
        """Keeps rows by `predicate(row)`; `version`: another one whenever it is changed."""
        self._predicate = checked_function(predicate, "filter()")
        if version is not None:
            self.version = version

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
        self._predicate = checked_function(predicate, "FilterByField", of="a value")

    def passes(self, example: Example) -> bool:
        """Whether the row stays."""
        return self._field in example and bool(self._predicate(example[self._field]))

    def _plan_step(self) -> _native.Step:
        return self._callable_step(reads=[self._field], test=self.passes)

    def _calls(self) -> Sequence[object]:
        return (self._predicate,)

    def __repr__(self) -> str:
        return f"FilterByField({self._field!r}, {_name(self._predicate)})"


class FilterNonEmpty(_NamedFields):
    """Keeps the rows in which none of the fields is missing, None, ``""`` or ``[]``."""

    def __init__(self, fields: Sequence[str]) -> None:
        """Looks at `fields`; 0, ``{}`` and blanks do not count as empty."""
        self._fields = [fields] if isinstance(fields, str) else list(fields)
        super().__init__("filter_non_empty", fields=self._fields)

    @property
    def is_filter(self) -> bool:
        """True."""
        return True

    def passes(self, example: Example) -> bool:
        """Whether the row stays."""
        return self(example) is not None

    def __call__(self, example: Example) -> Example | None:
        """Returns the row itself, or None to drop it."""
        return example if super().__call__(example) is not None else None

    def _plan_step(self) -> _native.Step:
        return self._column_step(self._op, self._options, test=self.passes)

    def __repr__(self) -> str:
        return f"FilterNonEmpty({self._fields!r})"
