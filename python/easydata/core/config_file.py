"""Config files as dicts: YAML or JSON, of people, not of attackers."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from easydata import _native
from easydata.core.config_class import ConfigError

# What no config of people comes near to, and is read at once.
_MOST_NODES = 100_000
_DEEPEST = 100


def read_config_file(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """The options in a config file: YAML (.yaml, .yml) or JSON (.json).

    Raises:
        FileNotFoundError: When there is no such file.
        ConfigError: When it does not parse, gives a key twice, or stands for more than 100,000
            values or 100 levels once its aliases are put in.
    """
    file = Path(os.fspath(path))
    if file.suffix not in (".yaml", ".yml", ".json"):
        raise ConfigError(str(file), ["is not a config file: use .yaml, .yml or .json"])
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(str(file), [f"is not UTF-8: {error}"]) from error
    name = str(file)
    read = _read_json if file.suffix == ".json" else _read_yaml
    return _options(name, read(name, text))


def read_config_text(text: str, name: str) -> Mapping[str, Any]:
    """The options in a text: JSON, or YAML, which any JSON is; messages call it `name`.

    Raises:
        ConfigError: As read_config_file() does.
    """
    return _options(name, _read_yaml(name, text))


def _options(name: str, values: Any) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise ConfigError(name, ["must hold the options of a PipelineConfig by name"])
    return values


def _read_yaml(name: str, text: str) -> Any:
    import yaml

    try:
        for problem in _problems_of_yaml(text):
            raise ConfigError(name, [problem])
        return yaml.load(text, Loader=_loader())
    except yaml.YAMLError as error:
        raise ConfigError(name, [f"is not YAML: {error}"]) from error
    except ConfigError:
        raise
    except (ValueError, OverflowError) as error:  # of a number or a date
        raise ConfigError(name, [f"holds a value that cannot be read: {error}"]) from error


def _read_json(name: str, text: str) -> Any:
    def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in pairs:
            if key in values:
                raise ConfigError(name, [_said_twice(text, key)])
            values[key] = value
        return values

    try:
        return json.loads(text, object_pairs_hook=without_doubles)
    except json.JSONDecodeError as error:
        raise ConfigError(name, [f"is not JSON: {error}"]) from error
    except ConfigError:
        raise
    except RecursionError:
        raise ConfigError(name, [f"has more than {_DEEPEST} levels"]) from None
    except ValueError as error:  # of a number
        raise ConfigError(name, [f"holds a value that cannot be read: {error}"]) from error


def _said_twice(json_text: str, key: str) -> str:
    """What is said of a key that JSON gives twice: with its line, as JSON is YAML, mostly."""
    import yaml

    try:
        found = next(_problems_of_yaml(json_text), None)
    except yaml.YAMLError:
        found = None
    return found or f"{key!r} is given twice; take one of them out"


def _loader() -> Any:
    import yaml

    # libyaml's, where PyYAML was built with it, is ten times as fast.
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class _Open:
    """A list or mapping that is being read."""

    anchor: str | None
    is_mapping: bool
    nodes: int = 1
    parts: int = 0
    keys: dict[str, int] = field(default_factory=dict)  # and their lines
    key: str = ""  # the last one; of a list, that of the mapping around it


def _problems_of_yaml(text: str) -> Iterator[str]:
    """What is wrong with a file besides its syntax, found without building anything."""
    import yaml

    sizes: dict[str, int] = {}  # of what has an anchor
    stack = [_Open(None, False)]
    for event in yaml.parse(text, Loader=_loader()):
        line = event.start_mark.line + 1 if event.start_mark is not None else 0
        inner = stack[-1]
        nodes = 0
        if isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            if len(stack) > _DEEPEST:
                yield f"line {line}: there are more than {_DEEPEST} levels"
                return
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            stack.append(_Open(event.anchor, is_mapping, key=inner.key))
            continue
        if isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            closed = stack.pop()
            inner, nodes = stack[-1], closed.nodes
            if closed.anchor is not None:
                sizes[closed.anchor] = nodes
        elif isinstance(event, yaml.AliasEvent):
            if any(event.anchor == each.anchor for each in stack):
                yield f"line {line}: *{event.anchor} stands within what it stands for"
                return
            nodes = sizes.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            nodes = 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
            is_key = inner.is_mapping and inner.parts % 2 == 0
            if event.implicit[0]:
                said = _misread(event.value, None if is_key else inner.key)
                if said is not None:
                    yield f"line {line}: {said}"
                    return
            if is_key:
                inner.key = event.value
                if event.value in inner.keys:
                    yield (
                        f"line {line}: {event.value!r} is given twice (first in line "
                        f"{inner.keys[event.value]}); take one of them out"
                    )
                    return
                inner.keys[event.value] = line
        else:
            continue
        inner.parts += 1
        inner.nodes += nodes
        if inner.nodes > _MOST_NODES:
            yield (
                f"line {line}: stands for more than {_MOST_NODES:,} values once its aliases are "
                "put in"
            )
            return


def _misread(text: str, option: str | None) -> str | None:
    """What is said of a word without quotes that YAML 1.1 hardly reads as it was meant.

    Args:
        text: the word.
        option: the key that it is a value of, alone or in a list; None: it is a key itself.
    """
    import yaml

    tag: Any = yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    kind = str(tag).removeprefix("tag:yaml.org,2002:")
    is_plain_number = kind == "int" and ":" not in text and not re.match(r"[-+]?0[0-9_]", text)
    if kind in ("str", "merge", "value") or is_plain_number:
        return None
    if option is not None:
        is_clear = text.lower() in ("true", "false") or option in _switches()
        if (kind in ("null", "float") and ":" not in text) or (kind == "bool" and is_clear):
            return None
    made = yaml.safe_load(text)
    cure = f'put it in quotes, "{text}"'
    if kind == "bool" and option is not None:
        cure += f", or write {str(made).lower()} where that is meant"
    elif kind == "int":
        cure += f", or write {made} where the number is meant"
    read = "a date" if kind == "timestamp" else "nothing" if kind == "null" else str(made)
    where = "" if option is None else f" of {option}"
    return f"YAML reads {text}{where} as {read}; {cure}"


@functools.cache
def _switches() -> frozenset[str]:
    """The options that may be true or false."""
    declared = json.loads(_native.config_descriptors()) + json.loads(_native.option_descriptors())
    return frozenset(
        field["name"] for entry in declared for field in entry["fields"] if "bool" in field["type"]
    )
