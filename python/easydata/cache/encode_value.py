"""Values as bytes, of which the same values are made again: docs/formats/cache_entries.md.

What would come back as something else is refused, by its place. Subclasses are others than their
classes, so types are compared exactly.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from easydata.cache import value_tags as tags
from easydata.cache.numpy_types import dtype_name
from easydata.cache.refusal import Refused, refusal

_LENGTH = struct.Struct("<Q")
_INT = struct.Struct("<q")
_FLOAT = struct.Struct("<d")
_COMPLEX = struct.Struct("<dd")


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

    def _none(self, value: None) -> None:
        self.parts.append(tags.NONE)

    def _bool(self, value: bool) -> None:
        self.parts.append(tags.TRUE if value else tags.FALSE)

    def _int(self, value: int) -> None:
        if -(1 << 63) <= value < 1 << 63:
            self.parts += (tags.INT, _INT.pack(value))
        else:
            size = value.bit_length() // 8 + 1
            self._sized(tags.LONG_INT, value.to_bytes(size, "little", signed=True))

    def _float(self, value: float) -> None:
        self.parts += (tags.FLOAT, _FLOAT.pack(value))

    def _complex(self, value: complex) -> None:
        self.parts += (tags.COMPLEX, _COMPLEX.pack(value.real, value.imag))

    def _sized(self, tag: bytes, data: bytes) -> None:
        self.parts += (tag, _LENGTH.pack(len(data)), data)

    def _text(self, value: str) -> None:
        self._sized(tags.TEXT, value.encode("utf-8", "surrogatepass"))

    def _bytes(self, value: bytes) -> None:
        self._sized(tags.BYTES, value)

    def _bytearray(self, value: bytearray) -> None:
        self._sized(tags.BYTEARRAY, bytes(value))

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > tags.MAX_DEPTH:
            raise Refused(
                f"is the {tags.MAX_DEPTH + 1}th container within another, or the value holds itself"
            )

    def _items(self, tag: bytes, values: Any) -> None:
        self.parts += (tag, _LENGTH.pack(len(values)))
        self._enter()
        for index, each in enumerate(values):
            try:
                self.add(each)
            except Refused as refused:
                refused.places.append(f"[{index}]")
                raise
        self._depth -= 1

    def _list(self, value: list[Any]) -> None:
        kinds = set(map(type, value)) if value else set()
        if kinds == {int}:
            packed = _packed_ints(value)
            if packed is not None:
                self.parts += (tags.INTS, packed[0].encode(), _LENGTH.pack(len(value)), packed[1])
                return
        elif kinds == {float}:
            self.parts += (tags.FLOATS, _LENGTH.pack(len(value)), _little_endian("d", value))
            return
        elif kinds == {str}:
            texts = [each.encode("utf-8", "surrogatepass") for each in value]
            sizes = _little_endian("Q", [len(each) for each in texts])
            self.parts += (tags.TEXTS, _LENGTH.pack(len(texts)), sizes, *texts)
            return
        self._items(tags.LIST, value)

    def _tuple(self, value: tuple[Any, ...]) -> None:
        self._items(tags.TUPLE, value)

    def _set(self, value: set[Any]) -> None:
        self._items(tags.SET, value)

    def _frozenset(self, value: frozenset[Any]) -> None:
        self._items(tags.FROZENSET, value)

    def _dict(self, value: dict[Any, Any]) -> None:
        self.parts += (tags.DICT, _LENGTH.pack(len(value)))
        self._enter()
        for key, each in value.items():
            try:
                self.add(key)
            except Refused as refused:
                refused.places.append(f"'s key {key!r}")
                raise
            try:
                self.add(each)
            except Refused as refused:
                refused.places.append(f"[{key!r}]")
                raise
        self._depth -= 1

    def _numpy_array(self, value: np.ndarray[Any, Any]) -> None:
        self.parts.append(tags.ARRAY)
        self.add(_name_of(value.dtype))
        by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
        self.add(by_columns)
        self.add(value.shape)
        data = value.tobytes("F" if by_columns else "C")
        self.parts += (_LENGTH.pack(len(data)), data)

    def _numpy_scalar(self, value: np.generic) -> None:
        if type(value) is not value.dtype.type:
            raise refusal(value)
        self.parts.append(tags.SCALAR)
        self.add(_name_of(value.dtype))
        data = value.tobytes()
        self.parts += (_LENGTH.pack(len(data)), data)

    def _foreign(self, value: Any) -> None:
        # Values of libraries are told by names: none is imported for asking.
        home = type(value).__module__.partition(".")[0]
        if home == "pyarrow":
            # lazy: what holds nothing of these libraries needs none of it
            from easydata.cache.arrow_values import arrow_stream

            tag, data = arrow_stream(value)
            self._sized(tag, data)
        elif home in ("jax", "jaxlib") and isinstance(
            value, getattr(sys.modules.get("jax"), "Array", ())
        ):
            self._numpy_array(_jax_as_numpy(value))
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
        self.parts.append(tags.BATCH_ENCODING)
        self._dict(value.data)
        self.add(None if encodings is None else [each.__getstate__() for each in encodings])
        self.add(value.n_sequences)


def _packed_ints(values: list[int]) -> tuple[str, bytes] | None:
    """The narrowest type that holds all of them, and their bytes; None where none does."""
    low, high = min(values), max(values)
    for code, bits in (("b", 7), ("h", 15), ("i", 31), ("q", 63)):
        if -(1 << bits) <= low and high < 1 << bits:
            return code, _little_endian(code, values)
    return None


def _little_endian(code: str, values: list[Any]) -> bytes:
    packed = array(code, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


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
    type(None): _Encoder._none,
    bool: _Encoder._bool,
    int: _Encoder._int,
    float: _Encoder._float,
    complex: _Encoder._complex,
    str: _Encoder._text,
    bytes: _Encoder._bytes,
    bytearray: _Encoder._bytearray,
    list: _Encoder._list,
    tuple: _Encoder._tuple,
    dict: _Encoder._dict,
    set: _Encoder._set,
    frozenset: _Encoder._frozenset,
    np.ndarray: _Encoder._numpy_array,
}
