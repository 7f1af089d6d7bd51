"""Cached values in files."""

from __future__ import annotations

import functools
import os
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from easydata.cache.ages import Expiry
from easydata.cache.byte_limit import ByteLimit, checked_limit
from easydata.cache.compression import checked_codec
from easydata.cache.entry_file import (
    DamagedEntry,
    Head,
    NewerEntry,
    entry_bytes,
    read_head,
    read_payload,
    stored_payload,
)
from easydata.cache.entry_folder import EntryFolder, Seen, cache_path, entry_name, seen
from easydata.cache.layer import CacheLayer, asked, checked_key
from easydata.cache.metadata import CacheMetadata
from easydata.cache.said_once import SaidOnce
from easydata.cache.single_flight import remove_left_locks
from easydata.cache.values import decode_value, encode_value

__all__ = ["DiskCache"]

_Read = TypeVar("_Read")
# Entries whose bytes were compared with their hash, and did not change since.
_VERIFIED = 4096
_COUNTED = ("expired", "damaged", "evicted", "failed_reads", "failed_writes")


@dataclass(frozen=True)
class StoredValue:
    """What an entry's file holds.

    Attributes:
        payload: The bytes of the value.
        metadata: The bytes of the metadata's fields, or of None.
        seen: The file.
    """

    payload: bytes
    metadata: bytes
    seen: Seen


class DiskCache(CacheLayer):
    """Values in files of a folder, for this process, later ones and others at the same time.

    What the files hold is compared with its hash: a damaged entry is as if it were not there, and
    so is one that cannot be read. A disk that is full or cannot be written costs the entry, is
    logged once and counted, and raises nothing.

    Attributes:
        cache_dir: The folder.
        compression: What new entries are compressed with; others are read as they are.
        expiry_seconds: How long entries live after their last use; None: for ever.
    """

    def __init__(
        self,
        cache_dir: str | os.PathLike[str],
        compression: str = "none",
        expiry_seconds: float | None = None,
        *,
        max_bytes: int | None = None,
    ) -> None:
        """Makes the folder.

        Args:
            cache_dir: A folder of this machine, or one that several machines have mounted. Entries
                are in `easydata_entries` in it; what else is there is left alone.
            compression: `"none"`, `"gzip"`, `"lz4"` or `"zstd"`.
            expiry_seconds: Entries that were not used for longer are forgotten; 0: nothing is ever
                found; None: they are kept.
            max_bytes: Of all entries' files together: the ones unused for longest go; None: there
                is no limit. Each process that writes may go beyond it by a sixteenth.

        Raises:
            ValueError: An option that cannot be.
        """
        self.compression = checked_codec(compression)
        self._expiry = Expiry(expiry_seconds, "expiry_seconds")
        self.cache_dir = cache_path(cache_dir)
        self._folder = EntryFolder(self.cache_dir)
        self._limit = ByteLimit(self._folder, checked_limit(max_bytes))
        self._counts: Counter[str] = Counter()
        self._said = SaidOnce()
        # Files that should not be there: what is newer could not be written, or they not removed.
        self._outdated: dict[str, tuple[int, int, int]] = {}
        self._verified: OrderedDict[tuple[int, int, int], None] = OrderedDict()
        try:
            self._folder.part("writing")
        except OSError as error:
            self._tell("made", f"cannot be made, and keeps nothing: {error}")

    def __repr__(self) -> str:
        return f"DiskCache({str(self.cache_dir)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        make = functools.partial(type(self), max_bytes=self.max_bytes)
        return make, (str(self.cache_dir), self.compression, self.expiry_seconds)

    @property
    def expiry_seconds(self) -> float | None:
        """How long entries live after their last use."""
        return self._expiry.seconds

    @property
    def max_bytes(self) -> int | None:
        """What all entries' files together may have."""
        return self._limit.max_bytes

    @property
    def stats(self) -> dict[str, Any]:
        """What this object has found so far.

        `cache_dir`, `compression`, `hits`, `misses`, `hit_rate`, `expired` and `damaged` (of the
        misses), `evicted` (by this process, for `max_bytes`), `failed_reads`, `failed_writes`.
        """
        return {
            "cache_dir": str(self.cache_dir),
            "compression": self.compression,
            **asked(self._counts),
            **{name: self._counts[name] for name in _COUNTED},
        }

    def get(self, key: str) -> tuple[Any, CacheMetadata | None] | None:
        """The value and its metadata, or None."""
        found = self.load(key)
        if found is None:
            return None
        made = self.made(found.payload, found.metadata)
        if made is None:
            self._counts.update(hits=-1, misses=1)
        return made

    def put(self, key: str, value: Any, metadata: CacheMetadata | None = None) -> None:
        """Writes a value, in place of what the key had.

        Raises:
            TypeError: A value of which no cache gives back the same; says where in it.
        """
        self.store(key, encode_value(value).data, encoded_metadata(metadata))

    def contains(self, key: str) -> bool:
        """Whether `get()` finds something; reads the entry if this process has not yet."""
        found = self._open(key, self._verify)
        return found is not None

    def get_metadata(self, key: str) -> CacheMetadata | None:
        """The metadata, of which the value is not read."""
        head = self._open(key, lambda file, head, now: head)
        return None if head is None else decoded_metadata(head.metadata)

    def invalidate(self, key: str | None = None) -> None:
        """Removes the entry of a key, or all entries; of other files none."""
        names = None if key is None else [entry_name(checked_key(key))]
        try:
            if names is None:
                names = [each.name.partition(".")[0] for each in self._folder.entries()]
                self._folder.remove_all()
                remove_left_locks(self.lock_folder)
            else:
                self._folder.remove(names[0])
        except OSError as error:
            self._tell("emptied", f"cannot be emptied; what is there is not read any more: {error}")
            for name in names or ():
                self._outdate(name)

    # What a manager of several layers asks.

    @property
    def lock_folder(self) -> Path:
        """Where the locks of keys are."""
        return self._folder.path / "locks"

    def look(self, key: str) -> Seen | None:
        """The file of an entry that is there and has not expired, unopened."""
        name = entry_name(checked_key(key))
        now = self._folder.look(name)
        if now is None or self._outdated.get(name) == now.identity:
            return None
        if not self._expiry.is_over(now.last_use):
            return now
        self._counts["expired"] += 1
        try:
            self._folder.remove(name)
        except OSError:
            self._outdate(name)
        return None

    def load(self, key: str, counts: bool = True) -> StoredValue | None:
        """The bytes of an entry; counts a hit or a miss."""

        def read(file: BinaryIO, head: Head, now: Seen) -> StoredValue:
            return StoredValue(read_payload(file, head), head.metadata, now)

        found = self._open(key, read)
        if counts:
            self._counts["misses" if found is None else "hits"] += 1
        if found is not None:
            self.use(key, found.seen)
        return found

    def store(self, key: str, payload: bytes, metadata: bytes) -> Seen | None:
        """Writes an entry; None where that failed."""
        name = entry_name(checked_key(key))
        parts = entry_bytes(key, metadata, payload, self.compression)
        size = sum(map(len, parts))
        try:
            if self.max_bytes is not None and size > self.max_bytes:
                raise OSError(f"{size} bytes are more than max_bytes={self.max_bytes}")
            written = self._folder.write(name, parts)
        except OSError as error:
            self._counts["failed_writes"] += 1
            self._tell("written", f"cannot be written, and does not keep what is computed: {error}")
            try:
                self._folder.remove(name)
            except OSError:
                self._outdate(name)
            return None
        self._counts["evicted"] += self._limit.wrote(size)
        return written

    def use(self, key: str, now: Seen) -> None:
        """Says that an entry is used."""
        if self._expiry.is_worth_noting(now.last_use):
            self._folder.note_use(entry_name(key), now)

    def made(self, payload: bytes, metadata: bytes) -> tuple[Any, CacheMetadata | None] | None:
        """The value of an entry's bytes; None where a library that it takes is not here."""
        try:
            return decode_value(payload), decoded_metadata(metadata)
        except ImportError as error:
            self._counts["failed_reads"] += 1
            self._tell("library", f"has values that take a library which is not here: {error}")
        except Exception as error:  # the bytes are those that were written
            self._counts["failed_reads"] += 1
            self._tell("value", f"has a value that cannot be read here: {error!r}")
        return None

    def _verify(self, file: BinaryIO, head: Head, now: Seen) -> bool:
        if now.identity not in self._verified:
            stored_payload(file, head)
            self._verified[now.identity] = None
            if len(self._verified) > _VERIFIED:
                self._verified.popitem(last=False)
        return True

    def _open(self, key: str, read: Callable[[BinaryIO, Head, Seen], _Read]) -> _Read | None:
        """What is read of an entry's file; None where there is none that holds."""
        if self.look(key) is None:
            return None
        name = entry_name(key)
        try:
            with self._folder.open(name) as file:
                now = seen(os.fstat(file.fileno()))
                try:
                    return read(file, read_head(file, now.size, key), now)
                except DamagedEntry as error:
                    self._counts["damaged"] += 1
                    self._folder.set_aside(name, now)
                    self._tell("damaged", f"has a damaged entry, {name}, now in damaged/: {error}")
                except NewerEntry as error:
                    self._tell("newer", f"has an entry, {name}, of a newer easydata: {error}")
        except FileNotFoundError:
            pass  # another process has just removed it
        except (OSError, MemoryError) as error:
            self._counts["failed_reads"] += 1
            self._tell("read", f"cannot be read: {error!r}")
        return None

    def _outdate(self, name: str) -> None:
        now = self._folder.look(name)
        if now is not None:
            self._outdated[name] = now.identity

    def _tell(self, kind: str, what: str) -> None:
        self._said.warn(kind, f"the cache {self._folder.path} {what}")


def encoded_metadata(metadata: CacheMetadata | None) -> bytes:
    """The bytes of metadata."""
    if metadata is not None and type(metadata) is not CacheMetadata:
        raise TypeError(
            f"metadata is a {type(metadata).__name__}: give a CacheMetadata; what it has no field "
            "for goes into its extra"
        )
    return encode_value(None if metadata is None else metadata.to_dict(), "metadata").data


def decoded_metadata(data: bytes) -> CacheMetadata | None:
    """The metadata of these bytes."""
    fields = decode_value(data)
    return None if fields is None else CacheMetadata.from_dict(fields)
