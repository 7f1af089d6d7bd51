"""Ids and texts equal to the pinned `tokenizers` library, whatever the text."""

import base64
import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import own_texts
import pyarrow as pa
import pytest
from data_folders import (
    OWN_TOKENIZERS,
    SHARED,
    SHARED_TOKENIZERS,
    tokenizer_folder,
    tokenizer_names,
)
from engine_parts import native_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import ROOT, run_python

from easydata import Tokenizer

tokenizers = pytest.importorskip("tokenizers")


def library(name: str) -> Any:
    """A fresh tokenizer of the reference."""
    return tokenizers.Tokenizer.from_file(str(tokenizer_folder(name) / "tokenizer.json"))


@cache
def ours(name: str) -> Tokenizer:
    return Tokenizer(tokenizer_folder(name))


@cache
def reference(name: str) -> Any:
    return library(name)


def strings(value: Any) -> Iterator[str]:
    """All strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


@cache
def corpus() -> list[str]:
    """Every string of every text file of ../shared, once; texts of our own where there is none."""
    if not SHARED.is_dir():
        return list(dict.fromkeys(own_texts.texts(4_000_000)))
    texts: dict[str, None] = {}
    for path in sorted((SHARED / "data" / "text").glob("*/*")):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            texts.update(
                dict.fromkeys(strings([json.loads(line) for line in text.splitlines() if line]))
            )
        elif path.suffix == ".json":
            texts.update(dict.fromkeys(strings(json.loads(text))))
        elif path.suffix == ".txt":
            texts.setdefault(text)
    return list(texts)


def assert_equal(name: str, texts: list[str], special: bool = True, engine: Any = None) -> None:
    """Ours and the reference's ids of `texts` are the same."""
    encoder = engine or ours(name).encoder
    got = encoder.encode_batch(texts, special, 0, 2)[0]
    expected = reference(name).encode_batch_fast(texts, add_special_tokens=special)
    values, offsets = got.values.to_numpy(), got.offsets.to_numpy()
    for i, encoding in enumerate(expected):
        ids = values[offsets[i] : offsets[i + 1]]
        assert np.array_equal(ids, encoding.ids), (name, special, texts[i][:500])


def share(name: str) -> int:
    """Of how many texts one is compared: our own tokenizers get few where real ones are at hand."""
    return 8 if SHARED.is_dir() and name in OWN_TOKENIZERS else 1


def native_engine(name: str, word_cache_bytes: int = 1 << 24, kernels: str = "") -> Any:
    """An engine of its own, with other settings of cost."""
    json_text = (tokenizer_folder(name) / "tokenizer.json").read_bytes()
    return native_tokenizer(json_text, word_cache_bytes, kernels)


def sample(seed: str, num_bytes: int) -> list[str]:
    """Strings of the corpus: the naughty ones, then others until there are `num_bytes`."""
    naughty: Any = own_texts.ODD
    if SHARED.is_dir():
        path = SHARED / "data" / "text" / "adversarial" / "blns.json"
        naughty = json.loads(path.read_text("utf-8"))
    rest = list(corpus())
    random.Random(seed).shuffle(rest)
    texts = list(strings(naughty))
    size = 0
    for text in rest:
        if len(text) > num_bytes // 2:
            text = text[: num_bytes // 8]
        texts.append(text)
        size += len(text.encode())
        if size >= num_bytes:
            break
    return texts


@pytest.mark.parametrize("name", tokenizer_names())
def test_runs_natively(name: str) -> None:
    assert ours(name).engine == "native", ours(name).describe()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", tokenizer_names())
def test_corpus(name: str) -> None:
    texts = sample(name, 3_000_000 // share(name))
    assert_equal(name, texts)
    assert_equal(name, texts[:3000], special=False)
    for text in texts[:600]:
        ids = ours(name).encode(text)
        for skip in (True, False):
            expected = reference(name).decode(ids.tolist(), skip_special_tokens=skip)
            assert ours(name).decode(ids, skip_special_tokens=skip) == expected


@pytest.mark.sliced
@pytest.mark.parametrize("name", tokenizer_names())
def test_corpus_whole(name: str) -> None:
    texts = [p.read_text(encoding="utf-8") for p in sorted(SHARED.glob("data/text/*/*"))]
    for special in (True, False):
        assert_equal(name, corpus() + texts, special)


CONTEXTS = (
    "".join,
    "a".join,
    "\u0301".join,
    lambda chars: "".join(f" {c}\n" for c in chars),
    lambda chars: "".join(f"'{c}!{c}x" for c in chars),
    lambda chars: "".join(f"\n {c}{c}1" for c in chars),
)


def code_points(stride: int = 997) -> list[list[str]]:
    """Every code point of the planes that hold anything, and a sample of the empty ones."""
    points = [c for c in range(0x32000) if not 0xD800 <= c < 0xE000]
    points += [*range(0xE0000, 0xE0200), *range(0x32000, 0x110000, stride)]
    return [[chr(c) for c in points[i : i + 64]] for i in range(0, len(points), 64)]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", tokenizer_names())
def test_all_code_points_in_six_contexts(name: str) -> None:
    chunks = code_points()[:: share(name)]
    everywhere = [context(chunk) for chunk in chunks for context in CONTEXTS]
    assert_equal(name, everywhere)
    scalar = native_engine(name, kernels="scalar").encode_batch(everywhere, True, 0, 2)[0]
    for kernels in ("avx2", "avx512"):
        try:
            engine = native_engine(name, kernels=kernels)
        except ValueError:
            continue  # not on this processor
        assert engine.encode_batch(everywhere, True, 0, 2)[0].equals(scalar), kernels


@pytest.mark.sliced
@pytest.mark.parametrize("name", tokenizer_names())
def test_all_code_points_of_empty_planes_too(name: str) -> None:
    assert_equal(name, [context(chunk) for chunk in code_points(1) for context in CONTEXTS])


CONTRACTIONS = ["'s", "'S", "'\u017f", "'RE", "'ll", "a", "the", " the"]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\x85", "\xa0", "\u3000"]
MARKS = ["!", "?!", "<", "\u2014", "\u4e2d\u6587", "\U0001f642", "\x00", "123", "\u00b2"]
COMPOSED = ["e\u0301", "\u1100\u1161\u11a8", "\u0958", "\U0001d15e"]

PIECES = st.one_of(
    st.sampled_from([*CONTRACTIONS, *SPACES, *MARKS, *COMPOSED]),
    st.sampled_from(["<|endoftext|>", "<|im_start|>", "<|begin_of_text|>", "<|"]),
    st.text(max_size=12),
    st.text(alphabet=st.characters(categories=["Mn", "Mc", "Lo", "Zs", "Nd", "No"]), max_size=12),
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.builds(lambda s, n: s * n, PIECES, st.sampled_from([1, 1, 1, 2, 3, 70])), max_size=30
    )
)
def test_made_up_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    for name in (*OWN_TOKENIZERS, *(SHARED_TOKENIZERS if SHARED.is_dir() else ())):
        assert_equal(name, [text, text[1:], text[::-1]])


@pytest.mark.parametrize("name", tokenizer_names())
def test_caches_threads_and_chunks_do_not_matter(name: str) -> None:
    texts = sample(name, 1_500_000 // share(name))
    texts.append("".join(texts))  # one long text
    expected = ours(name).encode_batch(texts, num_threads=1)
    for cache_bytes, threads in ((1, 1), (1 << 14, 2), (64 << 20, 4)):
        engine = native_engine(name, cache_bytes)
        for _ in range(2):
            assert engine.encode_batch(texts, True, 0, threads)[0].equals(expected)
    array = pa.array(texts, pa.large_string())
    chunked = pa.chunked_array([array[:100], array[100:100], array[100:]])
    assert ours(name).encode_batch(chunked).equals(expected)
    for row in (0, len(texts) // 2, len(texts) - 1):
        assert ours(name).encode(texts[row]).tolist() == expected[row].as_py()


def texts_without_spaces(size: int) -> list[str]:
    rng = random.Random(5)
    word = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=size))
    encoded = base64.b64encode(rng.randbytes(size * 3 // 4)).decode()
    return [
        word,
        encoded,
        "a" * size,
        "".join(rng.choices("\u4e2d\u6587\u5206\u8bcd\u3042\u30ab\u0e01", k=size // 3)),
        " " * size,
        "\n" * size,
        "1" * size,
        "e\u0301" * (size // 3),
    ]


@pytest.mark.parametrize("name", tokenizer_names())
def test_long_runs_without_spaces(name: str) -> None:
    assert_equal(name, texts_without_spaces(60_000 // share(name)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", tokenizer_names())
def test_a_megabyte_without_a_space(name: str) -> None:
    for text in texts_without_spaces((1 << 20) // share(name)):
        ids = ours(name).encode(text, add_special_tokens=False)
        decoded = ours(name).decode(ids)
        assert decoded == reference(name).decode(ids.tolist(), skip_special_tokens=False)
        if name in ("byte-level", "gpt2", "llama3.1"):
            assert decoded == text


@pytest.mark.sliced
@pytest.mark.parametrize("name", tokenizer_names())
def test_a_megabyte_without_a_space_is_exact(name: str) -> None:
    assert_equal(name, texts_without_spaces(1 << 20))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", OWN_TOKENIZERS)
@pytest.mark.parametrize("pieces", [("7.", ";\n", "12)\n\n"), ("  ", "1", "\n  ", "\n\n", ".")])
def test_where_a_long_text_is_cut(name: str, pieces: tuple[str, ...]) -> None:
    """Threads take parts of a long text: a cut may not fall where a pattern would not split."""
    rng = random.Random(name)
    text = "".join(rng.choices(pieces, k=200_000))
    texts = [(text * 30)[offset : offset + (9 << 19)] + " then words come" for offset in range(3)]
    expected = ours(name).encode_batch(texts, num_threads=1)
    assert ours(name).encode_batch(texts, num_threads=2).equals(expected)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", tokenizer_names())
def test_truncation(name: str) -> None:
    texts = corpus()[::700]
    truncating = library(name)
    for max_length in (1, 2, 3, 17):
        truncating.enable_truncation(max_length)
        for special in (True, False):
            encoded, cut = ours(name).encoder.encode_batch(texts, special, max_length, None)
            expected = truncating.encode_batch_fast(texts, add_special_tokens=special)
            assert encoded.to_pylist() == [e.ids for e in expected]
            assert cut == sum(bool(e.overflowing) for e in expected)


@pytest.mark.parametrize("name", tokenizer_names())
def test_decoding_random_ids(name: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        ids = rng.integers(0, ours(name).vocab_size, rng.integers(0, 20))
        for skip in (True, False):
            expected = reference(name).decode(ids.tolist(), skip_special_tokens=skip)
            assert ours(name).decode(ids, skip) == expected


@pytest.mark.sliced
def test_unicode_tables_are_those_of_the_library() -> None:
    run_python(ROOT / "script/generate_unicode_tables.py", "--check")
