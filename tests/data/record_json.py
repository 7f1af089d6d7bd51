"""Records what Python makes of JSON and UTF-8, for the tests of src/easydata/json.

    .venv/bin/python tests/data/record_json.py [--check]

"texts": [text, kind, [[key, kind of its value], ...]] of what json.loads takes, [text, null] of
what it refuses. "strings": [text, json.dumps of it]. "floats": [its digits, json.dumps of it].
"bytes": [hexadecimal digits, offset of the first byte that is no UTF-8].
"""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parent / "golden" / "json.json"

_NUMBERS = (
    "0", "-0", "1", "-1", "01", "-01", "1.", ".5", "-.5", "1.5", "-1.5e3", "1e5", "1E+5", "1e-5",
    "1e", "1e+", "1.e5", "+1", "0x1f", "1_0", "--1", "-", "1e400", "-1e400", "1e-400", "NaN",
    "-NaN", "Infinity", "-Infinity", "+Infinity", "nan", "inf", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "123456789012345678901234567890", "1 2", "1,",
)  # fmt: skip
_STRINGS = (
    '""', '"a"', '"é中🙂"', '"\\n\\t\\"\\\\\\/\\b\\f\\r"', '"\\u0041"', '"\\u00e9"', '"\\u00E9"',
    '"\\ud83d\\ude42"', '"\\ud83d"', '"\\ude42"', '"\\ud83dx"', '"\\u12"', '"\\u12g4"', '"\\x41"',
    '"\\"', '"', '"a', "'a'", '"a\nb"', '"a\tb"', '"\x00"', '"\x1f"', '"\x7f"', '"\\u0000"',
    '"a" "b"', '"\u2028"',
)  # fmt: skip
_OTHERS = (
    "", " ", "null", "true", "false", "None", "True", "nul", "nulll", "[]", "{}", "[", "]", "{",
    "}", "[1,]", "[,1]", "[1 2]", "[1, 2]", "[[]]", "[[", '{"a"}', '{"a":}', '{"a": 1,}',
    '{"a": 1 "b": 2}', '{a: 1}', "{'a': 1}", '{1: 2}', '{"a": 1, "a": 2}', '{"a": {"b": [1]}}',
    '{"": null, "é": "x", "\\u0061": true}',
    '{"n": NaN, "i": -Infinity, "f": 1.5, "l": [], "s": ""}',
    ' \t\n\r{ "a" : 1 } \n', "\u00a0[]", "\ufeff[]", "\x0b[]", "[]\x00", "// note\n1", "[1] # note",
    '{"a": 1}}', '[1}', '{"a": 1]',
)  # fmt: skip

_TEXTS_OF_STRINGS = (
    "", "a", "it's \"quoted\" \\ /", "\n\t\r\b\f\v", "\x00\x01\x1f\x7f\x80\x9f", "é中🙂",
    "\u2028\u2029",
    "<b>&amp;</b>", "e\u0301", "\ufeff", " " * 20, "x" * 70 + "\n" + "y" * 70, "é" * 33 + '"',
)  # fmt: skip

_FLOATS = (
    0.0, -0.0, 1.0, -1.5, 0.1, 1 / 3, 1e15, 1e16, 1e17, 123456789.125, 1e-4, 1e-5, 1.5e-7, 1e22,
    1e23,
    1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, float("inf"), float("-inf"),
    float("nan"), 9007199254740993.0,
)  # fmt: skip

_BAD_BYTES = (
    b"", b"abc", "é中🙂".encode(), b"\x80", b"a\xff", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xc3(",
    b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xe4\xb8", b"\xed\xa0\x80", b"\xed\x9f\xbf",
    b"\xee\x80\x80",
    b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80",
    b"\xf0\x9f\x99", b"x" * 40 + b"\xe2\x82", b"\xc3\xa9" * 20 + b"\xa9",
)  # fmt: skip

_KINDS = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}


class _Pairs(dict[str, Any]):
    """An object that remembers all of its members."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _kind(value: Any) -> str:
    return _KINDS.get(dict if isinstance(value, dict) else type(value), "number")


def _read(text: str) -> list[Any]:
    try:
        value = json.loads(text, object_pairs_hook=_Pairs)
    except ValueError:
        return [text, None]
    members = value.pairs if isinstance(value, _Pairs) else []
    return [text, _kind(value), [[key, _kind(item)] for key, item in members]]


def _bad_byte(content: bytes) -> list[Any]:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return [content.hex(), error.start]
    return [content.hex(), len(content)]


def record() -> dict[str, list[Any]]:
    """Makes all cases."""
    plain = [*_NUMBERS, *_STRINGS, *_OTHERS]
    within = [form % text for text, form in itertools.product(plain, ("[%s]", '{"k": %s}', "%s x"))]
    return {
        "texts": [_read(text) for text in dict.fromkeys([*plain, *within])],
        "strings": [[text, json.dumps(text, ensure_ascii=False)] for text in _TEXTS_OF_STRINGS],
        "floats": [[repr(value), json.dumps(value)] for value in _FLOATS],
        "bytes": [_bad_byte(content) for content in _BAD_BYTES],
    }


def as_text(recorded: dict[str, list[Any]]) -> str:
    """A line for each case."""
    parts = []
    for name, cases in recorded.items():
        lines = ",\n".join(json.dumps(case) for case in cases)
        parts.append(f'"{name}": [\n{lines}\n]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    """Writes the file, or compares it."""
    text = as_text(record())
    if "--check" in sys.argv[1:]:
        sys.exit(0 if OUT.read_text(encoding="utf-8") == text else f"{OUT} differs")
    OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
