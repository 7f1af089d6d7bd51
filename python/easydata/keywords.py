"""What a wrong keyword is answered with: the parameter that was meant."""

import functools
import inspect
import re
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

_UNKNOWN = re.compile(r"got an unexpected keyword argument '([^']*)'$")
# What has it does so itself.
ANSWERS = "_answers_wrong_keywords"


def answering(value: Any) -> Any:
    """A public function or class, of which wrong keywords are answered with the right one.

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
    setattr(cls, ANSWERS, True)


def _answering(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; a coroutine or a generator of keywords stays what it is."""
    if hasattr(function, ANSWERS) or inspect.iscoroutinefunction(function):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            # Raised by the call itself, not by what it did.
            if kwargs and error.__traceback__ is not None and error.__traceback__.tb_next is None:
                _answer(error, function)
            raise

    setattr(call, ANSWERS, True)
    return call


def _answer(error: TypeError, function: Callable[..., Any]) -> None:
    """Adds to the text of an error which parameter was meant."""
    found = _UNKNOWN.search(str(error))
    if found is not None:
        error.args = (f"{error}{nearest(found[1], inspect.signature(function))}",)


def nearest(keyword: str, signature: inspect.Signature) -> str:
    """The parameter that was meant by a wrong keyword, or those that there are, for an error."""
    # lazy: for the message alone; `import easydata` loads no engine
    from easydata import _native

    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [each.name for each in signature.parameters.values() if each.kind in named]
    return _native.suggestion(keyword, [name for name in names if name not in ("self", "cls")])
