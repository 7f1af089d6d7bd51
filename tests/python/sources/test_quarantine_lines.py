"""What stands in a quarantine file: each row once, with its bytes."""

import base64
import json
from pathlib import Path
from typing import Any

from easydata import DatasetConfig, create_source, save_dataset

BAD = b'{"text": "\xff\xfe caf\xe9"}'
LINES = [b'{"text": "a"}', b"nope", BAD, b'{"text": "b"}']


def config(folder: Path) -> DatasetConfig:
    (folder / "in.jsonl").write_bytes(b"\n".join(LINES) + b"\n")
    return DatasetConfig(
        str(folder / "in.jsonl"), on_error="quarantine", quarantine_path=str(folder / "bad.jsonl")
    )


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "bad.jsonl").read_text().splitlines()]


def bytes_of(line: dict[str, Any]) -> bytes:
    """The row as it was read."""
    if "content_base64" in line:
        return base64.b64decode(line["content_base64"], validate=True)
    return str(line["content"]).encode()


def test_a_row_stands_there_once_with_its_bytes(tmp_path: Path) -> None:
    dataset = config(tmp_path)
    for _ in range(2):  # runs, and passes of one source
        source = create_source(dataset)
        for _ in range(2):
            assert [row["text"] for row in source] == ["a", "b"]
    found = lines(tmp_path)
    assert [line["row"] for line in found] == [1, 2]
    assert [bytes_of(line) for line in found] == LINES[1:3]
    assert "content_base64" not in found[0]
    assert "caf\ufffd" in found[1]["content"]


def test_what_is_saved_again_and_other_rows_of_the_file(tmp_path: Path) -> None:
    dataset = config(tmp_path)
    for _ in range(2):
        save_dataset(create_source(dataset), tmp_path / "out", overwrite=True)
    assert len(lines(tmp_path)) == 2
    # Another row at the same place is another line.
    (tmp_path / "in.jsonl").write_bytes(b"more\nother\n")
    assert list(create_source(dataset)) == []
    assert [bytes_of(line) for line in lines(tmp_path)] == [*LINES[1:3], b"more", b"other"]


def test_bytes_of_every_format(tmp_path: Path) -> None:
    for name, content, row in (
        ("a.csv", b"text\n\xff\xfe\nb\n", b"\xff\xfe"),
        ("a.txt", b"\xff\xfe\nb\n", b"\xff\xfe"),
    ):
        (tmp_path / name).write_bytes(content)
        aside = tmp_path / f"{name}.bad"
        dataset = DatasetConfig(
            str(tmp_path / name), on_error="quarantine", quarantine_path=str(aside)
        )
        assert len(list(create_source(dataset))) == 1
        (line,) = [json.loads(line) for line in aside.read_text().splitlines()]
        assert bytes_of(line) == row, name
