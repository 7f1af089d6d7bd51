"""Signatures of what takes the engine's options, made of the options' own declarations.

The engine declares each option once: name, type, default, text. A class that takes options is
given its `__init__` when it is made. Type checkers and editors see the same in
`core/signatures.pyi`, which script/generate_configs.py writes of these classes.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from easydata import _native
from easydata.core.short_repr import changed
from easydata.keywords import ANSWERS, WRONG_VALUES, explain, nearest

_P = ParamSpec("_P")
_R = TypeVar("_R")

_BY_POSITION = inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_NAME = inspect.Parameter.KEYWORD_ONLY


@functools.cache
def _structs() -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in json.loads(_native.option_descriptors())}


def declared_options(struct: str) -> dict[str, dict[str, Any]]:
    """The options of one of the engine's structs by name, as they are declared."""
    return {option["name"]: option for option in _structs()[struct]["fields"]}


def changed_options(struct: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options of one of the engine's structs that differ from their defaults."""
    declared = declared_options(struct)
    return changed(given, {name: option["default"] for name, option in declared.items()})


def declared_parameters(struct: str) -> dict[str, str]:
    """What is taken beside the options of one of the engine's structs, and what it is."""
    parameters: dict[str, str] = _structs()[struct]["parameters"]
    return parameters


class TakesOptions:
    """Base of the classes that are made with options of the engine.

    A subclass names the struct of its options and has a method `_take(self, ..., *, options)` with
    parameters of its own. One that ends in `**others` hands them on to the `_take` of its base,
    whose parameters then count as its own. Its `__init__` has these and the options, and calls
    `_take` with what was given.
    """

    _take: Callable[..., None]

    def __init_subclass__(
        cls,
        *,
        options: str | None = None,
        positional: Sequence[str] = (),
        required: Sequence[str] = (),
        keywords: Sequence[str] | None = None,
        without: Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        defaults: Mapping[str, Any] | None = None,
        texts: Mapping[str, str] | None = None,
        **others: Any,
    ) -> None:
        """Makes the `__init__` of a class that names `options`; others inherit theirs.

        Args:
            options: The engine's struct of options.
            positional: Options and own parameters that may be given by position, in this order; an
                option that has another name here is written "name=option".
            required: Options that have a default in the engine, but must be given here.
            keywords: Options that are given by name; None: all others.
            without: Options, and parameters of an inherited `_take`, that it does not have.
            types: Types of options that may be given in other ways than the engine takes them.
            defaults: Defaults that differ from the engine's.
            texts: What own parameters are that the engine does not declare.
            others: For the bases that come next.
        """
        super().__init_subclass__(**others)
        if options is None:
            return
        declared = declared_options(options)
        own_texts = {**declared_parameters(options), **(texts or {})}
        own = _own_parameters(cls)
        by_position = [_halves(each) for each in positional]
        taken = {*without, *(option for _, option in by_position)}
        names = [*(declared if keywords is None else keywords), *own]
        by_name = [(name, name) for name in names if name not in taken]
        parameters = [inspect.Parameter("self", _BY_POSITION)]
        text = ["Checks what is given, and keeps it.", "", "Args:"]
        given: dict[str, str] = {}  # the options by the names that they have here
        for kind, pairs in ((_BY_POSITION, by_position), (_BY_NAME, by_name)):
            for name, option in pairs:
                if name in own:
                    parameters.append(own[name].replace(kind=kind))
                    text.append(f"    {name}: {own_texts[name]}")
                    continue
                entry = declared[option]
                default = (defaults or {}).get(name, entry["default"])
                if entry["required"] or option in required:
                    default = inspect.Parameter.empty
                type_name = (types or {}).get(name) or _annotation(entry["type"])
                parameters.append(
                    inspect.Parameter(name, kind, default=default, annotation=type_name)
                )
                text.append(f"    {name}: {entry['doc']}")
                given[name] = option
        signature = inspect.Signature(parameters, return_annotation="None")
        cls.__init__ = _init(cls.__qualname__, signature, given, "\n".join(text))  # type: ignore[method-assign]


def _own_parameters(cls: type) -> dict[str, inspect.Parameter]:
    """The parameters of a class's `_take` beside the options, those that it hands on included."""
    found: dict[str, inspect.Parameter] = {}
    for take in (vars(each)["_take"] for each in cls.__mro__ if "_take" in vars(each)):
        parameters = inspect.signature(take).parameters
        found = {**found, **{name: parameters[name] for name in parameters if name not in found}}
        if "others" not in parameters:
            break
    return {name: found[name] for name in found if name not in ("self", "options", "others")}


def takes_options_of(
    cls: type, without: Iterable[str] = ()
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Makes the `**options` of a function the parameters of a class that it does not have itself.

    Args:
        cls: The class that the function hands its options to.
        without: Parameters of the class that the function does not have.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        *own, _ = inspect.signature(function).parameters.values()
        hidden = {*without, *(parameter.name for parameter in own)}
        others = [
            parameter.replace(kind=_BY_NAME)
            for parameter in inspect.signature(cls).parameters.values()
            if parameter.name not in hidden
        ]
        returned = inspect.signature(function).return_annotation
        signature = inspect.Signature([*own, *others], return_annotation=returned)
        binder = ArgumentBinder(function.__qualname__, signature)

        @functools.wraps(function)
        def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            given = binder.bound(args, kwargs)
            try:
                return function(*args, **kwargs)
            except WRONG_VALUES as error:
                explain(error, function.__qualname__, signature, function, given)
                raise

        checked.__signature__ = signature  # type: ignore[attr-defined]
        setattr(checked, ANSWERS, True)
        return checked

    return decorate


def _init(
    name: str, signature: inspect.Signature, given: Mapping[str, str], text: str
) -> Callable[..., None]:
    """An `__init__` that hands to `_take` what it is given: own parameters, and options."""
    binder = ArgumentBinder(f"{name}.__init__", signature)

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        values = binder.bound((self, *args), kwargs)
        all_values = dict(values)
        options = {option: values.pop(parameter) for parameter, option in given.items()}
        del values["self"]
        try:
            self._take(**values, options=options)
        except WRONG_VALUES as error:
            explain(error, type(self).__name__, signature, self._take, all_values)
            raise

    init.__name__, init.__qualname__, init.__doc__ = "__init__", f"{name}.__init__", text
    init.__signature__ = signature  # type: ignore[attr-defined]
    setattr(init, ANSWERS, True)
    return init


class ArgumentBinder:
    """Binds what a function is given to its parameters, as `inspect.Signature.bind` does.

    In a tenth of its time: a mixture may be made of thousands of sources.
    """

    def __init__(self, name: str, signature: inspect.Signature) -> None:
        self._name = name
        self._signature = signature
        parameters = signature.parameters.values()
        self._by_position = [each.name for each in parameters if each.kind is _BY_POSITION]
        self._required = [each.name for each in parameters if each.default is each.empty]
        self._defaults = {each.name: each.default for each in parameters}
        self._is_plain = all(each.kind in (_BY_POSITION, _BY_NAME) for each in parameters)

    def bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What each parameter is, defaults filled in; a TypeError names the call as Python does."""
        given = dict(zip(self._by_position, args, strict=False))
        if (
            not self._is_plain
            or len(args) > len(self._by_position)
            or not given.keys().isdisjoint(kwargs)
            or not self._defaults.keys() >= kwargs.keys()
            or any(name not in given and name not in kwargs for name in self._required)
        ):
            return self._bound_by_python(args, kwargs)
        return {**self._defaults, **given, **kwargs}

    def _bound_by_python(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            said = str(error)
            # As Python does, before anything that is missing, which may be what was meant.
            if unknown := [key for key in kwargs if key not in self._signature.parameters]:
                hint = nearest(unknown[0], self._signature)
                said = f"got an unexpected keyword argument {unknown[0]!r}{hint}"
            raise TypeError(f"{self._name}() {said}") from None
        bound.apply_defaults()
        return bound.arguments


def _halves(name: str) -> tuple[str, str]:
    """(name here, name of the option) of "name" or "name=option"."""
    here, _, option = name.partition("=")
    return here, option or here


def _annotation(type_name: str) -> str:
    """The type of an option as a parameter has it: any collection will do."""
    return (
        type_name.replace("list[", "Iterable[")
        .replace("dict[str, Any]", "Mapping[str, Any]")
        .replace("dict[int, int]", "Mapping[int, int]")
    )
