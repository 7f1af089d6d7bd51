"""Payloads of entries, compressed block by block with Arrow's codecs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

NONE = "none"
CODECS = (NONE, "gzip", "lz4", "zstd")

# A block's size must fit the codecs' counters, and what lies in memory twice is one block.
_BLOCK = 64 << 20


def checked_codec(compression: Any) -> str:
    """The name of a codec that is here.

    Raises:
        ValueError: There is none of this name, or Arrow was built without it.
    """
    if compression not in CODECS:
        raise ValueError(f"compression is {compression!r}: choose one of {', '.join(CODECS)}")
    if compression != NONE and not pa.Codec.is_available(compression):
        raise ValueError(
            f"compression={compression!r}: this pyarrow was built without it; choose another codec"
        )
    return str(compression)


def compressed(data: bytes, codec: str) -> tuple[str, list[int], bytes]:
    """The codec that was used, the sizes of the blocks, and the blocks.

    What does not become smaller stays as it is.
    """
    if codec != NONE and data:
        view = memoryview(data)
        blocks = [
            pa.compress(view[at : at + _BLOCK], codec, asbytes=True)
            for at in range(0, len(data), _BLOCK)
        ]
        sizes = [len(each) for each in blocks]
        if sum(sizes) < len(data):
            return codec, sizes, b"".join(blocks)
    return NONE, [], data


def decompressed(data: bytes, codec: str, sizes: list[int], raw_size: int) -> bytes:
    """What `compressed()` was given.

    Raises:
        Exception: These are not its blocks.
    """
    if codec == NONE:
        return data
    view = memoryview(data)
    blocks = []
    at = 0
    for size in sizes:
        raw = min(_BLOCK, raw_size)
        blocks.append(pa.decompress(view[at : at + size], raw, codec, asbytes=True))
        raw_size -= raw
        at += size
    if raw_size or at != len(data):
        raise ValueError("the blocks are not those of the value")
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)
