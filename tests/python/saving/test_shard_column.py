"""Rows of one value in one shard."""

import datetime
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

from easydata import (
    DatasetConfig,
    Pipeline,
    PipelineConfig,
    SaveStageConfig,
    create_source,
    save_dataset,
    verify,
)

N = 5


def shard_of(value: Any) -> int:
    """The shard of a value, as the reference of the configs says."""
    if isinstance(value, datetime.date):
        text = value.isoformat()
    else:
        text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return xxhash.xxh3_64(text.encode()).intdigest() % N


def dealt(rows: list[dict[str, Any]], column: str) -> list[list[dict[str, Any]]]:
    shards = defaultdict(list)
    for row in rows:
        shards[shard_of(row.get(column))].append(row)
    return [shards[shard] for shard in range(N)]


def read(paths: list[str]) -> list[list[dict[str, Any]]]:
    return [list(create_source(DatasetConfig(path))) for path in paths]


VALUES: dict[str, list[Any]] = {
    "text": ["", "é", "same", '\n"q"', None],
    "int": [0, -7, 2**53 + 1, None],
    "float": [0.5, 1.0, 1e300],
    "bool": [True, False, None],
    "date": [datetime.date(2026, 11, 28), None],
}


@pytest.mark.parametrize("format", ["parquet", "arrow", "jsonl", "array_record"])
@pytest.mark.parametrize("column", VALUES)
def test_rows_of_one_value_go_into_one_shard(tmp_path: Path, format: str, column: str) -> None:
    values = VALUES[column]
    rows = [{column: values[i * i % len(values)], "n": i} for i in range(3000)]
    options: dict[str, Any] = {"encode": "json"} if format == "array_record" else {}
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet", row_group_size=700)
    source = create_source(DatasetConfig(str(tmp_path / "in.parquet")))
    if column == "date" and format in ("jsonl", "array_record"):
        rows = [{**row, "date": row["date"] and row["date"].isoformat()} for row in rows]
    expected = dealt(rows, column)
    outputs = []
    for threads in (1, 3):
        stats = save_dataset(
            source,
            tmp_path / f"out{threads}",
            format,
            num_shards=N,
            shard_column=column,
            num_threads=threads,
            **options,
        )
        assert read(stats.output_paths) == expected
        outputs.append([Path(path).read_bytes() for path in stats.output_paths])
    assert outputs[0] == outputs[1]
    assert verify(tmp_path / "out1").ok


def test_free_rows_and_columns_that_are_not_written(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"k": k, "n": i} for i, k in enumerate([1, "1", None, "é", 2.5, True] * 40)
    ]
    rows += [{"n": 240 + i} for i in range(10)]  # without the key: as null
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = create_source(DatasetConfig(str(tmp_path / "in.jsonl")))
    options: dict[str, Any] = {"num_shards": N, "shard_column": "k"}
    stats = save_dataset(source, tmp_path / "out", "jsonl", **options)
    assert read(stats.output_paths) == dealt(rows, "k")
    stats = save_dataset(source, tmp_path / "n", "jsonl", columns=["n"], **options)
    shards = [[{"n": row["n"]} for row in shard] for shard in dealt(rows, "k")]
    assert read(stats.output_paths) == shards
    in_memory = save_dataset(create_source(DatasetConfig(rows)), tmp_path / "m", "jsonl", **options)
    assert read(in_memory.output_paths) == dealt(rows, "k")


def test_row_groups_are_not_cut_to_pieces(tmp_path: Path) -> None:
    rows = 100_000
    table = pa.table({"k": [i % 50 for i in range(rows)], "text": ["x" * 20] * rows})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=500)
    source = create_source(DatasetConfig(str(tmp_path / "in.parquet")))
    stats = save_dataset(source, tmp_path / "out", num_shards=50, shard_column="k")
    assert stats.num_examples == rows
    assert [pq.ParquetFile(path).num_row_groups for path in stats.output_paths] == [
        1 if pq.read_metadata(path).num_rows else 0 for path in stats.output_paths
    ]


def test_groups_of_records_are_whole(tmp_path: Path) -> None:
    rows = [{"text": f"{i % 7} " + "x" * 5000} for i in range(3000)]
    source = create_source(DatasetConfig(rows))
    stats = save_dataset(
        source,
        tmp_path / "out",
        "array_record",
        num_shards=N,
        shard_column="text",
        writer_options="group_size:16",
    )
    assert read(stats.output_paths) == dealt(rows, "text")


def test_pipelines_take_it_of_a_dataset_or_for_all(tmp_path: Path) -> None:
    rows = [{"k": i % 9, "j": i % 4} for i in range(100)]
    datasets = [
        DatasetConfig(rows, name="a", shard_column="j"),
        DatasetConfig(rows, name="b"),
    ]
    save = SaveStageConfig(output_dir=str(tmp_path), num_shards=N, shard_column="k")
    written = Pipeline.from_config(PipelineConfig(datasets=datasets, save=save)).source().save()
    stats = written.build()
    assert read(stats["a"].output_paths) == dealt(rows, "j")
    assert read(stats["b"].output_paths) == dealt(rows, "k")
    metadata = json.loads((tmp_path / "b" / ".metadata.json").read_text())
    assert metadata["config"]["save"]["shard_column"] == "k"


def test_what_cannot_be_meant(tmp_path: Path) -> None:
    source = create_source(DatasetConfig([{"k": [1], "text": "a"}]))
    with pytest.raises(ValueError, match="shard_column: needs num_shards"):
        save_dataset(source, tmp_path / "out", shard_column="text")
    with pytest.raises(ValueError, match=r'row 0.*column "k" holds a list'):
        save_dataset(source, tmp_path / "out", num_shards=2, shard_column="k")
    pq.write_table(pa.table({"k": [[1]], "text": ["a"]}), tmp_path / "a.parquet")
    typed = create_source(DatasetConfig(str(tmp_path / "a.parquet")))
    with pytest.raises(ValueError, match='column "k" holds list'):
        save_dataset(typed, tmp_path / "out", num_shards=2, shard_column="k")
    with pytest.raises(KeyError, match=r'no column "texr"; did you mean "text"\?'):
        save_dataset(typed, tmp_path / "out", num_shards=2, shard_column="texr")
