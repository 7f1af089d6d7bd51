"""Sizes as people write them."""

import re

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([KMGT]?)(?:I?B)?\s*", re.IGNORECASE)


def size_of_option(name: str, size: str | int | None) -> int | None:
    """Bytes of an option that is a size (see parse_size); None where it is unset.

    Raises:
        ValueError: When it is none; the message begins with the option.
    """
    if size is None:
        return None
    try:
        return parse_size(size)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def parse_size(size: str | int) -> int:
    """Bytes of a size: a number, or text such as "500MB", "1.5 GB" or "10K" (units of 1,024).

    Raises:
        ValueError: When it is none.
    """
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    match = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if match is None:
        raise ValueError(
            f'a size is a number of bytes or text such as "500MB", "1.5GB" or "10K"; got {size!r}'
        )
    return int(float(match[1]) * _UNITS[match[2].upper()])
