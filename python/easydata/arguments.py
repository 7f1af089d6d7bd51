"""What a value of a wrong type is answered with: the parameter, what it takes, what it got."""

import inspect
import numbers
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

# What Python, numpy and the engine's binding say where a value is of another type than it must be.
_RAW = re.compile(
    r"incompatible function arguments|has another type than it must have"
    r"|^'[\w.]+' object (is not|has no|cannot be|does not|doesn't)"
    r"|^object of type '[\w.]+' has no len"
    r"|^argument of type '[\w.]+' is not"
    r"|^expected (str, bytes or os\.PathLike object|string or bytes-like object)"
    r"|not supported between instances of|^unsupported operand type"
    r"|^(int|float)\(\) argument must be|^invalid literal for|^could not convert string to"
    r"|^cannot convert dictionary update|^dictionary update sequence"
    r"|inhomogeneous shape|^cannot unpack|values to unpack"
    r"|must be (str|a string|real number|an integer), not|^can only concatenate"
)
_WORDS: dict[Any, str] = {
    str: "text",
    bytes: "bytes",
    int: "whole number",
    float: "number",
    bool: "True or False",
    type(None): "None",
    dict: "dict",
    Mapping: "dict",
    Callable: "function",
}
# Names that people know of types that have others.
_PUBLIC = {"PathLike": "path", "Step": "Transform", "Point": "WeightSchedulePoint"}
# What makes one of those that people do not have at hand.
_MADE_BY = {
    "ShardedDataSource": 'create_source("data.jsonl") makes one of files, wrap_hf_dataset() of '
    "rows or a table"
}
# Names that the declared types of options have.
_OFTEN = {
    each: getattr(typing, each) for each in ("Any", "Callable", "Iterable", "Literal", "Mapping")
}
_OFTEN["Sequence"] = Sequence
_ITEMS = 1000  # of a list are looked at


class _Unknown:
    """Stands for a type that type checkers alone know: a class of another library, mostly."""


# What a call of one of these is told by: they are of Python's own.
_PLAIN = (type(None), bool, int, float, str, bytes)


def explained(
    error: Exception,
    name: str,
    signature: inspect.Signature,
    names: Mapping[str, Any],
    given: Mapping[str, Any],
) -> str:
    """Which argument an error is about, as a sentence; "" where it is about none, or says so.

    Args:
        error: What a call raised.
        name: Of what was called, as people know it.
        signature: The parameters, with the types that they take.
        names: What the names in the types mean.
        given: The arguments by parameter.
    """
    if not _RAW.search(str(error)):
        return ""
    told = {
        key: value
        for key, value in given.items()
        if key in signature.parameters and key not in ("self", "cls")
    }
    for key, value in told.items():
        wrong = _misfit(value, _type_of(signature.parameters[key].annotation, names), key)
        if wrong is not None:
            place, found, wanted = wrong
            made = [_MADE_BY[each] for each in _names(wanted) if each in _MADE_BY]
            cure = f"; {made[0]}" if made else ""
            return f"{name}(): {place} must be {_called(wanted)}, not {_shown(found)}{cure}"
    if "incompatible function arguments" not in str(error):
        return ""
    shown = ", ".join(f"{key}={_shown(value)}" for key, value in told.items())
    return f"{name}(): one of the values is of a type that it does not take: {shown}"


def _type_of(annotation: Any, names: Mapping[str, Any]) -> Any:
    """The type that an annotation means."""
    if annotation is inspect.Parameter.empty:
        return Any
    if not isinstance(annotation, str):
        return annotation
    kinds = []
    for part in _alternatives(annotation):
        try:
            kind = eval(part, {**_OFTEN, **names})  # annotations are our own
        except (NameError, AttributeError, TypeError, SyntaxError):
            kind = _Unknown
        # A text is an annotation once more.
        kinds.append(_type_of(kind, names) if isinstance(kind, str) else kind)
    return typing.Union[tuple(kinds)]  # noqa: UP007 (of as many as there are)


def _alternatives(annotation: str) -> list[str]:
    """The parts of ``A | B[C | D]``: A, and B[C | D]."""
    parts, depth = [""], 0
    for letter in annotation:
        depth += (letter in "[(") - (letter in "])")
        if letter == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _misfit(value: Any, kind: Any, place: str) -> tuple[str, Any, Any] | None:
    """(where, what is there, the type that it must be) of a value that is of another type."""
    choices = _choices(kind)
    if any(_fits(value, choice) for choice in choices):
        if not isinstance(value, list | tuple):
            return None
        items = {typing.get_args(each)[:1] for each in choices if _fits(value, each)}
        if len(items) != 1 or not (of := next(iter(items))):
            return None
        for number, item in enumerate(value[:_ITEMS]):
            if wrong := _misfit(item, of[0], f"{place}[{number}]"):
                return wrong
        return None
    return place, value, kind


def _choices(kind: Any) -> list[Any]:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [choice for each in typing.get_args(kind) for choice in _choices(each)]
    return [type(None) if kind is None else kind]


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value may be of a type; items are not looked at."""
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return any(isinstance(value, type(choice)) for choice in typing.get_args(kind))
    cls = origin or kind
    if cls is _Unknown:
        return not isinstance(value, _PLAIN)
    if not isinstance(cls, type) or cls is object:
        return True
    if getattr(cls, "_is_protocol", False):
        members = {*vars(cls), *vars(cls).get("__annotations__", {})}
        return all(hasattr(value, each) for each in members if not each.startswith("_"))
    if cls is int:
        return hasattr(value, "__index__")
    if cls is float:
        return isinstance(value, numbers.Real) or hasattr(value, "__float__")
    if cls in (list, tuple, Sequence, Collection, Iterable):
        if isinstance(value, str | bytes):
            return typing.get_args(kind)[:1] in ((str,), (Any,), ())
        if cls is not Iterable and isinstance(value, Mapping):
            return cls is Collection
        # Arrays are as good as lists.
        return isinstance(value, cls) or hasattr(value, "__array__")
    try:
        return isinstance(value, cls)
    except TypeError:  # protocols
        return True


def _names(kind: Any) -> list[str]:
    return [getattr(typing.get_origin(each) or each, "__name__", "") for each in _choices(kind)]


def _called(kind: Any, *, several: bool = False) -> str:
    """A type in words."""
    words: dict[str, None] = {}
    for each in _choices(kind):
        cls = typing.get_origin(each) or each
        if cls is typing.Literal:
            words.update(dict.fromkeys(f'"{choice}"' for choice in typing.get_args(each)))
        elif cls in (list, tuple, Sequence, Collection, Iterable):
            inner = [each for each in typing.get_args(each)[:1] if each is not Any]
            of = f" of {_called(inner[0], several=True)}" if inner else ""
            of = of.removesuffix(" or None")
            words["lists" if several else f"a list{of}"] = None
        elif cls is not _Unknown:
            one = _WORDS.get(cls) or getattr(cls, "__name__", str(cls)).removeprefix("_")
            one = _PUBLIC.get(one, one)
            is_mass = cls in (bool, bytes, type(None)) or (cls is str and not several)
            words[one if is_mass else f"{one}s" if several else _with_article(one)] = None
    return " or ".join(words)


def _shown(value: Any) -> str:
    """A value in a few words: data are never printed."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"a text of {len(value):,} letters"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return _with_article(type(value).__name__)


def _with_article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"
