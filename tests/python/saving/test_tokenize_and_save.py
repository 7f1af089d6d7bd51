"""tokenize_and_save and pretokenize."""

import json
from pathlib import Path
from typing import Any

import pytest

import easydata


def test_max_length_is_honoured(tmp_path: Path, gpt2: str) -> None:
    """D7: EasyDeL cuts at 2048 whatever is asked for."""
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "one two three four five six"}) + "\n")
    easydata.tokenize_and_save(tmp_path / "a.jsonl", gpt2, tmp_path / "out", max_length=3)
    (row,) = easydata.ParquetShardedSource(str(tmp_path / "out"))
    import tokenizers

    ids = tokenizers.Tokenizer.from_file(f"{gpt2}/tokenizer.json").encode("one two three").ids
    assert row["input_ids"] == ids


@pytest.mark.parametrize("kind", ["arrow", "jsonl"])
def test_output_format(tmp_path: Path, gpt2: str, kind: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n')
    assert (
        easydata.tokenize_and_save(str(tmp_path / "a.jsonl"), gpt2, tmp_path / "out", kind) is None
    )
    assert (tmp_path / "out" / f"shard-00000.{kind}").exists()


def test_pretokenize(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"n": i}) + "\n" for i in range(10)))

    def transform(row: dict[str, Any]) -> dict[str, Any] | None:
        return {"input_ids": [row["n"]] * 3} if row["n"] % 2 else None

    source = easydata.JsonShardedSource(str(tmp_path / "a.jsonl"))
    stats = easydata.pretokenize(source, transform, str(tmp_path / "out"))
    assert stats.num_examples == 5
    rows = list(easydata.ParquetShardedSource(str(tmp_path / "out")))
    assert rows == [{"input_ids": [n] * 3} for n in (1, 3, 5, 7, 9)]
    import pyarrow.parquet as pq

    group = pq.ParquetFile(tmp_path / "out/shard-00000.parquet").metadata.row_group(0)
    assert group.column(0).compression == "SNAPPY"
    with pytest.raises(ValueError, match="num_proc must be at least 1"):
        easydata.pretokenize(source, transform, str(tmp_path / "more"), num_proc=0)
    text: Any = "2"
    with pytest.raises(TypeError, match="num_proc: must be a whole number, not '2'"):
        easydata.pretokenize(source, transform, str(tmp_path / "more"), num_proc=text)
