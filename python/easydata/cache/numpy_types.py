"""Numpy's types of elements by names, and again."""

from __future__ import annotations

import ast
import importlib
from typing import Any

import numpy as np

_ML_DTYPES = "ml_dtypes"  # bfloat16 and what else JAX brings


def dtype_name(dtype: np.dtype[Any]) -> Any:
    """What `named_dtype()` makes the type of: text, or numpy's description of a record.

    Raises:
        ValueError: It would not come back the same; what is raised begins with "is".
    """
    if dtype.hasobject:
        raise ValueError("is an array of Python objects: give its .tolist()")
    name: Any = dtype.str
    if dtype.type.__module__ == _ML_DTYPES:
        name = f"{_ML_DTYPES}:{dtype.name}"
    elif dtype.char in "qQ":
        name = dtype.char  # a type of its own beside int64
    elif dtype.names is not None:
        name = repr(np.lib.format.dtype_to_descr(dtype))
    try:
        # The long double of one machine is another one's quad.
        same = None if dtype.char in "gG" else named_dtype(name)
    except (TypeError, ValueError, SyntaxError, ImportError, AttributeError):
        same = None
    if same is None or (same, same.char, same.type) != (dtype, dtype.char, dtype.type):
        raise ValueError(f"is of the type {dtype}, which would not come back the same everywhere")
    return name


def named_dtype(name: str) -> np.dtype[Any]:
    """The type of a name.

    Raises:
        ImportError: It is of a library that is not here.
    """
    library, of_library, inner = name.partition(":")
    if of_library and library == _ML_DTYPES:
        brought: np.dtype[Any] = np.dtype(getattr(importlib.import_module(_ML_DTYPES), inner))
        return brought
    if name[:1] in "[{(":
        record: np.dtype[Any] = np.lib.format.descr_to_dtype(ast.literal_eval(name))
        return record
    return np.dtype(name)
