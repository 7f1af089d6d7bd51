"""Pre-tokenizers and the regex translator against the pinned library, through whole tokenizers.

The vocabulary is made of the library's own pieces, so that ids show every cut.
"""

import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import ROOT, run_python

from easydata import Tokenizer

tokenizers = pytest.importorskip("tokenizers")

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
END = r"\s*[\r\n]+|\s+(?!\S)|\s+"


def items(text: str) -> list[str]:
    """What spaces stand between."""
    return [item for item in text.split(" ") if item]


def cased(contractions: str, digits: str, more: str = "", break_behind: str = r"[\r\n/]*") -> str:
    """The patterns of o200k and its descendants."""
    upper, lower = f"[{UPPER}{more}]", f"[{LOWER}{more}]"
    prefix = r"[^\r\n\p{L}\p{N}]?"
    return (
        rf"{prefix}{upper}*{lower}+{contractions}|{prefix}{upper}+{lower}*{contractions}|"
        rf"{digits}| ?[^\s\p{{L}}\p{{N}}]+{break_behind}|{END}"
    )


DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
    "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|" + END,
)

# Patterns of known tokenizers, and some that try the syntax.
PATTERNS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama3": rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|"
    rf" ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{END}",
    "qwen2": rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|"
    rf" ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{END}",
    "qwen35": rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}|"
    rf" ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{END}",
    "o200k": cased(CONTRACTIONS + "?", r"\p{N}{1,3}"),
    "tekken": cased("", r"\p{N}"),
    "kimi": r"[\p{Han}]+|" + cased(CONTRACTIONS + "?", r"\p{N}{1,3}", r"&&[^\p{Han}]", r"[\r\n]*"),
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "gpt4": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}|"
    r" ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    "phi4": rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "poro": r" ?[^(\s|.,!?…。，、।۔،)]+",
    "deepseek_llm": r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓ]+|\s?[!-/:-~！-／：-～‘-‟　-。]+|\s+$|"
    r"[一-龥가-퟿]+",
    "falcon": "[0-9][0-9][0-9]",
    "hyphen": "-",
    "words": r"\w+|[^\w\s]+",
    "camel": r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])",
    "thousands": r"\d{1,3}(?=(?:\d{3})*\b)",
    "posix": r"[[:blank:]]+|[[:punct:]]|[[:^ascii:]]+",
    "lines": "^.*$",
    "dot_all": "(?m:a.b)|x.y",
    "scope": "a(?i)b|c",
    "lazy": r"<.+?>|\(.*?\)",
    "scripts": r"\p{Thai}+|\p{Latin}+|\p{Cyrillic}|\p{Hiragana}{2,}",
    "properties": r"\p{^L}\P{N}|\p{Lu}\h|\p{Emoji}\p{Sc}?",
}
BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
ATOMS = (
    "a b c s t re ll ' 's 'S 'LL 've \u017f K k \u212a \u00df Z é É e\u0301 \u0301 1 23 456 7890 ²"
    " ٣ Ⅷ ½ \t \n \r \r\n \n\n \v \x85 \xa0 \u2003 \u3000 \u2028 . , ! ? - — _ / // ( ) [ ] { } |"
    ' < > @ # $ % & * + = ~ ` ^ \\ " 中 文 日本 の カ ー ・ \u309b \u3099 가 각 ไ ก ่ हि न् ع ر ً Ж'
    " ж ǅ ʰ ª 🙂 👨‍👩‍👧 \u200b \u200d \ufeff \x00 \x07 \u0378 \ue000 龥 龦 𠀀 İ ı ﬁ ﬆ \U00010d50"
)
PIECES = [*items(ATOMS), " ", "  ", "   "]
TEXTS = st.one_of(st.text(max_size=20), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))


def split(regex: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    pattern = {"Regex": regex}
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def byte_level(use_regex: bool, prefix: bool = False) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": prefix,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


def metaspace(scheme: str, cuts: bool = True, replacement: str = "▁") -> dict[str, Any]:
    return {
        "type": "Metaspace",
        "replacement": replacement,
        "prepend_scheme": scheme,
        "split": cuts,
    }


def random_texts(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        pieces = (rng.choice(PIECES) for _ in range(rng.randint(0, 14)))
        texts.append("".join(p * rng.randint(1, 6) if rng.random() < 0.1 else p for p in pieces))
    return texts


def check(component: dict[str, Any], texts: Sequence[str], native: bool = True) -> None:
    """Both cut all texts alike; `native` says whether our engine must take the component."""
    file: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": component,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"},
    }
    library = tokenizers.Tokenizer.from_str(json.dumps(file))
    vocab = file["model"]["vocab"]
    pieces = [[p for p, _ in library.pre_tokenizer.pre_tokenize_str(text)] for text in texts]
    for words in pieces:
        for word in words:
            vocab.setdefault(word, len(vocab))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(file), encoding="utf-8")
        tokenizer = Tokenizer(path)
    if native:
        assert tokenizer.engine == "native", tokenizer.describe()
    ids = tokenizer.encode_batch(list(texts), add_special_tokens=False).to_pylist()
    for text, words, got in zip(texts, pieces, ids, strict=True):
        assert got == [vocab[word] for word in words if word], (component, text, words)


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_split_by_known_patterns(name: str, behavior: str) -> None:
    texts = random_texts(1, 400)
    check(split(PATTERNS[name], behavior), texts)
    check(split(PATTERNS[name], behavior, invert=True), texts)


DEEPSEEK = [split(regex) for regex in DEEPSEEK_V3]
STARCODER = ({"type": "Digits", "individual_digits": True}, byte_level(True))
FALCON = (
    {"type": "Punctuation", "behavior": "Contiguous"},
    byte_level(True),
    {"type": "Digits", "individual_digits": False},
    split("[0-9][0-9][0-9]"),
)
T5 = ({"type": "WhitespaceSplit"}, metaspace("always"))
STEPS: list[dict[str, Any]] = [
    {"type": "Whitespace"},
    {"type": "WhitespaceSplit"},
    {"type": "BertPreTokenizer"},
    {"type": "UnicodeScripts"},
    {"type": "Digits", "individual_digits": True},
    {"type": "Digits", "individual_digits": False},
    {"type": "FixedLength", "length": 3},
    {"type": "FixedLength"},
    {"type": "CharDelimiterSplit", "delimiter": "-"},
    {"type": "Punctuation"},
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    *(metaspace(scheme, cuts) for scheme in ("always", "never") for cuts in (True, False)),
    metaspace("always", True, "_"),
    {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "str_rep": "▁"},
    *(byte_level(regex, prefix) for regex in (True, False) for prefix in (True, False)),
    split("", "Isolated"),
    split("x*", "MergedWithNext"),
    {**split("", "Isolated"), "pattern": {"String": "  "}},
    {**split("", "MergedWithPrevious", True), "pattern": {"String": "a."}},
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["type"])
def test_every_step(step: dict[str, Any]) -> None:
    check(step, random_texts(2, 800))


@pytest.mark.parametrize(
    "steps",
    [
        DEEPSEEK,
        [*DEEPSEEK, byte_level(False)],
        [*DEEPSEEK[1:], byte_level(False)],
        STARCODER,
        FALCON,
        T5,
        [metaspace("first")],
        [{"type": "WhitespaceSplit"}, metaspace("first")],
        [split(PATTERNS["o200k"]), byte_level(False)],
        [split(PATTERNS["tekken"]), byte_level(False, prefix=True)],
    ],
)
def test_steps_of_known_tokenizers(steps: Sequence[dict[str, Any]]) -> None:
    check(sequence(*steps), random_texts(3, 1500))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=3), st.lists(TEXTS, min_size=1, max_size=8))
def test_any_sequence(steps: list[dict[str, Any]], texts: list[str]) -> None:
    check(sequence(*steps), texts)


SET_ITEMS = st.sampled_from(
    items(
        r"a b a-c b-z ^ - && [^a] \s \S \w \W \p{L} \P{Lu} \p{N} é 中 一-龥 \n \] [:alpha:]"
        r" [[:digit:]] ' 1 0-9 . | ( ) * [^\p{Han}] k s & \- A-Z \x41-\x{5a}"
    )
)
SETS = st.builds(
    lambda negated, items: "[" + negated + "".join(items) + "]",
    st.sampled_from(["", "", "^"]),
    st.lists(SET_ITEMS, min_size=1, max_size=4),
)
SIMPLE = st.sampled_from(
    items(
        r"a b s k é 中 1 ' \s \S \d \D \w \W \h \p{L} \P{L} \p{Lu} \p{^N} \p{Han} \p{M} \p{Punct} ."
        r" ^ $ \b \B \A \z \Z (?i:a) (?i:k) (?i:'s|ll) (?i:[a-k]) (?i:[^k]) \x41 \x{4e2d} \t \-"
        r" (?#c) (?i) (?m:.) ] } { {,}"
    )
)
QUANTIFIERS = st.sampled_from(
    ["", "", "", *items("* + ? *? +? ?? *+ ++ ?+ {1,2} {2} {,2} {1,} {2}?")]
)


def groups(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    item = st.tuples(st.one_of(SIMPLE, SETS, inner), QUANTIFIERS).map("".join)
    branch = st.lists(item, min_size=1, max_size=3).map("".join)
    body = st.lists(branch, min_size=1, max_size=3).map("|".join)
    opening = st.sampled_from(["(?:", "(", "(?>", "(?=", "(?!", "(?i:", "(?<=", "(?<!"])
    return st.builds(lambda start, text: f"{start}{text})", opening, body)


REGEXES = groups(st.recursive(SIMPLE, groups, max_leaves=6)).map(lambda text: text + "|a\\s")


@settings(max_examples=300, deadline=None)
@given(REGEXES, st.sampled_from(BEHAVIORS), st.lists(TEXTS, min_size=1, max_size=8))
def test_any_regex(regex: str, behavior: str, texts: list[str]) -> None:
    try:
        tokenizers.Regex(regex)
    except Exception:
        return
    # Regexes that the translator refuses run in the library and are alike as well.
    try:
        check(split(regex, behavior), texts, native=False)
    except BaseException as error:
        # Matching takes one of the two too many steps: the library panics, we raise.
        if type(error).__name__ != "PanicException" and "gave up" not in str(error):
            raise


FOLDS = st.lists(
    st.sampled_from(items("s t f i l S x ' ſ k ʼ n j \u030c ss st ffi fl ʼn ß")), max_size=6
).map("".join)
FOLDED = st.lists(
    st.sampled_from(items("s S ſ ß ẞ t T ﬅ ﬆ f F ﬀ ﬁ ﬂ ﬃ i I İ l x ŉ ʼ n j ǰ \u030c ' k \u212a")),
    max_size=10,
).map("".join)


@settings(max_examples=150, deadline=None)
@given(FOLDS, st.lists(FOLDED, min_size=1, max_size=8))
def test_letters_that_match_as_one_character(word: str, texts: list[str]) -> None:
    texts += [word, word.replace("ss", "ß", 1), word.replace("ffi", "ﬃ", 1), f"x{word.upper()}x"]
    check(split(f"(?i:{word}|k)", "Removed", True), texts, native="ß" not in word)


@pytest.mark.sliced
def test_character_sets_are_those_of_the_library() -> None:
    run_python(ROOT / "script/generate_character_sets.py", "--check")
