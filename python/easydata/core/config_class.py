"""How the config classes come out of the engine's own declarations.

Every option's name, type, default, bounds and text is declared once, in the engine. The
decorator `declared` turns a class into a dataclass with those options; `core/config.pyi`, which
script/generate_configs.py writes, tells type checkers the same.
"""

import dataclasses
import functools
import importlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from easydata import _native
from easydata.core.short_repr import call, is_same, table
from easydata.core.takes_options import declared_options
from easydata.keywords import ANSWERS

_T = TypeVar("_T", bound=type)

_descriptors: dict[str, dict[str, Any]] = {
    entry["name"]: entry for entry in json.loads(_native.config_descriptors())
}
_classes: dict[str, type] = {}
_secrets: frozenset[str] = frozenset(
    field["name"] for entry in _descriptors.values() for field in entry["fields"] if field["secret"]
)


class ConfigError(ValueError):
    """What is wrong with a config: `problems`, a sentence each, of `subject`."""

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        self.subject = name
        self.problems = list(problems)
        super().__init__(f"{name}: " + "; ".join(self.problems))


def descriptor(name: str) -> dict[str, Any]:
    """The declaration of the config class `name`."""
    return _descriptors[name]


def config_names() -> list[str]:
    """The names of the config classes."""
    return list(_descriptors)


# Configs that mean something where they are given, even with their defaults alone.
_said_by_being_given = frozenset(
    field["config"]
    for entry in _descriptors.values()
    for field in entry["fields"]
    if field["config"] and field["acting"]["nodes"]
)
# What one of them has as an attribute where nobody gave it.
_NOT_GIVEN = "not given"


class Unset:
    """The value of an option that nobody set, which matters for this one.

    It reads as the number or text that it is, and stays what it is wherever it is handed on: by
    copies, pickles, ``dataclasses.replace``. What is written (to_dict, YAML) leaves the option out.
    """


class _UnsetNumber(int, Unset):
    pass


class _UnsetText(str, Unset):
    pass


def _unset(value: Any) -> Unset:
    return _UnsetText(value) if isinstance(value, str) else _UnsetNumber(value)


def _not_given(name: str) -> Any:
    made = _classes[name]()
    if name in _said_by_being_given:
        vars(made)[_NOT_GIVEN] = True
    return made


def _is_unset(value: Any) -> bool:
    return isinstance(value, Unset) or _NOT_GIVEN in getattr(value, "__dict__", ())


def is_set(config: Any, option: str) -> bool:
    """Whether somebody set this option of a config."""
    return not _is_unset(getattr(config, option))


def _default(field: Mapping[str, Any]) -> Any:
    """The dataclass field for one declared option."""
    metadata = {"doc": field["doc"]}
    if field["secret"]:
        return dataclasses.field(default=field["default"], repr=False, metadata=metadata)
    if field["required"]:
        return dataclasses.field(metadata=metadata)
    if field["config"]:
        default = functools.partial(_not_given, field["config"])
        return dataclasses.field(default_factory=default, metadata=metadata)
    if field["reads_as"] is not None:
        return dataclasses.field(default=_unset(field["reads_as"]), metadata=metadata)
    return dataclasses.field(default=field["default"], metadata=metadata)


def declared(cls: _T) -> _T:
    """Makes `cls` a dataclass with the options that the engine declares under its name."""
    entry = _descriptors[cls.__name__]
    names = [field["name"] for field in entry["fields"]]
    known = frozenset(names)
    is_said = cls.__name__ in _said_by_being_given
    unset = {
        field["name"]: _unset(field["reads_as"])
        for field in entry["fields"]
        if field["reads_as"] is not None
    }
    cls.__annotations__ = {field["name"]: field["type"] for field in entry["fields"]}
    for field in entry["fields"]:
        setattr(cls, field["name"], _default(field))
    options = "\n".join(f"    {field['name']}: {field['doc']}" for field in entry["fields"])
    cls.__doc__ = f"{entry['doc']}\n\nAttributes:\n{options}"
    made: Any = dataclasses.dataclass(cls)
    plain_init = made.__init__

    @functools.wraps(plain_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        for key in kwargs:
            if key not in known:
                hint = _native.suggestion(key, names)
                raise TypeError(f"{cls.__name__} has no option {key!r}{hint}")
        plain_init(self, *args, **kwargs)

    setattr(init, ANSWERS, True)

    def set_option(self: Any, key: str, value: Any) -> None:
        if key not in known:
            hint = _native.suggestion(key, names)
            raise AttributeError(f"{cls.__name__} has no option {key!r}{hint}")
        object.__setattr__(self, key, unset.get(key) if value is None else value)
        if is_said:
            vars(self).pop(_NOT_GIVEN, None)

    # Assigned like this since both are part of what the decorator makes.
    made.__init__ = init
    made.__setattr__ = set_option
    made.__repr__ = _short_repr
    made._repr_html_ = _repr_html
    _classes[cls.__name__] = made
    return cast(_T, made)


def without_secrets(value: Any) -> Any:
    """Plain values of a config without credentials: neither options of them nor addresses' own."""
    if isinstance(value, str):
        return _native.shown_address(value)
    if isinstance(value, Mapping):
        return {key: without_secrets(v) for key, v in value.items() if key not in _secrets}
    if isinstance(value, (list, tuple)):
        return [without_secrets(item) for item in value]
    return value


def _shown_options(config: Any) -> dict[str, Any]:
    """The options of a config that somebody set to something else than their defaults."""
    shown = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        default = field.default
        if type(value).__name__ in _said_by_being_given:
            default = None
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if field.name == "data_files" and isinstance(value, Mapping):
            value = without_secrets(value)
        if field.repr and not _is_unset(value) and not is_same(value, default):
            shown[field.name] = value
    return shown


def _short_repr(config: Any) -> str:
    return call(type(config).__name__, **_shown_options(config))


def _repr_html(config: Any) -> str:
    return table(type(config).__name__, _shown_options(config))


def options_of(config: Any, options: str, **names: str) -> dict[str, Any]:
    """The values of a config for the engine's struct of options `options`.

    An option that the config has under another name is given as ``option="its name there"``; one
    that it does not have is left out.
    """
    return {
        option: getattr(config, name)
        for option in declared_options(options)
        if hasattr(config, name := names.get(option, option))
    }


def import_path(function: Any) -> str | None:
    """`package.module:name` of a callable that can be imported again; None for all others."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name or "<" in name:
        return None
    return f"{module}:{name}"


def imported(path: str) -> Any:
    """What the import path `package.module:name` names."""
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"nothing can be imported as {path!r}: {error}") from error
    return found


def plain(value: Any, *, for_engine: bool = False) -> Any:
    """A config, or a value of one, as dicts, lists and scalars.

    Callables become their import paths. Other objects, and callables without an import path, stay
    as they are, or become a marker where the result is `for_engine`.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {
            str(key): _plain_option(str(key), item, for_engine)
            for key, item in value.items()
            if not _is_unset(item)
        }
    if isinstance(value, (list, tuple)):
        return [plain(item, for_engine=for_engine) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        options = {}
        for name, default in _defaults(type(value)):
            option = getattr(value, name)
            # The engine knows the defaults; a mixture may have thousands of configs.
            if not (for_engine and option is default) and not _is_unset(option):
                options[name] = _plain_option(name, option, for_engine)
        return options
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()  # a NumPy scalar
    path = import_path(value if callable(value) else type(value))
    is_function = callable(value) and hasattr(value, "__qualname__")
    if for_engine:
        return {"$callable" if is_function else "$object": path or repr(value)}
    return path if is_function and path else value


@functools.cache
def _defaults(config: type[Any]) -> list[tuple[str, Any]]:
    """The options of a config class, and their defaults."""
    return [(field.name, field.default) for field in dataclasses.fields(config)]


def _for_engine(name: str, values: Any) -> Any:
    try:
        return plain(values, for_engine=True)
    except RecursionError:
        raise ConfigError(name, ["holds a list or dict that stands within itself"]) from None


def _plain_option(name: str, value: Any, for_engine: bool) -> Any:
    if value is None or value is True or value is False:
        return value
    if name == "format_callback" and for_engine and callable(value):
        return {"$callable": import_path(value) or repr(value)}  # any object that can be called
    if name != "data_files" or value is None or isinstance(value, (str, os.PathLike)):
        return plain(value, for_engine=for_engine)
    if isinstance(value, (list, tuple)) and not any(
        isinstance(item, Mapping) for item in value[:1]
    ):
        return plain(value, for_engine=for_engine)
    # Rows in memory, however many there are.
    return {"$object": import_path(type(value)) or "rows"} if for_engine else value


def problems_of(config: Any) -> list[tuple[str, str, str]]:
    """Everything that is wrong with a config: (kind, path, sentence).

    The kinds: "structure" and "value", "later" for what is valid but not supported yet, and
    "advice" for what is valid but hardly meant.
    """
    name = type(config).__name__
    return _check(name, _for_engine(name, config))


def _check(name: str, values: Any) -> list[tuple[str, str, str]]:
    text = json.dumps(values)
    # Most configs have nothing of the kind, and a mixture may have thousands of them.
    if _MAYBE_UNSAYABLE.search(text):
        unsayable = [("structure", path, f"{path} {said}") for path, said in _unsayable(values)]
        if unsayable:
            return unsayable
    return [(kind, path, said) for kind, (path, said) in _native.validate_config(name, text)]


# In JSON: surrogates, NaN and infinities, numbers of many digits.
_MAYBE_UNSAYABLE = re.compile(r"\\ud|NaN|Infinity|\d{19}")


def _unsayable(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, what is wrong) of values that JSON, which the engine is told them in, cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        yield path, f"must be a finite number, not {value}"
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        yield path, "must be a number of at most 64 bits"
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            surrogates = [letter for letter in value if "\ud800" <= letter <= "\udfff"]
            if all("\udc80" <= letter <= "\udcff" for letter in surrogates):
                # So Python reads names of files that are not UTF-8.
                yield path, f"is not UTF-8: {os.fsencode(value)!r}; rename a file of such a name"
            else:
                yield path, f"holds a lone surrogate, which no text can: {value!a}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            item_path = f"{path}.{key}" if path else str(key)
            if any("\ud800" <= letter <= "\udfff" for letter in str(key)):
                yield ascii(item_path), "has a lone surrogate in its name, which no text can"
            yield from _unsayable(item, item_path)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _unsayable(item, f"{path}[{number}]")


def require(config: Any, *options: str) -> None:
    """Raises ConfigError when one of these options of `config` cannot be meant."""
    wrong = [
        said
        for kind, path, said in problems_of(config)
        if kind in ("structure", "value") and path.split("[")[0].split(".")[0] in options
    ]
    if wrong:
        raise ConfigError(type(config).__name__, wrong)


def check(config: Any) -> list[str]:
    """Raises when a config cannot be run; gives advice on one that can.

    Raises:
        ConfigError: With everything that is wrong.
        NotImplementedError: When all that is wrong is that a feature has not come yet.
    """
    problems = problems_of(config)
    found = [problem for problem in problems if problem[0] != "advice"]
    if not found:
        return [said for _, _, said in problems]
    name = type(config).__name__
    said = [text for _, _, text in found]
    if all(kind == "later" for kind, _, _ in found):
        raise NotImplementedError(f"{name}: " + "; ".join(said))
    raise ConfigError(name, said)


def config_hash(config: Any) -> str:
    """16 hexadecimal digits that are equal for configs that say the same, whoever asks."""
    name = type(config).__name__
    values = without_secrets(_for_engine(name, config))
    wrong = [f"{path} {said}" for path, said in _unsayable(values)]
    if wrong:
        raise ConfigError(name, wrong)
    return str(_native.config_hash(name, json.dumps(values, allow_nan=False)))


def from_plain(cls: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Makes a config out of dicts, lists and scalars (and objects, where those belong).

    Raises:
        ConfigError: With every key that is no option and every value of the wrong type.
    """
    name = cls.__name__
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} is made from a dict of its options, not {type(values).__name__}")
    found = _check(name, _for_engine(name, values))
    wrong = [said for kind, _, said in found if kind == "structure"]
    if wrong:
        raise ConfigError(name, wrong)
    return _build(name, values)


def _build(name: str, values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values  # already a config
    options = {}
    for field in _descriptors[name]["fields"]:
        if field["name"] not in values:
            continue
        value = values[field["name"]]
        if value is None and field["config"]:
            continue
        options[field["name"]] = _convert(field["type"], value)
    return _classes[name](**options)


def _convert(annotation: str, value: Any) -> Any:
    """A plain value as what its annotation asks for: nested configs, callables, int keys."""
    if value is None:
        return None
    if annotation.startswith("Callable"):
        return imported(value) if isinstance(value, str) else value
    if annotation.startswith("dict[int"):
        return {int(key): item for key, item in value.items()}
    for name in _descriptors:
        if name not in annotation:
            continue
        if annotation.startswith(f"list[{name}]"):
            return [_build(name, item) for item in value]
        return _build(name, value)
    return value
