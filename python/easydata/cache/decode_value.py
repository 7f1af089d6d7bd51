"""Values of bytes that encode_value.py made: docs/formats/cache_entries.md.

Nothing of it is a program: bytes that somebody made up become values or an error.
"""

from __future__ import annotations

import importlib
import math
import struct
import sys
from array import array
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from easydata.cache import value_tags as tags
from easydata.cache.numpy_types import named_dtype

_LENGTH = struct.Struct("<Q")
_INT = struct.Struct("<q")
_FLOAT = struct.Struct("<d")
_COMPLEX = struct.Struct("<dd")


def decode_value(data: bytes) -> Any:
    """The value of all these bytes, which shares nothing with any other one.

    Raises:
        ImportError: It needs a library that is not here.
        Exception: Any other: these are not the bytes of a value.
    """
    decoder = _Decoder(data)
    value = decoder.value()
    if decoder.at != len(data):
        raise ValueError("there are bytes after the value")
    return value


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self.at = 0
        self._data = memoryview(data)
        self._depth = 0

    def value(self) -> Any:
        return _READERS[bytes(self._take(1))](self)

    def _take(self, size: int) -> memoryview:
        end = self.at + size
        if end > len(self._data):
            raise ValueError("the bytes end within a value")
        taken = self._data[self.at : end]
        self.at = end
        return taken

    def _length(self) -> int:
        return int(_LENGTH.unpack(self._take(8))[0])

    def _sized(self) -> memoryview:
        return self._take(self._length())

    def _items(self) -> list[Any]:
        count = self._length()
        self._depth += 1
        if self._depth > tags.MAX_DEPTH:
            raise ValueError("containers are nested too deep")
        values = [self.value() for _ in range(count)]
        self._depth -= 1
        return values

    def _dict(self) -> dict[Any, Any]:
        count = self._length()
        self._depth += 1
        if self._depth > tags.MAX_DEPTH:
            raise ValueError("containers are nested too deep")
        # A key that stands twice is one that no dict had.
        made = {}
        for _ in range(count):
            key = self.value()
            made[key] = self.value()
        self._depth -= 1
        if len(made) != count:
            raise ValueError("a dict has a key twice")
        return made

    def _packed(self, code: str, count: int) -> list[Any]:
        values = array(code)
        values.frombytes(self._take(count * values.itemsize))
        if sys.byteorder == "big":
            values.byteswap()
        return values.tolist()

    def _ints(self) -> list[int]:
        code = bytes(self._take(1)).decode()
        return self._packed(code, self._length())

    def _texts(self) -> list[str]:
        sizes = self._packed("Q", self._length())
        return [_text(self._take(size)) for size in sizes]

    def _array(self) -> np.ndarray[Any, Any]:
        dtype = named_dtype(self.value())
        by_columns = self.value()
        shape = self.value()
        data = self._sized()
        if len(data) != math.prod(shape) * dtype.itemsize:
            raise ValueError("an array has other bytes than its shape takes")
        order: Literal["C", "F"] = "F" if by_columns else "C"
        if not data:
            return np.empty(shape, dtype, order)
        # Bytes of its own, all of them: the gaps of records, too.
        flat: np.ndarray[Any, Any] = np.frombuffer(bytearray(data), dtype)
        return flat.reshape(shape, order=order)

    def _scalar(self) -> Any:
        dtype = named_dtype(self.value())
        data = self._sized()
        if len(data) != dtype.itemsize:
            raise ValueError("a number has other bytes than its type takes")
        made = np.frombuffer(bytearray(data), dtype) if data else np.zeros(1, dtype)
        return made[0]

    def _arrow(self, tag: bytes) -> Any:
        # lazy: what is not Arrow's needs none of it
        from easydata.cache.arrow_values import arrow_value

        return arrow_value(tag, self._sized())

    def _batch_encoding(self) -> Any:
        columns = self.value()
        states = self.value()
        sequences = self.value()
        encodings = None
        if states is not None:
            kind = importlib.import_module("tokenizers").Encoding
            encodings = [kind() for _ in states]
            for each, state in zip(encodings, states, strict=True):
                each.__setstate__(state)
        batch_encoding = importlib.import_module("transformers").BatchEncoding
        return batch_encoding(columns, encodings, n_sequences=sequences)


def _text(data: memoryview) -> str:
    return str(data, "utf-8", "surrogatepass")


_READERS: dict[bytes, Callable[[_Decoder], Any]] = {
    tags.NONE: lambda self: None,
    tags.TRUE: lambda self: True,
    tags.FALSE: lambda self: False,
    tags.INT: lambda self: _INT.unpack(self._take(8))[0],
    tags.LONG_INT: lambda self: int.from_bytes(self._sized(), "little", signed=True),
    tags.FLOAT: lambda self: _FLOAT.unpack(self._take(8))[0],
    tags.COMPLEX: lambda self: complex(*_COMPLEX.unpack(self._take(16))),
    tags.TEXT: lambda self: _text(self._sized()),
    tags.BYTES: lambda self: bytes(self._sized()),
    tags.BYTEARRAY: lambda self: bytearray(self._sized()),
    tags.LIST: lambda self: self._items(),
    tags.TUPLE: lambda self: tuple(self._items()),
    tags.SET: lambda self: set(self._items()),
    tags.FROZENSET: lambda self: frozenset(self._items()),
    tags.DICT: lambda self: self._dict(),
    tags.INTS: lambda self: self._ints(),
    tags.FLOATS: lambda self: self._packed("d", self._length()),
    tags.TEXTS: lambda self: self._texts(),
    tags.ARRAY: lambda self: self._array(),
    tags.SCALAR: lambda self: self._scalar(),
    tags.ARROW_ARRAY: lambda self: self._arrow(tags.ARROW_ARRAY),
    tags.ARROW_CHUNKED: lambda self: self._arrow(tags.ARROW_CHUNKED),
    tags.ARROW_BATCH: lambda self: self._arrow(tags.ARROW_BATCH),
    tags.ARROW_TABLE: lambda self: self._arrow(tags.ARROW_TABLE),
    tags.BATCH_ENCODING: lambda self: self._batch_encoding(),
}
