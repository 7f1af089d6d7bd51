"""Folders as models and `datasets.save_to_disk` lay them out, and what is no file in them."""

import json
import logging
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from programs import run_python

from easydata import DatasetConfig, JsonShardedSource, create_source


def rows_of(folder: Path) -> list[str]:
    return [row["text"] for row in create_source(DatasetConfig(data_files=str(folder)))]


def test_the_manual_s_layout_reads_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = pa.table({"text": ["a", "b"]})
    pyarrow.parquet.write_table(table, tmp_path / "shard-00000.parquet")
    for name in ("config.json", "tokenizer.json", "_metadata.json", "metadata.json", "README.md"):
        (tmp_path / name).write_text("{}")
    with caplog.at_level(logging.WARNING, "easydata"):
        assert rows_of(tmp_path) == ["a", "b"]
        assert rows_of(tmp_path) == ["a", "b"]
    # Named once; what is never data is not spoken of.
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(
        f"not read as data: {tmp_path}/config.json, {tmp_path}/tokenizer.json, which belong to"
    )


def test_saved_data_sets_read_as_they_are(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = {name: [f"{name} {i}" for i in range(30)] for name in ("train", "test")}
    splits = datasets.DatasetDict(
        {name: datasets.Dataset.from_dict({"text": texts}) for name, texts in rows.items()}
    )
    splits.save_to_disk(tmp_path / "both", num_shards={"train": 3, "test": 1})
    splits["train"].save_to_disk(tmp_path / "one")
    with pytest.raises(ValueError, match="with the splits test, train; name the folder of one"):
        rows_of(tmp_path / "both")
    assert rows_of(tmp_path / "both" / "train") == rows["train"]
    assert rows_of(tmp_path / "one") == rows["train"]
    # What map() leaves beside the shards is no shard.
    loaded = datasets.load_from_disk(tmp_path / "one")
    loaded.map(lambda row: {"text": row["text"].upper()}, load_from_cache_file=True)
    assert list((tmp_path / "one").glob("cache-*.arrow"))
    assert rows_of(tmp_path / "one") == rows["train"]


FIFO = """
import sys
from easydata import {kind} as kind
try:
    list(kind(sys.argv[1]))
except OSError as error:
    print(error)
"""


# B5: each in a process of its own, which a blocked open would keep.
@pytest.mark.parametrize("name", ["b.jsonl", ""])
def test_a_fifo_among_data_files_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    os.mkfifo(tmp_path / "b.jsonl")
    done = run_python("-c", FIFO.format(kind="JsonShardedSource"), tmp_path / name, timeout=20)
    assert f"{tmp_path}/b.jsonl is a FIFO (named pipe), no regular file" in done.stdout


# B5: what became one after it was listed.
def test_a_file_that_became_a_fifo_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "a"}) + "\n")
    source = JsonShardedSource(path)
    assert len(source) == 1
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="is a FIFO"):
        list(source)
