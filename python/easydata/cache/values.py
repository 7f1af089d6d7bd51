"""Values as bytes, of which the same values are made again: docs/formats/cache_entries.md.

What would come back as something else is refused, by its place. Subclasses are others than their
classes, so types are compared exactly. Nothing of the bytes is a program: those that somebody made
up become values or an error.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import struct
import sys
from array import array
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from easydata.cache.numpy_types import dtype_name, named_dtype
from easydata.cache.refusal import Refused, refusal

_LENGTH = struct.Struct("<Q")
_INT = struct.Struct("<q")
_FLOAT = struct.Struct("<d")
_COMPLEX = struct.Struct("<dd")
# Containers within containers.
_MAX_DEPTH = 200


class EncodedValue:
    """A value as bytes.

    Attributes:
        data: The bytes.
        is_changed: Whether what comes back is another type (a JAX array comes back as numpy's).
    """

    def __init__(self, data: bytes, is_changed: bool) -> None:
        self.data = data
        self.is_changed = is_changed


def encode_value(value: Any, name: str = "value") -> EncodedValue:
    """The bytes of a value.

    Raises:
        TypeError: It would not come back as it is; says where in it, as "value['a'][3]".
    """
    encoder = _Encoder()
    try:
        encoder.add(value)
    except Refused as refused:
        raise TypeError(f"{name}{''.join(reversed(refused.places))} {refused.why}") from None
    except RecursionError:
        raise TypeError(f"{name} is nested too deep for the rest of the stack") from None
    return EncodedValue(b"".join(encoder.parts), encoder.is_changed)


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


class _Encoder:
    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.is_changed = False
        self._depth = 0

    def add(self, value: Any) -> None:
        write = _WRITERS.get(type(value))
        if write is not None:
            write(self, value)
        elif isinstance(value, np.generic):
            self._numpy_scalar(value)
        else:
            self._foreign(value)

    def sized(self, tag: bytes, data: bytes) -> None:
        self.parts += (tag, _LENGTH.pack(len(data)), data)

    def integer(self, value: int) -> None:
        if -(1 << 63) <= value < 1 << 63:
            self.parts += (b"i", _INT.pack(value))
        else:
            size = value.bit_length() // 8 + 1
            self.sized(b"I", value.to_bytes(size, "little", signed=True))

    def items(self, tag: bytes, value: Any) -> None:
        self.parts += (tag, _LENGTH.pack(len(value)))
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise Refused(
                f"is the {_MAX_DEPTH + 1}th container within another, or the value holds itself"
            )
        items = itertools.chain.from_iterable(value.items()) if type(value) is dict else value
        for number, each in enumerate(items):
            try:
                self.add(each)
            except Refused as refused:
                refused.places.append(_place(value, number))
                raise
        self._depth -= 1

    def listed(self, value: list[Any]) -> None:
        kinds = set(map(type, value))
        if kinds == {int} and (code := _narrowest(value)) is not None:
            self.parts += (b"q", code.encode(), _LENGTH.pack(len(value)), _packed(code, value))
        elif kinds == {float}:
            self.parts += (b"r", _LENGTH.pack(len(value)), _packed("d", value))
        elif kinds == {str}:
            texts = list(map(_utf8, value))
            self.parts += (
                b"w",
                _LENGTH.pack(len(texts)),
                _packed("Q", list(map(len, texts))),
                *texts,
            )
        else:
            self.items(b"l", value)

    def numpy_array(self, value: np.ndarray[Any, Any]) -> None:
        by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
        self.parts.append(b"a")
        self.add(_name_of(value.dtype))
        self.add(by_columns)
        self.add(value.shape)
        self.sized(b"", value.tobytes("F" if by_columns else "C"))

    def _numpy_scalar(self, value: np.generic) -> None:
        if type(value) is not value.dtype.type:
            raise refusal(value)
        self.parts.append(b"g")
        self.add(_name_of(value.dtype))
        self.sized(b"", value.tobytes())

    def _foreign(self, value: Any) -> None:
        # Values of libraries are told by names: none is imported for asking.
        home = type(value).__module__.partition(".")[0]
        if home == "pyarrow":
            # lazy: what holds nothing of these libraries needs none of it
            from easydata.cache.arrow_values import arrow_stream

            self.sized(*arrow_stream(value))
        elif home in ("jax", "jaxlib") and isinstance(
            value, getattr(sys.modules.get("jax"), "Array", ())
        ):
            self.numpy_array(_jax_as_numpy(value))
            self.is_changed = True
        elif home == "transformers" and type(value).__name__ == "BatchEncoding":
            self._batch_encoding(value)
        else:
            raise refusal(value)

    def _batch_encoding(self, value: Any) -> None:
        """The columns, what tells words and offsets, as JSON of its own, and a row's sequences."""
        encodings = value.encodings
        known = encodings is None or all(type(each).__name__ == "Encoding" for each in encodings)
        if not known:
            raise refusal(value)
        self.parts.append(b"h")
        self.items(b"d", value.data)
        self.add(None if encodings is None else [each.__getstate__() for each in encodings])
        self.add(value.n_sequences)


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self.at = 0
        self._data = memoryview(data)
        self._depth = 0

    def value(self) -> Any:
        return _READERS[bytes(self.take(1))](self)

    def take(self, size: int) -> memoryview:
        end = self.at + size
        if end > len(self._data):
            raise ValueError("the bytes end within a value")
        taken = self._data[self.at : end]
        self.at = end
        return taken

    def length(self) -> int:
        return int(_LENGTH.unpack(self.take(8))[0])

    def sized(self) -> memoryview:
        return self.take(self.length())

    def items(self, each: int = 1) -> list[Any]:
        """The values in a container, `each` of them per item."""
        count = self.length() * each
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("containers are nested too deep")
        values = [self.value() for _ in range(count)]
        self._depth -= 1
        return values

    def pairs(self) -> dict[Any, Any]:
        values = self.items(2)
        made = dict(zip(values[::2], values[1::2], strict=True))
        if len(made) * 2 != len(values):  # a key that stands twice is one that no dict had
            raise ValueError("a dict has a key twice")
        return made

    def packed(self, code: str) -> list[Any]:
        values = array(code)
        values.frombytes(self.take(self.length() * values.itemsize))
        return _in_order(values).tolist()

    def numpy_array(self) -> np.ndarray[Any, Any]:
        dtype, by_columns, shape = named_dtype(self.value()), self.value(), self.value()
        data = self.sized()
        if len(data) != math.prod(shape) * dtype.itemsize:
            raise ValueError("an array has other bytes than its shape takes")
        order: Literal["C", "F"] = "F" if by_columns else "C"
        if not data:
            return np.empty(shape, dtype, order)
        # Bytes of its own, all of them: the gaps of records, too.
        flat: np.ndarray[Any, Any] = np.frombuffer(bytearray(data), dtype)
        return flat.reshape(shape, order=order)

    def numpy_scalar(self) -> Any:
        dtype = named_dtype(self.value())
        data = self.sized()
        if len(data) != dtype.itemsize:
            raise ValueError("a number has other bytes than its type takes")
        made = np.frombuffer(bytearray(data), dtype) if data else np.zeros(1, dtype)
        return made[0]

    def batch_encoding(self) -> Any:
        columns, states, sequences = self.value(), self.value(), self.value()
        encodings = None
        if states is not None:
            kind = importlib.import_module("tokenizers").Encoding
            encodings = [kind() for _ in states]
            for each, state in zip(encodings, states, strict=True):
                each.__setstate__(state)
        batch_encoding = importlib.import_module("transformers").BatchEncoding
        return batch_encoding(columns, encodings, n_sequences=sequences)


def _arrow_value(decoder: _Decoder, tag: bytes) -> Any:
    # lazy: what is not Arrow's needs none of it
    from easydata.cache.arrow_values import arrow_value

    return arrow_value(tag, decoder.sized())


def _place(value: Any, number: int) -> str:
    """Where an item of a container is, as Python writes it."""
    if type(value) is not dict:
        return f"[{number}]"
    key = list(value)[number // 2]
    return f"[{key!r}]" if number % 2 else f"'s key {key!r}"


def _narrowest(values: list[int]) -> str | None:
    """The narrowest type that holds all of them; None where none does."""
    low, high = min(values), max(values)
    for code, bits in (("b", 7), ("h", 15), ("i", 31), ("q", 63)):
        if -(1 << bits) <= low and high < 1 << bits:
            return code
    return None


def _packed(code: str, values: list[Any]) -> bytes:
    return _in_order(array(code, values)).tobytes()


def _in_order(values: array[Any]) -> array[Any]:
    """Numbers of this machine as little-endian ones, and again."""
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: memoryview) -> str:
    return str(data, "utf-8", "surrogatepass")


def _name_of(dtype: np.dtype[Any]) -> Any:
    try:
        return dtype_name(dtype)
    except ValueError as error:
        raise Refused(str(error)) from None


def _jax_as_numpy(value: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(value)
    except Exception as error:  # of keys, tracers, and arrays that other processes hold
        raise Refused(f"is a JAX array that cannot be read here: {error}") from None


_WRITERS: dict[type, Callable[[_Encoder, Any], None]] = {
    type(None): lambda to, value: to.parts.append(b"N"),
    bool: lambda to, value: to.parts.append(b"T" if value else b"F"),
    int: _Encoder.integer,
    float: lambda to, value: to.parts.extend((b"f", _FLOAT.pack(value))),
    complex: lambda to, value: to.parts.extend((b"c", _COMPLEX.pack(value.real, value.imag))),
    str: lambda to, value: to.sized(b"s", _utf8(value)),
    bytes: lambda to, value: to.sized(b"b", value),
    bytearray: lambda to, value: to.sized(b"B", bytes(value)),
    list: _Encoder.listed,
    tuple: lambda to, value: to.items(b"t", value),
    set: lambda to, value: to.items(b"e", value),
    frozenset: lambda to, value: to.items(b"E", value),
    dict: lambda to, value: to.items(b"d", value),
    np.ndarray: _Encoder.numpy_array,
}
_READERS: dict[bytes, Callable[[_Decoder], Any]] = {
    b"N": lambda of: None,
    b"T": lambda of: True,
    b"F": lambda of: False,
    b"i": lambda of: _INT.unpack(of.take(8))[0],
    b"I": lambda of: int.from_bytes(of.sized(), "little", signed=True),
    b"f": lambda of: _FLOAT.unpack(of.take(8))[0],
    b"c": lambda of: complex(*_COMPLEX.unpack(of.take(16))),
    b"s": lambda of: _text(of.sized()),
    b"b": lambda of: bytes(of.sized()),
    b"B": lambda of: bytearray(of.sized()),
    b"l": _Decoder.items,
    b"t": lambda of: tuple(of.items()),
    b"e": lambda of: set(of.items()),
    b"E": lambda of: frozenset(of.items()),
    b"d": _Decoder.pairs,
    b"q": lambda of: of.packed(bytes(of.take(1)).decode()),
    b"r": lambda of: of.packed("d"),
    b"w": lambda of: [_text(of.take(size)) for size in of.packed("Q")],
    b"a": _Decoder.numpy_array,
    b"g": _Decoder.numpy_scalar,
    b"h": _Decoder.batch_encoding,
    **{tag: functools.partial(_arrow_value, tag=tag) for tag in (b"x", b"X", b"y", b"Y")},
}
