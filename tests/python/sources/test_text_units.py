"""Lines, paragraphs and documents of text files."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import datasets
import pytest
from batches import loaded_rows
from easydata.core.config import ConfigError
from easydata.sources import TextShardedSource
from easydata.transforms import PackedShardedSource, TokenizedShardedSource

from easydata import AsyncDataLoader, DatasetConfig, TokenizerConfig, create_source

WORDS = ["a", "bé", "see the", "\n", "\n\n", "\n\n\n", "\r\n", "\r\n\r\n", "\r", " ", "\n \n"]


def some_text(size: int, seed: int) -> str:
    choose = random.Random(seed)
    return "".join(choose.choices(WORDS, k=size))


def by_datasets(path: Path, unit: str, cache: Path) -> list[str]:
    read = datasets.load_dataset(
        "text", data_files=str(path), sample_by=unit, split="train", cache_dir=str(cache)
    )
    return [str(text) for text in read["text"]]


def texts(source: Any) -> list[str]:
    return [row["text"] for row in source]


@pytest.mark.parametrize("unit", ["paragraph", "document"])
def test_units_are_those_of_datasets(tmp_path: Path, unit: Any) -> None:
    for seed in range(3):
        path = tmp_path / f"{seed}.txt"
        path.write_text(some_text(60 * 25**seed, seed), newline="")
        expected = by_datasets(path, unit, tmp_path / "cache")
        source = TextShardedSource(path, sample_by=unit)
        assert texts(source) == expected
        assert [row["text"] for row in loaded_rows(source)] == expected
        assert len(source) == len(expected)


def test_a_book_is_one_document_or_its_paragraphs(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("It was a bright\ncold day in April.\n\n\n\nSecond paragraph.\n")
    config = DatasetConfig(str(book), sample_by="paragraph")
    assert texts(create_source(config)) == [
        "It was a bright\ncold day in April.",
        "Second paragraph.\n",
    ]
    assert texts(create_source(DatasetConfig(str(book), sample_by="document"))) == [
        book.read_text()
    ]
    assert len(texts(create_source(DatasetConfig(str(book), sample_by="line")))) == 6
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("\n\n\n\n")
    for unit, left in (("paragraph", []), ("document", ["\n\n\n\n"])):
        both = [str(tmp_path / "empty.txt"), str(tmp_path / "blank.txt")]
        assert texts(create_source(DatasetConfig(both, sample_by=unit))) == left


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("unit", ["paragraph", "document"])
def test_every_row_can_be_gone_on_from(tmp_path: Path, unit: Any, suffix: str) -> None:
    """Paragraphs of more than a chunk, and many in one; what follows a restored state is equal."""
    choose = random.Random(1)
    paragraphs = ["x" * choose.choice([3, 700, 5000]) + f"\nend of {n}" for n in range(1500)]
    paragraphs[40] = "y" * (5 << 19) + "\nlong"
    names = []
    for part in range(3):
        text = "\n\n".join(paragraphs[part * 500 : part * 500 + 500]).encode()
        path = tmp_path / f"{part}.txt{suffix}"
        path.write_bytes(gzip.compress(text, 1) if suffix else text)
        names.append(path)
    if unit == "paragraph":
        expected = paragraphs
    else:
        expected = ["\n\n".join(paragraphs[at : at + 500]) for at in (0, 500, 1000)]

    def loader() -> AsyncDataLoader:
        source = TextShardedSource(names, sample_by=unit)
        return AsyncDataLoader(source, batch_size=1, num_threads=2)

    with loader() as whole:
        states = [whole.state_dict()]
        rows = []
        for batch in whole:
            rows += batch["text"]
            states.append(whole.state_dict())
    assert list(rows) == expected
    steps = range(0, len(states), 211) if unit == "paragraph" else range(len(states))
    for step in [*steps, *([40, 41, 42] if unit == "paragraph" else [])]:
        with loader() as restored:
            restored.load_state_dict(states[step])
            assert [batch["text"][0] for batch in restored] == expected[step:], step
    source = TextShardedSource(names[0], sample_by=unit)
    first = expected[:500] if unit == "paragraph" else expected[:1]
    for row in (0, 1, len(first) - 1, len(first)):
        from_there = source.open_shard_at_row(source.shard_names[0], row)
        assert [each["text"] for each in from_there] == first[row:]


def test_what_is_not_utf8_is_a_row_with_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\ntw\xffo\nx\n\nthree")
    rows = iter(TextShardedSource(path, sample_by="paragraph"))
    assert next(rows) == {"text": "one"}
    with pytest.raises(ValueError, match=r"row 1: line 3: not UTF-8 at byte 3 of the paragraph"):
        next(rows)
    kept = TextShardedSource(path, sample_by="paragraph", on_error="skip")
    assert texts(kept) == ["one", "three"]
    with pytest.raises(ValueError, match=r"row 0: line 1: not UTF-8 at byte 8 of the document"):
        list(TextShardedSource(path, sample_by="document"))


def test_documents_are_packed_whole(tmp_path: Path, gpt2: Any) -> None:
    from easydata import Tokenizer

    book = tmp_path / "book.txt"
    book.write_text("It was a bright\ncold day in April.\n\nSecond paragraph.\n")
    tokenizer = Tokenizer(gpt2)
    source = TextShardedSource(book, sample_by="document")
    tokens = TokenizedShardedSource(source, tokenizer, TokenizerConfig(gpt2))
    (row,) = PackedShardedSource(tokens, 128, tokenizer.eos_token_id)
    ids = [int(token) for token in row["input_ids"]]
    whole = tokenizer.encode(book.read_text())
    assert ids[: len(whole) + 1] == [*whole, tokenizer.eos_token_id]


def test_units_are_of_text_files_and_known(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n')
    with pytest.raises(ConfigError, match=r"sample_by has no effect.*where text files are read"):
        create_source(DatasetConfig(str(path), sample_by="document"))
    with pytest.raises(ValueError, match='sample_by: must be one of "line", "paragraph"'):
        TextShardedSource(path, sample_by="page")  # type: ignore[arg-type]
    (tmp_path / "a.txt").write_text("x")
    plain = TextShardedSource(tmp_path / "a.txt")._stream().description
    assert not any("sample_by" in key for key in plain)
