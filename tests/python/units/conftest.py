"""Fixtures of the tests of units."""

import sys
from pathlib import Path

import pytest
from small_tokenizer import small_tokenizer

HERE = str(Path(__file__).parent)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with a tokenizer; workers find the functions of these tests."""
    monkeypatch.chdir(tmp_path)
    if HERE not in sys.path:
        monkeypatch.syspath_prepend(HERE)
    small_tokenizer(tmp_path / "tok")
    return tmp_path
