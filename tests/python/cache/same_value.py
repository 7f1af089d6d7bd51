"""Whether two values are the same: types, element types, bits and order, too."""

from typing import Any

import numpy as np
import pyarrow as pa


def is_same(one: Any, other: Any) -> bool:
    """True where nobody can tell them apart."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            is_same(a, b) for a, b in zip(one.items(), other.items(), strict=True)
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(
            is_same(a, b) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, (np.ndarray, np.generic)):
        return (one.dtype, one.dtype.char, one.shape) == (
            other.dtype,
            other.dtype.char,
            other.shape,
        ) and one.tobytes() == other.tobytes()
    if isinstance(one, (float, complex)):
        return np.array(one).tobytes() == np.array(other).tobytes()
    if isinstance(one, pa.ChunkedArray):
        return one.type == other.type and [len(c) for c in one.chunks] == [
            len(c) for c in other.chunks
        ]
    if isinstance(one, (pa.Table, pa.RecordBatch)):
        return bool(one.equals(other, check_metadata=True))
    return bool(one == other)
