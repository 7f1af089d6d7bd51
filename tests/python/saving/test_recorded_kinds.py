"""What the metadata of our outputs says to those who read them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from easydata import (
    ArrayRecordShardedSource,
    DatasetConfig,
    PackedShardedSource,
    Pipeline,
    PipelineConfig,
    TokenizedShardedSource,
    TokenizerConfig,
    create_source,
    save_dataset,
)

JSON_ROWS: list[dict[str, Any]] = [{"text": f"story {i}", "n": i} for i in range(20)]
TOKEN_ROWS = [{"input_ids": list(range(1, 2 + i))} for i in range(20)]
BYTES_ROWS = [{"record": bytes([i, 255])} for i in range(20)]


def saved(rows: list[dict[str, Any]], folder: Path, **options: Any) -> Path:
    save_dataset(create_source(DatasetConfig(rows)), folder, "array_record", **options)
    return folder


@pytest.mark.parametrize(
    ("rows", "kind", "options"),
    [
        (JSON_ROWS, "json", {"encode": "json", "max_shard_rows": 9}),
        ([{"text": row["text"]} for row in JSON_ROWS], "text", {}),
        (TOKEN_ROWS, "int32", {"columns": {"input_ids": "list<int32>"}}),
    ],
)
def test_records_are_read_as_what_they_are(
    tmp_path: Path, rows: list[dict[str, Any]], kind: str, options: dict[str, Any]
) -> None:
    out = saved(rows, tmp_path / "out", **options)
    assert json.loads((out / ".metadata.json").read_text())["records"] == kind
    shard = str(sorted(out.glob("*.arecord"))[0])
    for data in (str(out), str(out / "*.arecord")):
        assert list(create_source(DatasetConfig(data))) == rows
        assert list(ArrayRecordShardedSource(data)) == rows
    assert list(create_source(DatasetConfig(shard))) == rows[:9] if kind == "json" else rows
    # Named, it is read as it was named; and without the metadata a record is text.
    raw = next(iter(create_source(DatasetConfig(str(out), decode="bytes"))))
    assert list(raw) == ["record"]
    if kind == "json":
        (out / ".metadata.json").unlink()
        first = next(iter(create_source(DatasetConfig(str(out)))))
        assert json.loads(first["text"]) == rows[0]


def test_tokens_are_packed_without_decode(tmp_path: Path) -> None:
    out = saved(TOKEN_ROWS, tmp_path / "out", columns={"input_ids": "list<int32>"})
    source = create_source(DatasetConfig(str(out)))
    packed = [list(row["input_ids"]) for row in PackedShardedSource(source, 32, eos_token_id=0)]
    named = PackedShardedSource(
        create_source(DatasetConfig(str(out), decode="int32")), 32, eos_token_id=0
    )
    assert packed == [list(row["input_ids"]) for row in named]
    assert sum(map(sum, packed)) == sum(sum(row["input_ids"]) for row in TOKEN_ROWS)


def test_files_that_differ_and_files_of_others(tmp_path: Path) -> None:
    saved(JSON_ROWS, tmp_path / "a", encode="json")
    saved(TOKEN_ROWS, tmp_path / "b", columns={"input_ids": "list<int32>"})
    with pytest.raises(ValueError, match=r"a/shard-00000.arecord are json, .*b/.* are int32"):
        create_source(DatasetConfig(str(tmp_path / "*" / "*.arecord")))
    # The name of no shard of the output beside it.
    shutil.copy(tmp_path / "a" / "shard-00000.arecord", tmp_path / "a" / "other.arecord")
    other = create_source(DatasetConfig(str(tmp_path / "a" / "other.arecord")))
    assert list(next(iter(other))) == ["text"]
    (tmp_path / "a" / ".metadata.json").write_text("{")
    damaged = create_source(DatasetConfig(str(tmp_path / "a" / "shard-00000.arecord")))
    assert list(next(iter(damaged))) == ["text"]


@pytest.fixture
def tokens(tmp_path: Path, gpt2: str) -> Path:
    texts = create_source(DatasetConfig([{"text": f"a story of {i}"} for i in range(20)]))
    made = TokenizedShardedSource(texts, gpt2, TokenizerConfig("gpt2"))
    save_dataset(made, tmp_path / "tokens")
    return tmp_path / "tokens"


def test_text_asked_of_tokens_names_both_tokenizers(tokens: Path, tiny: str, gpt2: str) -> None:
    config = PipelineConfig(datasets=[DatasetConfig(str(tokens), name="d", tokenizer=tiny)])
    with pytest.raises(ValueError, match="tokens already") as error:
        list(Pipeline.from_config(config).source().tokenize().pack().build())
    assert repr(tiny) in str(error.value)
    assert repr(gpt2) in str(error.value)
    assert "no column" not in str(error.value)
    source = create_source(DatasetConfig(str(tokens)))
    same = TokenizedShardedSource(source, gpt2, TokenizerConfig("x"))
    with pytest.raises(ValueError, match="made by the same tokenizer"):
        next(iter(same))
    # Of others' tokens, whose they are is not known.
    rows = create_source(DatasetConfig(TOKEN_ROWS))
    with pytest.raises(ValueError, match=r"tokens already.*name the text's column"):
        next(iter(TokenizedShardedSource(rows, gpt2, TokenizerConfig("x"))))
