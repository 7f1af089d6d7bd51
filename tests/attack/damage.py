"""Damages to bytes, drawn by a seed."""

import random
from collections.abc import Callable

Damage = Callable[[bytearray, random.Random], None]


def _offset(data: bytearray, draw: random.Random) -> int:
    """An offset in the bytes; often near the ends, where formats keep what describes the rest."""
    size = len(data)
    where = draw.random()
    if where < 0.25:
        return draw.randrange(min(64, size))
    if where < 0.5:
        return size - 1 - draw.randrange(min(512, size))
    return draw.randrange(size)


def _flip_bit(data: bytearray, draw: random.Random) -> None:
    data[_offset(data, draw)] ^= 1 << draw.randrange(8)


def _set_byte(data: bytearray, draw: random.Random) -> None:
    data[_offset(data, draw)] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))


def _set_number(data: bytearray, draw: random.Random) -> None:
    at = _offset(data, draw) & ~3
    value = draw.choice((0, 1, -1, 2**31 - 1, -(2**31), draw.randrange(-300, 300)))
    data[at : at + 4] = value.to_bytes(4, "little", signed=True)


def _cut_end(data: bytearray, draw: random.Random) -> None:
    del data[draw.choice((draw.randrange(len(data)), max(0, len(data) - draw.randrange(1, 40)))) :]


def _cut_out(data: bytearray, draw: random.Random) -> None:
    at = _offset(data, draw)
    del data[at : at + draw.choice((1, 2, 8, 100, 5000))]


def _zero(data: bytearray, draw: random.Random) -> None:
    at = _offset(data, draw)
    size = min(draw.choice((4, 100, 4096)), len(data) - at)
    data[at : at + size] = bytes(size)


def _insert(data: bytearray, draw: random.Random) -> None:
    at = _offset(data, draw)
    data[at:at] = draw.randbytes(draw.choice((1, 2, 8, 64)))


def _repeat(data: bytearray, draw: random.Random) -> None:
    at, size = _offset(data, draw), draw.choice((1, 8, 100, 5000))
    data[at:at] = data[at : at + size]


def _swap(data: bytearray, draw: random.Random) -> None:
    size = draw.choice((1, 4, 64, 1000))
    one, other = sorted((_offset(data, draw), _offset(data, draw)))
    size = min(size, other - one, len(data) - other)
    parts = data[one : one + size], data[other : other + size]
    data[other : other + size], data[one : one + size] = parts


def _append(data: bytearray, draw: random.Random) -> None:
    data += draw.choice((b"\0" * 7, b"\n", b"garbage", bytes(data[:50]), draw.randbytes(20)))


KINDS: tuple[Damage, ...] = (
    _flip_bit,
    _flip_bit,
    _set_byte,
    _set_number,
    _cut_end,
    _cut_out,
    _zero,
    _insert,
    _repeat,
    _swap,
    _append,
)


def damaged(data: bytes, draw: random.Random) -> bytes:
    """The bytes with one to three damages, never equal to what they were."""
    while True:
        out = bytearray(data)
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            if out:
                draw.choice(KINDS)(out, draw)
        if out != data:
            return bytes(out)
