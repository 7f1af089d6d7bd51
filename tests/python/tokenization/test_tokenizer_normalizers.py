"""Normalizers against the pinned library, through whole tokenizers.

Behind the normalizer stands a byte-level model of 256 symbols, so that the ids are the bytes of the
normal form.
"""

import base64
import json
import random
import tempfile
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from data_folders import SHARED, tokenizer_folder
from hypothesis import given, settings
from hypothesis import strategies as st

from easydata import Tokenizer

tokenizers = pytest.importorskip("tokenizers")

T5 = tokenizer_folder("t5-small" if SHARED.is_dir() else "unigram")

Component = dict[str, Any]


def alphabet() -> list[str]:
    """The characters that stand for the bytes 0 to 255 in byte-level vocabularies."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def file_of(normalizer: Component, byte_level: bool = True) -> str:
    """A tokenizer.json around a normalizer."""
    characters = alphabet()
    model: Component = {"type": "BPE", "vocab": {c: i for i, c in enumerate(characters)}}
    mapping = {"add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": normalizer,
            "pre_tokenizer": {"type": "ByteLevel", **mapping} if byte_level else None,
            "post_processor": None,
            "decoder": None,
            "model": {**model, "merges": []},
        }
    )


def load(text: str) -> Tokenizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(text, encoding="utf-8")
        return Tokenizer(path)


def normal_forms(normalizer: Any, texts: Sequence[str]) -> list[str | None]:
    """What the library makes of the texts; None where it panics."""
    forms: list[str | None] = []
    for text in texts:
        try:
            forms.append(normalizer.normalize_str(text))
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            forms.append(None)
    return forms


def check(normalizer: Component, texts: Sequence[str]) -> None:
    """Ours runs natively and gives all texts the library's form."""
    text = file_of(normalizer)
    library = tokenizers.Tokenizer.from_str(text).normalizer
    tokenizer = load(text)
    assert tokenizer.engine == "native", tokenizer.describe()
    ids = tokenizer.encode_batch(list(texts), add_special_tokens=False).to_pylist()
    for source, form, got in zip(texts, normal_forms(library, texts), ids, strict=True):
        assert form is not None
        assert bytes(got) == form.encode(), (normalizer, source)


def bert(clean: bool, chinese: bool, accents: bool | None, lowercase: bool) -> Component:
    return {
        "type": "BertNormalizer",
        "clean_text": clean,
        "handle_chinese_chars": chinese,
        "strip_accents": accents,
        "lowercase": lowercase,
    }


def replace(pattern: Component, content: str) -> Component:
    return {"type": "Replace", "pattern": pattern, "content": content}


def sequence(*parts: Component) -> Component:
    return {"type": "Sequence", "normalizers": list(parts)}


def precompiled(entries: dict[str, str]) -> Component:
    """A Precompiled with a map of its own."""
    from unicode_probes import charsmap

    encoded = base64.b64encode(charsmap(entries)).decode()
    return {"type": "Precompiled", "precompiled_charsmap": encoded}


# Keys of all lengths, among them such as clusters begin with, and a character for itself.
CHARSMAP = {
    "a": "!",
    "e\u0301": "E",
    "\r": " ",
    "\n": "_",
    "\u0915": "K",
    "\u0915\u094d": "KV",
    "\u1100": "g",
    "\u1161": "v",
    "\u11a8": "t",
    "\uac00": "ga",
    "\u00a9": "(c)",
    "\u2764": "",
    "\u0301": "'",
    "\u0300": "",
    "\u4e2d": "\u4e2d",
    "\u00e9": "e\u0301",
    "\U0001f600": ":)",
    "\u0600": "P",
}

FLAGS = (True, False)
NORMALIZERS: dict[str, Component] = {
    **{kind: {"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt")},
    **{kind: {"type": kind} for kind in ("StripAccents", "ByteLevel")},
    **{
        f"bert-{clean:d}{chinese:d}{accents}{lower:d}": bert(clean, chinese, accents, lower)
        for clean in FLAGS
        for chinese in FLAGS
        for accents in (*FLAGS, None)
        for lower in FLAGS
    },
    **{
        f"strip-{left:d}{right:d}": {"type": "Strip", "strip_left": left, "strip_right": right}
        for left in FLAGS
        for right in FLAGS
    },
    "prepend": {"type": "Prepend", "prepend": "▁"},
    "precompiled": precompiled(CHARSMAP),
    "replace-space": replace({"String": " "}, "▁"),
    "replace-dot": replace({"String": "."}, "!?"),
    "replace-run": replace({"Regex": " {2,}"}, " "),
    "replace-digits": replace({"Regex": r"\d+"}, "<$0>"),
    "replace-accent": replace({"String": "e\u0301"}, ""),
}
NORMALIZERS["t5"] = json.loads((T5 / "tokenizer.json").read_text(encoding="utf-8"))["normalizer"]

# Characters that some normalizer treats in a way of its own, and strings that meet in clusters.
ATOMS = (
    "a A z Z é É ß ẞ İ ı Σ ς Ⱥ ﬁ ﬀ ½ ² Å Å e\u0301 \u0301 \u0323 \u0315 \u0327 \u0344 \u0f71 \u0f73"
    " q\u0307\u0323 1 23 ٣ 中 文 \u3400 \U0002b820 \U0002f800 \uf900 ガ ｶﾞ カ\u3099 가 각 \u1100"
    " \u1161 \u11a8 क क\u094d ष \u093c न\u093c ไ ก\u0e48\u0e38 ع \u0653 ا\u0653 © © \u200d ❤"
    " 🙂 👨‍👩‍👧 🇩🇪"
    " \u0600 \u200b \u200c \u200e \ufeff \x00 \x01 \x0b \x7f \x85 \xa0 \xad \u1680 \u2028 \u3000 ▁"
    " \ufffd \ue000 \u0378 \u08d4 \u1b44 \u302e \U0001e94a \U00010eab . , ' - _ $ < | ` ~ \u2019 。"
    " \t \n \r \r\n"
)
PIECES = [*ATOMS.split(" "), " ", "  ", "   ", "abc", "The quick brown fox, "]
TEXTS = st.one_of(st.text(max_size=20), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))


def random_texts(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(PIECES, k=rng.randint(0, 16))) for _ in range(count)]


def code_points(every: bool) -> list[int]:
    """All code points, or those that are not one of many alike, and some of the others."""
    rng = random.Random(1)
    alike = {"Cn", "Co", "Lo"}
    return [
        cp
        for cp in range(0x110000)
        if not 0xD800 <= cp < 0xE000
        and (every or unicodedata.category(chr(cp)) not in alike or rng.random() < 0.05)
    ]


def lines_of(cps: Sequence[int], context: Callable[[str], str]) -> list[str]:
    """Every code point in its context, a hundred to a text."""
    return ["".join(context(chr(cp)) for cp in cps[i : i + 100]) for i in range(0, len(cps), 100)]


CONTEXTS: dict[str, Callable[[str], str]] = {
    "between letters": lambda c: f"A{c}b",
    "between marks": lambda c: f"e\u0301{c}\u0327\u0301 ",
}


@pytest.mark.parametrize("name", NORMALIZERS)
def test_random_texts(name: str) -> None:
    check(NORMALIZERS[name], random_texts(2, 1500))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", NORMALIZERS)
def test_code_points(name: str, context: str) -> None:
    check(NORMALIZERS[name], lines_of(code_points(every=False), CONTEXTS[context]))


@pytest.mark.sliced
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", NORMALIZERS)
def test_all_code_points(name: str, context: str) -> None:
    check(NORMALIZERS[name], lines_of(code_points(every=True), CONTEXTS[context]))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(NORMALIZERS)), max_size=4),
    st.lists(TEXTS, min_size=1, max_size=8),
)
def test_any_sequence(names: list[str], texts: list[str]) -> None:
    check(sequence(*(NORMALIZERS[name] for name in names)), texts)


# A pattern that matches nothing at the start of the text makes the library lose its place.
INSERTING = (
    replace({"String": ""}, "-"),
    replace({"Regex": "^"}, ">"),
    replace({"Regex": r"\b"}, "|"),
    replace({"Regex": "x*"}, "e"),
    {"type": "Prepend", "prepend": ""},
)
BEHIND = (
    *(NORMALIZERS[name] for name in ("NFC", "NFD", "Lowercase", "StripAccents", "Nmt", "strip-11")),
    *(NORMALIZERS[name] for name in ("prepend", "precompiled", "strip-01", "bert-00True0")),
    replace({"String": "-"}, "<<"),
    replace({"String": "-a"}, ""),
    replace({"Regex": "a+"}, "bb"),
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("first", INSERTING, ids=lambda part: json.dumps(part)[:60])
def test_text_that_is_inserted_at_the_start(first: Component) -> None:
    """Where the library crashes in a later step we raise; where it garbles the text, so do we."""
    rng = random.Random(3)
    texts = [
        "".join(rng.choices("ab  \u0301\u0327ex\x01\u00e9", k=rng.randint(0, 5))) for _ in range(60)
    ]
    for _ in range(40):
        parts = [first, *rng.choices([*INSERTING, *BEHIND], k=rng.randint(0, 3))]
        # No ByteLevel, which would crash too: characters of the alphabet stand for themselves.
        text = file_of(sequence(*parts), byte_level=False)
        library = tokenizers.Tokenizer.from_str(text)
        tokenizer = load(text)
        assert tokenizer.engine == "native", tokenizer.describe()
        for source, form in zip(texts, normal_forms(library.normalizer, texts), strict=True):
            if form is None:
                with pytest.raises(ValueError, match="normalizer"):
                    tokenizer.encode(source)
            else:
                assert tokenizer.encode(source).tolist() == library.encode(source).ids, (
                    parts,
                    source,
                )


def test_byte_level_behind_text_that_is_inserted_at_the_start() -> None:
    text = file_of(INSERTING[1])
    with pytest.raises(BaseException, match="index out of bounds"):
        tokenizers.Tokenizer.from_str(text).encode("ab")
    tokenizer = load(text)
    with pytest.raises(ValueError, match="normalizer"):
        tokenizer.encode("ab")
    assert tokenizer.encode("").tolist() == []


ODD: tuple[Any, ...] = (
    {"prepend": "x"},
    {"type": "Zzz", "strip_left": True, "strip_right": False},
    {"normalizers": [{"prepend": "x"}, {"prepend": "y"}]},
    {"prepend": "q", "pattern": {"String": "a"}, "content": "b"},
    {"clean_text": True, "handle_chinese_chars": True, "lowercase": True, "prepend": "x"},
    {"type": "NFC", "strip_left": True, "strip_right": True},
    {"type": "Bert", "clean_text": True, "handle_chinese_chars": False, "lowercase": True},
    ["x"],
    [True, True],
    "NFC",
    {},
    {"type": "Zzz"},
    {"type": "Strip", "strip_left": True},
    {"type": "Strip", "strip_left": 1, "strip_right": True},
    {"type": "Replace", "pattern": "a", "content": "b"},
    {"type": "Replace", "pattern": {"String": "a", "Regex": "b"}, "content": "b"},
    {"type": "Sequence", "normalizers": [None]},
    {"type": "Precompiled", "precompiled_charsmap": ""},
    {"type": "Precompiled", "precompiled_charsmap": "AAAA\n"},
    {"precompiled_charsmap": NORMALIZERS["precompiled"]["precompiled_charsmap"]},
)


@pytest.mark.parametrize("normalizer", ODD, ids=lambda odd: json.dumps(odd)[:40])
def test_odd_components_load_as_in_the_library(normalizer: Any) -> None:
    text = file_of(normalizer)
    try:
        library = tokenizers.Tokenizer.from_str(text)
    except BaseException:
        with pytest.raises(ValueError, match=r"."):
            load(text)
        return
    tokenizer = load(text)
    for source in ("", " aB\t", "\u00c9 \u4e2d"):
        assert tokenizer.encode(source).tolist() == library.encode(source).ids


def test_long_texts_take_linear_time() -> None:
    """A megabyte of what a careless normalizer takes quadratic time for."""
    for name, unit in (
        ("NFC", "\u0307\u0323"),
        ("NFKD", "\uac01"),
        ("bert-11None1", "\u08d4\u1b44"),
        ("precompiled", "\u0301"),
        ("replace-accent", "e"),
        ("strip-11", " "),
    ):
        text = "a" + unit * (1_000_000 // len(unit.encode()))
        tokenizer = load(file_of(NORMALIZERS[name]))
        assert len(tokenizer.encode(text)) > 0


def test_the_generator_knows_the_rules_of_clusters() -> None:
    """Its charsmap builder makes what the library reads."""
    library = tokenizers.Tokenizer.from_str(file_of(NORMALIZERS["precompiled"])).normalizer
    for key, value in CHARSMAP.items():
        if key not in ("e\u0301", "\u0915\u094d"):  # whose shorter prefixes win, or not
            assert library.normalize_str(key) == value
