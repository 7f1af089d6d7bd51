"""Writing rows to shards."""

import gzip
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from easydata.execution import parse_size
from python_rows import Rows

from easydata import (
    DatasetConfig,
    JsonShardedSource,
    ParquetShardedSource,
    ParquetWriter,
    WriteStats,
    create_source,
    create_writer,
    save_dataset,
    save_iterator,
)


def token_table(rows: int = 3000, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    ids = [random.integers(0, 50257, random.integers(0, 90), dtype=np.int32) for _ in range(rows)]
    return pa.table(
        {
            "input_ids": pa.array(ids, pa.list_(pa.int32())),
            "attention_mask": pa.array([np.ones_like(x) for x in ids], pa.list_(pa.int32())),
            "text": [f"row {i} é\n" if i % 11 else None for i in range(rows)],
            "n": pa.array(range(rows), pa.int64()),
            "score": pa.array([i / 7 for i in range(rows)], pa.float32()),
        }
    )


def parquet_source(path: Path, table: pa.Table, row_group_size: int = 250) -> ParquetShardedSource:
    path.mkdir(exist_ok=True)
    pq.write_table(table, path / "in.parquet", row_group_size=row_group_size)
    return ParquetShardedSource(str(path / "*.parquet"))


def read_shards(stats: WriteStats) -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in stats.output_paths])


@pytest.mark.parametrize("compression", [None, "none", "snappy", "gzip", "lz4", "zstd"])
def test_parquet_read_by_pyarrow_equals_what_was_written(
    tmp_path: Path, compression: str | None
) -> None:
    table = token_table()
    stats = save_dataset(
        parquet_source(tmp_path / "in", table),
        tmp_path / "out",
        max_shard_size="64KB",
        compression=compression,
    )
    assert stats.num_examples == table.num_rows
    assert stats.num_shards == len(stats.output_paths) > 1
    assert stats.total_bytes == sum(os.path.getsize(path) for path in stats.output_paths)
    back = read_shards(stats)
    assert back.schema.field("input_ids").type == pa.list_(pa.field("element", pa.int32()))
    assert back.to_pylist() == table.to_pylist()
    codec = pq.ParquetFile(stats.output_paths[0]).metadata.row_group(0).column(0).compression
    expected = {None: "ZSTD", "none": "UNCOMPRESSED"}.get(compression, str(compression).upper())
    assert codec == expected
    for path in stats.output_paths:
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            assert file.read_row_group(group).num_rows == file.metadata.row_group(group).num_rows


def test_shards_close_at_the_first_row_group_past_the_size(tmp_path: Path) -> None:
    stats = save_dataset(
        parquet_source(tmp_path / "in", token_table()), tmp_path / "out", max_shard_size=64 * 1024
    )
    for path in stats.output_paths[:-1]:
        metadata = pq.ParquetFile(path).metadata
        last = metadata.row_group(metadata.num_row_groups - 1)
        size_before_last = last.column(0).data_page_offset
        assert os.path.getsize(path) >= 64 * 1024
        assert size_before_last < 64 * 1024


def test_an_all_ones_mask_costs_nearly_nothing(tmp_path: Path) -> None:
    ids = np.random.default_rng(0).integers(0, 50257, (400, 1000), dtype=np.int32)
    table = pa.table({"input_ids": list(ids), "attention_mask": list(np.ones_like(ids))})
    stats = save_dataset(parquet_source(tmp_path / "in", table, 400), tmp_path / "out")
    group = pq.ParquetFile(stats.output_paths[0]).metadata.row_group(0)
    sizes = {
        group.column(i).path_in_schema.split(".")[0]: group.column(i).total_compressed_size
        for i in range(group.num_columns)
    }
    assert sizes["attention_mask"] < sizes["input_ids"] / 200
    assert read_shards(stats).to_pylist() == table.to_pylist()


def test_exact_number_of_shards(tmp_path: Path) -> None:
    table = token_table(5000)
    stats = save_dataset(parquet_source(tmp_path / "in", table), tmp_path / "out", num_shards=3)
    assert stats.num_shards == 3
    runs = [table.slice(start, 1024) for start in range(0, 5000, 1024)]
    for index, path in enumerate(stats.output_paths):
        expected = pa.concat_tables(runs[index::3])
        assert pq.read_table(path).to_pylist() == expected.to_pylist()


@pytest.mark.parametrize(("rows", "shards"), [(60, 100), (60, 7), (2000, 100), (3071, 3)])
def test_few_rows_are_dealt_to_all_shards(tmp_path: Path, rows: int, shards: int) -> None:
    source = parquet_source(tmp_path / "in", token_table(rows), 97)
    stats = save_dataset(source, tmp_path / "out", num_shards=shards, num_threads=3)
    counts = [pq.read_metadata(path).num_rows for path in stats.output_paths]
    assert counts == [rows // shards + (i < rows % shards) for i in range(shards)]
    assert read_shards(stats).to_pylist() == token_table(rows).to_pylist()
    other = parquet_source(tmp_path / "in", token_table(rows), 1000)
    again = save_dataset(other, tmp_path / "again", num_shards=shards, num_threads=1)
    for path, same in zip(stats.output_paths, again.output_paths, strict=True):
        assert Path(path).read_bytes() == Path(same).read_bytes()


def test_few_records_are_dealt_whatever_their_groups(tmp_path: Path) -> None:
    source = create_source(DatasetConfig([{"text": str(i)} for i in range(60)]))
    stats = save_dataset(
        source, tmp_path / "out", "array_record", num_shards=9, writer_options="group_size:16"
    )
    counts = [len(list(create_source(DatasetConfig(path)))) for path in stats.output_paths]
    assert counts == [7] * 6 + [6] * 3


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_arrow(tmp_path: Path, compression: str | None) -> None:
    table = token_table()
    source = parquet_source(tmp_path / "in", table)
    stats = save_dataset(source, tmp_path / "out", "arrow", "100KB", compression=compression)
    assert stats.num_shards > 1
    tables = [pa.ipc.open_file(path).read_all() for path in stats.output_paths]
    assert pa.concat_tables(tables).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
def test_jsonl(tmp_path: Path, compression: str | None) -> None:
    table = token_table(700)
    source = parquet_source(tmp_path / "in", table)
    stats = save_dataset(source, tmp_path / "out", "jsonl", compression=compression)
    (path,) = stats.output_paths
    data = Path(path).read_bytes()
    if compression == "gzip":
        assert path.endswith(".jsonl.gz")
        data = gzip.decompress(data)
    elif compression == "zstd":
        assert path.endswith(".jsonl.zst")
        data = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    assert [json.loads(line) for line in data.decode().splitlines()] == table.to_pylist()


def test_numpy_rows_are_written_as_lists(tmp_path: Path) -> None:  # D44
    rows = [{"input_ids": np.arange(n, dtype=np.int32), "n": np.int64(n)} for n in range(5)]
    for form in ("jsonl", "parquet", "arrow"):
        stats = save_iterator(iter(rows), tmp_path / form, form)
        if form == "jsonl":
            lines = Path(stats.output_paths[0]).read_text().splitlines()
            back = [json.loads(line) for line in lines]
        elif form == "parquet":
            back = read_shards(stats).to_pylist()
        else:
            back = pa.ipc.open_file(stats.output_paths[0]).read_all().to_pylist()
        assert back == [{"input_ids": list(range(n)), "n": n} for n in range(5)]


def test_columns_are_those_of_all_rows_not_of_the_first(tmp_path: Path) -> None:  # D12
    rows = [{"a": 1}, {"a": 2, "b": "x"}, {"b": None, "c": [1.5]}]
    stats = save_dataset(Rows(rows), tmp_path / "out")
    assert read_shards(stats).to_pylist() == [
        {"a": 1, "b": None, "c": None},
        {"a": 2, "b": "x", "c": None},
        {"a": None, "b": None, "c": [1.5]},
    ]


def test_a_later_new_key_is_an_error_that_names_it(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": i} for i in range(1500)] + [{"a": 1, "late": 2}]
    with pytest.raises(ValueError, match=r"row 1500.*'late'.*column_types="):
        save_dataset(Rows(rows), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    stats = save_dataset(Rows(rows), tmp_path / "out", columns={"a": "int32", "late": "float64"})
    back = read_shards(stats)
    assert back.schema.field("a").type == pa.int32()
    assert back["late"].to_pylist() == [None] * 1500 + [2.0]
    only = save_dataset(Rows(rows), tmp_path / "only", columns=["a"])
    assert read_shards(only).column_names == ["a"]


def test_values_of_two_types_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"row 1.*'a' holds numbers and strings"):
        save_dataset(Rows([{"a": 1}, {"a": "x"}]), tmp_path / "out")


def test_strings_stay_strings(tmp_path: Path) -> None:
    rows = [{"when": "2020-01-01T00:00:00", "number": "12"}]
    stats = save_dataset(Rows(rows), tmp_path / "out")
    assert read_shards(stats).to_pylist() == rows


def test_unknown_column_is_named(tmp_path: Path) -> None:
    source = parquet_source(tmp_path / "in", token_table(10))
    with pytest.raises(KeyError, match=r"txt.*there are input_ids"):
        save_dataset(source, tmp_path / "out", columns=["txt"])


def test_metadata(tmp_path: Path) -> None:
    table = token_table()
    stats = save_dataset(
        parquet_source(tmp_path / "in", table), tmp_path / "out", "parquet", "80KB"
    )
    metadata = json.loads((tmp_path / "out" / ".metadata.json").read_text())
    assert metadata["num_examples"] == table.num_rows
    assert metadata["num_tokens"] == len(table["input_ids"].combine_chunks().flatten())
    assert [shard["name"] for shard in metadata["shards"]] == [
        Path(path).name for path in stats.output_paths
    ]
    assert sum(shard["rows"] for shard in metadata["shards"]) == table.num_rows
    assert sorted(os.listdir(tmp_path / "out")) == sorted(
        [".metadata.json", *(Path(path).name for path in stats.output_paths)]
    )


def test_overwrite(tmp_path: Path) -> None:  # D26
    source = parquet_source(tmp_path / "in", token_table())
    assert save_dataset(source, tmp_path / "out", max_shard_size="20KB").num_shards > 3
    with pytest.raises(FileExistsError, match=r"finished output.*overwrite=True"):
        save_dataset(source, tmp_path / "out")
    writer = ParquetWriter(tmp_path / "out", overwrite=True)
    assert writer.write(source).num_shards == 1
    assert sorted(os.listdir(tmp_path / "out")) == [".metadata.json", "shard-00000.parquet"]


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    source = parquet_source(tmp_path / "in", token_table(10))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.md").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.md"):
        save_dataset(source, tmp_path / "out")
    with pytest.raises(FileExistsError, match=r"notes\.md"):
        save_dataset(source, tmp_path / "out", overwrite=True)
    assert os.listdir(tmp_path / "out") == ["notes.md"]


def test_a_failing_source_leaves_nothing_half_written(tmp_path: Path) -> None:
    def fail(number: int) -> None:
        if number == 3000:
            raise ZeroDivisionError("my own error")

    ids = np.random.default_rng(0).integers(0, 50000, (4000, 50))
    rows = [{"input_ids": row.tolist()} for row in ids]
    with pytest.raises(ZeroDivisionError, match="my own error"):
        save_dataset(Rows(rows, fail), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    # With finished shards these stay, and the next run goes on behind them.
    with pytest.raises(ZeroDivisionError):
        save_dataset(Rows(rows, fail), tmp_path / "out", max_shard_size="50KB")
    shards = sorted(path.name for path in (tmp_path / "out").glob("shard-*"))
    assert shards
    stats = save_dataset(Rows(rows), tmp_path / "out", max_shard_size="50KB")
    assert read_shards(stats).num_rows == 4000
    fresh = save_dataset(Rows(rows), tmp_path / "fresh", max_shard_size="50KB")
    for ours, theirs in zip(stats.output_paths, fresh.output_paths, strict=True):
        assert Path(ours).read_bytes() == Path(theirs).read_bytes()


def test_a_failing_iterator_leaves_nothing(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        for number in range(3000):
            yield {"input_ids": list(range(number % 50))}
        raise ZeroDivisionError("my own error")

    with pytest.raises(ZeroDivisionError):
        save_iterator(rows(), tmp_path / "out", max_shard_size="20KB")
    assert not (tmp_path / "out").exists()


def test_killed_jobs_go_on_to_the_same_bytes(tmp_path: Path) -> None:
    source = parquet_source(tmp_path / "in", token_table(60_000), 1000)
    whole = save_dataset(source, tmp_path / "whole", max_shard_size="300KB")
    script = (
        "import sys, easydata\n"
        "easydata.save_dataset(easydata.ParquetShardedSource(sys.argv[1]), sys.argv[2],"
        " max_shard_size='300KB')\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "in/*.parquet"), str(tmp_path / "out")]
    killed = 0
    for delay in (0.15, 0.2, 0.25, 0.3, 0.4):
        job = subprocess.Popen(command)
        try:
            job.wait(delay)
        except subprocess.TimeoutExpired:
            job.kill()
            job.wait()
            killed += 1
        if (tmp_path / "out" / ".metadata.json").exists():
            break
    assert killed > 0
    # Also where it was killed when all was written and only the working folder was still there.
    if not (tmp_path / "out/.metadata.json").exists():
        save_dataset(source, tmp_path / "out", max_shard_size="300KB")
    names = sorted(os.listdir(tmp_path / "whole"))
    assert sorted(os.listdir(tmp_path / "out")) == names
    assert len(names) == whole.num_shards + 1
    for name in names:
        if name == ".metadata.json":  # says where and when
            continue
        left, right = tmp_path / "whole" / name, tmp_path / "out" / name
        assert left.read_bytes() == right.read_bytes(), name


def test_unwritable_folders_are_named(tmp_path: Path) -> None:
    source = parquet_source(tmp_path / "in", token_table(10))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=str(tmp_path / "file")):
        save_dataset(source, tmp_path / "file" / "out")
    with pytest.raises(FileExistsError, match="is a file"):
        save_dataset(source, tmp_path / "file")
    with pytest.raises(OSError, match="/proc/out"):
        save_dataset(source, "/proc/out")


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    try:
        source = parquet_source(tmp_path / "in", token_table(20_000))
        with pytest.raises(OSError, match=r"No space left on device") as raised:
            save_dataset(source, disk / "out")
        assert str(disk) in str(raised.value)
        assert not (disk / "out").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    source = parquet_source(tmp_path / "in", token_table(10))
    with pytest.raises(ValueError, match=r"format.*parquet, arrow, jsonl"):
        save_dataset(source, tmp_path / "out", "xml")
    with pytest.raises(ValueError, match="arrow has none, lz4 or zstd"):
        save_dataset(source, tmp_path / "out", "arrow", compression="gzip")
    for threads in (0, -1):
        with pytest.raises(
            ValueError,
            match=rf"^num_threads: must be at least 1 \(None: one for each core\), not {threads}$",
        ):
            save_dataset(source, tmp_path / "out", num_threads=threads)
    with pytest.raises(TypeError, match=r"^num_threads: must be a whole number, not 2\.0$"):
        save_dataset(source, tmp_path / "out", num_threads=2.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_shards"):
        save_dataset(source, tmp_path / "out", num_shards=0)
    with pytest.raises(NotImplementedError, match="outputs go to s3://, gs:// and local folders"):
        save_dataset(source, "abfs://bucket/out")
    assert not (tmp_path / "out").exists()


def test_empty_sources_give_metadata_alone(tmp_path: Path) -> None:
    stats = save_dataset(Rows([]), tmp_path / "out")
    assert stats == WriteStats(0, 0, 0, [], output_path=str(tmp_path / "out"))
    assert os.listdir(tmp_path / "out") == [".metadata.json"]


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[dict[str, int]] = []
    rows = [{"input_ids": [1, 2, 3]} for _ in range(2000)]
    source = Rows(rows, lambda number: time.sleep(0.0003))
    begin = time.monotonic()
    save_dataset(source, tmp_path / "out", progress=told.append)
    seconds = time.monotonic() - begin
    assert told[-1]["rows"] == 2000
    assert told[-1]["tokens"] == 6000
    assert told[-1]["shards"] == 1
    # Ten times a second at most, however long the machine takes, and at the end.
    assert len(told) <= 10 * seconds + 1


def test_an_error_in_progress_stops_the_writing(tmp_path: Path) -> None:
    def stop(done: dict[str, int]) -> None:
        raise ZeroDivisionError("enough")

    source = Rows([{"a": 1}] * 3000, lambda number: time.sleep(0.0005))
    with pytest.raises(ZeroDivisionError, match="enough"):
        save_dataset(source, tmp_path / "out", progress=stop)
    assert not (tmp_path / "out").exists()


@pytest.mark.alone
def test_ctrl_c_ends_writing_within_a_second(tmp_path: Path) -> None:
    source = Rows([{"a": 1}] * 100_000, lambda number: time.sleep(0.001))
    threads = set(threading.enumerate())
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        save_dataset(source, tmp_path / "out")
    assert time.monotonic() - begin < 1.5
    assert not (tmp_path / "out").exists()
    assert set(threading.enumerate()) <= threads


def test_create_writer(tmp_path: Path) -> None:
    assert create_writer(tmp_path / "out").format == "parquet"
    assert create_writer(tmp_path / "out", "jsonl", "10KB", 2, "gzip", True).format == "jsonl"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (17, 17),
        ("17", 17),
        ("1B", 1),
        ("10K", 10 * 1024),
        ("10KB", 10 * 1024),
        ("500MB", 500 * 2**20),
        ("500MiB", 500 * 2**20),
        ("1.5 gb", 3 * 2**29),
        ("2TB", 2**41),
    ],
)
def test_parse_size(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "ten", "1XB", "-5", None, True])
def test_parse_size_refuses(text: Any) -> None:
    with pytest.raises(ValueError, match="a size is"):
        parse_size(text)


def test_all_kinds_of_numbers_in_jsonl(tmp_path: Path) -> None:
    values = [0.0, -0.0, 1.5, -2.0, 1e300, 5e-324, math.inf, -math.inf, math.nan, None, 1e22, 0.1]
    whole = [0, -1, 2**63 - 1, -(2**63), None, 7, 10, 100, 1, 2, 3, 4]
    table = pa.table({"x": values, "n": whole, "xs": [[v, v] for v in values]})
    stats = save_dataset(parquet_source(tmp_path / "in", table), tmp_path / "out", "jsonl")
    (path,) = stats.output_paths
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    values = [v if v is None or math.isfinite(v) else None for v in values]  # JSON has no others
    assert repr([row["x"] for row in rows]) == repr(values)
    assert [row["n"] for row in rows] == whole
    assert repr([row["xs"] for row in rows]) == repr([[v, v] for v in values])
    again = list(JsonShardedSource(path).iter_shards())
    assert repr(again) == repr(rows)


@pytest.mark.parametrize(("meta", "path"), [({}, "meta"), ({"a": [{"b": {}}]}, "meta.a.b")])
def test_empty_objects_are_refused_by_their_path(meta: Any, path: str, tmp_path: Path) -> None:
    """Parquet has no type for them; other formats do."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text((json.dumps({"text": "a", "meta": meta}) + "\n") * 3)
    source = JsonShardedSource(rows)
    expected = f"'{path}' holds nothing but empty objects.*leave column 'meta' out"
    with pytest.raises(ValueError, match=expected):
        save_dataset(source, tmp_path / "parquet")
    for kind in ("jsonl", "arrow"):
        written = save_dataset(source, tmp_path / kind, format=kind)
        rows_read = list(create_source(DatasetConfig(written.output_paths)))
        assert rows_read == [{"text": "a", "meta": meta}] * 3
    save_dataset(source, tmp_path / "parquet", columns=["text"])
