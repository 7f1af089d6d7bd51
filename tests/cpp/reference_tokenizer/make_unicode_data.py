#!/usr/bin/env python3
"""Writes what the reference tokenizer knows of characters: generated/unicode_data.cc.

The engine's tables come from script/generate_*.py. Nothing is shared with those, and what can be
had elsewhere is not asked of the `tokenizers` library as they ask it:

- decompositions, compositions, combining classes and white space are those of Python's unicodedata,
  for the characters that the library, whose Unicode is older, knows;
- breaks between graphemes are those of the `regex` package, but for the few characters that its
  Unicode, which is newer, changed;
- the rest is asked of the library, one character at a time.

Usage: make_unicode_data.py [--check]   (--check only says whether the file is up to date)
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import regex
import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

OUTPUT = Path(__file__).resolve().parent / "generated" / "unicode_data.cc"
NAMESPACE = "easydata::tokenizers::reference::unicode_data"
PINNED = "0.23.3"

CHARACTERS = [chr(cp) for cp in range(0x110000) if not 0xD800 <= cp < 0xE000]
SYLLABLES = {chr(cp) for cp in range(0xAC00, 0xAC00 + 11172)}


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


CATEGORIES = words(
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn"
)
# Names of Unicode's scripts and properties that the library's regex engine knows.
SCRIPTS = words("""
Unknown Han Hangul Common Latin Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese
Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal
Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Coptic Cuneiform Cypriot Cypro_Minoan
Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic
Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema
Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi
Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi
Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Lepcha Limbu Linear_A Linear_B Lisu Lycian
Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek
Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar
Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki
Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian
Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau
Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham
SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac Tagalog
Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh
Tirhuta Todhri Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi
Zanabazar_Square
""")
PROPERTIES = words("""
Alnum Alpha Alphabetic Blank Cntrl Digit Graph Lower Lowercase Print PosixPunct Space Upper
Uppercase White_Space Word XDigit ASCII_Hex_Digit Cased Dash Default_Ignorable_Code_Point Diacritic
Emoji Emoji_Component Emoji_Modifier Emoji_Modifier_Base Emoji_Presentation Extended_Pictographic
Hex_Digit Ideographic Join_Control Math Quotation_Mark Regional_Indicator Terminal_Punctuation
Unified_Ideograph Variation_Selector
""")
# Numbers of unicode_data.h.
BREAKS = {
    "Control": 1,
    "Extend": 2,
    "ZWJ": 3,
    "SpacingMark": 4,
    "Prepend": 5,
    "L": 6,
    "V": 7,
    "T": 8,
}
PICTOGRAPHIC = 9
# Nothing, and pictographs, to the Unicode that the library finds graphemes by.
MARKS_SINCE = (
    (0x05C8, 0x05C9), (0x0B53, 0x0B54), (0x1ADE, 0x1ADF), (0x1AEC, 0x1AF0), (0x10ECB, 0x10ECF),
    (0x10EF0, 0x10EF9), (0x11DF0, 0x11DF0), (0x1D127, 0x1D128), (0x1D250, 0x1D252),
    (0x1D25B, 0x1D25C), (0x1D25F, 0x1D25F), (0x1D280, 0x1D281),
)  # fmt: skip
PICTOGRAPHS_BEFORE = (
    (0x1F1AE, 0x1F1AE), (0x1F7DA, 0x1F7DB), (0x1F7F1, 0x1F7FF),
)  # fmt: skip
CONJUNCTS_SINCE = (
    (0x1CF5, 0x1CF6), (0x11A3A, 0x11A3A), (0x11B0A, 0x11B0A), (0x11DF1, 0x11DF1),
)  # fmt: skip
CONJUNCT_BREAKS = {"Consonant": 1, "Linker": 2, "Extend": 3}


def require(condition: bool, what: str) -> None:
    """Ends the script where something is not as this file takes for granted."""
    if not condition:
        raise SystemExit(f"make_unicode_data: {what}")


def pieces(pre_tokenizer: pre_tokenizers.PreTokenizer, text: str) -> list[str]:
    """The words of a text."""
    return [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)]


def those(holds: Callable[[str], bool]) -> set[str]:
    """The characters of which something holds."""
    return {c for c in CHARACTERS if holds(c)}


def in_class(name: str) -> set[str]:
    """What the library's regex engine has in a class."""
    everything = "".join(CHARACTERS)
    return set("".join(pieces(pre_tokenizers.Split(Regex(f"[^{name}]+"), "removed"), everything)))


def classes() -> dict[str, set[str]]:
    """Classes of the library's regex engine."""
    found = {name: in_class(rf"\p{{{name}}}") for name in [*CATEGORIES, *SCRIPTS, *PROPERTIES]}
    found["w"] = in_class(r"\w")
    require(
        sum(len(found[name]) for name in SCRIPTS) == len(CHARACTERS),
        "characters have no script, or several",
    )
    require(
        sum(len(found[name]) for name in CATEGORIES) == len(CHARACTERS),
        "characters have no category, or several",
    )
    # A newer Unicode has other categories for some characters, but for very few.
    category = {c: name for name in CATEGORIES for c in found[name]}
    changed = those(lambda c: unicodedata.category(c) not in ("Cn", category[c]))
    require(len(changed) < 20, f"the categories are not Python's: {sorted(changed)}")
    return found


def white_space() -> set[str]:
    """The property White_Space, which never changes."""
    found = those(lambda c: c in "\t\n\v\f\r\x85" or unicodedata.category(c) in ("Zs", "Zl", "Zp"))
    require(len(found) == 25, "white space is other than it was")
    return found


def is_word(split: pre_tokenizers.Whitespace) -> Callable[[str], bool]:
    r"""Whether a character is \w to the Whitespace pre-tokenizer."""
    return lambda c: len(pieces(split, f"a{c}a")) == 1


def stands_alone(split: pre_tokenizers.PreTokenizer) -> Callable[[str], bool]:
    """Whether the pre-tokenizer makes a word of the character."""
    return lambda c: pieces(split, f"a{c}a") == ["a", c, "a"]


def is_dropped(normalizer: normalizers.Normalizer) -> Callable[[str], bool]:
    """Whether nothing is left of the character."""
    return lambda c: normalizer.normalize_str(f"a{c}b") == "ab"


def decompositions(form: str, library: normalizers.Normalizer) -> dict[str, str]:
    """What characters decompose to, all the way."""
    found = {}
    for c in CHARACTERS:
        decomposed = library.normalize_str(c)
        if c in SYLLABLES or decomposed == c:
            continue
        require(unicodedata.normalize(form, c) == decomposed, f"{form} of U+{ord(c):04X}")
        found[c] = decomposed
    return found


def combining_classes() -> dict[str, int]:
    """Classes of marks; the library's Unicode is older, and does not know all of Python's."""
    nfd = normalizers.NFD()
    first, last = "\u0334", "\u0345"  # of the classes 1 and 240, the lowest and the highest

    def moves(c: str) -> bool:
        return nfd.normalize_str(last + c) == c + last or nfd.normalize_str(c + first) == first + c

    marks = {}
    for c in CHARACTERS:
        if unicodedata.decomposition(c) and nfd.normalize_str(c) != c:
            continue
        if c in (first, last) or moves(c):
            marks[c] = unicodedata.combining(c)
            require(marks[c] > 0, f"U+{ord(c):04X} is no mark in Python's Unicode")
    backwards = sorted(marks, reverse=True)
    require(
        nfd.normalize_str("a" + "".join(backwards))
        == "a" + "".join(sorted(backwards, key=lambda c: marks[c])),
        "marks have other classes",
    )
    return marks


def compositions() -> dict[tuple[str, str], str]:
    """Pairs that NFC joins."""
    nfc = normalizers.NFC()
    found = {}
    for c in CHARACTERS:
        parts = [p for p in unicodedata.decomposition(c).split() if not p.startswith("<")]
        if len(parts) != 2 or unicodedata.decomposition(c).startswith("<"):
            continue
        first, second = (chr(int(part, 16)) for part in parts)
        if nfc.normalize_str(first + second) == c:
            found[first, second] = c
    return found


def scripts() -> dict[str, int]:
    """Scripts of the UnicodeScripts pre-tokenizer; characters of any script are left out."""
    split = pre_tokenizers.UnicodeScripts()
    examples: list[str] = []
    numbers: dict[str, int] = {}
    last = ""
    for c in CHARACTERS:
        if not pieces(split, c):
            continue
        if last and len(pieces(split, last + c)) == 1:
            numbers[c] = numbers[last]
        else:
            same = (i for i, one in enumerate(examples, 1) if len(pieces(split, one + c)) == 1)
            numbers[c] = next(same, len(examples) + 1)
            if numbers[c] > len(examples):
                examples.append(c)
        last = c
    return numbers


def spread(ranges_of: Iterable[tuple[int, int]]) -> Iterator[str]:
    """The characters of ranges."""
    return (chr(cp) for first, last in ranges_of for cp in range(first, last + 1))


def grapheme_breaks() -> dict[str, int]:
    """Grapheme_Cluster_Break and, of no kind there, Extended_Pictographic."""
    found: dict[str, int] = {}
    for name, number in BREAKS.items():
        member = regex.compile(rf"\p{{Grapheme_Cluster_Break={name}}}")
        found.update({c: number for c in CHARACTERS if member.match(c)})
    pictographic = regex.compile(r"\p{Extended_Pictographic}")
    found.update({c: PICTOGRAPHIC for c in CHARACTERS if pictographic.match(c)})
    found.update(dict.fromkeys(spread(PICTOGRAPHS_BEFORE), PICTOGRAPHIC))
    for c in spread(MARKS_SINCE):
        require(found.pop(c) == BREAKS["Extend"], f"U+{ord(c):04X} is no mark")
    return found


def conjunct_breaks() -> dict[str, int]:
    """Indic_Conjunct_Break."""
    found: dict[str, int] = {}
    new = set(spread((*MARKS_SINCE, *CONJUNCTS_SINCE)))
    for name, number in CONJUNCT_BREAKS.items():
        member = regex.compile(rf"\p{{Indic_Conjunct_Break={name}}}")
        found.update({c: number for c in CHARACTERS if member.match(c) and c not in new})
    return found


def code(c: str) -> str:
    """A character as C++ spells its number."""
    return f"0x{ord(c):X}"


def runs(values: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    """Neighbours that share a value: first, last, value."""
    first = last = ""
    for c in sorted(values):
        if last and ord(c) == ord(last) + 1 and values[c] == values[first]:
            last = c
            continue
        if last:
            yield first, last, values[first]
        first = last = c
    if last:
        yield first, last, values[first]


def table(kind: str, name: str, entries: Iterable[str]) -> str:
    """The definition of one table."""
    lines, line = [], "   "
    for entry in entries:
        if len(line) + len(entry) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {entry},"
    body = "\n".join([*lines, line])
    return (
        f"constexpr {kind} k{name}Entries[] = {{\n{body}\n}};\n"
        f"constinit const std::span<const {kind}> k{name} = k{name}Entries;\n"
    )


def ranges(name: str, members: set[str]) -> str:
    """A table of Range."""
    values = dict.fromkeys(members, None)
    return table("Range", name, (f"{{{code(a)}, {code(b)}}}" for a, b, _ in runs(values)))


def value_ranges(name: str, values: Mapping[str, int]) -> str:
    """A table of ValueRange."""
    return table("ValueRange", name, (f"{{{code(a)}, {code(b)}, {v}}}" for a, b, v in runs(values)))


def mappings(name: str, values: Mapping[str, str]) -> str:
    """A table of Mapping."""

    def spelled(text: str) -> str:
        return "".join(f"\\x{ord(c):X}" for c in text)

    return table(
        "Mapping", name, (f'{{{code(c)}, U"{spelled(values[c])}"}}' for c in sorted(values))
    )


def class_ranges(found: Mapping[str, set[str]]) -> str:
    """The table of classes."""
    entries = (
        f'{{"{name}", {code(a)}, {code(b)}}}'
        for name, members in found.items()
        for a, b, _ in runs(dict.fromkeys(members, None))
    )
    return table("ClassRange", "Classes", entries)


def make_body() -> str:
    """The tables."""
    found = classes()
    lowercase = normalizers.Lowercase()
    canonical = decompositions("NFD", normalizers.NFD())
    compatibility = decompositions("NFKD", normalizers.NFKD())
    bert = normalizers.BertNormalizer
    return "\n".join(
        (
            class_ranges(found),
            ranges("WhiteSpace", white_space()),
            ranges("Numeric", those(stands_alone(pre_tokenizers.Digits(individual_digits=True)))),
            ranges("Word", those(is_word(pre_tokenizers.Whitespace()))),
            ranges("Punctuation", those(stands_alone(pre_tokenizers.Punctuation("isolated")))),
            ranges("NonspacingMarks", those(is_dropped(bert(False, False, True, False)))),
            ranges("Other", those(is_dropped(bert(True, False, False, False)))),
            ranges("CombiningMarks", those(is_dropped(normalizers.StripAccents()))),
            mappings(
                "Lowercase",
                {c: low for c in CHARACTERS if (low := lowercase.normalize_str(c)) != c},
            ),
            mappings("CanonicalDecompositions", canonical),
            mappings(
                "CompatibilityDecompositions",
                {c: parts for c, parts in compatibility.items() if canonical.get(c) != parts},
            ),
            value_ranges("CombiningClasses", combining_classes()),
            table(
                "Composition",
                "Compositions",
                (
                    f"{{{code(a)}, {code(b)}, {code(c)}}}"
                    for (a, b), c in sorted(compositions().items())
                ),
            ),
            value_ranges("Scripts", scripts()),
            value_ranges("GraphemeBreaks", grapheme_breaks()),
            value_ranges("ConjunctBreaks", conjunct_breaks()),
        )
    )


def main() -> int:
    """Writes the file, or says whether it is up to date."""
    require(tokenizers.__version__ == PINNED, f"tokenizers {PINNED} is pinned")
    text = (
        f"// Generated by {Path(__file__).name}; do not edit.\n"
        f'\n#include "reference_tokenizer/unicode_data.h"\n\n'
        f"namespace {NAMESPACE} {{\n\n"
        "// clang-format off\n"
        f"{make_body()}"
        "// clang-format on\n\n"
        f"}}  // namespace {NAMESPACE}\n"
    )
    if "--check" in sys.argv[1:]:
        same = OUTPUT.read_text(encoding="utf-8") == text
        print(f"{OUTPUT.name} is up to date" if same else f"{OUTPUT.name} differs")
        return 0 if same else 1
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
