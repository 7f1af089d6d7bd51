"""Data of several files, configs over them, and the command `easydata cache` on these."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from easydata.cli.command import main
from small_data import jsonl


def texts(folder: str = "data", files: str = "ab", rows: int = 40) -> str:
    """Writes a file of texts for each letter, unless it is there; gives their pattern."""
    for letter in files:
        if Path(f"{folder}/{letter}.jsonl").exists():
            continue
        jsonl(
            f"{folder}/{letter}.jsonl",
            [
                {"id": i, "text": f"{letter} tells of {i} ducks. " * (1 + i % 7), "kind": "duck"}
                for i in range(rows)
            ],
        )
    return f"{folder}/*.jsonl"


class Command:
    """Runs `easydata cache` on configs."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, status: int = 0) -> Any:
        """What a verb says as JSON."""
        self._capsys.readouterr()
        ended = main(["cache", *arguments, "--json"])
        out = self._capsys.readouterr().out
        assert ended == status, out
        return json.loads(out)

    def lines(self, *arguments: str, status: int = 0) -> str:
        """What a verb says to people."""
        self._capsys.readouterr()
        ended = main(["cache", *arguments])
        said = self._capsys.readouterr()
        assert ended == status, said.err
        return said.out + said.err

    def of(self, verb: str, config: Mapping[str, Any], name: str = "a") -> Any:
        """What a verb says of a dataset of a config."""
        Path("config.yaml").write_text(yaml.safe_dump(dict(config)), encoding="utf-8")
        return self(verb, "config.yaml")["datasets"][name]
