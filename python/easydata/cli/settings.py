"""`--set PATH=VALUE`, and values of options as the shell gives them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.cli.usage import UsageError
from easydata.core.config_class import descriptor

_PART = re.compile(r'"([^"]*)"|\[(\d+)\]|([^.\[\]"]+)')


def set_options(values: dict[str, Any], settings: Sequence[str]) -> None:
    """Sets options of a pipeline by their paths: "pack.seq_length=4096".

    Raises:
        UsageError: There is no such option, with the one that was meant.
    """
    for each in settings:
        path, is_pair, text = each.partition("=")
        if not is_pair or not path:
            raise UsageError(
                f"--set takes PATH=VALUE, such as pack.seq_length=4096 or datasets.0.shuffle=rows, "
                f"not {each!r}"
            )
        _set(values, "PipelineConfig", _parts(path), text, path)


def _parts(path: str) -> list[str]:
    parts = [name or index or plain for name, index, plain in _PART.findall(path)]
    rebuilt = _PART.sub("", path).strip(".")
    if not parts or rebuilt.strip("."):
        raise UsageError(f"--set {path}: is no path of options, such as pack.seq_length")
    return parts


def _set(target: dict[str, Any], config: str, parts: Sequence[str], text: str, path: str) -> None:
    """Sets an option of a config, or one in it."""
    fields = {field["name"]: field for field in descriptor(config)["fields"]}
    name, *rest = parts
    if name not in fields:
        hint = _native.suggestion(name, list(fields))
        raise UsageError(f"--set {path}: {config} has no option {name!r}{hint}")
    annotation = fields[name]["type"]
    if not rest:
        target[name] = value_of(annotation, text, f"--set {path}")
        return
    inner = next((each for each in re.findall(r"\w+", annotation) if _is_config(each)), None)
    if annotation.startswith("list["):
        members = target.get(name) or []
        position = _position(members, rest[0], path)
        if inner is not None and len(rest) > 1:
            _set(members[position], inner, rest[1:], text, path)
        else:
            _set_any(members, [str(position), *rest[1:]], text, path)
        return
    within = target.get(name)
    if inner is not None:
        if isinstance(within, str):  # a tokenizer by its name alone
            within = {"name_or_path": within}
        target[name] = within = dict(within or {})
        _set(within, inner, rest, text, path)
        return
    if not re.match(r"dict|.*\bdict\b", annotation) and not isinstance(within, Mapping | list):
        raise UsageError(f"--set {path}: {name} is no options by name, but {_kind(annotation)}")
    if within is None:
        target[name] = within = {}
    _set_any(within, rest, text, path)


def _is_config(name: str) -> bool:
    try:
        descriptor(name)
    except KeyError:
        return False
    return True


def _position(members: Sequence[Any], part: str, path: str) -> int:
    """The place of a member by its number or its name."""
    names = [
        str((each.get("name") if isinstance(each, Mapping) else None) or f"dataset_{number}")
        for number, each in enumerate(members)
    ]
    if part in names:
        return names.index(part)
    if part.isdigit() and int(part) < len(members):
        return int(part)
    if part.isdigit():
        raise UsageError(f"--set {path}: there are {len(members)} members, counted from 0")
    raise UsageError(f"--set {path}: none is called {part!r}{_native.suggestion(part, names)}")


def _set_any(target: Any, parts: Sequence[str], text: str, path: str) -> None:
    """Sets a value in dicts and lists of any form."""
    name, *rest = parts
    key: Any = name
    if isinstance(target, list):
        key = _position(target, name, path)
    elif not isinstance(target, dict):
        raise UsageError(f"--set {path}: {name!r} is within {target!r}, which has no options")
    if not rest:
        target[key] = yaml_value(text, f"--set {path}")
        return
    if isinstance(target, dict):
        target.setdefault(key, {})
    _set_any(target[key], rest, text, path)


def value_of(annotation: str, text: str, flag: str) -> Any:
    """What the shell says of an option of this type; what is wrong with it the config tells."""
    base = annotation.removesuffix(" | None")
    if base != annotation and text in ("null", "~", ""):
        return None
    if base.startswith("list["):
        return yaml_value(text, flag) if text.startswith("[") else list_of([text])
    if base.startswith("dict["):
        is_yaml = text.startswith("{")
        return yaml_value(text, flag) if is_yaml else pairs_of(base, [text], flag)
    if base in ("int", "float", "bool"):
        return yaml_value(text, flag)
    if base == "str | int":
        return int(text) if text.isdigit() else text
    is_plain = base == "str" or base.startswith(("Literal[", "Callable"))
    return yaml_value(text, flag) if not is_plain and text[:1] in ("{", "[") else text


def yaml_value(text: str, flag: str) -> Any:
    """A value as a config file would have it."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())
        raise UsageError(f"{flag}: {text!r} cannot be read as YAML: {said}") from None


def list_of(given: Sequence[str]) -> list[str]:
    """The names of "a,b" "c"; a comma that belongs to a name has a backslash before it."""
    names = [name for text in given for name in re.split(r"(?<!\\),", text)]
    return [name.replace("\\,", ",") for name in names if name]


def pairs_of(annotation: str, given: Sequence[str], flag: str) -> dict[str, Any]:
    """What NAME=VALUE,NAME=VALUE says; the values are text where the option's are."""
    is_text = annotation.startswith("dict[str, str]")
    is_number = annotation.startswith("dict[str, float]")
    pairs = {}
    for text in given:
        parts = list_of([text])
        # A comma in the value of one.
        for each in parts if all("=" in part for part in parts) else [text]:
            key, is_pair, value = each.partition("=")
            if not is_pair or not key:
                raise UsageError(f"{flag} takes NAME=VALUE, not {each!r}")
            if key in pairs:
                raise UsageError(f"{flag} names {key!r} twice")
            pairs[key] = value if is_text else yaml_value(value, flag)
            if is_number and not isinstance(pairs[key], int | float):
                raise UsageError(f"{flag} takes NAME=NUMBER, such as train=0.98, not {each!r}")
    return pairs


def _kind(annotation: str) -> str:
    base = annotation.removesuffix(" | None")
    words = {"int": "a whole number", "float": "a number", "bool": "true or false"}
    return words.get(base, "a value")
