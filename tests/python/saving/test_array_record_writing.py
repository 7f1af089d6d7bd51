"""Writing ArrayRecord files: as array_record reads them, and as it would have written them."""

import json
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from array_record_files import some, theirs, write
from easydata.cli import main
from easydata.grain_data_processing import load_array_record_dataset

import easydata
from easydata import (
    ArrayRecordShardedSource,
    DatasetConfig,
    ParquetShardedSource,
    TransformedShardedSource,
    create_source,
)


def saved(source: Any, folder: Path, **options: Any) -> list[Path]:
    easydata.save_dataset(source, folder, format="array_record", **options)
    assert easydata.verify(folder).ok
    return sorted(folder.glob("*.arecord"))


@pytest.mark.parametrize("compression", [None, "none", "zstd", "brotli", "snappy"])
def test_array_record_reads_what_is_saved(tmp_path: Path, compression: str | None) -> None:
    texts = [f"story {i} " + "ü" * (i % 300) for i in range(3000)] + ["x" * 200_000, ""]
    source = ParquetShardedSource(parquet_of(tmp_path, texts))
    options = {} if compression is None else {"compression": compression}
    paths = saved(source, tmp_path / "out", **options)
    assert [record.decode() for path in paths for record in theirs(path)] == texts
    assert [
        row["text"] for path in paths for row in iter(create_source(DatasetConfig(str(path))))
    ] == texts


def parquet_of(folder: Path, texts: list[str]) -> str:
    path = folder / "a.parquet"
    pq.write_table(pa.table({"text": texts}), path, row_group_size=500)
    return str(path)


def test_uncompressed_files_are_theirs_byte_for_byte(tmp_path: Path) -> None:
    records = some(100)
    table = pa.table({"record": pa.array(records, pa.binary())})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=7)
    source = ParquetShardedSource(str(tmp_path / "a.parquet"))
    (path,) = saved(source, tmp_path / "out", compression="none")
    expected = write(tmp_path / "a.arecord", records, "group_size:1,uncompressed")
    assert path.read_bytes() == expected.read_bytes()
    (path,) = saved(source, tmp_path / "snappy", compression="snappy")
    assert theirs(path) == records


def test_tokens_are_int32(tmp_path: Path) -> None:
    tokens = [[1, 2, 3], [], [5, 2**31 - 1]]
    table = pa.table({"input_ids": pa.array(tokens, pa.list_(pa.int32()))})
    pq.write_table(table, tmp_path / "a.parquet")
    (path,) = saved(ParquetShardedSource(str(tmp_path / "a.parquet")), tmp_path / "out")
    assert theirs(path) == [struct.pack(f"<{len(each)}i", *each) for each in tokens]
    found = ArrayRecordShardedSource(str(path), decode="int32")
    assert [row["input_ids"] for row in iter(found)] == tokens


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"text": ["a"], "n": [1]}, r"has one column, and the rows have 2 \(text, n\)"),
        ({"n": [1]}, 'column "n" is of type int64'),
        ({"text": ["a", None]}, 'column "text" has 1 missing values'),
    ],
)
def test_what_no_record_can_be(tmp_path: Path, table: dict[str, Any], says: str) -> None:
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=says):
        saved(ParquetShardedSource(str(tmp_path / "a.parquet")), tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.arecord"))


def test_a_damaged_output_is_found(tmp_path: Path) -> None:
    texts = [f"story {i}" for i in range(100)]
    (path,) = saved(ParquetShardedSource(parquet_of(tmp_path, texts)), tmp_path / "out")
    data = bytearray(path.read_bytes())
    data[2000] ^= 1
    path.write_bytes(data)
    assert not easydata.verify(tmp_path / "out").ok


def some_texts(count: int) -> list[str]:
    return [f"story {i} " + "ü" * (i * i % 700) for i in range(count)]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("group_size", [1, 3, 16, 5000])
@pytest.mark.parametrize("codec", ["uncompressed", "zstd:9", "brotli:2", "snappy"])
@pytest.mark.parametrize(
    "shards", [{}, {"max_shard_size": 200_000}, {"num_shards": 3}, {"max_shard_rows": 400}], ids=str
)
def test_groups(tmp_path: Path, group_size: int, codec: str, shards: dict[str, Any]) -> None:
    texts = some_texts(3333)
    source = ParquetShardedSource(parquet_of(tmp_path, texts))
    options = f"group_size:{group_size},{codec}"
    paths = saved(source, tmp_path / "out", writer_options=options, **shards)
    found = [theirs(path) for path in paths]
    if "num_shards" not in shards:
        assert [record.decode() for records in found for record in records] == texts
    else:
        assert sorted(record.decode() for records in found for record in records) == sorted(texts)
    assert len(paths) == shards.get("num_shards", len(paths))
    if "max_shard_rows" in shards:
        assert [len(records) for records in found] == [400] * 8 + [133]
    if codec == "uncompressed":
        expected = tmp_path / "expected.arecord"
        for path, records in zip(paths, found, strict=True):
            assert path.read_bytes() == write(expected, records, options).read_bytes()
    rows = [[row["text"] for row in create_source(DatasetConfig(str(path)))] for path in paths]
    assert rows == [[record.decode() for record in records] for records in found]


def test_shards_of_so_many_rows_named_by_split(tmp_path: Path) -> None:
    texts = some_texts(1001)
    source = ParquetShardedSource(parquet_of(tmp_path, texts))
    folder = tmp_path / "out"
    paths = saved(source, folder, max_shard_rows=250, shard_prefix="train")
    assert [path.name for path in paths] == [f"train_{i:06}.arecord" for i in range(5)]
    assert [len(theirs(path)) for path in paths] == [250, 250, 250, 250, 1]
    records = load_array_record_dataset(folder)
    assert [records[i].decode() for i in range(len(records))] == texts
    # Other formats have the same names.
    easydata.save_dataset(source, tmp_path / "parquet", max_shard_rows=1000, shard_prefix="train")
    names = sorted(path.name for path in (tmp_path / "parquet").glob("*.parquet"))
    assert names == ["train_000000.parquet", "train_000001.parquet"]
    assert [row["text"] for row in ParquetShardedSource(str(tmp_path / "parquet"))] == texts


class Stops:
    """Raises at a row, once."""

    at: int | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        if Stops.at is not None and row["text"].startswith(f"story {Stops.at} "):
            raise RuntimeError("the power is gone")
        return row


@pytest.mark.parametrize("group_size", [1, 7])
def test_a_job_that_stopped_goes_on_with_its_shards(tmp_path: Path, group_size: int) -> None:
    source = TransformedShardedSource(
        ParquetShardedSource(parquet_of(tmp_path, some_texts(5001))), Stops()
    )
    options: dict[str, Any] = {
        "max_shard_rows": 750,
        "shard_prefix": "train",
        "writer_options": f"group_size:{group_size},zstd",
    }
    expected = [path.read_bytes() for path in saved(source, tmp_path / "whole", **options)]
    assert len(expected) == 7
    Stops.at = 4000
    with pytest.raises(RuntimeError, match="power"):
        saved(source, tmp_path / "out", **options)
    Stops.at = None
    done = sorted((tmp_path / "out").glob("train_*.arecord"))
    assert [path.read_bytes() for path in done] == expected[: len(done)]
    assert len(done) >= 3
    stats = easydata.save_dataset(source, tmp_path / "out", "array_record", **options)
    assert stats.kept_shards == len(done)
    assert [Path(path).read_bytes() for path in stats.output_paths] == expected
    # Another prefix is another job.
    with pytest.raises(FileExistsError, match="finished output already"):
        saved(source, tmp_path / "out", **{**options, "shard_prefix": "validation"})


def test_a_finished_output_of_other_names_is_another_job(tmp_path: Path) -> None:
    """What decides it is the job's hash in the metadata."""
    source = ParquetShardedSource(parquet_of(tmp_path, some_texts(20)))
    jobs = set()
    for i, prefix in enumerate((None, "train", "test")):
        saved(source, tmp_path / str(i), shard_prefix=prefix, max_shard_rows=7)
        metadata = json.loads((tmp_path / str(i) / ".metadata.json").read_text())
        jobs.add(metadata["job"])
        assert metadata["config"].get("shard_prefix") == prefix
        assert metadata["config"]["max_shard_rows"] == 7
        assert "max_shard_size" not in metadata["config"]
    assert len(jobs) == 3


def several_columns() -> list[dict[str, Any]]:
    return [
        {"text": f'line "one"\nline {i}', "n": i, "tags": ["a"] * (i % 3), "score": i / 7}
        for i in range(500)
    ]


def test_rows_of_several_columns_as_json(tmp_path: Path) -> None:
    rows = several_columns()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=77)
    source = ParquetShardedSource(str(tmp_path / "a.parquet"))
    paths = saved(source, tmp_path / "out", encode="json", writer_options="group_size:4")
    assert [json.loads(record) for path in paths for record in theirs(path)] == rows
    read = ArrayRecordShardedSource(str(tmp_path / "out" / "*.arecord"), decode="json")
    assert list(read) == rows
    paths = saved(source, tmp_path / "two", encode="json", columns=["n", "text"])
    assert [json.loads(record) for path in paths for record in theirs(path)] == [
        {"n": row["n"], "text": row["text"]} for row in rows
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"format": "parquet", "encode": "json"}, "encode: is of the format array_record, not of"),
        ({"format": "jsonl", "writer_options": "zstd"}, "writer_options: is of the format array_"),
        ({"writer_options": "transpose:true"}, "transpose:true is not supported"),
        ({"writer_options": "group_sizes:2"}, "did you mean group_size"),
        ({"writer_options": "zstd:3", "compression": "zstd"}, "compression: is what writer_opt"),
        ({"max_shard_rows": 0}, "max_shard_rows: must be at least 1"),
        ({"max_shard_rows": 5, "num_shards": 2}, "max_shard_rows: has no meaning beside num_sha"),
        ({"shard_prefix": "../x"}, "shard_prefix: must be a plain name"),
        ({"shard_prefix": "_x"}, "shard_prefix: must be a plain name"),
    ],
    ids=str,
)
def test_options_that_cannot_be(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    source = ParquetShardedSource(parquet_of(tmp_path, ["a"]))
    with pytest.raises(ValueError, match=says):
        easydata.save_dataset(source, tmp_path / "out", **{"format": "array_record", **options})
    config = easydata.PipelineConfig(
        datasets=[DatasetConfig("a.jsonl")],
        save=easydata.SaveStageConfig(**{"format": "array_record", **options}),
    )
    (problem,) = config.validate()
    assert problem.startswith("save.")


# `easydata convert`.


def converted(given: str, out: Path, *flags: str) -> Path:
    """The folder with the output of the only dataset."""
    assert main(["convert", given, "--output-dir", str(out), *flags]) == 0
    return out


def rows_of(folder: Path) -> Iterator[dict[str, Any]]:
    return iter(create_source(DatasetConfig(str(folder))))


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "arrow", "hf"])
def test_convert_there_and_back(tmp_path: Path, kind: str) -> None:
    """Each record is read back by array_record, too."""
    texts = some_texts(700)
    given = tmp_path / "given"
    given.mkdir()
    table = pa.table({"text": texts, "id": list(range(700))})
    if kind == "hf":
        datasets = pytest.importorskip("datasets")
        datasets.Dataset(table).save_to_disk(str(given))
    elif kind == "parquet":
        pq.write_table(table, given / "a.parquet")
    elif kind == "arrow":
        with pa.ipc.new_file(str(given / "a.arrow"), table.schema) as writer:
            writer.write_table(table)
    else:
        lines = [json.dumps(row) + "\n" for row in table.to_pylist()]
        (given / "a.jsonl").write_text("".join(lines))
    data = str(given / "*.arrow") if kind == "hf" else str(given)
    records = ("--format", "array_record", "--max-shard-rows", "250", "--shard-prefix", "train")
    out = converted(data, tmp_path / "records", *records, "--columns", "text")
    paths = sorted(out.glob("train_*.arecord"))
    assert [len(theirs(path)) for path in paths] == [250, 250, 200]
    assert [record.decode() for path in paths for record in theirs(path)] == texts
    back = converted(str(out), tmp_path / "back", "--format", "parquet")
    assert list(rows_of(back)) == [{"text": text} for text in texts]

    out = converted(data, tmp_path / "json", *records, "--encode", "json")
    assert [
        json.loads(record) for path in sorted(out.glob("*.arecord")) for record in theirs(path)
    ] == table.to_pylist()


def test_files_are_those_of_any_number_of_threads(tmp_path: Path) -> None:
    data = parquet_of(tmp_path, some_texts(5000))
    flags = ("--format", "array_record", "--max-shard-rows", "999")
    outputs = [
        converted(data, tmp_path / threads, *flags, "--num-threads", threads)
        for threads in ("1", "2", "7")
    ]
    contents = [[path.read_bytes() for path in sorted(out.glob("*.arecord"))] for out in outputs]
    assert len(contents[0]) == 6
    assert all(one == other for one, other in pairwise(contents))
