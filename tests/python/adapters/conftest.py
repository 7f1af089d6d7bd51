"""Data that the adapters' tests share."""

from pathlib import Path

import pytest
from small_corpus import write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "texts")


@pytest.fixture(scope="module")
def tokenizer(gpt2: str) -> str:
    return gpt2
