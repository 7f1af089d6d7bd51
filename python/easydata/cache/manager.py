"""A memory layer before a disk layer."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from easydata.cache import ages
from easydata.cache.disk import DiskCache, decoded_metadata, encoded_metadata
from easydata.cache.entry_folder import Seen, entry_name
from easydata.cache.keys import config_text
from easydata.cache.layer import CacheLayer
from easydata.cache.memory import HeldValue, MemoryCache, checked_size
from easydata.cache.metadata import CacheMetadata
from easydata.cache.said_once import SaidOnce
from easydata.cache.single_flight import alone
from easydata.cache.values import EncodedValue, decode_value, encode_value

__all__ = ["TreeCacheManager"]


class TreeCacheManager(CacheLayer):
    """A `MemoryCache` before a `DiskCache`: what is found in files is kept in memory, too.

    Memory gives a value only as long as its file is there, unchanged: what another process
    invalidates, or puts in its place, counts at once. Where the disk failed to keep a value, memory
    alone has it.

    Attributes:
        cache_dir: The folder of the disk layer.
    """

    def __init__(
        self,
        cache_dir: str | os.PathLike[str],
        memory_size: int = 100,
        disk_expiry: float | None = 86400,
        compression: str = "none",
        *,
        max_bytes: int | None = None,
    ) -> None:
        """Makes both layers.

        Args:
            cache_dir: As `DiskCache` takes it.
            memory_size: Values that are kept in memory; with 0 none is.
            disk_expiry: Entries that were not used for so many seconds are forgotten, in memory
                too; 0: nothing is ever found; None: they are kept.
            compression: `"none"`, `"gzip"`, `"lz4"` or `"zstd"`; memory holds values uncompressed.
            max_bytes: Of all files together, as `DiskCache` takes it.

        Raises:
            ValueError: An option that cannot be.
        """
        # Here, for what is said of them.
        ages.Expiry(disk_expiry, "disk_expiry")
        checked_size(memory_size, "memory_size")
        self._disk = DiskCache(cache_dir, compression, disk_expiry, max_bytes=max_bytes)
        self._memory = MemoryCache(memory_size, disk_expiry)
        self._said = SaidOnce()
        self.cache_dir = self._disk.cache_dir

    def __reduce__(self) -> tuple[Any, ...]:
        options = self._memory.max_size, self._disk.expiry_seconds, self._disk.compression
        make = functools.partial(type(self), max_bytes=self._disk.max_bytes)
        return make, (str(self.cache_dir), *options)

    @property
    def stats(self) -> dict[str, Any]:
        """The `stats` of the layers: `{"memory": ..., "disk": ...}`."""
        return {"memory": self._memory.stats, "disk": self._disk.stats}

    def get(self, key: str) -> tuple[Any, CacheMetadata | None] | None:
        """The value and its metadata, or None."""
        return self._find(key)

    def put(self, key: str, value: Any, metadata: CacheMetadata | None = None) -> None:
        """Keeps a value in both layers, in place of what the key had.

        Raises:
            TypeError: A value of which no cache gives back the same; says where in it.
        """
        self._put(key, encode_value(value), metadata)

    def contains(self, key: str) -> bool:
        """Whether `get()` finds something."""
        return self._in_memory(key, is_use=False) is not None or self._disk.contains(key)

    def get_metadata(self, key: str) -> CacheMetadata | None:
        """The metadata alone; the value is not read."""
        held = self._in_memory(key, is_use=False)
        return self._disk.get_metadata(key) if held is None else decoded_metadata(held.metadata)

    def invalidate(self, key: str | None = None) -> None:
        """Forgets a key, or all of them, in both layers, for all processes."""
        self._disk.invalidate(key)
        self._memory.invalidate(key)

    def get_or_compute(
        self,
        key: str,
        compute_fn: Callable[[], Any],
        metadata: CacheMetadata | None = None,
        validate_fn: Callable[[CacheMetadata], bool] | None = None,
    ) -> Any:
        """The value of a key, which is computed where there is none.

        Of several threads and processes that want it at the same time one computes it.

        Args:
            key: Any text.
            compute_fn: Makes the value.
            metadata: Is kept beside it.
            validate_fn: Says by the metadata whether what is there still holds; an entry without
                metadata does not.

        Raises:
            TypeError: A value was computed of which no cache gives back the same.
        """
        found = self._valid(key, validate_fn)
        if found is not None:
            return found[0]
        with alone(self._disk.lock_folder, entry_name(key), self._said):
            found = self._valid(key, validate_fn, counts=False)
            if found is not None:
                return found[0]
            value = compute_fn()
            encoded = encode_value(value)
            self._put(key, encoded, metadata)
        return decode_value(encoded.data) if encoded.is_changed else value

    @staticmethod
    def compute_key(
        config: Mapping[str, Any],
        prefix: str = "",
        include_content_hash: bool = False,
        content: str | bytes | None = None,
    ) -> str:
        """A key for a config: 16 digits, after a prefix, before 8 of a content's.

        Args:
            config: What the value depends on, as JSON has it; of other values the text counts.
            prefix: Stands before it, with `_` between.
            include_content_hash: Whether the content counts, too.
            content: Text or bytes.

        Raises:
            TypeError: A value without a text that is the same in each run.
            ValueError: The content is to count, and there is none.
        """
        parts = [prefix] if prefix else []
        parts.append(hashlib.sha256(config_text(config).encode()).hexdigest()[:16])
        if include_content_hash:
            if content is None:
                raise ValueError("include_content_hash=True takes a content: text or bytes")
            data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
            parts.append(hashlib.sha256(data).hexdigest()[:8])
        return "_".join(parts)

    def _find(self, key: str, counts: bool = True) -> tuple[Any, CacheMetadata | None] | None:
        held = self._in_memory(key, is_use=True)
        if counts:
            self._memory.count(held is not None)
        if held is not None:
            return held.made()
        found = self._disk.load(key, counts)
        if found is None:
            return None
        made = self._disk.made(found.payload, found.metadata)
        if made is not None:
            self._hold(key, found.payload, found.metadata, found.seen)
        return made

    def _valid(
        self, key: str, validate_fn: Callable[[CacheMetadata], bool] | None, counts: bool = True
    ) -> tuple[Any, CacheMetadata | None] | None:
        found = self._find(key, counts)
        if found is None or validate_fn is None:
            return found
        if found[1] is None:
            self._said.warn(
                "metadata",
                f"the cache {self.cache_dir} has a value for {key!r} without metadata, of which "
                "validate_fn cannot tell whether it holds: it is computed again; give metadata=",
            )
        elif validate_fn(found[1]):
            return found
        self.invalidate(key)
        return None

    def _put(self, key: str, value: EncodedValue, metadata: CacheMetadata | None) -> None:
        beside = encoded_metadata(metadata)
        self._hold(key, value.data, beside, self._disk.store(key, value.data, beside))

    def _hold(self, key: str, payload: bytes, metadata: bytes, found: Seen | None) -> None:
        origin = None if found is None else found.identity
        self._memory.hold(key, HeldValue(payload, None, metadata, ages.now(), origin))

    def _in_memory(self, key: str, is_use: bool) -> HeldValue | None:
        held = self._memory.held(key, is_use)
        if held is None or held.origin is None:
            return held
        found = self._disk.look(key)
        if found is None or found.identity != held.origin:
            self._memory.invalidate(key)
            return None
        if is_use:
            self._disk.use(key, found)
        return held
