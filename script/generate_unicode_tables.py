#!/usr/bin/env python3
"""Probes the pinned `tokenizers` library and writes the Unicode tables of the native engine.

unicode_probes.py asks the questions; this lays the answers out as compact C++ tables and checks
what the engine takes for granted about them.

Usage: script/generate_unicode_tables.py [--check]
  --check   compare with the checked-in file instead of writing it; exit status 1 when they differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import unicode_probes as probes
from probed_tables import write_or_check
from tokenizers import normalizers

# Bits of a code point's properties; unicode_properties.h names them.
LETTER, NUMBER, SPACE, WORD, NFC_ACTIVE, NUMERIC, PUNCTUATION = 1, 2, 3, 4, 8, 16, 32

# What single normalizers do to a code point; unicode_tables.h names the bits.
BERT_DROPPED, BERT_SPACED, CHINESE, ACCENT, MARK, NMT_DROPPED, NMT_SPACED = 1, 2, 4, 8, 16, 32, 64


def joined_bits(*sets: tuple[set[int], int]) -> dict[int, int]:
    """The bits of each code point that is in any of the sets."""
    values: dict[int, int] = {}
    for members, bits in sets:
        for cp in members:
            values[cp] = values.get(cp, 0) | bits
    return values


def ranges(values: Mapping[int, int]) -> list[tuple[int, int, int]]:
    """Joins neighbours of one value: (first, last, value)."""
    out: list[tuple[int, int, int]] = []
    for cp in sorted(values):
        if out and out[-1][1] == cp - 1 and out[-1][2] == values[cp]:
            out[-1] = (out[-1][0], cp, values[cp])
        else:
            out.append((cp, cp, values[cp]))
    return out


def case_ranges(lowercase: Mapping[int, str]) -> list[tuple[int, int, int, int]]:
    """Joins equally spaced code points that move by the same distance: (first, last, step, by)."""
    out: list[tuple[int, int, int, int]] = []
    for cp in sorted(lowercase):
        if len(lowercase[cp]) != 1:
            continue
        by = ord(lowercase[cp]) - cp
        if out and out[-1][3] == by:
            first, last, step, _ = out[-1]
            if cp - last == step or (first == last and cp - last <= 2):
                out[-1] = (first, cp, cp - last, by)
                continue
        out.append((cp, cp, 1, by))
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


def array(kind: str, name: str, entries: Iterable[str], *, counted: bool = True) -> str:
    """The definition of one table, and of the number of its entries."""
    items = list(entries)
    text = f"const {kind} k{name}[{len(items)}] = {{\n{rows(items)}\n}};\n"
    return text + (f"const size_t kNum{name} = {len(items)};\n" if counted else "")


def range_array(name: str, values: Mapping[int, int]) -> str:
    """A table of CodePointRange."""
    return array(
        "CodePointRange", name, (f"{{0x{a:X}, 0x{b:X}, {v}}}" for a, b, v in ranges(values))
    )


def decomposition_arrays(canonical: Mapping[int, str], compatibility: Mapping[int, str]) -> str:
    """Both decompositions with one pool of code points."""
    pool = ""
    text = ""
    for name, table in (
        ("Decompositions", canonical),
        ("CompatibilityDecompositions", compatibility),
    ):
        entries = []
        for cp in sorted(table):
            entries.append(f"{{0x{cp:X}, {len(pool)}, {len(table[cp])}}}")
            pool += table[cp]
        text += array("Decomposition", name, entries) + "\n"
    if len(pool) > 0xFFFF:
        raise SystemExit("the pool of decompositions outgrew its 16-bit offsets")
    return text + array(
        "char32_t", "DecompositionPool", (f"0x{ord(c):X}" for c in pool), counted=False
    )


def compositions(
    canonical: Mapping[int, str], changed_by_nfc: set[int]
) -> dict[tuple[int, int], int]:
    """Pairs that NFC joins, with what they become."""
    nfc = normalizers.NFC()
    pairs: dict[tuple[int, int], int] = {}
    for cp, decomposed in canonical.items():
        if cp in changed_by_nfc:
            continue
        first = nfc.normalize_str(decomposed[:-1])
        if len(first) != 1 or nfc.normalize_str(decomposed) != chr(cp):
            raise SystemExit(f"U+{cp:04X}: its decomposition does not compose pairwise")
        pairs[ord(first), ord(decomposed[-1])] = cp
    return pairs


def without_syllables(table: Mapping[int, str]) -> dict[int, str]:
    """Leaves out Hangul syllables, which the engine decomposes by arithmetic."""
    hangul = range(probes.HANGUL_FIRST, probes.HANGUL_LAST + 1)
    return {cp: text for cp, text in table.items() if cp not in hangul}


def make_body() -> str:
    """The tables."""
    canonical = without_syllables(probes.mapping(normalizers.NFD()))
    compatibility = without_syllables(probes.mapping(normalizers.NFKD()))
    compatibility = {cp: t for cp, t in compatibility.items() if canonical.get(cp) != t}
    changed_by_nfc = set(probes.mapping(normalizers.NFC()))
    classes = probes.combining_classes(normalizers.NFD())
    composition = compositions(canonical, changed_by_nfc)
    seconds = {b for _, b in composition} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    active = set(classes) | changed_by_nfc | seconds
    for cp, decomposed in canonical.items():
        if cp not in active and ord(decomposed[0]) in active:
            raise SystemExit(f"U+{cp:04X}: inert, but what it decomposes into is not")

    properties = joined_bits(
        (probes.in_class(r"\p{L}"), LETTER),
        (probes.in_class(r"\p{N}"), NUMBER),
        (probes.white_space(), SPACE),
        (probes.word_characters(), WORD),
        (active, NFC_ACTIVE),
        (probes.numeric_characters(), NUMERIC),
        (probes.punctuation(), PUNCTUATION),
    )
    clean = normalizers.BertNormalizer(True, False, False, False)
    bert_dropped, bert_spaced = probes.removed_and_spaced(clean)
    nmt_dropped, nmt_spaced = probes.removed_and_spaced(normalizers.Nmt())
    marks, spaced_marks = probes.removed_and_spaced(normalizers.StripAccents())
    if spaced_marks:
        raise SystemExit("StripAccents puts spaces")
    edits = joined_bits(
        (bert_dropped, BERT_DROPPED),
        (bert_spaced, BERT_SPACED),
        (probes.surrounded_by_spaces(), CHINESE),
        (probes.nonspacing_marks(), ACCENT),
        (marks, MARK),
        (nmt_dropped, NMT_DROPPED),
        (nmt_spaced, NMT_SPACED),
    )
    lowercase = probes.mapping(normalizers.Lowercase())
    if {cp: t for cp, t in lowercase.items() if len(t) != 1} != {0x130: "i\u0307"}:
        raise SystemExit("another character than U+0130 has a lowercase of several characters")

    return "\n".join(
        (
            range_array("PropertyRanges", properties),
            range_array("EditRanges", edits),
            range_array("ScriptRanges", probes.scripts()),
            range_array("GraphemeRanges", probes.grapheme_classes()),
            array(
                "CaseRange",
                "CaseRanges",
                (f"{{0x{a:X}, 0x{b:X}, {s}, {by}}}" for a, b, s, by in case_ranges(lowercase)),
            ),
            range_array("CombiningClassRanges", classes),
            decomposition_arrays(canonical, compatibility),
            array(
                "Composition",
                "Compositions",
                (f"{{0x{a:X}, 0x{b:X}, 0x{c:X}}}" for (a, b), c in sorted(composition.items())),
            ),
        )
    )


if __name__ == "__main__":
    sys.exit(write_or_check(__file__, "tokenizers/unicode_tables.h", make_body))
