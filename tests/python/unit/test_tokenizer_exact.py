"""Ids and texts equal to the pinned `tokenizers` library, whatever the text."""

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from easydata import Tokenizer, _native

tokenizers = pytest.importorskip("tokenizers")

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
NATIVE = ("gpt2", "llama3.1", "qwen2.5", "tiny-bytelevel")
FALLBACK = ("bert-base-uncased", "deepseek-v3", "gemma", "llama2", "t5-small")
KERNELS = ("scalar", "avx2", "avx512")

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="../shared/data is not beside this checkout"
)


def library(name: str) -> Any:
    """A fresh tokenizer of the reference."""
    return tokenizers.Tokenizer.from_file(str(DATA / "tokenizers" / name / "tokenizer.json"))


@cache
def ours(name: str) -> Tokenizer:
    return Tokenizer(DATA / "tokenizers" / name)


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
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


@cache
def corpus() -> list[str]:
    """Every string of every text file, once."""
    texts: dict[str, None] = {}
    for path in sorted((DATA / "text").glob("*/*")):
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


@pytest.mark.parametrize("name", NATIVE)
def test_corpus(name: str) -> None:
    assert ours(name).engine == "native"
    assert_equal(name, corpus())
    sample = random.Random(name).sample(corpus(), 2000)
    assert_equal(name, sample, special=False)
    for text in sample[:300]:
        ids = ours(name).encode(text)
        assert ours(name).decode(ids) == reference(name).decode(
            ids.tolist(), skip_special_tokens=False
        )


@pytest.mark.parametrize("name", FALLBACK)
def test_corpus_through_the_library(name: str) -> None:
    assert ours(name).engine == "huggingface"
    texts = random.Random(name).sample(corpus(), 500)
    assert_equal(name, texts)
    assert_equal(name, texts, special=False)


@pytest.mark.long
@pytest.mark.parametrize("name", NATIVE + FALLBACK)
def test_corpus_whole(name: str) -> None:
    texts = [p.read_text(encoding="utf-8") for p in sorted((DATA / "text").glob("*/*"))]
    for special in (True, False):
        assert_equal(name, corpus() + texts, special)


CONTEXTS = (
    "".join,
    " ".join,
    "a".join,
    "\u0301".join,
    lambda chars: "".join(f"'{c}" for c in chars),
    lambda chars: "".join(f" {c}\n" for c in chars),
    lambda chars: "".join(f"!{c}x" for c in chars),
    lambda chars: "".join(f"\n {c}{c}1" for c in chars),
)


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("kernels", KERNELS)
def test_all_code_points_in_many_contexts(name: str, kernels: str) -> None:
    # Every code point of the planes that hold anything, and a sample of the empty ones.
    points = [c for c in range(0x32000) if not 0xD800 <= c < 0xE000]
    points += [*range(0xE0000, 0xE0200), *range(0x32000, 0x110000, 997)]
    chunks = [[chr(c) for c in points[i : i + 64]] for i in range(0, len(points), 64)]
    # The scalar kernels meet the reference; the others, on all contexts, the scalar ones.
    json_text = (DATA / "tokenizers" / name / "tokenizer.json").read_bytes()
    try:
        engine = _native.native_tokenizer(json_text, kernels=kernels)
    except ValueError:
        pytest.skip(f"this processor lacks {kernels}")
    texts = [context(chunk) for chunk in chunks for context in CONTEXTS]
    if kernels == "scalar":
        assert_equal(name, texts, engine=engine)
    else:
        scalar = _native.native_tokenizer(json_text, kernels="scalar")
        assert engine.encode_batch(texts, True, 0, 2)[0].equals(
            scalar.encode_batch(texts, True, 0, 2)[0]
        )


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


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.builds(lambda s, n: s * n, PIECES, st.sampled_from([1, 1, 1, 2, 3, 70])), max_size=30
    )
)
def test_made_up_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    for name in NATIVE:
        assert_equal(name, [text, text[1:], text[::-1]])


@pytest.mark.parametrize("name", ["gpt2", "llama3.1"])
def test_caches_threads_and_chunks_do_not_matter(name: str) -> None:
    json_text = (DATA / "tokenizers" / name / "tokenizer.json").read_bytes()
    texts = corpus()[::7]
    expected = ours(name).encode_batch(texts, num_threads=1)
    for cache_bytes, threads in ((1, 1), (1 << 14, 2), (64 << 20, 4)):
        engine = _native.native_tokenizer(json_text, cache_bytes)
        for _ in range(2):
            assert engine.encode_batch(texts, True, 0, threads)[0].equals(expected)
    array = pa.array(texts, pa.large_string())
    chunked = pa.chunked_array([array[:100], array[100:100], array[100:]])
    assert ours(name).encode_batch(chunked).equals(expected)


@pytest.mark.parametrize("name", NATIVE)
def test_a_megabyte_without_a_space(name: str) -> None:
    rng = random.Random(5)
    word = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=1 << 20))
    for text in (
        word,
        "a" * (1 << 20),
        "\u4e2d" * 400_000,
        " " * (1 << 20),
        "\n" * (1 << 20),
        "1" * (1 << 20),
    ):
        ids = ours(name).encode(text, add_special_tokens=False)
        decoded = ours(name).decode(ids)
        assert decoded == reference(name).decode(ids.tolist(), skip_special_tokens=False)
        if name != "tiny-bytelevel":
            assert decoded == text
    assert_equal(name, [word[:100_000], "a" * 100_000])


@pytest.mark.parametrize("name", NATIVE)
def test_truncation(name: str) -> None:
    texts = corpus()[::150]
    truncating = library(name)
    for max_length in (1, 2, 3, 17):
        truncating.enable_truncation(max_length)
        for special in (True, False):
            encoded, cut = ours(name).encoder.encode_batch(texts, special, max_length, None)
            expected = truncating.encode_batch_fast(texts, add_special_tokens=special)
            assert encoded.to_pylist() == [e.ids for e in expected]
            assert cut == sum(bool(e.overflowing) for e in expected)


@pytest.mark.parametrize("name", NATIVE)
def test_decoding_random_ids(name: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        ids = rng.integers(0, ours(name).vocab_size, rng.integers(0, 20))
        for skip in (True, False):
            expected = reference(name).decode(ids.tolist(), skip_special_tokens=skip)
            assert ours(name).decode(ids, skip) == expected


GOLDEN = DATA / "golden" / "tokenizers"
COMPONENTS = (
    sorted(p.stem for p in GOLDEN.glob("*.json") if p.stem != "bytes_model")
    if GOLDEN.is_dir()
    else []
)


@pytest.mark.parametrize("component", COMPONENTS)
def test_golden_cases(component: str, tmp_path: Path) -> None:
    bytes_model = json.loads((GOLDEN / "bytes_model.json").read_text(encoding="utf-8"))
    groups = json.loads((GOLDEN / f"{component}.json").read_text(encoding="utf-8"))["groups"]
    file = tmp_path / "tokenizer.json"
    for group in groups:
        text = group.get("tokenizer_raw")
        if text is None:
            value = dict(group["tokenizer"])
            if value.get("model") == "$bytes":
                value["model"] = bytes_model
            text = json.dumps(value, ensure_ascii=False)
        file.write_text(text, encoding="utf-8")
        if any(case.get("load") == "error" for case in group["cases"]):
            with pytest.raises(ValueError):
                Tokenizer(file)
            continue
        tokenizer = Tokenizer(file)
        for case in group["cases"]:
            what = (group["name"], tokenizer.engine, case)
            if "pair" in case or "batch" in case:
                continue  # pairs and padding by batch are not ours
            if "error" in case:
                with pytest.raises(ValueError):
                    tokenizer.encode(case["text"], case["special"])
                continue
            if "ids" in case:
                assert tokenizer.encode(case["text"], case["special"]).tolist() == case["ids"], what
            ids = case["ids"] if "ids" in case else case["decode"]
            assert tokenizer.decode(ids, skip_special_tokens=True) == case["decoded"], what
            whole = case.get("decoded_with_special", case["decoded"])
            assert tokenizer.decode(ids, skip_special_tokens=False) == whole, what


def test_unicode_tables_are_those_of_the_library() -> None:
    import subprocess
    import sys

    script = Path(__file__).resolve().parents[3] / "script" / "generate_unicode_tables.py"
    run = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
