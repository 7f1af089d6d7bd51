"""NaN and the infinities in what is written as JSON."""

import json
import logging
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset
from easydata.cli import main

from easydata import DatasetConfig, create_source, save_dataset

NAN, INF = math.nan, math.inf
ROWS: list[dict[str, Any]] = [
    {"text": "NaN", "score": NAN, "parts": {"scores": [1.0, INF, None], "NaN": -INF}},
    {"text": 'Infinity "NaN" \\', "score": 1.5, "parts": {"scores": [NAN], "NaN": 0.0}},
    {"text": "c", "score": -INF, "parts": None},
]
NULLS = {"parts": 3, "score": 2}


def refuse(name: str) -> Any:
    raise ValueError(name)


def lines_of(path: str) -> list[Any]:
    return [json.loads(line, parse_constant=refuse) for line in Path(path).read_text().splitlines()]


def with_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: with_nulls(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_nulls(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def source_of(kind: str, folder: Path) -> Any:
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), folder / "in.parquet")
        return create_source(DatasetConfig(str(folder / "in.parquet")))
    if kind == "jsonl":
        (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        return create_source(DatasetConfig(str(folder / "in.jsonl")))
    if kind == "columns":
        (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        return create_source(
            DatasetConfig(str(folder / "in.jsonl"), columns=["text", "score", "parts"])
        )
    return create_source(DatasetConfig(ROWS))


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "columns", "rows"])
def test_they_are_null_and_counted(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        stats = save_dataset(source_of(kind, tmp_path), tmp_path / "out", "jsonl")
    assert lines_of(stats.output_paths[0]) == with_nulls(ROWS)
    assert stats.nulls == NULLS
    metadata = json.loads((tmp_path / "out" / ".metadata.json").read_text())
    assert metadata["nulls"] == NULLS
    (warning,) = [each for each in caplog.messages if "null" in each]
    assert "'parts': 3, 'score': 2" in warning


def test_datasets_and_pandas_write_the_same(tmp_path: Path) -> None:
    rows = [{"score": score} for score in (NAN, INF, -INF, 0.5)]
    stats = save_dataset(create_source(DatasetConfig(rows)), tmp_path / "out", "jsonl")
    pd.DataFrame(rows).to_json(tmp_path / "pandas.jsonl", orient="records", lines=True)
    Dataset.from_list(rows).to_json(tmp_path / "datasets.jsonl")
    ours = lines_of(stats.output_paths[0])
    assert ours == lines_of(str(tmp_path / "pandas.jsonl"))
    assert ours == lines_of(str(tmp_path / "datasets.jsonl"))


def test_records_of_json_and_counts_over_a_restart(tmp_path: Path) -> None:
    rows = [{"score": NAN if i % 3 == 0 else float(i)} for i in range(300)]
    source = create_source(DatasetConfig(rows))
    stats = save_dataset(source, tmp_path / "out", "array_record", encode="json")
    assert stats.nulls == {"score": 100}
    back = list(create_source(DatasetConfig(str(tmp_path / "out"), decode="json")))
    assert back == with_nulls(rows)
    # Shards that an earlier run finished have their counts in the progress file.
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "[1]\n")
    config = DatasetConfig(str(tmp_path / "in.jsonl"))
    again: dict[str, Any] = {"format": "jsonl", "max_shard_rows": 50}
    with pytest.raises(ValueError, match="row 300"):
        save_dataset(create_source(config), tmp_path / "cut", **again)
    progress = (tmp_path / "cut" / ".easydata" / "progress.jsonl").read_text()
    counted = [json.loads(line)["shard"]["nulls"] for line in progress.splitlines()[1:]]
    assert counted == [{"score": n} for n in (17, 17, 16, 17, 17, 16)][: len(counted)]
    assert len(counted) >= 5


def test_finite_numbers_are_no_matter(tmp_path: Path) -> None:
    rows = [{"text": "NaN, Infinity", "score": 1e308}]
    stats = save_dataset(create_source(DatasetConfig(rows)), tmp_path / "out", "jsonl")
    assert stats.nulls == {}
    assert "nulls" not in json.loads((tmp_path / "out" / ".metadata.json").read_text())
    assert lines_of(stats.output_paths[0]) == rows


def test_the_command_line_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source_of("parquet", tmp_path)
    data, out = str(tmp_path / "in.parquet"), str(tmp_path / "out")
    assert main(["convert", data, "--format", "jsonl", "--output-dir", out]) == 0
    assert "'parts': 3, 'score': 2" in capsys.readouterr().out
