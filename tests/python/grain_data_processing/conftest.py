"""Small data sets for the grain_data_processing tests."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from small_records import TEXTS, write_texts, write_tokens
from small_tokenizer import small_tokenizer


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tokenizer with a token for each byte; 256 ends a document."""
    return small_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`train` of 201 texts in three files; each begins with its number."""
    folder = tmp_path_factory.mktemp("texts")
    rng = random.Random(5)
    documents = [f"{i}:" + "x" * rng.randrange(0, 40) for i in range(TEXTS)]
    write_texts(folder / "train", documents)
    return folder


@pytest.fixture(scope="session")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of tokens, `train` of 300 documents of 1 to 16 tokens; the first is a number."""
    folder = tmp_path_factory.mktemp("numbers")
    write_tokens(folder / "train", 300, seed=2)
    return folder
