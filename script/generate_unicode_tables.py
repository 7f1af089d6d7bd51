#!/usr/bin/env python3
"""Probes the pinned `tokenizers` library and writes the Unicode tables of the native engine.

One binary of the reference carries several versions of Unicode (Oniguruma's classes, the regex
crate's word characters, the normalization crate's decompositions), so no published table matches
it: every property is asked of the reference itself, for every code point.

Usage: script/generate_unicode_tables.py [--check]
  --check   compare with the checked-in file instead of writing it; exit status 1 when they differ.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

PINNED = "0.23.3"
OUTPUT = Path(__file__).resolve().parent.parent / "src/easydata/tokenizer/unicode_tables.cc"
CODE_POINTS = [cp for cp in range(0x110000) if not 0xD800 <= cp < 0xE000]
HANGUL_FIRST, HANGUL_LAST = 0xAC00, 0xD7A3

# Bits of a code point's properties; unicode_properties.h names them.
LETTER, NUMBER, SPACE, WORD, NFC_ACTIVE = 1, 2, 3, 4, 8


def chunks(items: list[int], size: int) -> Iterator[list[int]]:
    """Cuts a list into lists of `size`; the last may be shorter."""
    for first in range(0, len(items), size):
        yield items[first : first + size]


def in_class(regex_class: str) -> set[int]:
    """Code points that Oniguruma, as the reference uses it, puts into `regex_class`."""
    split = pre_tokenizers.Split(Regex(f"[^{regex_class}]"), "removed")
    members: set[int] = set()
    for chunk in chunks(CODE_POINTS, 4096):
        for piece, _ in split.pre_tokenize_str("".join(map(chr, chunk))):
            members.update(map(ord, piece))
    return members


def word_characters() -> set[int]:
    """Code points that make a neighbouring single_word added token not match."""
    tokenizer = Tokenizer(models.WordLevel({"[unk]": 0}, "[unk]"))
    tokenizer.add_tokens([AddedToken("@@", single_word=True, normalized=False)])
    token = tokenizer.token_to_id("@@")
    members: set[int] = set()
    for chunk in chunks(CODE_POINTS, 65536):
        encodings = tokenizer.encode_batch_fast(["@@" + chr(cp) for cp in chunk])
        members.update(cp for cp, e in zip(chunk, encodings, strict=True) if token not in e.ids)
    return members


def combining_classes(nfd: normalizers.NFD) -> dict[int, int]:
    """Canonical combining classes, found by which anchor marks a code point changes places with."""
    anchors: dict[int, str] = {}
    for database in (unicodedata.ucd_3_2_0, unicodedata):
        for cp in CODE_POINTS:
            mark = chr(cp)
            ccc = database.combining(mark)
            # U+0301 (230) and U+0316 (220) tell a mark that the reference knows from a starter.
            if (
                ccc
                and nfd.normalize_str(mark) == mark
                and (
                    nfd.normalize_str("\u0301" + mark) == mark + "\u0301" != "\u0301" + mark
                    or nfd.normalize_str(mark + "\u0316") == "\u0316" + mark != mark + "\u0316"
                )
            ):
                anchors.setdefault(ccc, mark)
    order = sorted(anchors)
    lowest, highest = anchors[order[0]], anchors[order[-1]]
    classes: dict[int, int] = {}
    for cp in CODE_POINTS:
        c = chr(cp)
        if nfd.normalize_str(c) != c:
            continue
        below_highest = nfd.normalize_str(highest + c) == c + highest != highest + c
        above_lowest = nfd.normalize_str(c + lowest) == lowest + c != c + lowest
        if not (below_highest or above_lowest) and c not in (lowest, highest):
            continue
        equal = [
            k
            for k in order
            if nfd.normalize_str(c + anchors[k]) == c + anchors[k]
            and nfd.normalize_str(anchors[k] + c) == anchors[k] + c
        ]
        if len(equal) != 1:
            raise SystemExit(f"U+{cp:04X}: no anchor or several of its combining class: {equal}")
        classes[cp] = equal[0]
    return classes


def ranges(values: dict[int, int]) -> list[tuple[int, int, int]]:
    """Joins neighbours of one value: (first, last, value)."""
    out: list[tuple[int, int, int]] = []
    for cp in sorted(values):
        if out and out[-1][1] == cp - 1 and out[-1][2] == values[cp]:
            out[-1] = (out[-1][0], cp, values[cp])
        else:
            out.append((cp, cp, values[cp]))
    return out


def rows(entries: Iterable[str]) -> str:
    """Lays entries of a C++ initializer out in lines."""
    lines, line = [], "   "
    for entry in entries:
        if len(line) + len(entry) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {entry},"
    lines.append(line)
    return "\n".join(lines)


def make_tables() -> str:
    """The text of unicode_tables.cc."""
    if tokenizers.__version__ != PINNED:
        raise SystemExit(f"tokenizers {tokenizers.__version__} is installed, {PINNED} is pinned")
    nfc, nfd = normalizers.NFC(), normalizers.NFD()
    decomposition: dict[int, str] = {}
    changed_by_nfc: set[int] = set()
    for cp in CODE_POINTS:
        c = chr(cp)
        decomposed = nfd.normalize_str(c)
        if decomposed != c and not HANGUL_FIRST <= cp <= HANGUL_LAST:
            decomposition[cp] = decomposed
        if nfc.normalize_str(c) != c:
            changed_by_nfc.add(cp)
    classes = combining_classes(nfd)

    composition: dict[tuple[int, int], int] = {}
    for cp, decomposed in decomposition.items():
        if cp in changed_by_nfc:
            continue
        first = nfc.normalize_str(decomposed[:-1])
        if len(first) != 1 or nfc.normalize_str(decomposed) != chr(cp):
            raise SystemExit(f"U+{cp:04X}: its decomposition does not compose pairwise")
        composition[ord(first), ord(decomposed[-1])] = cp
    seconds = {b for _, b in composition} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    active = set(classes) | changed_by_nfc | seconds
    for cp, decomposed in decomposition.items():
        if cp not in active and ord(decomposed[0]) in active:
            raise SystemExit(f"U+{cp:04X}: inert, but what it decomposes into is not")

    properties: dict[int, int] = {}
    for members, bits in (
        (in_class(r"\p{L}"), LETTER),
        (in_class(r"\p{N}"), NUMBER),
        (in_class(r"\s"), SPACE),
        (word_characters(), WORD),
        (active, NFC_ACTIVE),
    ):
        for cp in members:
            properties[cp] = properties.get(cp, 0) | bits

    pool = "".join(decomposition[cp] for cp in sorted(decomposition))
    offset, decomposition_rows = 0, []
    for cp in sorted(decomposition):
        decomposition_rows.append(f"{{0x{cp:X}, {offset}, {len(decomposition[cp])}}}")
        offset += len(decomposition[cp])

    def array(kind: str, name: str, entries: list[str]) -> str:
        return f"const {kind} {name}[{len(entries)}] = {{\n{rows(entries)}\n}};\n"

    body = "\n".join(
        (
            array(
                "CodePointRange",
                "kPropertyRanges",
                [f"{{0x{a:X}, 0x{b:X}, {v}}}" for a, b, v in ranges(properties)],
            )
            + f"const size_t kNumPropertyRanges = {len(ranges(properties))};\n",
            array(
                "CodePointRange",
                "kCombiningClassRanges",
                [f"{{0x{a:X}, 0x{b:X}, {v}}}" for a, b, v in ranges(classes)],
            )
            + f"const size_t kNumCombiningClassRanges = {len(ranges(classes))};\n",
            array("Decomposition", "kDecompositions", decomposition_rows)
            + f"const size_t kNumDecompositions = {len(decomposition_rows)};\n",
            array("char32_t", "kDecompositionPool", [f"0x{ord(c):X}" for c in pool]),
            array(
                "Composition",
                "kCompositions",
                [f"{{0x{a:X}, 0x{b:X}, 0x{c:X}}}" for (a, b), c in sorted(composition.items())],
            )
            + f"const size_t kNumCompositions = {len(composition)};\n",
        )
    )
    digest = hashlib.sha256(body.encode()).hexdigest()
    return (
        "// Generated by script/generate_unicode_tables.py; do not edit.\n"
        f"// Probed from tokenizers {PINNED}, sha256 of the tables:\n// {digest}\n\n"
        '#include "easydata/tokenizer/unicode_tables.h"\n\n'
        "namespace easydata::unicode_tables {\n\n"
        "// clang-format off\n"
        f"{body}"
        "// clang-format on\n\n"
        "}  // namespace easydata::unicode_tables\n"
    )


def main() -> int:
    """Writes or checks the tables; returns the exit status."""
    parser = argparse.ArgumentParser(description="Write the tokenizer's Unicode tables.")
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    arguments = parser.parse_args()
    text = make_tables()
    if arguments.check:
        same = OUTPUT.read_text(encoding="utf-8") == text
        print("unicode_tables.cc is up to date" if same else "unicode_tables.cc differs")
        return 0 if same else 1
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
