"""Tokenizers put together from every component, trained here, against the pinned library.

A covering array over the components decides which go together: every value of one component meets
every value of every other one. The quick run takes the rows that cover most, `--long` all.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from data_folders import SHARED, tokenizer_folder
from hypothesis import given, settings
from hypothesis import strategies as st

from easydata import Tokenizer

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import (  # noqa: E402
    AddedToken,
    Regex,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

QUICK_ROWS = 170
# What the native engine leaves to the library on purpose, which panics on all text that is not
# ASCII then.
ODD = "that normalizes to nothing"

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
    r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

Maker = Callable[[], Any]


def split(pattern: str, behavior: str = "isolated", invert: bool = False) -> Maker:
    return lambda: pre_tokenizers.Split(Regex(pattern), behavior, invert)


def plain(pattern: str, behavior: str, invert: bool = False) -> Maker:
    return lambda: pre_tokenizers.Split(pattern, behavior, invert)


def bytes_behind(*steps: Maker) -> Maker:
    return lambda: pre_tokenizers.Sequence(
        [*(step() for step in steps), pre_tokenizers.ByteLevel(False, True, False)]
    )


def charsmap() -> Any:
    """T5's normalizer, or where it is not at hand a smaller one of our own."""
    name = "t5-small" if SHARED.is_dir() else "unigram"
    file = tokenizer_folder(name) / "tokenizer.json"
    return tokenizers.Tokenizer.from_file(str(file)).normalizer


NORMALIZERS: dict[str, Maker] = {
    "none": lambda: None,
    "nfc": normalizers.NFC,
    "nfd": normalizers.NFD,
    "nfkc": normalizers.NFKC,
    "nfkd": normalizers.NFKD,
    "lowercase": normalizers.Lowercase,
    "strip": normalizers.Strip,
    "strip-right": lambda: normalizers.Strip(False, True),
    "accents": lambda: normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
    "nmt": normalizers.Nmt,
    "prepend": lambda: normalizers.Prepend("▁"),
    "llama": lambda: normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    ),
    "gemma": lambda: normalizers.Replace(" ", "▁"),
    "spaces": lambda: normalizers.Replace(Regex(" {2,}"), " "),
    "squeeze": lambda: normalizers.Sequence(
        [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip(True, True)]
    ),
    "longer": lambda: normalizers.Replace(Regex(r"\d"), "<num>"),
    "bert": normalizers.BertNormalizer,
    "bert-cased": lambda: normalizers.BertNormalizer(True, True, None, False),
    "bert-bare": lambda: normalizers.BertNormalizer(False, False, True, False),
    "charsmap": charsmap,
    "xlm-r": lambda: normalizers.Sequence([charsmap(), normalizers.Replace(Regex(" {2,}"), "▁")]),
    "bytes": normalizers.ByteLevel,
    "clip": lambda: normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Strip(), normalizers.Lowercase()]
    ),
}

PRE_TOKENIZERS: dict[str, Maker] = {
    "none": lambda: None,
    "gpt2": lambda: pre_tokenizers.ByteLevel(False),
    "gpt2-prefix": lambda: pre_tokenizers.ByteLevel(True),
    "bytes-only": lambda: pre_tokenizers.ByteLevel(True, True, False),
    "llama3": bytes_behind(split(LLAMA3)),
    "o200k": bytes_behind(split(O200K)),
    "gpt2-removed": bytes_behind(split(GPT2, "removed", True)),
    "deepseek": bytes_behind(split(r"\p{N}{1,3}"), split(r"[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK)),
    "starcoder": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)]
    ),
    "falcon": lambda: pre_tokenizers.Sequence(
        [
            pre_tokenizers.Punctuation("contiguous"),
            pre_tokenizers.ByteLevel(False),
            pre_tokenizers.Digits(False),
            pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated"),
        ]
    ),
    "bloom": bytes_behind(split(r" ?[^(\s|[.,!?…。，、।۔،])]+")),
    "unknown-regex": split(r"\w+['’]\w+|\p{Lu}\p{Ll}*|\d{2}|\s+$|[^\s\w]++"),
    "lines": split(r"^\S+|\S+$|\n", "merged_with_next"),
    "han": split(r"[\p{Han}]+|[\p{L}&&[^\p{Han}]]+|\p{N}", "merged_with_previous"),
    "whitespace": pre_tokenizers.Whitespace,
    "whitespace-split": pre_tokenizers.WhitespaceSplit,
    "bert": pre_tokenizers.BertPreTokenizer,
    "digits": pre_tokenizers.Digits,
    "punctuation": pre_tokenizers.Punctuation,
    "punctuation-previous": lambda: pre_tokenizers.Punctuation("merged_with_previous"),
    "delimiter": lambda: pre_tokenizers.CharDelimiterSplit("-"),
    "scripts": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.UnicodeScripts()]
    ),
    "scripts-only": pre_tokenizers.UnicodeScripts,
    "fixed": lambda: pre_tokenizers.FixedLength(4),
    "metaspace": pre_tokenizers.Metaspace,
    "metaspace-first": lambda: pre_tokenizers.Metaspace("▁", "first", False),
    "metaspace-first-split": lambda: pre_tokenizers.Metaspace("▁", "first", True),
    "metaspace-never": lambda: pre_tokenizers.Metaspace("▁", "never", True),
    "metaspace-whole": lambda: pre_tokenizers.Metaspace("_", "always", False),
    "t5": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    ),
    "t5-first": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "first")]
    ),
    "dash-contiguous": plain("-", "contiguous"),
    "dots-next": plain(".", "merged_with_next", True),
    "gemma": plain(" ", "merged_with_previous"),
}

# Name, model, trainer; the trainer's special tokens come first in the vocabulary.
MODELS = (
    "bpe",
    "bpe-unk",
    "bpe-unk-fused",
    "bpe-fallback",
    "bpe-some-bytes",
    "bpe-ignore",
    "bpe-prefix",
    "bpe-suffix",
    "wordpiece",
    "wordpiece-short",
    "unigram",
    "unigram-bytes",
    "wordlevel",
)

POST = ("none", "bert", "roberta", "bytes", "bos", "bos-eos", "sequence")
DECODERS = ("none", "bytes", "metaspace", "wordpiece", "llama", "bpe", "ctc", "fuse", "strip")
LIMITS = ("none", "right", "left", "stride", "fixed", "multiple")

ADDED: dict[str, list[Any]] = {
    "none": [],
    "special": [AddedToken("<s>", special=True, normalized=False), AddedToken("</s>")],
    "overlapping": [
        AddedToken("ab", normalized=False),
        AddedToken("abc", normalized=False),
        AddedToken("c d", normalized=True),
    ],
    "spaces": [AddedToken(" " * n, normalized=n % 2 == 0) for n in (2, 3, 5)],
    "word": [
        AddedToken("the", single_word=True, normalized=False),
        AddedToken("he", normalized=False),
        AddedToken("Quick", single_word=True, normalized=True),
    ],
    "left": [
        AddedToken("<mask>", lstrip=True, normalized=False, special=True),
        AddedToken("<x>", lstrip=True, normalized=True),
    ],
    "right": [
        AddedToken("<s>", rstrip=True, normalized=False, special=True),
        AddedToken("\n\n", normalized=False),
        AddedToken("<x>", rstrip=True, lstrip=True, normalized=True),
    ],
    "normalized": [
        AddedToken("<X>", normalized=True, special=True),
        AddedToken("É", normalized=True),
        AddedToken("1", single_word=True, lstrip=True, rstrip=True, normalized=True),
    ],
}

FACTORS: dict[str, list[str]] = {
    "normalizer": list(NORMALIZERS),
    "pre_tokenizer": list(PRE_TOKENIZERS),
    "model": list(MODELS),
    "post": list(POST),
    "added": list(ADDED),
    "decoder": list(DECODERS),
    "limits": list(LIMITS),
}


@cache
def rows() -> list[dict[str, str]]:
    """Rows in which every two values of different factors meet; those that cover most first."""
    rng = random.Random(11)
    names = list(FACTORS)
    missing = {
        ((a, x), (b, y))
        for a, b in itertools.combinations(names, 2)
        for x in FACTORS[a]
        for y in FACTORS[b]
    }
    left = sorted(missing)
    rng.shuffle(left)
    found = []
    for pair in left:
        if pair not in missing:
            continue
        best: dict[str, str] = {}
        best_gain = -1
        for _ in range(12):
            row = {name: rng.choice(values) for name, values in FACTORS.items()}
            row.update(dict(pair))
            gain = sum(key in missing for key in pairs_of(row))
            if gain > best_gain:
                best, best_gain = row, gain
        missing.difference_update(pairs_of(best))
        found.append(best)
    return found


def pairs_of(row: dict[str, str]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    return itertools.combinations(row.items(), 2)


CORPUS = [
    "The quick brown fox jumps over the lazy dog, again and again; it's what foxes do.",
    "I'll say we've been there, they're here — isn't that so? Don't ask.",
    "Dr. Müller naïvely paid 1,234.56 € for 42 café crèmes on 2024-05-17 (½ off!).",
    "def f(x, y=1):\n    return x ** 2 + y_1  # ab abc c d\n\n\nclass Fooß:\n\tpass\n",
    "東京は日本の首都です。中文分词很有趣，对吧？한국어 문장도 있습니다.",
    "Русский язык, ελληνικά ΑΒΓ, العربية 123, हिन्दी में, ไทยไม่มีช่องว่าง",
    "aaaa aaa aa a aaaaab ab abc abcd bcd cd d\u00a0e\u2003f\u3000g  two   three    four",
    "HTTPServer2XX snake_case kebab-case--double - single 3.14 0x1F 1000000 ÉÀÎ éàî ﬁne Ⅷ ①",
    "<s>tags</s> <x> <mask> \n\n \r\n 🙂👍🏽👨‍👩‍👧 ©®™ e\u0301e\u0300 \u200d \ufeff",
] * 2

TEXTS = [
    "",
    " ",
    "a",
    "  a  b   c ",
    "\n\n a<s>\n\na </s>\t",
    "the he theater The quick Quick quick brown",
    "ab abc abcd xabcx c d  c dd",
    "x<s> <s>  <mask> y<x>z <X><x>  <X> é É e\u0301",
    "1 11 1a a1 1, 1234567 3.14 ½ Ⅷ ① ²³ ٣٤ 二三",
    "I'LL it'ſ don't 'tis ''s ’s",
    "--a-b--c- -.-. ...a..b. !?!",
    "▁already ▁ marked▁ _x_ __",
    "東京は日本の首都です。ﾊﾝｶｸ　全角！ー゛",
    "한국어 ᄒ\u1161\u11ab \u1100\u1161\u11a8",
    "Ǆ ǅ ǆ İ ı ẞ ß ﬁ ﬃ Σας ΑΣ K Å",
    "\u0958 \u0344 \u1e9b\u0323 \u212b a\u0316\u0301\u0300 \u0301start",
    "🙂👍🏽👨‍👩‍👧🇩🇪🇫 \u200b\u200d\u2060\ufeff\ufffd\u00ad",
    "\x00\x01\x07\x0b\x0c\x1c\x7f\x85\x9f\u2028\u2029\u180e",
    "हिन्दी में क्षत्रिय ไทยไม่มีช่องว่าง العربية\u0640\u064b שָׁלוֹם",
    "def f(x):\n\treturn x\r\n\r\n  # done\n",
    "zzz qqq ψ𝔘𝔫𝔦 \U0001d15e \U0010ffff \ue000 \u0378",
    "x" * 130 + " " + "ab" * 90,
    "a\u00a0b\u2003c\u3000d\u1680e",
    "ＨＡＬＦ ｆｕｌｌ ｗｉｄｔｈ １２３ ℌ ℃ ㎏ …",
]


def model_of(kind: str) -> tuple[Any, Any]:
    """A model and its trainer."""
    specials = ["<unk>", "<pad>", "[CLS]", "[SEP]"]
    if kind.startswith("bpe"):
        options: dict[str, Any] = {}
        training: dict[str, Any] = {}
        if kind in ("bpe-unk", "bpe-unk-fused", "bpe-fallback", "bpe-some-bytes"):
            options["unk_token"] = "<unk>"
            training["limit_alphabet"] = 60
        if kind in ("bpe-unk-fused", "bpe-fallback"):
            options["fuse_unk"] = True
        if kind in ("bpe-fallback", "bpe-some-bytes"):
            options["byte_fallback"] = True
            step = 1 if kind == "bpe-fallback" else 3
            specials += [f"<0x{byte:02X}>" for byte in range(0, 256, step)]
        if kind == "bpe-ignore":
            options["ignore_merges"] = True
        if kind == "bpe-prefix":
            options |= {"continuing_subword_prefix": "##", "unk_token": "<unk>"}
            training["continuing_subword_prefix"] = "##"
        if kind == "bpe-suffix":
            options |= {"end_of_word_suffix": "</w>", "unk_token": "<unk>"}
            training["end_of_word_suffix"] = "</w>"
        return models.BPE(**options), trainers.BpeTrainer(
            vocab_size=700, special_tokens=specials, show_progress=False, **training
        )
    if kind.startswith("wordpiece"):
        longest = 100 if kind == "wordpiece" else 6
        return (
            models.WordPiece(unk_token="<unk>", max_input_chars_per_word=longest),
            trainers.WordPieceTrainer(vocab_size=500, special_tokens=specials, show_progress=False),
        )
    if kind.startswith("unigram"):
        if kind == "unigram-bytes":
            specials += [f"<0x{byte:02X}>" for byte in range(256)]
        return models.Unigram(), trainers.UnigramTrainer(
            vocab_size=500, special_tokens=specials, unk_token="<unk>", show_progress=False
        )
    return models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(
        vocab_size=400, special_tokens=specials, show_progress=False
    )


def post_of(kind: str, cls: tuple[str, int], sep: tuple[str, int]) -> Any:
    def template(single: str) -> Any:
        return processors.TemplateProcessing(
            single=single, pair=f"{single} $B:1", special_tokens=[cls, sep]
        )

    if kind == "bert":
        return processors.BertProcessing(sep, cls)
    if kind == "roberta":
        return processors.RobertaProcessing(sep, cls)
    if kind == "bytes":
        return processors.ByteLevel(trim_offsets=True)
    if kind == "bos":
        return template(f"{cls[0]} $A")
    if kind == "bos-eos":
        return template(f"{cls[0]} {cls[0]} $A {sep[0]}")
    if kind == "sequence":
        return processors.Sequence([processors.ByteLevel(), template(f"$A {sep[0]}")])
    return None


def decoder_of(kind: str) -> Any:
    made = {
        "bytes": decoders.ByteLevel,
        "metaspace": decoders.Metaspace,
        "wordpiece": decoders.WordPiece,
        "llama": lambda: decoders.Sequence(
            [
                decoders.Replace("▁", " "),
                decoders.ByteFallback(),
                decoders.Fuse(),
                decoders.Strip(" ", 1, 0),
            ]
        ),
        "bpe": decoders.BPEDecoder,
        "ctc": decoders.CTC,
        "fuse": decoders.Fuse,
        "strip": lambda: decoders.Strip("a", 1, 0),
    }
    return made[kind]() if kind in made else None


def build(row: dict[str, str]) -> str:
    """Trains the tokenizer of a row; its tokenizer.json."""
    model, trainer = model_of(row["model"])
    live = tokenizers.Tokenizer(model)
    normalizer = NORMALIZERS[row["normalizer"]]()
    if normalizer is not None:
        live.normalizer = normalizer
    pre_tokenizer = PRE_TOKENIZERS[row["pre_tokenizer"]]()
    if pre_tokenizer is not None:
        live.pre_tokenizer = pre_tokenizer
    live.train_from_iterator(CORPUS, trainer)
    cls, sep = (("[CLS]", live.token_to_id("[CLS]")), ("[SEP]", live.token_to_id("[SEP]")))
    post = post_of(row["post"], cls, sep)
    if post is not None:
        live.post_processor = post
    decoder = decoder_of(row["decoder"])
    if decoder is not None:
        live.decoder = decoder
    for token in ADDED[row["added"]]:
        (live.add_special_tokens if token.special else live.add_tokens)([token])
    limits = row["limits"]
    if limits in ("right", "left"):
        live.enable_truncation(12, direction=limits)
    elif limits == "stride":
        live.enable_truncation(12, stride=3, strategy="only_first")
    elif limits == "fixed":
        live.enable_padding(direction="left", pad_id=1, pad_token="<pad>", length=10)
    elif limits == "multiple":
        live.enable_padding(pad_id=1, pad_token="<pad>", pad_to_multiple_of=8)
    value = json.loads(live.to_str())
    if row["model"] == "unigram-bytes":
        value["model"]["byte_fallback"] = True
    return json.dumps(value, ensure_ascii=False)


def attempt(work: Callable[[], Any]) -> tuple[Any, bool]:
    """The result, and whether the reference came through: a Rust panic is no Exception."""
    try:
        return work(), True
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None, False


def check(row: dict[str, str], reference: Any, ours: Tokenizer, texts: list[str]) -> None:
    for special in (True, False):
        for text in texts:
            expected, fine = attempt(lambda t=text, s=special: reference.encode(t, None, False, s))
            if not fine:
                with pytest.raises(ValueError):
                    ours.encode(text, special)
                continue
            ids = ours.encode(text, special).tolist()
            assert ids == expected.ids, (row, text, special)
            for skip in (True, False):
                whole, fine = attempt(lambda i=ids, k=skip: reference.decode(i, k))
                if fine:
                    assert ours.decode(ids, skip) == whole, (row, text, ids, skip)


def run(row: dict[str, str], folder: Path, seed: int) -> None:
    file = folder / "tokenizer.json"
    text = build(row)
    file.write_text(text, encoding="utf-8")
    reference = tokenizers.Tokenizer.from_str(text)
    ours = Tokenizer(file)
    if ours.engine != "native":
        why = ours.describe()["why_not_native"]
        assert ODD in why, (row, why)
    rng = random.Random(seed)
    mixed = ["".join(rng.choices(TEXTS, k=3)) for _ in range(6)]
    mixed += ["".join(rng.sample(text, min(len(text), 40))) for text in rng.choices(CORPUS, k=6)]
    check(row, reference, ours, [*TEXTS, *CORPUS[:9], *mixed])


def test_the_array_covers_every_pair() -> None:
    covered = {pair for row in rows() for pair in pairs_of(row)}
    for a, b in itertools.combinations(FACTORS, 2):
        for x, y in itertools.product(FACTORS[a], FACTORS[b]):
            assert ((a, x), (b, y)) in covered


@pytest.mark.one_in(5)
@pytest.mark.parametrize("part", range(10))
def test_combinations(part: int, tmp_path: Path) -> None:
    for i, row in enumerate(rows()[:QUICK_ROWS]):
        if i % 10 == part:
            run(row, tmp_path, i)


@pytest.mark.sliced
@pytest.mark.parametrize("part", range(20))
def test_all_combinations(part: int, tmp_path: Path) -> None:
    for i, row in enumerate(rows()):
        if i % 20 == part:
            run(row, tmp_path, i)


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("pre_tokenizer", ["metaspace-first", "metaspace-first-split", "t5-first"])
def test_first_is_told_by_the_original(normalizer: str, pre_tokenizer: str, tmp_path: Path) -> None:
    """Metaspace asks where the first character that is left stood before the normalizer."""
    row = {name: values[0] for name, values in FACTORS.items()}
    row |= {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "added": "normalized"}
    run(row, tmp_path, 1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, str], Any, Tokenizer]]:
    """Some tokenizers of the array, for many texts."""
    out = []
    for i, row in enumerate(rows()[:24]):
        file = tmp_path_factory.mktemp(f"row{i}") / "tokenizer.json"
        text = build(row)
        file.write_text(text, encoding="utf-8")
        out.append((row, tokenizers.Tokenizer.from_str(text), Tokenizer(file)))
    return out


PIECES = st.one_of(
    st.sampled_from(TEXTS),
    st.text(max_size=10),
    st.text(alphabet=st.characters(categories=["Mn", "Mc", "Lo", "Zs", "Nd", "No", "Cf"])),
    st.sampled_from([" ", "  ", "\n", "<s>", "<x>", "ab", "'s", "▁", "-", "1"]),
)


@settings(max_examples=60, deadline=None)
@given(pieces=st.lists(PIECES, max_size=8))
def test_made_up_text(made: list[tuple[dict[str, str], Any, Tokenizer]], pieces: list[str]) -> None:
    for row, reference, ours in made:
        check(row, reference, ours, ["".join(pieces)])
