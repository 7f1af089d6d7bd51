"""Fixtures of the tests of whole pipelines."""

from pathlib import Path

import pytest
from small_tokenizer import small_tokenizer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tokenizer of our own with a chat template (see small_tokenizer.py)."""
    return small_tokenizer(tmp_path_factory.mktemp("tiny"))
