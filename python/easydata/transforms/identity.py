"""What a transform is, for processes that look up what another one has made with it."""

from __future__ import annotations

import datetime
import enum
import functools
import json
import os
import re
import sys
import types
from collections.abc import Mapping
from typing import Any

# What versions are.
_Version = str | int | None


class UnrecognisedError(Exception):
    """A part of a transform that nothing tells from others in another process; says the cure."""


def identity_of(step: Any) -> str:
    """All that a step's rows follow from: its class, its options, and the functions that it calls.

    Raises:
        UnrecognisedError: A part of it is code without a name or a version, or an object that
            cannot be told from others.
    """
    return json.dumps(_part(step, _version_of(step)), ensure_ascii=False, allow_nan=True)


def import_name(fn: object) -> str | None:
    """`module.name` by which another process finds a function or class; None: it does not.

    That of a lambda, a closure or a script it does not find.
    """
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if module in (None, "__main__") or name is None or "<" in name:
        return None
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}.{name}" if found is fn else None


def _version_of(value: object) -> _Version:
    version = getattr(value, "version", None)
    return version if isinstance(version, str | int) and not isinstance(version, bool) else None


def _part(value: Any, version: _Version) -> Any:
    """A value as JSON. `version`: what was said of the functions in it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, Mapping):
        return ["dict", [[_part(key, None), _part(item, version)] for key, item in value.items()]]
    if isinstance(value, list | tuple):
        return [_part(item, version) for item in value]
    if isinstance(value, set | frozenset):
        return ["set", sorted(json.dumps(_part(item, version)) for item in value)]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, re.Pattern):
        return ["pattern", value.pattern, value.flags]
    if isinstance(value, datetime.date | datetime.time):
        return ["time", value.isoformat()]
    if isinstance(value, enum.Enum):
        return _part(value.value, None)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()  # a NumPy scalar
    if isinstance(value, functools.partial):
        return ["partial", *(_part(x, version) for x in (value.func, value.args, value.keywords))]
    if isinstance(value, types.MethodType):
        return ["method", value.__func__.__qualname__, _part(value.__self__, version)]
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return _code(value, version)
    return _object(value, version)


def _code(fn: Any, version: _Version) -> Any:
    """A function or class: its name, and the version of it."""
    name = import_name(fn)
    shown = getattr(fn, "__qualname__", None) or repr(fn)
    if name is None:
        module = getattr(fn, "__module__", None)
        kind = "of a script" if module == "__main__" else "without a name of its own"
        raise UnrecognisedError(
            f"the function {shown} is one {kind}, which no later run can tell from another one: "
            "put it into a module, and give it a version, such as "
            'source.map(function, version="1")'
        )
    own = _version_of(fn) if version is None else version
    if own is None and not _is_known(name):
        raise UnrecognisedError(
            f"the function {shown} has no version, so that a later run cannot tell whether it "
            'still does the same: give it one, source.map(function, version="1") or '
            f'{shown}.version = "1", and another one whenever it changes'
        )
    return ["code", name] if own is None else ["code", name, own]


def _is_known(name: str) -> bool:
    """Whether code is Python's own or ours, which have their versions."""
    package = name.split(".")[0]
    return package == "easydata" or package in sys.stdlib_module_names


def _object(value: Any, version: _Version) -> Any:
    """An object: its class, and all that it holds."""
    if hasattr(value, "_identity"):
        return [type(value).__name__, _part(value._identity(), version)]
    kind = type(value)
    name = import_name(kind)
    own = _version_of(value)
    if name is None or (own is None and not name.startswith("easydata.")):
        what = "transform" if hasattr(value, "_plan_step") else "object"
        raise UnrecognisedError(
            f"the {what} {kind.__qualname__} has no version, so that a later run cannot tell "
            "whether it still does the same: "
            + (
                'set one in its class, version = "1", and another one whenever it changes'
                if name is not None
                else "put its class into a module, and set a version in it"
            )
        )
    if name.startswith("easydata._native."):
        raise UnrecognisedError(f"the object {kind.__qualname__} says nothing of itself")
    state = value.__getstate__()
    if isinstance(state, tuple):  # of slots
        state = {**(state[0] or {}), **state[1]}
    # What is found out later on is no part of what it is.
    found_out = {
        each
        for base in kind.__mro__
        for each, attribute in vars(base).items()
        if isinstance(attribute, functools.cached_property)
    } | set(getattr(value, "_found_out", ()))
    said = {key: item for key, item in (state or {}).items() if key not in found_out}
    return [name, own, _part(dict(sorted(said.items())), own if own is not None else version)]
