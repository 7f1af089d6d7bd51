"""Small data sets for the grain_data_processing tests."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "adapters"))

from small_tokenizer import small_tokenizer

from easydata import ParquetShardedSource, save_dataset

TEXTS = 201


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tokenizer with a token for each byte; 256 ends a document."""
    return small_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`train` of 201 texts in three files; each begins with its number."""
    folder = tmp_path_factory.mktemp("texts")
    rng = random.Random(5)
    documents = [f"{i}:" + "x" * rng.randrange(0, 40) for i in range(TEXTS)]
    write_texts(folder / "train", documents)
    return folder


@pytest.fixture(scope="session")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of tokens, `train` of 300 documents of 1 to 16 tokens; the first is a number."""
    folder = tmp_path_factory.mktemp("numbers")
    write_tokens(folder / "train", 300, seed=2)
    return folder


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
