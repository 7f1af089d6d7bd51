"""What differs between a plan and one that a cache has rows of, in words for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Values that are longer say nothing to people.
_LONGEST = 60
# Beginnings of hashes.
_HASH = 8


def nearest(kept: Sequence[str], wanted: str) -> tuple[str, list[str]]:
    """Of plans the one with the fewest differences from `wanted`, and these.

    One with the same steps is nearer than any other one.
    """
    now = json.loads(wanted)
    found = [(each, differences(each, wanted)) for each in kept]
    return min(found, key=lambda item: (_steps(json.loads(item[0])) != _steps(now), len(item[1])))


def differences(kept: str, wanted: str) -> list[str]:
    """What of the plan `wanted` is not as in the plan `kept`, that which acts first before.

    Both are what a store was told of plans: JSON of the operators and of the columns that come.
    """
    before, now = json.loads(kept), json.loads(wanted)
    if _steps(before) != _steps(now):
        return [f"steps: {' > '.join(_steps(before))} -> {' > '.join(_steps(now))}"]
    found: list[str] = []
    for old, new in zip(before["operators"], now["operators"], strict=True):
        found += _of_operator(old, new)
    if not found and before.get("columns") != now.get("columns"):
        found += _of_columns(str(before.get("columns")), str(now.get("columns")))
    return list(dict.fromkeys(found))


def _steps(plan: Mapping[str, Any]) -> list[str]:
    return [str(each["operator"]) for each in plan["operators"]]


def _of_operator(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    name = old["operator"]
    before, now = old.get("options") or {}, new.get("options") or {}
    for option in {**now, **before}:
        was, is_now = before.get(option), now.get(option)
        if was == is_now:
            continue
        if option == "tokenizer":
            yield f"tokenizer changed: {_hash(was)} -> {_hash(is_now)}"
        elif option == "chat_template":
            yield "chat template changed"
        else:
            yield f"{name}.{option}: {_shown(was)} -> {_shown(is_now)}"
    if old.get("identity") != new.get("identity"):
        yield from _of_identities(name, old.get("identity") or "", new.get("identity") or "")


def _of_identities(operator: str, old: str, new: str) -> Iterator[str]:
    """What differs between what steps are, of which each has a line of JSON."""
    before, now = old.splitlines(), new.splitlines()
    if len(before) != len(now):
        yield f"{operator}: {len(before)} steps -> {len(now)}"
        return
    for was, is_now in zip(before, now, strict=True):
        if was != is_now:
            yield _first_part(json.loads(was), json.loads(is_now), operator)


def _first_part(was: Any, is_now: Any, within: str) -> str:
    """The innermost part that holds the first difference; see transforms/identity.py."""
    lists = isinstance(was, list) and isinstance(is_now, list)
    if not lists or not was or not is_now:
        return f"{within}: {_shown(was)} -> {_shown(is_now)}"
    if was[0] == is_now[0] == "code":
        if was[1] != is_now[1]:
            return f"{within}: function {was[1]} -> {is_now[1]}"
        return f"version of {was[1]}: {_version(was)} -> {_version(is_now)}"
    if was[0] == is_now[0] == "ChatTemplate":
        return "chat template changed"
    if was[0] == is_now[0] == "Tokenizer":
        return f"tokenizer changed: {_hash(_at(was[1], 0))} -> {_hash(_at(is_now[1], 0))}"
    if was[0] == is_now[0] == "dict":
        return _first_item(dict(map(_pair, was[1])), dict(map(_pair, is_now[1])), within)
    if len(was) == len(is_now) == 3 and was[0] == is_now[0] and isinstance(was[0], str):
        # An object: its class, its version, and what it holds.
        if was[1] != is_now[1]:
            return f"version of {was[0]}: {_shown(was[1])} -> {_shown(is_now[1])}"
        return _first_part(was[2], is_now[2], str(was[0]).rpartition(".")[2])
    for one, other in zip(was, is_now, strict=False):
        if one != other:
            return _first_part(one, other, within)
    return f"{within}: {_shown(was)} -> {_shown(is_now)}"


def _first_item(was: Mapping[str, Any], is_now: Mapping[str, Any], within: str) -> str:
    for key in {**is_now, **was}:
        if was.get(key) != is_now.get(key):
            inner = f"{within}.{key.lstrip('_')}"
            if key in was and key in is_now:
                return _first_part(was[key], is_now[key], inner)
            return f"{inner}: {_shown(was.get(key))} -> {_shown(is_now.get(key))}"
    return within


def _pair(item: Sequence[Any]) -> tuple[str, Any]:
    return str(item[0]), item[1]


def _at(values: Any, index: int) -> Any:
    return values[index] if isinstance(values, list) and len(values) > index else None


def _version(code: Sequence[Any]) -> str:
    return _shown(code[2]) if len(code) > 2 else "none"


def _of_columns(old: str, new: str) -> Iterator[str]:
    """What differs between two schemas, of which each column has a line."""
    before, now = (
        dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        for text in (old, new)
    )
    for name in {**now, **before}:
        if before.get(name) != now.get(name):
            yield f"column {name}: {before.get(name, 'none')} -> {now.get(name, 'none')}"
    if before == now:
        yield "the columns"


def _hash(value: Any) -> str:
    return str(value)[:_HASH]


def _shown(value: Any) -> str:
    text = "unset" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
