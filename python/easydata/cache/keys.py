"""Keys of configs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def config_text(config: Mapping[str, Any]) -> str:
    """A config as a text, which is the same in every process.

    Raises:
        TypeError: It has a value without such a text.
    """
    if not isinstance(config, Mapping):
        raise TypeError(f"config is a {type(config).__name__}: give a dict")
    return json.dumps(dict(config), sort_keys=True, default=_as_text)


def _as_text(value: Any) -> str:
    """The text of what JSON does not have, if it is the same in every process.

    Raises:
        TypeError: It says where the value lies in memory, leaves out parts, or has no order.
    """
    why = ""
    if isinstance(value, (set, frozenset)):
        why = "it has no order: give sorted() of it"
    elif hasattr(value, "__array__") and not isinstance(value, np.generic):
        why = "its text leaves out values: give its hash, or use content="
    elif _ADDRESS.search(str(value)):
        why = "its text says where it lies in memory, which differs from run to run: give a name"
    if why:
        raise TypeError(f"a config with a {type(value).__name__} makes no key: {why}")
    return str(value)
