"""Steps of columns by the names that configs have for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from easydata.transforms.base import Transform
from easydata.transforms.fields import AddField, CastFields, DropFields, RenameFields, SelectFields
from easydata.transforms.filters import FilterNonEmpty

# Each claims that there are the fields that it names: who writes a config means them.
_BY_NAME: dict[str, Callable[[Any], list[Transform]]] = {
    "rename": lambda names: [RenameFields(names).claiming()],
    "select": lambda names: [SelectFields(names).claiming()],
    "drop": lambda names: [DropFields(names).claiming()],
    "cast": lambda types: [CastFields(types).claiming()],
    "add_field": lambda values: [AddField(field, value) for field, value in values.items()],
    "filter_non_empty": lambda names: [FilterNonEmpty(names).claiming()],
}


def column_steps(choice: Any) -> list[Transform]:
    """The steps that a member of `transforms` names, as {rename: {old: new}}; [] where it is none.

    Its value is sound.
    """
    if not isinstance(choice, Mapping) or len(choice) != 1:
        return []
    ((name, value),) = choice.items()
    make = _BY_NAME.get(name)
    return [] if make is None else make(value)
