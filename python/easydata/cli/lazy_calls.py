"""Commands call functions of modules that are imported when they are called."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

from easydata.cli.report import Report

DONE, FAILED = 0, 1


def call(path: str, as_json: bool, **given: Any) -> int:
    """Calls `module:function` of the command line with a report, and tells how it ended.

    Help and completion do without the module. A function that fails in what it is for says False.
    """
    module, _, name = path.partition(":")
    function = getattr(importlib.import_module(f"easydata.cli.{module}"), name)
    return FAILED if function(**given, report=Report(as_json=as_json)) is False else DONE


def calls(path: str) -> Callable[[Callable[..., None]], Callable[..., int]]:
    """Makes a command of a declaration: it calls the function at `path` with what it is given."""

    def decorate(declared: Callable[..., None]) -> Callable[..., int]:
        @functools.wraps(declared)
        def command(as_json: bool, **given: Any) -> int:
            return call(path, as_json, **given)

        return command

    return decorate
