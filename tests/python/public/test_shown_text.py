"""What comes of data and file names is shown on a terminal, never obeyed by it."""

import json
from pathlib import Path

import pytest
from easydata.cli import main
from easydata.core.shown_text import shown

RED = "\x1b[31mred\x1b[0m"
NASTY = f"a{RED}\x07\u202eb\r\nc\td\x9b2J"


def test_controls_are_spelled_out() -> None:
    assert shown("plain\n\ttext, é 日本") == "plain\n\ttext, é 日本"
    assert shown(NASTY) == "a\\x1b[31mred\\x1b[0m\\x07\\u202eb\\r\nc\td\\u009b2J"
    assert shown("x\udcff.jsonl") == "x\\xff.jsonl"
    assert shown("half \ud800 of one\x1b") == "half \\ud800 of one\\x1b"


def test_inspect_shows_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text(json.dumps({"text": NASTY, "no[bold]te": RED}) + "\n")
    assert main(["inspect", "a.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "\x07" not in out
    assert "\\x1b[31mred" in out
    assert "no[bold]te" in out, "names are no markup"
    assert main(["inspect", "a.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["columns"]["text"] == NASTY


def test_names_of_files_are_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"{RED}[red].jsonl"
    Path(name).write_text('{"text": "x"}\n')
    assert main(["convert", name, "--output-dir", f"out{RED}"]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "out\\x1b[31mred" in said.out
    Path("bad\x1b.jsonl").write_text("{\n")
    assert main(["inspect", "bad\x1b.jsonl"]) == 1
    assert main(["inspect", "none\x1b[2J.jsonl"]) == 1
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "none\\x1b[2J" in said.err
