"""What a wrong call is answered with: the parameter, or the name, that was meant."""

import enum
import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NoReturn

from easydata.arguments import explained

_UNKNOWN = re.compile(r"got an unexpected keyword argument '([^']*)'$")
# What has it does so itself.
ANSWERS = "_answers_wrong_keywords"
# Of a class: names that other libraries have, to what there is here.
ELSEWHERE = "_names_elsewhere"
_EXPLAINED = "_is_explained"
# What Python raises of itself where a value is not what it must be.
WRONG_VALUES = (TypeError, AttributeError, ValueError)


def answering(value: Any) -> Any:
    """A public function or class, of which wrong calls are answered with what was meant.

    A function is put in the place of the one in its module. Of a class, and those of ours that it
    derives from, the public methods are.
    """
    if isinstance(value, FunctionType):
        answers = _answering(value)
        setattr(sys.modules[value.__module__], value.__name__, answers)
        return answers
    if isinstance(value, type):
        for each in value.__mro__:
            if each.__module__.startswith("easydata.") and ANSWERS not in vars(each):
                _dress(each)
    return value


def _dress(cls: type) -> None:
    for name, member in list(vars(cls).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, FunctionType):
            setattr(cls, name, _answering(member))
        elif isinstance(member, (classmethod, staticmethod)):
            setattr(cls, name, type(member)(_answering(member.__func__)))
    # A protocol's members are whatever it has.
    if not (
        hasattr(cls, "__getattr__")
        or getattr(cls, "_is_protocol", False)
        or issubclass(cls, enum.Enum | BaseException)
    ):
        cls.__getattr__ = _missing  # type: ignore[attr-defined]
    setattr(cls, ANSWERS, True)


def _missing(self: Any, name: str) -> NoReturn:
    """The `__getattr__` of public classes: a name that is not there is answered."""
    cls = type(self)
    if not name.startswith("_"):
        if inspect.getattr_static(cls, name, None) is not None:
            # A property's own error, which has led here.
            object.__getattribute__(self, name)
        # lazy: for the message alone; `import easydata` loads no engine
        from easydata import _native

        here = getattr(cls, ELSEWHERE, {}).get(name)
        names = [each for each in dir(cls) if not each.startswith("_")]
        hint = f"; in EasyData: {here}" if here else _native.suggestion(name, names)
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}{hint}")
    raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")


def _answering(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; a coroutine or a generator of keywords stays what it is."""
    if hasattr(function, ANSWERS) or inspect.iscoroutinefunction(function):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except WRONG_VALUES as error:
            traceback = error.__traceback__
            # Raised by the call itself, not by what it did.
            if traceback is not None and traceback.tb_next is None:
                if kwargs and isinstance(error, TypeError):
                    _answer(error, function)
                raise
            signature = inspect.signature(function)
            given = signature.bind(*args, **kwargs).arguments
            name = function.__qualname__
            if (owner := given.get("self")) is not None:
                name = f"{type(owner).__name__}.{function.__name__}"
            explain(error, name, signature, function, given)
            raise

    setattr(call, ANSWERS, True)
    return call


def explain(
    error: Exception,
    name: str,
    signature: inspect.Signature,
    function: Callable[..., Any],
    given: Mapping[str, Any],
) -> None:
    """Raises a TypeError with a sentence where an error tells of a wrong argument by accident.

    Args:
        error: What the call raised.
        name: Of what was called.
        signature: Its parameters, of which `given` are the values.
        function: Where the types of the parameters are written.
        given: The values by parameter.
    """
    # What was called from outside says it better than what that called.
    cause = error.__cause__
    was_explained = getattr(error, _EXPLAINED, False)
    first = cause if was_explained and isinstance(cause, Exception) else error
    if not _is_of_ours(first):
        return
    names = getattr(inspect.unwrap(function), "__globals__", {})
    said = explained(first, name.removesuffix(".__init__"), signature, names, given)
    if said:
        made = TypeError(said)
        setattr(made, _EXPLAINED, True)
        raise made from first


def _is_of_ours(error: Exception) -> bool:
    """Whether code of ours raised it, or called what did; not a function of the user's."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = "" if traceback is None else traceback.tb_frame.f_globals.get("__name__", "")
    return str(module).partition(".")[0] == "easydata"


def _answer(error: TypeError, function: Callable[..., Any]) -> None:
    """Adds to the text of an error which parameter was meant."""
    found = _UNKNOWN.search(str(error))
    if found is not None:
        signature = inspect.signature(function)
        hint = _in_a_config(found[1], function, signature) or nearest(found[1], signature)
        error.args = (f"{error}{hint}",)


def _in_a_config(keyword: str, function: Callable[..., Any], signature: inspect.Signature) -> str:
    """Which config that the function takes has an option of this name, for an error."""
    names = getattr(inspect.unwrap(function), "__globals__", {})
    for parameter in signature.parameters.values():
        for name in re.findall(r"\w+Config\b", str(parameter.annotation)):
            options = getattr(names.get(name), "__dataclass_fields__", {})
            if keyword in options:
                called = f"{function.__name__}({name}({keyword}=...))"
                return f"; {keyword} is an option of {name}: {called}"
    return ""


def nearest(keyword: str, signature: inspect.Signature) -> str:
    """The parameter that was meant by a wrong keyword, or those that there are, for an error."""
    # lazy: for the message alone; `import easydata` loads no engine
    from easydata import _native

    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [each.name for each in signature.parameters.values() if each.kind in named]
    return _native.suggestion(keyword, [name for name in names if name not in ("self", "cls")])
