"""Texts of strangers, data and names of files, as a terminal may be given them."""

import re

from easydata import _native


def shown(text: str) -> str:
    r"""A text as it is printed: what would tell the terminal to do something stands there as \x1b.

    Lines and tabs stay; bytes of file names that are no UTF-8 are shown as \xff.
    """
    if text.isprintable():
        return text
    return re.sub(r"[^\n\t]+", lambda part: _native.escaped_text(_as_bytes(part[0])), text)


def _as_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, out of JSON
        return text.encode("utf-8", "backslashreplace")
