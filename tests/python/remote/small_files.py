"""The same rows in files of all formats."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import own_texts
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

import easydata

ROWS = 6000
FORMATS = ["jsonl", "jsonl.gz", "txt", "parquet", "csv", "arrow"]


def rows() -> list[dict[str, Any]]:
    rng = random.Random(7)
    sentences = own_texts.ENGLISH
    return [{"id": i, "text": " ".join(rng.choices(sentences, k=3))} for i in range(ROWS)]


def write_files(folder: Path) -> Path:
    """Writes rows.jsonl and its like, and an empty file, into a folder."""
    data = rows()
    lines = "".join(json.dumps(row) + "\n" for row in data)
    (folder / "rows.jsonl").write_text(lines, encoding="utf-8")
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "rows.txt").write_text("".join(row["text"] + "\n" for row in data))
    table = pa.Table.from_pylist(data)
    pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=1000)
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    with pa.ipc.new_file(folder / "rows.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=500)
    (folder / "empty.jsonl").touch()
    return folder


def loader(data_files: Any, **options: Any) -> Any:
    """A loader of batches of 16 rows, in their order."""
    datasets = [{"data_files": data_files, **options}]
    stages = {"load": {"batch_size": 16, "shuffle_buffer_size": None}}
    return easydata.create_pipeline(datasets, **stages).source().load().build()
