"""Writes small data sets of ArrayRecord files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from easydata import ParquetShardedSource, save_dataset

TEXTS = 201


def write_texts(folder: Path, documents: list[str]) -> None:
    """Three files whose numbers come in another order than their names."""
    third = len(documents) // 3
    parts = [documents[:third], documents[third : 2 * third], documents[2 * third :]]
    for number, part in zip(("000002", "3", "10"), parts, strict=True):
        _write(folder / f"train_{number}.arecord", [text.encode() for text in part])


def write_tokens(folder: Path, count: int, seed: int) -> list[list[int]]:
    """One file of documents of tokens."""
    rng = np.random.default_rng(seed)
    documents = [
        [i + 1, *rng.integers(1000, 2000, int(rng.integers(0, 16))).tolist()] for i in range(count)
    ]
    _write(folder / "train_0.arecord", [np.array(each, "<i4").tobytes() for each in documents])
    return documents


def _write(path: Path, records: list[bytes]) -> None:
    written = path.with_suffix(".written")
    table = written.with_suffix(".parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"record": pa.array(records, pa.binary())}), table)
    save_dataset(ParquetShardedSource(str(table)), written, format="array_record", num_shards=1)
    (file,) = written.glob("*.arecord")
    file.rename(path)
