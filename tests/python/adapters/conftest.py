"""Data that the adapters' tests share."""

from pathlib import Path

import pytest
from small_corpus import tokenizer_folder, write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "texts")


@pytest.fixture(scope="module")
def tokenizer(shared: Path) -> str:
    return tokenizer_folder(shared)
