"""Every model type with its options, against the pinned `tokenizers` library."""

import itertools
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import own_texts
import pytest
from data_folders import SHARED
from hypothesis import given, settings
from hypothesis import strategies as st

from easydata import Tokenizer

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import models, normalizers, pre_tokenizers, trainers  # noqa: E402

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def strings(value: Any) -> Iterator[str]:
    """All strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


@cache
def corpus() -> list[str]:
    """Some strings of every text file, the odd ones among them; or texts of our own."""
    texts: list[str] = own_texts.texts(1_500_000) if not SHARED.is_dir() else []
    for path in sorted(SHARED.glob("data/text/*/*")):
        content = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            lines = content.splitlines()[:40]
            texts += strings([json.loads(line) for line in lines if line])
        elif path.suffix == ".json":
            texts += itertools.islice(strings(json.loads(content)), 400)
        elif path.suffix == ".txt":
            texts += [content[at : at + 3000] for at in range(0, min(len(content), 60000), 3000)]
    return [text for text in texts if text]


def as_json(model: Any, **components: Any) -> str:
    """A tokenizer.json around a model component, given as JSON text or a value."""
    file = {"version": "1.0", "added_tokens": [], **components, "model": "@model"}
    text = model if isinstance(model, str) else json.dumps(model, ensure_ascii=False)
    return json.dumps(file, ensure_ascii=False).replace('"@model"', text)


def model_of(tokenizer: Any) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return model


class Pair:
    """One tokenizer.json in the reference and in the native engine."""

    def __init__(self, text: str, folder: Path) -> None:
        self.reference = tokenizers.Tokenizer.from_str(text)
        path = folder / "tokenizer.json"
        path.write_text(text, encoding="utf-8")
        self.ours = Tokenizer(path)
        assert self.ours.engine == "native", self.ours.describe()

    def check(self, texts: list[str]) -> None:
        expected = [self.expected(text) for text in texts]
        for text, ids in zip(texts, expected, strict=True):
            if ids is None:
                with pytest.raises(ValueError):
                    self.ours.encode(text)
            else:
                assert self.ours.encode(text).tolist() == ids, text

    def expected(self, text: str) -> list[int] | None:
        """The reference's ids, or nothing where it raises."""
        try:
            return list(self.reference.encode(text).ids)
        except Exception:
            return None


@cache
def trained_bpe(kind: str, affixes: bool) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if affixes:
        options = {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"}
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    alphabet = []
    if kind == "bytes":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    elif kind == "words":
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    trainer = trainers.BpeTrainer(
        vocab_size=2500,
        special_tokens=["<unk>"],
        initial_alphabet=alphabet,
        limit_alphabet=300,
        show_progress=False,
        **options,
    )
    tokenizer.train_from_iterator(corpus()[::3], trainer)
    return model_of(tokenizer)


PRE_TOKENIZERS: dict[str, Any] = {
    "bytes": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
    "words": {"type": "Whitespace"},
    "metaspace": None,
}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kind", ["bytes", "words", "metaspace"])
@pytest.mark.parametrize("affixes", [False, True])
@pytest.mark.parametrize("unknown", ["unk", "fused", "bytes", "some bytes", "dropped"])
@pytest.mark.parametrize("ignore_merges", [False, True])
def test_bpe_options(
    kind: str, affixes: bool, unknown: str, ignore_merges: bool, tmp_path: Path
) -> None:
    model = dict(trained_bpe(kind, affixes))
    model["vocab"] = dict(model["vocab"])
    model["unk_token"] = None if unknown == "dropped" else "<unk>"
    model["fuse_unk"] = unknown in ("fused", "bytes", "some bytes")
    model["ignore_merges"] = ignore_merges
    if unknown.endswith("bytes"):
        model["byte_fallback"] = True
        present = BYTES if unknown == "bytes" else BYTES[:0xE4] + BYTES[0xE5:]
        for token in present:
            model["vocab"].setdefault(token, len(model["vocab"]))
    if unknown == "some bytes" and kind == "bytes":
        # A byte without a character in the vocabulary, and the tokens that need it.
        model["vocab"] = {t: i for t, i in model["vocab"].items() if "e" not in t or "<" in t}
        model["merges"] = [m for m in model["merges"] if not any("e" in part for part in m)]
    text = as_json(
        model,
        pre_tokenizer=PRE_TOKENIZERS[kind],
        normalizer=REPLACE if kind == "metaspace" else None,
    )
    Pair(text, tmp_path).check(corpus()[:: 11 if affixes else 5])


@pytest.mark.parametrize("merges", ["pairs", "strings"])
def test_bpe_merges_in_both_forms(merges: str, tmp_path: Path) -> None:
    model = dict(trained_bpe("bytes", False))
    if merges == "strings":
        model["merges"] = ["#version: 0.2", *(" ".join(pair) for pair in model["merges"])]
    Pair(as_json(model, pre_tokenizer=PRE_TOKENIZERS["bytes"]), tmp_path).check(corpus()[::5])


SCHEMES = [None, *itertools.product(["always", "first", "never"], [False, True])]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_bpe_of_whole_texts(scheme: tuple[str, bool] | None, tmp_path: Path) -> None:
    model = dict(trained_bpe("metaspace", False))
    model["vocab"] = dict(model["vocab"])
    for token in BYTES:
        model["vocab"].setdefault(token, len(model["vocab"]))
    model.update(byte_fallback=True, fuse_unk=True)
    parts: dict[str, Any] = {}
    if scheme is None:
        prepend = {"type": "Prepend", "prepend": "\u2581"}
        parts["normalizer"] = {"type": "Sequence", "normalizers": [prepend, REPLACE]}
    else:
        parts["pre_tokenizer"] = {
            "type": "Metaspace",
            "replacement": "\u2581",
            "prepend_scheme": scheme[0],
            "split": scheme[1],
        }
    pair = Pair(as_json(model, **parts), tmp_path)
    # Long enough to be cut for several threads.
    long = "\n".join(corpus())[:2_500_000] + " end"
    assert pair.ours.encode_batch([long], num_threads=2)[0].as_py() == pair.expected(long)
    pair.check(
        [*corpus()[::3], " ", "  ", "\u2581", "\u2581 a", " \u2581a", "a\n b", "", "a" * 5000]
    )


@cache
def trained_unigram() -> dict[str, Any]:
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=1200, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    texts = [text for text in corpus() if max(text) < "\u0300"]
    tokenizer.train_from_iterator(texts[::9], trainer)
    return model_of(tokenizer)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("split", [False, True])
def test_unigram(byte_fallback: bool, split: bool, tmp_path: Path) -> None:
    model = dict(trained_unigram())
    kept = [piece for piece in model["vocab"] if piece[0] not in ("e", "q", "\u00e9")]
    model["vocab"] = kept + [[token, -20.5] for token in BYTES if byte_fallback]
    model["byte_fallback"] = byte_fallback
    metaspace = {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": "always",
        "split": split,
    }
    Pair(as_json(model, pre_tokenizer=metaspace), tmp_path).check(corpus()[::6])


def number_texts(rng: random.Random) -> Iterator[str]:
    """Numbers as JSON may spell them, with more digits than a double holds."""
    for _ in range(300):
        whole = rng.choice(["0", str(rng.randrange(1, 30)), str(rng.randrange(10**19, 10**23))])
        digits = "".join(rng.choice("0123456789") for _ in range(rng.randrange(1, 26)))
        exponent = rng.choice(["", "", f"e{rng.randrange(-30, 4)}", f"E+{rng.randrange(3)}"])
        fraction = "." + digits if len(whole) > 18 else rng.choice(["", "." + digits])
        yield "-" + whole + fraction + exponent


def test_unigram_reads_scores_as_the_reference_does(tmp_path: Path) -> None:
    """A piece of two characters beats, ties with or loses to two of one by the last bit."""
    rng = random.Random(4)
    for number in number_texts(rng):
        probe = f'[["<unk>", 0], ["x", {number}]]'
        text = as_json(f'{{"type": "Unigram", "unk_id": 0, "vocab": {probe}}}')
        score = json.loads(tokenizers.Tokenizer.from_str(text).to_str())["model"]["vocab"][1][1]
        spelled = repr(float(score))
        vocab = f"""[["<unk>", -1e300], ["a", 0], ["b", -1e200], ["c", 0],
                     ["ab", {number}], ["bc", {spelled}]]"""
        file = as_json(f'{{"type": "Unigram", "unk_id": 0, "vocab": {vocab}}}')
        Pair(file, tmp_path).check(["abc", "abcabc", "bcab"])


@pytest.mark.parametrize("prefix", ["##", ""])
@pytest.mark.parametrize("limit", [100, 5])
@pytest.mark.parametrize("unk", ["[UNK]", "nowhere"])
def test_word_piece(prefix: str, limit: int, unk: str, tmp_path: Path) -> None:
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.normalizer = normalizers.Lowercase()
    trainer = trainers.WordPieceTrainer(
        vocab_size=2000, special_tokens=["[UNK]"], limit_alphabet=200, show_progress=False
    )
    tokenizer.train_from_iterator(corpus()[::5], trainer)
    model = model_of(tokenizer)
    model.update(continuing_subword_prefix=prefix, max_input_chars_per_word=limit, unk_token=unk)
    pair = Pair(as_json(model, pre_tokenizer={"type": "Whitespace"}), tmp_path)
    pair.check([*corpus()[::4], "##", "a##b", "\u00e9" * limit, "\u00e9" * (limit + 1)])


@pytest.mark.parametrize("unk", ["[UNK]", "nowhere"])
def test_word_level(unk: str, tmp_path: Path) -> None:
    words = sorted({word for text in corpus()[::9] for word in text.split()})
    vocab = {word: 3 * i for i, word in enumerate(["[UNK]", *words])}
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": unk}
    Pair(as_json(model, pre_tokenizer={"type": "WhitespaceSplit"}), tmp_path).check(corpus()[::4])


def test_long_words(tmp_path: Path) -> None:
    """Text without spaces: where it is cut to be remembered shows nowhere."""
    rng = random.Random(7)
    texts = ["".join(rng.choice(letters) for _ in range(20000)) for letters in ALPHABETS]
    texts += ["".join("".join(corpus()).split())[:60000]]
    pair = Pair(
        as_json(trained_bpe("bytes", False), pre_tokenizer=PRE_TOKENIZERS["bytes"]), tmp_path
    )
    pair.check(texts)


ALPHABETS = [
    "a",
    "ab",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "\u4e2d\u6587\u5b57",
    "\u3042\u3044\u3046\u30a2\u30a4",
    "\u0e01\u0e32\u0e23",
    "\U0001f600\u200d\U0001f468a",
]


@cache
def small_pairs(folder: Path) -> list[Pair]:
    """One tokenizer of each kind."""
    metaspace = dict(trained_bpe("metaspace", False))
    metaspace["vocab"] = dict(metaspace["vocab"])
    for token in BYTES:
        metaspace["vocab"].setdefault(token, len(metaspace["vocab"]))
    metaspace["byte_fallback"] = True
    files = [
        as_json(trained_bpe("bytes", False), pre_tokenizer=PRE_TOKENIZERS["bytes"]),
        as_json(trained_bpe("words", True), pre_tokenizer=PRE_TOKENIZERS["words"]),
        as_json(trained_bpe("words", False)),
        as_json(metaspace, normalizer=REPLACE),
    ]
    return [Pair(file, folder) for file in files]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    return small_pairs(tmp_path_factory.mktemp("pairs"))


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text(pairs: list[Pair], text: str) -> None:
    for pair in pairs:
        pair.check([text])


@pytest.mark.parametrize("text", ["a<|end|>\nb", "a<|end|>\n\nb", "\n" * 6, "a \nb", "<|end|>\n"])
def test_an_added_token_in_what_the_one_before_stripped_is_dropped(
    tmp_path: Path, text: str
) -> None:
    library = tokenizers.Tokenizer(
        models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]")
    )
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.add_special_tokens([tokenizers.AddedToken("<|end|>", rstrip=True)])
    library.add_tokens(
        [
            tokenizers.AddedToken("\n", normalized=False, lstrip=True),
            tokenizers.AddedToken("\n\n", normalized=False, lstrip=True, rstrip=True),
        ]
    )
    library.save(str(tmp_path / "tokenizer.json"))
    made = Tokenizer(tmp_path / "tokenizer.json")
    assert made.engine == "native"
    assert made.encode(text).tolist() == library.encode(text).ids
