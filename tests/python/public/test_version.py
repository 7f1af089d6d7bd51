"""The version stands in pyproject.toml; everything else takes it from there."""

import json
import re
import tomllib
from pathlib import Path

import easydata

ROOT = Path(__file__).resolve().parents[3]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_package_and_the_engine_have_it(tmp_path: Path) -> None:
    assert easydata.__version__ == VERSION
    easydata.save_dataset(easydata.wrap_hf_dataset([{"n": 1}]), tmp_path / "out")
    metadata = json.loads((tmp_path / "out" / ".metadata.json").read_text())
    assert metadata["easydata_version"] == VERSION


def test_the_changelog_begins_with_it() -> None:
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[0] == VERSION
