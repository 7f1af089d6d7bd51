"""Tokenizers on a lot of text: ids equal to the library's, memory that stays flat, no slow text.

The text is what is installed on this machine: documentation of Debian packages in all their
languages (manual pages, change logs, licences, translations), Python's sources and those of its
packages, C headers. Where that is less than is asked for, paragraphs of it and of
../shared/data/text, or of our own texts, are put together anew, shuffled, until there is enough.
"""

import gzip
import json
import random
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import own_texts
import pytest
from data_folders import SHARED, needs_shared, tokenizer_folder, tokenizer_names
from programs import run_python
from resident_memory import GIVES_BACK

from easydata import Tokenizer

tokenizers = pytest.importorskip("tokenizers")

MEGABYTE = 1 << 20
# One tokenizer of each family, and how much of the text it is compared on. The library does 1 to 3
# MB/s, so the other members of a family, and ours, get every tenth batch.
FAMILIES = {
    "llama3.1": 1,  # byte-level BPE
    "llama2": 1,  # ▁-BPE with byte fallback
    "bert-base-uncased": 1,  # WordPiece
    "t5-small": 1,  # Unigram
    "gpt2": 10,
    "qwen2.5": 10,
    "deepseek-v3": 10,
    "gemma": 10,
    "tiny-bytelevel": 10,
}

EVERY_NAME = tokenizer_names(*FAMILIES)


def installed_files() -> Iterator[Path]:
    paths = sysconfig.get_paths()
    roots = ["/usr/share/man", "/usr/share/doc", paths["stdlib"], paths["purelib"], "/usr/include"]
    roots += [
        "/usr/share/perl",
        "/usr/share/i18n",
        "/usr/lib/python3",
        "/usr/share/common-licenses",
    ]
    suffixes = {
        "",
        ".gz",
        ".txt",
        ".md",
        ".rst",
        ".html",
        ".py",
        ".pyi",
        ".h",
        ".hpp",
        ".pm",
        ".pod",
    }
    for root in roots:
        for path in sorted(Path(root).rglob("*")):
            if path.suffix in suffixes and not path.is_symlink() and path.is_file():
                yield path


def installed_texts() -> Iterator[str]:
    """Texts of this machine, each once, in a fixed order."""
    seen: set[int] = set()
    for path in installed_files():
        try:
            content = path.read_bytes()
            text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        except (OSError, EOFError, UnicodeDecodeError):
            continue  # not text, or not ours to read: another file serves as well
        if len(text) > 200 and "\x00" not in text and hash(text) not in seen:
            seen.add(hash(text))
            yield text


def documents(num_bytes: int) -> Iterator[str]:
    """Documents of a few KB, `num_bytes` of them: what is installed, then mixtures."""
    size = 0
    paragraphs = [
        paragraph
        for path in sorted(SHARED.glob("data/text/*/*"))
        for paragraph in path.read_text(encoding="utf-8").split("\n")
        if paragraph
    ] or own_texts.documents(2000)
    rng = random.Random(7)
    for text in installed_texts():
        start = 0
        while start < len(text):
            end = start + rng.choice([300, 2000, 2000, 8000, 60_000])
            document = text[start:end]
            yield document
            start = end
            size += len(document.encode())
            if rng.random() < 0.02:
                paragraphs.append(document[:2000])
            if size >= num_bytes:
                return
    while size < num_bytes:
        document = "\n".join(rng.choices(paragraphs, k=rng.randint(1, 12)))
        yield document
        size += len(document.encode())


def batches(num_bytes: int, batch_bytes: int = 4 * MEGABYTE) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for document in documents(num_bytes):
        batch.append(document)
        size += len(document.encode())
        if size >= batch_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def compare(name: str, texts: list[str], ours: Tokenizer, reference: Any) -> int:
    """Bytes compared."""
    got = ours.encode_batch(texts, num_threads=2)
    values, offsets = got.values.to_numpy(), got.offsets.to_numpy()
    for i, encoding in enumerate(reference.encode_batch_fast(texts)):
        ids = values[offsets[i] : offsets[i + 1]]
        assert np.array_equal(ids, encoding.ids), (name, texts[i][:2000])
    return sum(len(text.encode()) for text in texts)


@pytest.fixture(scope="module")
def a_little() -> list[str]:
    return [text[:3000] for text in next(batches(MEGABYTE, MEGABYTE))[:150]]


@pytest.mark.parametrize("name", EVERY_NAME)
def test_a_little_of_everything(name: str, a_little: list[str]) -> None:
    """What the long test does, on little text."""
    folder = tokenizer_folder(name)
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert compare(name, a_little, Tokenizer(folder), reference) > 50_000


@pytest.mark.sliced
@pytest.mark.parametrize("name", EVERY_NAME)
def test_ids_of_two_hundred_megabytes(name: str) -> None:
    folder = tokenizer_folder(name)
    ours = Tokenizer(folder)
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    compared = 0
    for i, batch in enumerate(batches(200 * MEGABYTE)):
        if i % FAMILIES.get(name, 10) == 0:
            compared += compare(name, batch, ours, reference)
    assert compared >= 200 * MEGABYTE // FAMILIES.get(name, 10) * 0.9


MEASURE = """
import gc, json, random, sys
import pyarrow as pa
from easydata import Tokenizer

folder, megabytes, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
from resident_memory import resident

tokenizer = Tokenizer(folder)
rng = random.Random(1)
words = [
    "".join(rng.choices("etaoinshrdlucmfwypvbgkjqxz", k=rng.randint(1, 11))) for _ in range(60000)
]
words += [chr(rng.randint(0x4E00, 0x9FA5)) * rng.randint(1, 3) for _ in range(3000)]
base = [" ".join(rng.choices(words, k=500)) for _ in range(300)]

def batch(number):
    # New words in every document, so that no cache ever knows them all.
    texts = [f"{text} n{number}x{i} {number * 7919 + i}" for i, text in enumerate(base)]
    return pa.array(texts)

def encode(number):
    array = batch(number)
    tokenizer.encode_batch(array, num_threads=threads)
    return array.nbytes

for number in range(12):
    encode(-number)
gc.collect()
before, peak, done, number = resident(), 0, 0, 0
while done < megabytes << 20:
    done += encode(number)
    number += 1
    peak = max(peak, resident())
print(json.dumps({"growth": peak - before, "engine": tokenizer.engine}))
"""


def growth(name: str, megabytes: int) -> int:
    """Bytes by which memory grows over so much text, once the caches are there."""
    folder = tokenizer_folder(name)
    measured = json.loads(
        run_python("-c", MEASURE, folder, megabytes, 2, variables=GIVES_BACK).stdout
    )
    assert measured["engine"] == "native"
    return int(measured["growth"])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "name",
    ["split", "metaspace", "unigram"]
    if not SHARED.is_dir()
    else ["llama3.1", "llama2", "t5-small"],
)
def test_memory_stays_flat(name: str) -> None:
    assert growth(name, 100) < 64 * MEGABYTE


@pytest.mark.sliced
@pytest.mark.parametrize("name", EVERY_NAME)
def test_memory_stays_flat_over_a_gigabyte(name: str) -> None:
    assert growth(name, 1024) < 64 * MEGABYTE


def seconds_per_byte(name: str, text: str) -> float:
    """CPU time of the first pass: nothing is remembered from before."""
    best = float("inf")
    for _ in range(3):
        tokenizer = Tokenizer(tokenizer_folder(name))
        tokenizer.encode_batch(["once, for its tables"], num_threads=1)
        start = time.process_time()
        tokenizer.encode_batch([text], num_threads=1)
        best = min(best, time.process_time() - start)
    return best / len(text.encode())


def prose(num_characters: int) -> str:
    texts = [
        path.read_text(encoding="utf-8") for path in sorted(SHARED.glob("data/text/prose/*.txt"))
    ]
    return "".join(texts)[:num_characters]


# Twice the cost of prose is what is asked for; where it is not reached yet, what was measured.
NOT_YET = {
    "llama3.1": 4.1,
    "llama2": 5.7,
    "gpt2": 3.8,
    "qwen2.5": 4.0,
    "deepseek-v3": 4.0,
    "gemma": 5.8,
}


@needs_shared  # as what it cost was measured on it
@pytest.mark.sliced
@pytest.mark.parametrize("name", FAMILIES)
def test_a_megabyte_without_spaces_costs_at_most_twice_as_much(name: str) -> None:
    without = "".join(prose(2 * MEGABYTE).split())[:MEGABYTE]
    cost = seconds_per_byte(name, without) / seconds_per_byte(name, prose(MEGABYTE))
    if name in NOT_YET and cost >= 2:
        pytest.xfail(f"{cost:.1f} times the cost of prose (was {NOT_YET[name]})")
    assert cost < 2 * 1.25  # the clock of a shared machine gets some room


@pytest.mark.sliced
@pytest.mark.parametrize("name", EVERY_NAME)
def test_the_cost_of_a_long_word_is_linear(name: str) -> None:
    rng = random.Random(3)
    word = "".join(rng.choices("etaoinshrdlucmfwypvbgkjqxz", k=MEGABYTE))
    assert seconds_per_byte(name, word) < 4 * seconds_per_byte(name, word[: MEGABYTE // 32])
