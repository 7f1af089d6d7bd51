"""Asks the pinned `tokenizers` library what it knows about each code point.

One binary of the reference carries several versions of Unicode (Oniguruma's classes, the regex
crate's word characters, the normalization crate's decompositions, the standard library's lowercase,
the segmentation crate's graphemes), so no published table matches it: every property is asked of
the reference itself, for every code point.
"""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CODE_POINTS = [cp for cp in range(0x110000) if not 0xD800 <= cp < 0xE000]
HANGUL_FIRST, HANGUL_LAST = 0xAC00, 0xD7A3


class Normalizer(Protocol):
    """What all normalizers of the library offer."""

    def normalize_str(self, sequence: str, /) -> str:
        """Normalizes one text."""


def chunks(items: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Cuts a list into lists of `size`; the last may be shorter."""
    for first in range(0, len(items), size):
        yield items[first : first + size]


def normalized(
    normalizer: Normalizer, context: Callable[[str], str], separator: str, cps: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """Each code point with what becomes of it in its context; `separator` must stay as it is."""
    for chunk in chunks(cps, 2048):
        texts = [context(chr(cp)) for cp in chunk]
        results = normalizer.normalize_str(separator.join(texts)).split(separator)
        if any(separator in text for text in texts) or len(results) != len(texts):
            results = [normalizer.normalize_str(text) for text in texts]
        yield from zip(chunk, results, strict=True)


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


def isolated_by(pre_tokenizer: pre_tokenizers.PreTokenizer) -> set[int]:
    """Code points that the pre-tokenizer makes words of their own between letters."""
    members: set[int] = set()
    for chunk in chunks(CODE_POINTS, 2048):
        text = "a" + "".join(chr(cp) + "a" for cp in chunk)
        for piece, _ in pre_tokenizer.pre_tokenize_str(text):
            if len(piece) == 1 and piece != "a":
                members.add(ord(piece))
    return members


def removed_by(pre_tokenizer: pre_tokenizers.PreTokenizer) -> set[int]:
    """Code points that the pre-tokenizer drops."""
    members = set(CODE_POINTS)
    for chunk in chunks(CODE_POINTS, 2048):
        for piece, _ in pre_tokenizer.pre_tokenize_str("".join(map(chr, chunk))):
            members.difference_update(map(ord, piece))
    return members


def numeric_characters() -> set[int]:
    """What the Digits pre-tokenizer takes for a number."""
    return isolated_by(pre_tokenizers.Digits(individual_digits=True))


def punctuation() -> set[int]:
    """What BertPreTokenizer and Punctuation take for punctuation."""
    members = isolated_by(pre_tokenizers.BertPreTokenizer())
    if members != isolated_by(pre_tokenizers.Punctuation()):
        raise SystemExit("BertPreTokenizer and Punctuation differ in what is punctuation")
    return members


def white_space() -> set[int]:
    """White space, which all parts of the reference must agree on."""
    members = in_class(r"\s")
    strip = normalizers.Strip()
    for name, found in (
        ("Strip", {cp for cp in CODE_POINTS if not strip.normalize_str(chr(cp))}),
        ("WhitespaceSplit", removed_by(pre_tokenizers.WhitespaceSplit())),
        ("BertPreTokenizer", removed_by(pre_tokenizers.BertPreTokenizer())),
    ):
        if found != members:
            raise SystemExit(f"{name} differs from \\s in what is white space")
    return members


def removed_and_spaced(normalizer: Normalizer) -> tuple[set[int], set[int]]:
    """Code points that the normalizer drops, and those it turns into a space."""
    removed: set[int] = set()
    spaced: set[int] = set()
    for cp, result in normalized(normalizer, lambda c: f"a{c}b", "|", CODE_POINTS):
        if result == "ab":
            removed.add(cp)
        elif result == "a b" and cp != 0x20:
            spaced.add(cp)
        elif result != f"a{chr(cp)}b":
            raise SystemExit(f"U+{cp:04X} becomes {result!r}, which no table can tell")
    return removed, spaced


def surrounded_by_spaces() -> set[int]:
    """What BertNormalizer takes for Chinese."""
    bert = normalizers.BertNormalizer(False, True, False, False)
    return {
        cp
        for cp, result in normalized(bert, lambda c: f"a{c}b", "|", CODE_POINTS)
        if result == f"a {chr(cp)} b"
    }


def nonspacing_marks() -> set[int]:
    """What BertNormalizer takes for an accent after decomposition."""
    bert = normalizers.BertNormalizer(False, False, True, False)
    return {
        cp
        for cp, result in normalized(bert, lambda c: f"a{c}b", "|", CODE_POINTS)
        if result == "ab"
    }


def mapping(normalizer: Normalizer) -> dict[int, str]:
    """Code points that the normalizer changes, with what it makes of each."""
    return {
        cp: result
        for cp, result in normalized(normalizer, lambda c: c, "|", CODE_POINTS)
        if result != chr(cp)
    }


def combining_classes(nfd: normalizers.NFD) -> dict[int, int]:
    """Canonical combining classes, found by which anchor marks a code point swaps with."""
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


def scripts() -> dict[int, int]:
    """Scripts other than Any as UnicodeScripts tells them apart, numbered from 1 as they come."""
    split = pre_tokenizers.UnicodeScripts()
    known = [cp for cp in CODE_POINTS if split.pre_tokenize_str(chr(cp))]
    representatives: list[str] = []

    def script_of(cp: int) -> int:
        for number, other in enumerate(representatives, 1):
            if len(split.pre_tokenize_str(other + chr(cp))) == 1:
                return number
        representatives.append(chr(cp))
        return len(representatives)

    numbers: dict[int, int] = {}
    for chunk in chunks(known, 2048):
        for piece, _ in split.pre_tokenize_str("".join(map(chr, chunk))):
            numbers.update(dict.fromkeys(map(ord, piece), script_of(ord(piece[0]))))
    return numbers


def charsmap(replacements: dict[str, str]) -> bytes:
    """A Precompiled character map: a double array over UTF-8 bytes and the texts it points to."""
    trie: dict[int, dict] = {}  # type: ignore[type-arg]
    pool = b""
    for key, value in replacements.items():
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = len(pool)  # type: ignore[assignment]
        pool += value.encode() + b"\0"
    units: dict[int, int] = {0: 0}

    def assign(node: dict, position: int, label: int) -> None:  # type: ignore[type-arg]
        base = 1
        while any((base ^ byte) in units for byte in node):
            base += 1
        offset = position ^ base
        units[position] = label | offset << 10 | (0x100 if 0 in node else 0)
        units.update({base ^ byte: 0 for byte in node})
        for byte, child in node.items():
            if byte == 0:
                units[base] = child | 1 << 31
            else:
                assign(child, base ^ byte, byte)

    assign(trie, 0, 0)
    size = (max(units) | 0xFF) + 1
    array = struct.pack(f"<{size}I", *(units.get(i, 0) for i in range(size)))
    return struct.pack("<I", len(array)) + array + pool


# What grapheme_classes gives; unicode_tables.h names them.
GRAPHEME_CONTROL, GRAPHEME_EXTEND, GRAPHEME_ZWJ, GRAPHEME_SPACING, GRAPHEME_PREPEND = 1, 2, 3, 4, 5
GRAPHEME_L, GRAPHEME_V, GRAPHEME_T, GRAPHEME_PICTOGRAPH, GRAPHEME_CONSONANT = 6, 7, 8, 9, 10
GRAPHEME_LINKER, GRAPHEME_CONJUNCT_EXTEND = 16, 32


def grapheme_classes() -> dict[int, int]:
    """Grapheme cluster properties, as far as Precompiled can depend on them.

    A cluster below six bytes is replaced as a whole by what its shortest prefix maps to. So of
    `head` + U+0301, with `head` mapped to "!", only "!" is left where a cluster starts at `head`,
    and the accent is left too where `head` belongs to the cluster before.
    """

    def joined(before: Callable[[str], str], head: str, tail: str = "\u0301") -> set[int]:
        normalizer = normalizers.Precompiled(charsmap({head: "!"}))
        return {
            cp
            for cp, result in normalized(
                normalizer, lambda c: before(c) + head + tail, "\n", CODE_POINTS
            )
            if not result.endswith("!")
        }

    follows_a = normalizers.Precompiled(charsmap({"a": "!"}))
    extending = {
        cp
        for cp, result in normalized(follows_a, lambda c: "a" + c, "\n", CODE_POINTS)
        if result == "!"
    }
    accented = joined(lambda c: c, "\u0301", "\u0300")
    control = set(CODE_POINTS) - accented
    prepend = joined(lambda c: c, "a")
    lead = joined(lambda c: c, "\u1100") - prepend
    vowel = joined(lambda c: c, "\u1161") - prepend - lead
    trail = joined(lambda c: c, "\u11a8") - prepend - vowel
    joiner = joined(lambda c: "\u00a9" + c, "\u2764") - prepend
    pictograph = joined(lambda c: c + "\u200d", "\u2764")
    extend = joined(lambda c: "\u00a9" + c + "\u200d", "\u2764") - pictograph
    consonant = joined(lambda c: c + "\u094d", "\u0915")
    linker = joined(lambda c: "\u0915" + c, "\u0915") - prepend
    conjunct = joined(lambda c: "\u0915" + c + "\u094d", "\u0915") - consonant
    syllables = set(range(HANGUL_FIRST, HANGUL_LAST + 1))
    if vowel & syllables != set(range(HANGUL_FIRST, HANGUL_LAST + 1, 28)):
        raise SystemExit("Hangul syllables do not cluster by arithmetic")
    if not syllables - vowel <= trail or not linker | joiner | extend <= extending:
        raise SystemExit("the grapheme clusters of the reference have changed their rules")

    classes: dict[int, int] = {}
    for members, value in (
        (extending, GRAPHEME_SPACING),
        (extend, GRAPHEME_EXTEND),
        (joiner, GRAPHEME_ZWJ),
        (control, GRAPHEME_CONTROL),
        (prepend, GRAPHEME_PREPEND),
        (lead, GRAPHEME_L),
        (vowel - syllables, GRAPHEME_V),
        (trail - syllables, GRAPHEME_T),
        (pictograph, GRAPHEME_PICTOGRAPH),
        (consonant, GRAPHEME_CONSONANT),
    ):
        classes.update(dict.fromkeys(members, value))
    for members, bit in ((linker, GRAPHEME_LINKER), (conjunct, GRAPHEME_CONJUNCT_EXTEND)):
        for cp in members:
            classes[cp] = classes.get(cp, 0) | bit
    return classes
