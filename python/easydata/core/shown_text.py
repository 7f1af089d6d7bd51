"""Texts of strangers, data, names of files and counts, as a terminal may be given them."""

import re

from easydata import _native


def shown(text: str) -> str:
    r"""A text as it is printed: what would tell the terminal to do something stands there as \x1b.

    Lines and tabs stay; bytes of file names that are no UTF-8 are shown as \xff.
    """
    if text.isprintable():
        return text
    return re.sub(r"[^\n\t]+", lambda part: _native.escaped_text(_as_bytes(part[0])), text)


def rounded(count: float) -> str:
    """A count in few letters: 950, 12.3 k, 4.56 M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(count) >= 0.9995 * size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.3g}" if isinstance(count, float) else str(count)


def _as_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, out of JSON
        return text.encode("utf-8", "backslashreplace")
