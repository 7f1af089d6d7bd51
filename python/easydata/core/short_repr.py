"""How objects of ours show themselves: in a line, without data and without secrets."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from easydata import _native

# Characters of a text, items of a collection, and characters of anything else.
_TEXT = 80
_ITEMS = 4
_OTHER = 120


def call(name: str, /, *given: Any, **options: Any) -> str:
    """`name(...)` with the values that it was called with."""
    shown = [short(value) for value in given]
    shown += [f"{key}={short(value)}" for key, value in options.items()]
    return f"{name}({', '.join(shown)})"


def short(value: Any) -> str:
    """A value in one line: rows and long collections as how many they are."""
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        text = _native.shown_address(value)
        return repr(text) if len(text) <= _TEXT else f"{text[:_TEXT]!r}... ({len(text):,} letters)"
    if isinstance(value, Mapping):
        shown = [f"{short(key)}: {short(item)}" for key, item in _first(value.items())]
        return f"{{{', '.join(shown)}{_more(value)}}}"
    if isinstance(value, (list, tuple)):
        return _listed(value)
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(map(short, _first(sorted(value, key=repr))))}{_more(value)}}}"
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    text = repr(value)
    if type(value).__module__.startswith("easydata.") or (
        len(text) <= _OTHER and text.isprintable()
    ):
        return text
    return _counted(value)


def changed(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from their defaults."""
    return {
        name: value
        for name, value in values.items()
        if name not in defaults or not is_same(value, defaults[name])
    }


def is_same(value: Any, default: Any) -> bool:
    """Whether two values of options are of one type and equal."""
    return value is default or (type(value) is type(default) and bool(value == default))


def table(title: str, rows: Mapping[str, Any]) -> str:
    """A notebook's view of an object: what it is, and a line for each thing that is known."""
    lines = "".join(
        f'<tr><th style="text-align:left">{html.escape(str(name))}</th>'
        f'<td style="text-align:left">{html.escape(_cell(value))}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table><caption>{html.escape(title)}</caption>{lines}</table>"


class Shown:
    """Shows itself as the call that makes it, and in a notebook as a table."""

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """What it is made of and with which options; nothing is read for it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        given, options = self._shown()
        return call(type(self).__name__, *given, **options)

    def _repr_html_(self) -> str:
        given, options = self._shown()
        below = {"of": given[0]} if len(given) == 1 else {"of": list(given)} if given else {}
        return table(type(self).__name__, {**below, **options})


def _cell(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else short(value)


def _listed(values: list[Any] | tuple[Any, ...]) -> str:
    if values and isinstance(values[0], Mapping):
        return _counted(values)
    shown = ", ".join(map(short, _first(values))) + _more(values)
    if isinstance(values, tuple):
        return f"({shown},)" if len(values) == 1 else f"({shown})"
    return f"[{shown}]"


def _counted(value: Any) -> str:
    """What is not shown itself, such as `<list of 3 rows: text, id>`."""
    name = type(value).__name__
    try:
        count = len(value)
    except (TypeError, ValueError):
        return f"<{name}>"
    if isinstance(value, (list, tuple)):
        fields = ", ".join(map(str, _first(value[0]))) + _more(value[0])
        return f"<{name} of {count:,} {'row' if count == 1 else 'rows'}: {fields}>"
    return f"<{name} of {count:,}>"


def _first(values: Iterable[Any]) -> Iterator[Any]:
    return itertools.islice(values, _ITEMS)


def _more(values: Any) -> str:
    return f", ... ({len(values):,})" if len(values) > _ITEMS else ""
