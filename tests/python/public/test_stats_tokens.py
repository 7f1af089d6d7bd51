"""`easydata stats`: rows of text, and tokens, counted or estimated, and said which (N34)."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.cli import main
from easydata.reports import content_sample
from small_data import jsonl


def texts(rows: int, seed: int = 0) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [{"text": draw.randbytes(draw.randrange(2, 120)).hex()} for _ in range(rows)]


def told(capsys: pytest.CaptureFixture[str], *command: str) -> dict[str, Any]:
    assert main(["stats", *command, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["datasets"]["dataset_0"]
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tokens_of(rows: list[dict[str, Any]]) -> int:
    return sum(len(row["text"]) for row in rows)  # a token for each byte


def test_small_files_are_counted(here: Path, tiny: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = texts(300)
    jsonl("a.jsonl", rows)
    with gzip.open("b.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    pq.write_table(pa.Table.from_pylist(rows), "c.parquet", row_group_size=50)
    for name in ("a.jsonl", "b.jsonl.gz", "c.parquet"):
        found = told(capsys, name, "--tokenizer", tiny, "--tokens")
        assert (found["rows"], found["tokens"]) == (300, tokens_of(rows)), name
        assert found["share_read"] == 1
        assert not any("plus_minus" in key for key in found)
    # Documents are whole: nothing is cut at the 2,048 tokens of tokenize().
    jsonl("long.jsonl", [{"text": "x" * 5000}])
    assert told(capsys, "long.jsonl", "--tokenizer", tiny, "--tokens")["tokens"] == 5000
    assert main(["stats", "a.jsonl", "--tokenizer", tiny, "--tokens"]) == 0
    out = capsys.readouterr().out
    assert "dataset_0: counted, all of it was read" in out
    assert f"{tokens_of(rows):,}" in out


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "parquet"])
def test_much_data_is_sampled(
    form: str,
    here: Path,
    tiny: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Parts as small as these make much data of little.
    monkeypatch.setattr(content_sample, "_PART_BYTES", 1 << 12)
    monkeypatch.setattr(content_sample, "_ROWS", 3200)
    every = []
    for part in range(60):
        rows = texts(150, part)
        every += rows
        if form == "jsonl":
            jsonl(f"{part:02}.jsonl", rows)
        elif form == "jsonl.gz":
            with gzip.open(f"{part:02}.jsonl.gz", "wt") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            pq.write_table(pa.Table.from_pylist(rows), f"{part:02}.parquet", row_group_size=50)
    found = told(capsys, f"*.{form}", "--tokenizer", tiny, "--tokens")
    assert 0 < found["share_read"] < 0.9
    assert found["parts_read"] == 32
    # Twice what 95 of 100 samples are within: the sample is the same each time.
    assert abs(found["tokens"] - tokens_of(every)) < 2 * found["tokens_plus_minus"]
    assert found["tokens_plus_minus"] < 0.2 * found["tokens"]
    if form == "parquet":
        assert found["rows"] == len(every)
        assert "rows_plus_minus" not in found
    else:
        assert abs(found["rows"] - len(every)) < 2 * found["rows_plus_minus"]
    assert told(capsys, f"*.{form}", "--tokenizer", tiny, "--tokens") == found
    assert main(["stats", f"*.{form}", "--tokenizer", tiny, "--tokens"]) == 0
    out = capsys.readouterr().out
    assert " ± " in out
    assert "tokens are estimated: " in out
    assert "% of the bytes were read, in 32 parts; ± holds for 95 of 100 such samples" in out


def test_the_beginning_of_one_compressed_file(
    here: Path, tiny: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_sample, "_ROWS", 100)
    rows = [{"text": f"{random.Random(i).random()} " * 30} for i in range(30_000)]
    with gzip.open("a.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    found = told(capsys, "a.jsonl.gz", "--tokenizer", tiny, "--tokens")
    assert found["share_read"] < 0.5
    assert found["tokens_plus_minus"] is None
    assert found["tokens"] == pytest.approx(tokens_of(rows), rel=0.3)


def test_rows_of_text_without_tokens(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonl("a.jsonl", texts(70))
    found = told(capsys, "a.jsonl")
    assert found["rows"] == 70
    assert "tokens" not in found
    Path("bad.jsonl").write_text('{"text": "one"}\n{"text": \n')
    assert told(capsys, "bad.jsonl")["rows"] in (None, 2)


def test_tokens_need_a_tokenizer(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonl("a.jsonl", texts(3))
    assert main(["stats", "a.jsonl", "--tokens"]) == 2
    assert "names no tokenizer; give --tokenizer" in capsys.readouterr().err
