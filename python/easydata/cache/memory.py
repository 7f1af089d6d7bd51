"""Cached values in memory."""

from __future__ import annotations

import copy
import os
import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any

from easydata.cache import ages
from easydata.cache.ages import Expiry
from easydata.cache.disk import decoded_metadata, encoded_metadata
from easydata.cache.layer import CacheLayer, asked, checked_key
from easydata.cache.metadata import CacheMetadata
from easydata.cache.values import decode_value, encode_value

__all__ = ["MemoryCache"]


@dataclass
class HeldValue:
    """An entry in memory.

    Attributes:
        payload: The bytes of the value; None for one that has none.
        value: A copy of a value that has no bytes.
        metadata: The bytes of the metadata's fields, or of None.
        last_use: Seconds since 1970.
        origin: Tells the file that holds the same; None where there is none.
    """

    payload: bytes | None
    value: Any
    metadata: bytes
    last_use: float
    origin: tuple[int, int, int] | None = None

    def made(self) -> tuple[Any, CacheMetadata | None]:
        """The value, as one of its own, and the metadata."""
        value = copy.deepcopy(self.value) if self.payload is None else decode_value(self.payload)
        return value, decoded_metadata(self.metadata)


class MemoryCache(CacheLayer):
    """The values used last, in this process.

    A value is kept as the bytes that a `DiskCache` writes, and comes out as it does there: as one
    of its own, which may be changed. What has no such form (functions, models) is copied by
    `copy.deepcopy()` when it goes in and when it comes out.

    Attributes:
        max_size: Values that are kept; the one unused for longest goes first.
        expiry_seconds: How long values live after their last use; None: for ever.
    """

    def __init__(self, max_size: int = 1000, expiry_seconds: float | None = None) -> None:
        """Keeps nothing yet.

        Args:
            max_size: Values that are kept at most; with 0 none is.
            expiry_seconds: Values that were not used for longer are forgotten; 0: nothing is ever
                found; None: they are kept.

        Raises:
            ValueError: A number below 0.
        """
        self.max_size = checked_size(max_size, "max_size")
        self._expiry = Expiry(expiry_seconds, "expiry_seconds")
        self._held: OrderedDict[str, HeldValue] = OrderedDict()
        self._counts: Counter[str] = Counter()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_size, self.expiry_seconds)

    @property
    def expiry_seconds(self) -> float | None:
        """How long values live after their last use."""
        return self._expiry.seconds

    @property
    def stats(self) -> dict[str, Any]:
        """`hits`, `misses`, `hit_rate`, `size` and `max_size`."""
        with _lock:
            return {**asked(self._counts), "size": len(self._held), "max_size": self.max_size}

    def get(self, key: str) -> tuple[Any, CacheMetadata | None] | None:
        """The value and its metadata, or None; the value is now the one used last."""
        held = self.held(key)
        self.count(held is not None)
        return None if held is None else held.made()

    def put(self, key: str, value: Any, metadata: CacheMetadata | None = None) -> None:
        """Keeps a value, in place of what the key had.

        Raises:
            TypeError: A value that cannot be copied.
        """
        payload, kept = None, None
        try:
            payload = encode_value(value).data
        except TypeError as refused:
            try:
                kept = copy.deepcopy(value)
            except Exception:
                raise refused from None
        self.hold(key, HeldValue(payload, kept, encoded_metadata(metadata), ages.now()))

    def contains(self, key: str) -> bool:
        """Whether `get()` finds something."""
        return self.held(key, is_use=False) is not None

    def get_metadata(self, key: str) -> CacheMetadata | None:
        """The metadata alone; that is no use of the value."""
        held = self.held(key, is_use=False)
        return None if held is None else decoded_metadata(held.metadata)

    def invalidate(self, key: str | None = None) -> None:
        """Forgets a key, or all of them."""
        with _lock:
            if key is None:
                self._held.clear()
            else:
                self._held.pop(checked_key(key), None)

    # What a manager of several layers asks.

    def held(self, key: str, is_use: bool = True) -> HeldValue | None:
        """What is kept of a key and has not expired."""
        with _lock:
            held = self._held.get(checked_key(key))
            if held is None:
                return None
            if self._expiry.is_over(held.last_use):
                del self._held[key]
                return None
            if is_use:
                self._held.move_to_end(key)
                held.last_use = ages.now()
            return held

    def hold(self, key: str, value: HeldValue) -> None:
        """Keeps what was made already."""
        with _lock:
            self._held[checked_key(key)] = value
            self._held.move_to_end(key)
            while len(self._held) > self.max_size:
                self._held.popitem(last=False)

    def count(self, is_hit: bool) -> None:
        """Counts that a value was asked for."""
        with _lock:
            self._counts["hits" if is_hit else "misses"] += 1


def checked_size(size: Any, name: str) -> int:
    """A number of values, of the option of this name."""
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"{name} is {size!r}: give a number of values")
    if size < 0:
        raise ValueError(f"{name} is {size}: give 0 (nothing is kept) or more")
    return size


_lock = threading.RLock()  # of all of them: each holds it for next to no time


def _forked() -> None:
    """In the child of a fork: another thread may have held the lock, and is not here."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_forked)
