#!/usr/bin/env python3
"""Probes the pinned `tokenizers` library and writes the named character sets of its regex engine.

Asked are the general category, the script and some more properties of every code point, which
characters (?i) takes for the same, and which it takes for several: see character_set_tables.h.

Usage: script/generate_character_sets.py [--check]
  --check   compare with the checked-in file instead of writing it; exit status 1 when they differ.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable

from probed_tables import write_or_check
from tokenizers import Regex, normalizers, pre_tokenizers

ALL_TEXT = "".join(chr(cp) for cp in range(0x110000) if not 0xD800 <= cp < 0xE000)


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


CATEGORIES = words(
    "Cn Lo Co Lu Ll Lt Lm Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf"
)
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
# Names of unions of categories, and of the same sets in other words, as the reference knows them.
ALIASES = {
    "Any": CATEGORIES,
    "Assigned": CATEGORIES[1:],
    **{
        name: [c for c in CATEGORIES if c[0] == initial]
        for initial, names in {
            "C": ("C", "Other"),
            "L": ("L", "Letter"),
            "M": ("M", "Mark", "Combining_Mark"),
            "N": ("N", "Number"),
            "P": ("P", "Punctuation", "Punct"),
            "S": ("S", "Symbol"),
            "Z": ("Z", "Separator"),
        }.items()
        for name in names
    },
    "LC": ["Lu", "Ll", "Lt"],
    "Cased_Letter": ["Lu", "Ll", "Lt"],
    "Uppercase_Letter": ["Lu"],
    "Lowercase_Letter": ["Ll"],
    "Titlecase_Letter": ["Lt"],
    "Modifier_Letter": ["Lm"],
    "Other_Letter": ["Lo"],
    "Nonspacing_Mark": ["Mn"],
    "Spacing_Mark": ["Mc"],
    "Enclosing_Mark": ["Me"],
    "Decimal_Number": ["Nd"],
    "Letter_Number": ["Nl"],
    "Other_Number": ["No"],
    "Connector_Punctuation": ["Pc"],
    "Dash_Punctuation": ["Pd"],
    "Open_Punctuation": ["Ps"],
    "Close_Punctuation": ["Pe"],
    "Initial_Punctuation": ["Pi"],
    "Final_Punctuation": ["Pf"],
    "Other_Punctuation": ["Po"],
    "Math_Symbol": ["Sm"],
    "Currency_Symbol": ["Sc"],
    "Modifier_Symbol": ["Sk"],
    "Other_Symbol": ["So"],
    "Space_Separator": ["Zs"],
    "Line_Separator": ["Zl"],
    "Paragraph_Separator": ["Zp"],
    "Control": ["Cc"],
    "Format": ["Cf"],
    "Private_Use": ["Co"],
    "Unassigned": ["Cn"],
}


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Where the reference finds `pattern`."""
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return [offsets for _, offsets in split.pre_tokenize_str(text)]


def members(pattern: str, text: str) -> set[str]:
    """Characters of `text` that are matches of their own."""
    spaced = "\n".join(text)
    found = {spaced[begin:end] for begin, end in matches(pattern, spaced) if end == begin + 1}
    return found & set(text)


def join(values: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Joins ranges of the same value that touch."""
    out: list[tuple[int, int, int]] = []
    for first, last, value in values:
        if out and out[-1][1] == first - 1 and out[-1][2] == value:
            out[-1] = (out[-1][0], last, value)
        else:
            out.append((first, last, value))
    return out


def runs(patterns: list[str]) -> list[tuple[int, int]]:
    """Cuts all code points into ranges of characters that match the same one of `patterns`."""
    found = matches("|".join(f"{pattern}+" for pattern in patterns), ALL_TEXT)
    if sum(end - begin for begin, end in found) != len(ALL_TEXT):
        raise SystemExit("the patterns do not cover all code points")
    ranges: list[tuple[int, int]] = []
    for begin, end in found:
        first, last = ord(ALL_TEXT[begin]), ord(ALL_TEXT[end - 1])
        if first < 0xD800 <= last:
            ranges += [(first, 0xD7FF), (0xE000, last)]
        else:
            ranges.append((first, last))
    return ranges


def partition(names: list[str]) -> list[tuple[int, int, int]]:
    """Ranges of code points by which of the properties `names` they have; they must exclude."""
    ranges = runs([rf"\p{{{name}}}" for name in names])
    text = "".join(chr(first) for first, _ in ranges)
    of: dict[str, int] = {}
    for value, name in enumerate(names):
        for c in members(rf"\p{{{name}}}", text):
            if of.setdefault(c, value) != value:
                raise SystemExit(f"U+{ord(c):04X} is {name} and {names[of[c]]}")
    return join((first, last, of[chr(first)]) for first, last in ranges)


def properties(names: list[str]) -> list[list[tuple[int, int]]]:
    """Ranges of each property."""
    out = []
    for i in range(0, len(names), 4):
        some = names[i : i + 4]
        patterns = []
        for signs in itertools.product(("p", "P"), repeat=len(some)):
            sets = (rf"[\{sign}{{{name}}}]" for sign, name in zip(signs, some, strict=True))
            patterns.append("[" + "&&".join(sets) + "]")
        ranges = runs(patterns[::-1])
        text = "".join(chr(first) for first, _ in ranges)
        for name in some:
            has = members(rf"[\p{{{name}}}]", text)
            joined = join((first, last, 0) for first, last in ranges if chr(first) in has)
            out.append([(first, last) for first, last, _ in joined])
    return out


def bare_word() -> list[tuple[int, int]]:
    r"""Ranges of \w where it stands outside brackets: more than [\w]."""
    found = sorted(
        {ord(c) for begin, end in matches(r"\w+", ALL_TEXT) for c in ALL_TEXT[begin:end]}
    )
    return [(first, last) for first, last, _ in join((cp, cp, 0) for cp in found)]


def check_aliases(categories: list[tuple[int, int, int]]) -> None:
    """Asks the reference for each alias on one character of every range."""
    text = "".join(chr(first) for first, _, _ in categories)
    category = {chr(first): CATEGORIES[value] for first, _, value in categories}
    for name, union in ALIASES.items():
        if members(rf"\p{{{name}}}", text) != {c for c in text if category[c] in union}:
            raise SystemExit(f"{name} is not the union of {union}")


def escape(c: str) -> str:
    """A pattern for one character."""
    return rf"\x{{{ord(c):X}}}"


def spell(characters: str) -> str:
    """Characters in order, as a set spells them."""
    ranges = join((ord(c), ord(c), 0) for c in characters)
    return "".join(f"{escape(chr(first))}-{escape(chr(last))}" for first, last, _ in ranges)


def fold_groups() -> list[list[str]]:
    """Characters that (?i) takes for each other."""
    lowercase = normalizers.Lowercase()
    partners: dict[str, set[str]] = {}
    for c in ALL_TEXT:
        for other in (c.casefold(), c.lower(), c.upper(), c.title(), lowercase.normalize_str(c)):
            if other != c:
                partners.setdefault(c, {c})
                if len(other) == 1:
                    partners[c].add(other)
                    partners.setdefault(other, {other}).add(c)
    by_fold: dict[str, set[str]] = {}
    for c in partners:
        by_fold.setdefault(c.casefold(), set()).add(c)
    for same in by_fold.values():
        for c in same:
            partners[c] |= same
    candidates = "".join(sorted(partners))
    everything = spell(candidates)
    rest = spell("".join(c for c in ALL_TEXT if c not in partners))
    outside = {
        ALL_TEXT[i]
        for begin, end in matches(f"(?i:[{everything}])", ALL_TEXT)
        for i in range(begin, end)
    }
    if outside != set(candidates) or members(f"(?i:[{rest}])", candidates):
        raise SystemExit("characters beyond the candidates fold")
    # Pairs that do match join into groups; then bits of the groups' numbers prove them apart.
    group_of: dict[str, int] = {}
    groups: list[list[str]] = []
    for c in candidates:
        if c in group_of:
            continue
        reachable, queue = {c}, [c]
        while queue:
            a = queue.pop()
            for b in members(f"(?i:{escape(a)})", "".join(sorted(partners[a]))) - reachable:
                reachable.add(b)
                queue.append(b)
        for b in reachable:
            group_of[b] = len(groups)
        groups.append(sorted(reachable))
    for group in groups:
        for c in group:
            if members(f"(?i:{escape(c)})", "".join(group)) != set(group):
                raise SystemExit(f"{group} do not all match each other")
    for bit in range(len(groups).bit_length()):
        for value in (0, 1):
            chosen = [g for i, g in enumerate(groups) if i >> bit & 1 == value]
            pattern = "|".join(f"(?i:{escape(g[0])})" for g in chosen)
            if members(pattern, candidates) != {c for g in chosen for c in g}:
                raise SystemExit("groups of characters that fold are not apart")
    return [group for group in groups if len(group) > 1]


def multi_folds() -> list[tuple[str, str]]:
    """Characters that (?i) takes for several others, and those."""
    out = []
    for c in ALL_TEXT:
        folded = c.casefold()
        if len(folded) == 1:
            continue
        pattern = "".join(map(escape, folded))
        if matches(f"(?i:{pattern})", c) != [(0, 1)]:
            raise SystemExit(f"U+{ord(c):04X} does not match {folded!r}")
        out.append((c, folded))
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


def array(kind: str, name: str, entries: list[str]) -> str:
    """An array and its size."""
    return (
        f"const {kind} k{name}[{len(entries)}] = {{\n{rows(entries)}\n}};\n"
        f"const size_t kNum{name} = {len(entries)};\n"
    )


def make_body() -> str:
    """The tables of character_set_tables.cc."""
    categories = partition(CATEGORIES)
    check_aliases(categories)
    scripts = partition(SCRIPTS)
    names = [(name, "kCategory", CATEGORIES.index(name)) for name in CATEGORIES]
    names += [
        (alias, "kCategory", CATEGORIES.index(category))
        for alias, union in ALIASES.items()
        for category in union
    ]
    names += [(name, "kScript", i) for i, name in enumerate(SCRIPTS)]
    names += [(name, "kProperty", i) for i, name in enumerate(PROPERTIES)]
    # Not a name that a pattern can spell.
    names.append(("\\\\w", "kProperty", len(PROPERTIES)))
    property_ranges = [
        f"{{0x{first:X}, 0x{last:X}, {i}}}"
        for i, ranges in enumerate([*properties(PROPERTIES), bare_word()])
        for first, last in ranges
    ]
    return "\n".join(
        (
            array(
                "SetName",
                "SetNames",
                [
                    f'{{"{name.replace("_", "").lower()}", SetKind::{kind}, {value}}}'
                    for name, kind, value in names
                ],
            ),
            array(
                "SetRange",
                "CategoryRanges",
                [f"{{0x{a:X}, 0x{b:X}, {v}}}" for a, b, v in categories],
            ),
            array(
                "SetRange", "ScriptRanges", [f"{{0x{a:X}, 0x{b:X}, {v}}}" for a, b, v in scripts]
            ),
            array("SetRange", "PropertyRanges", property_ranges),
            array(
                "FoldedCharacter",
                "FoldedCharacters",
                [
                    f"{{0x{ord(c):X}, 0x{ord(group[0]):X}}}"
                    for group in sorted(fold_groups())
                    for c in group
                ],
            ),
            array(
                "MultiFold",
                "MultiFolds",
                [
                    f"{{0x{ord(c):X}, {{{', '.join(f'0x{ord(f):X}' for f in folded)}}}}}"
                    for c, folded in multi_folds()
                ],
            ),
        )
    )


if __name__ == "__main__":
    sys.exit(write_or_check(__file__, "tokenizers/regex/character_set_tables.h", make_body))
