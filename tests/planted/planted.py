"""The switch of planted bugs, for Python (goes to python/easydata in the throw-away branch)."""

import mmap
import os
from typing import Any

_ON = int(os.environ.get("EASYDATA_PLANTED") or 0)


def _reached() -> Any:
    path = os.environ.get("EASYDATA_PLANTED_REACHED")
    if path is None:
        return bytearray(256)
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), 256)


_REACHED = _reached()


def on(number: int) -> bool:
    """Whether a bug is switched on; notes that its site was reached."""
    _REACHED[number] = 1
    return number == _ON


def planted(number: int, bug: Any, right: Any) -> Any:
    """The first where the bug is switched on, else the second."""
    return bug if on(number) else right
