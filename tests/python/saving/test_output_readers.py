"""Folders that we write, read by others as they are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset
import pytest
from datasets import disable_progress_bars, load_dataset

from easydata import DatasetConfig, create_source, save_dataset

ROWS = [{"text": f"row {i}", "n": i} for i in range(12)]


@pytest.fixture(params=["parquet", "arrow", "jsonl"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    out = tmp_path / "out"
    save_dataset(create_source(DatasetConfig(ROWS)), out, request.param, max_shard_rows=5)
    assert len(list(out.iterdir())) == 4
    return out


def format_of(folder: Path) -> str:
    return next(folder.glob("shard-*")).suffix[1:]


def rows_of(frame: Any) -> list[Any]:
    """The rows of a pandas frame, in order."""
    rows: list[Any] = frame.sort_values("n").to_dict("records")
    return rows


def test_datasets(folder: Path, tmp_path: Path) -> None:
    disable_progress_bars()
    builder = {"jsonl": "json"}.get(format_of(folder), format_of(folder))
    cache = str(tmp_path / "cache")
    ways: list[Callable[..., Any]] = [
        lambda **options: load_dataset(str(folder), **options),
        lambda **options: load_dataset(builder, data_dir=str(folder), **options),
    ]
    for read in ways:
        for streaming in (False, True):
            read_rows = read(split="train", cache_dir=cache, streaming=streaming)
            assert list(read_rows) == ROWS


def test_pyarrow_and_pandas(folder: Path) -> None:
    kind = {"arrow": "ipc", "jsonl": "json"}.get(format_of(folder), "parquet")
    assert pyarrow.dataset.dataset(folder, format=kind).to_table().to_pylist() == ROWS
    if kind == "parquet":
        assert rows_of(pd.read_parquet(folder)) == ROWS


def test_polars_by_pattern(folder: Path) -> None:
    polars = pytest.importorskip("polars")
    read = {"arrow": polars.scan_ipc, "jsonl": polars.scan_ndjson}
    scan = read.get(format_of(folder), polars.scan_parquet)
    shards = folder / f"*.{format_of(folder)}"
    assert scan(shards).collect().sort("n").select("text", "n").to_dicts() == ROWS
    # When polars passes over hidden files, the guide need not name a pattern.
    with pytest.raises(polars.exceptions.InvalidOperationError, match="different file extensions"):
        scan(folder).collect()


def test_duckdb(folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    read = {
        "parquet": [f"read_parquet('{folder}')", f"'{folder}/*.parquet'"],
        "jsonl": [f"read_json('{folder}/*.jsonl')", f"'{folder}/*.jsonl'"],
        "arrow": [],
    }
    for rows in read[format_of(folder)]:
        found = duckdb.sql(f"select text, n from {rows} order by n").fetchall()
        assert found == [(row["text"], row["n"]) for row in ROWS]
