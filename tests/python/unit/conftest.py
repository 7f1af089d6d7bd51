"""Fixtures of the tests of whole pipelines."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def gpt2(shared: Path) -> str:
    return str(shared / "data/tokenizers/gpt2")
