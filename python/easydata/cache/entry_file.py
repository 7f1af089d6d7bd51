"""The file of an entry: a head with all that is known of it, and the value's bytes.

docs/formats/cache_entries.md is the norm.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, BinaryIO

from easydata import _native
from easydata.cache.compression import compressed, decompressed
from easydata.cache.values import decode_value, encode_value

VERSION = 1
_MAGIC = b"EASYCACH"
# Magic, version, bytes of the details, bytes of the payload, hash of the payload; then the hash of
# these and the details.
_HEAD = struct.Struct("<8sIIQQ")
_HASH = struct.Struct("<Q")
_DETAILS_AT = _HEAD.size + _HASH.size


class DamagedEntry(Exception):
    """A file that is not what was written, or not an entry."""


class NewerEntry(Exception):
    """A file of a version that this one does not know."""


@dataclass(frozen=True)
class Head:
    """What stands before the payload.

    Attributes:
        key: The entry's key.
        metadata: The bytes of the metadata's fields, or of None.
        codec: What the payload is compressed with.
        blocks: The sizes of its compressed blocks.
        raw_size: Its bytes, decompressed.
        size: Its bytes in the file.
        hash: The hash of these.
    """

    key: str
    metadata: bytes
    codec: str
    blocks: list[int]
    raw_size: int
    size: int
    hash: int


def entry_bytes(key: str, metadata: bytes, payload: bytes, compression: str) -> tuple[bytes, bytes]:
    """The head and the payload of a file."""
    codec, blocks, stored = compressed(payload, compression)
    details = encode_value(
        {
            "key": key,
            "metadata": metadata,
            "codec": codec,
            "blocks": blocks,
            "raw_size": len(payload),
        }
    ).data
    head = _HEAD.pack(_MAGIC, VERSION, len(details), len(stored), _native.hash_bytes(stored))
    return head + _HASH.pack(_native.hash_bytes(head + details)) + details, stored


def read_head(file: BinaryIO, size: int, key: str) -> Head:
    """The head of the open file of a key, which has so many bytes.

    Raises:
        DamagedEntry: It is not that entry, or not all of it.
        NewerEntry: It is of a version that this one does not know.
        OSError: It cannot be read.
    """
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or head[:8] != _MAGIC:
        raise DamagedEntry("it does not begin as entries do")
    _, version, details_size, payload_size, payload_hash = _HEAD.unpack(head)
    if _DETAILS_AT + details_size + payload_size != size:
        raise DamagedEntry(f"it has {size} bytes, and not those that it says")
    hashed = file.read(_HASH.size)
    details = file.read(details_size)
    if hashed != _HASH.pack(_native.hash_bytes(head + details)):
        raise DamagedEntry("the hash of its head is another one")
    if version != VERSION:  # these hashes stand here in every version
        raise NewerEntry(f"it is of version {version}")
    try:
        found: dict[str, Any] = decode_value(details)
        made = Head(size=payload_size, hash=payload_hash, **found)
    except Exception as error:
        raise DamagedEntry(f"its head cannot be read: {error}") from error
    if made.key != key:
        raise DamagedEntry(f"it is the entry of the key {made.key!r}")
    return made


def read_payload(file: BinaryIO, head: Head) -> bytes:
    """The decompressed payload after a head that was just read.

    Raises:
        DamagedEntry: It is not what was written.
        OSError: It cannot be read.
    """
    stored = stored_payload(file, head)
    try:
        return decompressed(stored, head.codec, head.blocks, head.raw_size)
    except Exception as error:
        raise DamagedEntry(f"its {head.codec} data cannot be read: {error}") from error


def stored_payload(file: BinaryIO, head: Head) -> bytes:
    """The payload as it lies in the file; raises as `read_payload()` does."""
    stored = file.read(head.size)
    if len(stored) != head.size or _native.hash_bytes(stored) != head.hash:
        raise DamagedEntry("the hash of its value is another one")
    return stored
