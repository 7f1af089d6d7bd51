"""Transforms of single fields: rename, select, drop, map, extract, combine, add."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.transforms.base import (
    ColumnTransform,
    Example,
    OneToOneTransform,
    _Claiming,
    _name,
    checked_function,
)


class MapField(OneToOneTransform):
    """Applies a function to one field; rows without the field stay as they are."""

    def __init__(
        self, field: str, fn: Callable[[Any], Any], output_field: str | None = None
    ) -> None:
        """Puts `fn(row[field])` into `output_field` (the field itself by default)."""
        self._field = field
        self._fn = checked_function(fn, "MapField", of="a value")
        self._output = output_field or field

    def __call__(self, example: Example) -> Example:
        """Returns the row with the mapped field."""
        if self._field not in example:
            return example
        return {**example, self._output: self._fn(example[self._field])}

    def _plan_step(self) -> _native.Step:
        return self._callable_step(reads=[self._field], changes=[self._output])

    def __repr__(self) -> str:
        return f"MapField({self._field!r}, {_name(self._fn)}, {self._output!r})"


class _NamedFields(_Claiming, ColumnTransform):
    """An operation on fields that are named."""

    _fields: list[str]

    def _fields_named(self) -> Sequence[str]:
        return self._fields if self._claims else ()


class RenameFields(_NamedFields):
    """Renames fields, keeping their order; of two with one name the later one stays."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        """Renames by `mapping` from old to new names; other fields keep theirs."""
        super().__init__("rename", fields=list(mapping.items()))
        self._mapping = dict(mapping)
        self._fields = list(mapping)

    def _fields_taken(self) -> Mapping[str, str]:
        return self._mapping if self._claims else {}

    def __repr__(self) -> str:
        return f"RenameFields({self._mapping!r})"


class CastFields(_NamedFields):
    """Gives some fields, and fields in them, types; `column_types` of a dataset says which."""

    def __init__(self, types: Mapping[str, str], fills: Sequence[str] = ()) -> None:
        """Casts by `types`, from paths ("score", "meta.id") to names of types ("float64").

        Rows without a field of `fills` get it, as None.
        """
        options = {"fills": list(fills)} if fills else {}
        super().__init__("cast", types=list(types.items()), **options)
        self._types = dict(types)
        self._fills = list(fills)
        self._fields = list(dict.fromkeys(path.partition(".")[0] for path in types))

    def __call__(self, example: Example) -> Example:
        """Returns the row with values of these types."""
        return _native.ColumnTypes(list(self._types.items()), self._fills)(example)

    def __repr__(self) -> str:
        fills = f", {self._fills!r}" if self._fills else ""
        return f"CastFields({self._types!r}{fills})"


class SelectFields(_NamedFields):
    """Keeps only the named fields; those that a row lacks are left out."""

    def __init__(self, fields: Sequence[str]) -> None:
        """Keeps `fields`, in this order."""
        self._fields = [fields] if isinstance(fields, str) else list(fields)
        super().__init__("select", fields=self._fields)

    def __repr__(self) -> str:
        return f"SelectFields({self._fields!r})"


class DropFields(_NamedFields):
    """Drops the named fields."""

    def __init__(self, fields: Sequence[str]) -> None:
        """Drops `fields`; those that a row lacks do not matter."""
        self._fields = [fields] if isinstance(fields, str) else list(fields)
        super().__init__("drop", fields=self._fields)

    def __repr__(self) -> str:
        return f"DropFields({self._fields!r})"


class ExtractField(OneToOneTransform):
    """Copies a nested value into a field of its own.

    A path is written ``a.b[0].c``; a number between dots is an index too where it meets a list. A
    value that is missing, or found to be None, becomes `default`.
    """

    def __init__(self, source_path: str, target_field: str, default: Any = None) -> None:
        """Copies what `source_path` leads to into `target_field`."""
        self._path = source_path
        self._target = target_field
        self._default = default
        self._parts = [part for part in re.split(r"\.|\[(\d+)\]", source_path) if part]

    def __call__(self, example: Example) -> Example:
        """Returns the row with the target field."""
        value: Any = example
        for part in self._parts:
            if isinstance(value, Mapping):
                value = value.get(part)
            elif isinstance(value, list | tuple) and part.isdigit():
                value = value[int(part)] if int(part) < len(value) else None
            else:
                value = None
            if value is None:
                break
        return {**example, self._target: self._default if value is None else value}

    def _plan_step(self) -> _native.Step:
        return self._callable_step(reads=self._parts[:1], writes=[self._target])

    def __repr__(self) -> str:
        return f"ExtractField({self._path!r}, {self._target!r})"


class CombineFields(OneToOneTransform):
    """Joins several fields into one text."""

    def __init__(
        self,
        source_fields: Sequence[str] | None = None,
        target_field: str | None = None,
        combiner: Callable[[list[Any]], Any] | None = None,
        separator: str = " ",
        drop_sources: bool = False,
        *,
        fields: Sequence[str] | None = None,
        output_field: str | None = None,
    ) -> None:
        """Joins what is not None by `separator`, or calls `combiner` with all values.

        Args:
            source_fields: fields to join, in this order.
            target_field: field to put the result into.
            combiner: makes the result out of the list of values, None for missing ones.
            separator: put between the values, which are written by ``str``.
            drop_sources: whether the joined fields go.
            fields: another name for `source_fields`.
            output_field: another name for `target_field`.
        """
        sources = source_fields if source_fields is not None else fields
        target = target_field if target_field is not None else output_field
        if sources is None or target is None:
            raise TypeError("CombineFields needs source_fields= and target_field=")
        self._sources = list(sources)
        self._target = target
        self._combiner = combiner
        self._separator = separator
        self._drop = drop_sources

    def __call__(self, example: Example) -> Example:
        """Returns the row with the joined field."""
        values = [example.get(name) for name in self._sources]
        if self._combiner is not None:
            joined = self._combiner(values)
        else:
            joined = self._separator.join(str(value) for value in values if value is not None)
        row = dict(example)
        if self._drop:
            for name in self._sources:
                row.pop(name, None)
        row[self._target] = joined
        return row

    def _plan_step(self) -> _native.Step:
        return self._callable_step(reads=self._sources, writes=[self._target])

    def __repr__(self) -> str:
        return f"CombineFields({self._sources!r}, {self._target!r})"


class AddField(ColumnTransform):
    """Sets a field to a constant, or to what a function makes of the row."""

    def __init__(self, field: str, value: Any) -> None:
        """Sets `field` to `value`, or to `value(row)` if it can be called."""
        super().__init__("add_field", field=field, value=value)
        self._field = field
        self._value = value

    @functools.cached_property
    def _is_json(self) -> bool:
        """Whether the operation adds this very value: JSON has no tuples, nor infinity."""
        try:
            return repr(super().__call__({})) == repr({self._field: self._value})
        except (TypeError, ValueError):
            return False

    def __call__(self, example: Example) -> Example | None:
        """Returns the row with the field."""
        if self._is_json:
            return super().__call__(example)
        value = self._value(example) if callable(self._value) else self._value
        return {**example, self._field: value}

    def _plan_step(self) -> _native.Step:
        if self._is_json:
            return super()._plan_step()
        if callable(self._value):
            return self._callable_step(reads_all=True)
        return self._callable_step(writes=[self._field])

    def __repr__(self) -> str:
        value = _name(self._value) if callable(self._value) else repr(self._value)
        return f"AddField({self._field!r}, {value})"
