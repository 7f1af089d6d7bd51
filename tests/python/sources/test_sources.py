"""The protocol of sources, files and patterns, bad rows, data sets in memory, composites."""

import gzip
import json
import logging
import os
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from easydata.sources import (
    CompositeShardedSource,
    CsvShardedSource,
    HFDatasetShardedSource,
    JsonShardedSource,
    ParquetShardedSource,
    TextShardedSource,
    create_source,
    expand_data_files,
    wrap_hf_dataset,
)
from programs import run_python

from easydata import DatasetConfig, ShardedDataSource, save_dataset

datasets = pytest.importorskip("datasets")

Row = dict[str, Any]
KINDS = {
    "JsonShardedSource": JsonShardedSource,
    "CsvShardedSource": CsvShardedSource,
    "TextShardedSource": TextShardedSource,
}


def golden(shared: Path, name: str) -> Any:
    return json.loads((shared / "data" / "golden" / "easydel" / name).read_text())


def numbered(folder: Path) -> list[str]:
    """Three JSONL shards of 5, 3 and 4 rows, as in the recorded values."""
    paths = []
    for shard, count in enumerate((5, 3, 4)):
        path = folder / f"{shard}.jsonl"
        path.write_text("".join(json.dumps({"s": shard, "i": i}) + "\n" for i in range(count)))
        paths.append(str(path))
    return paths


def test_recorded_rows_of_small_files(shared: Path, tmp_path: Path) -> None:
    for case in golden(shared, "sources.json")["cases"]:
        path = tmp_path / case["file_name"]
        path.write_text(case["content"], encoding="utf-8", newline="")
        source = KINDS[case["source"]](path, **case["args"])
        assert list(source) == case["rows"], case
        assert (len(source), source.num_shards()) == (case["len"], case["num_shards"])


def test_recorded_shard_iteration(shared: Path, tmp_path: Path) -> None:
    source = JsonShardedSource(numbered(tmp_path))
    for case in golden(shared, "sources.json")["iter_shards"]:
        rows = [[row["s"], row["i"]] for row in source.iter_shards(**case["args"])]
        assert rows == case["rows"], case


def test_recorded_expansions(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, case in enumerate(golden(shared, "expand_data_files.json")["cases"]):
        folder = tmp_path / str(number)
        for name in case["tree"]:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        monkeypatch.chdir(folder)
        if isinstance(case["expanded"], dict):
            with pytest.raises(FileNotFoundError):
                expand_data_files(case["data_files"])
        elif case.get("first_extension_only"):
            assert expand_data_files(case["data_files"]) == ["e/x.jsonl", "e/y.jsonl", "e/z.txt"]
        else:
            assert expand_data_files(case["data_files"]) == case["expanded"], case


def test_patterns_leave_out_hidden_names_and_metadata(tmp_path: Path) -> None:
    for name in (
        "a.jsonl",
        "_b.jsonl",
        ".c.jsonl",
        "metadata.json",
        "sub/d.json.gz",
        ".git/e.json",
        "README",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for pattern in (tmp_path, f"{tmp_path}/**/*json*", f"{tmp_path}/**/[!m]*.json*"):
        assert expand_data_files(pattern) == [f"{tmp_path}/a.jsonl", f"{tmp_path}/sub/d.json.gz"]
    assert expand_data_files(tmp_path / "README") == [f"{tmp_path}/README"]
    assert expand_data_files([tmp_path / "_b.jsonl"]) == [f"{tmp_path}/_b.jsonl"]


def test_a_pattern_that_matches_nothing_never_becomes_a_hub_name(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").touch()
    (tmp_path / "empty").mkdir()
    for data, kind in (
        (f"{tmp_path}/trian.jsonl", None),
        (f"{tmp_path}/*.parquet", "parquet"),
        ("a.json.gz", None),
        (f"{tmp_path}/empty", None),
    ):
        with pytest.raises(FileNotFoundError, match="no data files match") as error:
            create_source(DatasetConfig(data_files=data, type=kind))  # D14
        assert error.value.errno == 2
        assert data in str(error.value)
    with pytest.raises(
        FileNotFoundError,
        match=r"did you mean train.jsonl\? Looked in .*, which holds: empty, train.jsonl",
    ):
        expand_data_files(f"{tmp_path}/trian.jsonl")


def test_braces_stand_for_several_names(tmp_path: Path) -> None:
    for name in ("a-08.txt", "a-09.txt", "a-10.txt", "b-x.txt", "c{1,2}.txt", "d/1.txt", "e/1.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("row\n")

    def found(pattern: str) -> list[str]:
        files = expand_data_files(f"{tmp_path}/{pattern}")
        return [os.path.relpath(file, tmp_path) for file in files]

    assert found("a-{08..10}.txt") == ["a-08.txt", "a-09.txt", "a-10.txt"]
    assert found("{b-x,a-10}.txt") == ["a-10.txt", "b-x.txt"]
    assert found("{d,e}/*.txt") == ["d/1.txt", "e/1.txt"]
    assert found("c{1,2}.txt") == ["c{1,2}.txt"]
    with pytest.raises(FileNotFoundError, match=r"a-11\.txt"):
        found("a-{08..11}.txt")
    with pytest.raises(ValueError, match="is no range of numbers"):
        found("a-{10..08}.txt")


def test_other_schemes_are_refused_in_a_sentence() -> None:
    with pytest.raises(NotImplementedError, match="is no scheme that EasyData reads: it knows s3"):
        expand_data_files("nothing://b/x.jsonl")


def test_file_addresses_are_paths(tmp_path: Path) -> None:
    path = tmp_path / "a b%.txt"
    path.write_text("one\ntwo\n")
    (source_of_path, source_of_address) = (
        create_source(DatasetConfig(data_files=name)) for name in (str(path), path.as_uri())
    )
    assert source_of_address.shard_names == source_of_path.shard_names == (str(path),)
    assert list(source_of_address) == list(source_of_path)
    assert expand_data_files(f"file://localhost{tmp_path}/*.txt") == [str(path)]
    assert expand_data_files(tmp_path.as_uri()) == [str(path)]
    with pytest.raises(ValueError, match="names no file of this machine: write file:///path"):
        expand_data_files("file://elsewhere/a.txt")
    save_dataset(source_of_path, tmp_path.as_uri() + "/out")
    assert list(create_source(DatasetConfig(f"{tmp_path}/out"))) == list(source_of_path)


def test_a_folder_of_several_formats_is_an_error_that_names_them(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.jsonl", "c.txt"):
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match=r"several formats \(1 jsonl, 1 parquet, 1 txt\)"):
        create_source(DatasetConfig(data_files=str(tmp_path)))  # D16


def test_create_source_reads_each_kind(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "1"}\n')
    (tmp_path / "b.json").write_text('[{"text": "2"}]')
    (tmp_path / "c.tsv").write_text("text\tx\n3\t4\n")
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"text\n5\n"))
    (tmp_path / "e.txt").write_text("6\n")
    pq.write_table(pa.table({"text": ["7"], "x": [1]}), tmp_path / "f.pq")
    (tmp_path / "data").write_text('{"text": "8"}\n')

    def texts(data: Any, kind: Any = None, **options: Any) -> list[Row]:
        return list(create_source(DatasetConfig(data_files=data, type=kind, **options)))

    assert texts([tmp_path / "a.jsonl", tmp_path / "b.json"]) == [
        {"text": "1"},
        {"text": "2"},
    ]  # D15
    assert texts(tmp_path / "b.json", "jsonl") == [{"text": "2"}]
    assert texts(tmp_path / "c.tsv") == [{"text": "3", "x": "4"}]
    assert texts(tmp_path / "d.csv.gz") == [{"text": "5"}]
    assert texts(tmp_path / "e.txt", content_field="body") == [{"body": "6"}]
    assert texts(tmp_path / "f.pq", columns=["x"]) == [{"x": 1}]
    assert texts(tmp_path / "data", "json") == [{"text": "8"}]
    with pytest.raises(ValueError, match=r"format of .*data is not clear"):
        texts(tmp_path / "data")


def test_native_errors_name_file_line_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n\n{"a": 2}\n{"a": "\xff"}\n{"a": 4}\n')
    rows = iter(JsonShardedSource(path, name="web"))
    assert [next(rows), next(rows)] == [{"a": 1}, {"a": 2}]
    for _ in range(2):
        with pytest.raises(ValueError) as error:
            next(rows)
        for part in (
            f'sources["web"] {path} row 2: line 4: not UTF-8 at byte 8',
            'on_error="skip"',
        ):
            assert part in str(error.value)


def test_skipped_rows_are_logged_and_quarantined(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join("nope\n" if i % 2 else json.dumps({"i": i}) + "\n" for i in range(400)))
    source = JsonShardedSource(path, on_error="quarantine", quarantine_path=tmp_path / "q.jsonl")
    with caplog.at_level(logging.WARNING, logger="easydata"):
        assert [row["i"] for row in source] == list(range(0, 400, 2))
    assert len(caplog.records) == 11
    assert f"{path} row 1: left out: line 2: not valid JSON" in caplog.text
    kept = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text().splitlines()]
    assert len(kept) == 200
    assert kept[0]["row"] == 1
    assert kept[0]["content"] == "nope"
    assert kept[0]["shard"] == str(path)
    # Row numbers count what was left out: going on there loses nothing and repeats nothing.
    skipping = JsonShardedSource(path, on_error="skip")
    assert [row["i"] for row in skipping.open_shard_at_row(str(path), 201)] == list(
        range(202, 400, 2)
    )
    with pytest.raises(ValueError, match="on_error: must be one of"):
        JsonShardedSource(path, on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="quarantine_path: is required"):
        JsonShardedSource(path, on_error="quarantine")
    with pytest.raises(ValueError, match='quarantine_path: needs on_error="quarantine" or'):
        JsonShardedSource(path, on_error="skip", quarantine_path=tmp_path / "bad.jsonl")


def test_cut_files_give_their_rows_and_then_an_error_that_names_them(tmp_path: Path) -> None:
    text = "".join(json.dumps({"i": i, "t": str(hash(str(i)))}) + "\n" for i in range(20000))
    packed = gzip.compress(text.encode())
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    rows = iter(JsonShardedSource(path))
    got = []
    with pytest.raises(OSError, match=r"a.jsonl.gz") as error:
        got.extend(row["i"] for row in rows)
    assert len(got) > 5000
    assert got == list(range(len(got)))
    assert "cut short" in str(error.value)
    (tmp_path / "b.jsonl.gz").write_text("plain")
    with pytest.raises(ValueError, match=r"ends in .gz but"):
        next(iter(JsonShardedSource(tmp_path / "b.jsonl.gz")))
    (tmp_path / "c.parquet").write_bytes(b"PAR1" + b"x" * 50)
    with pytest.raises(OSError, match=r"c.parquet is not a whole Parquet file"):
        next(iter(ParquetShardedSource(tmp_path / "c.parquet")))


def test_unreadable_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")
    source = JsonShardedSource(path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"a.jsonl"):
        next(iter(source))
    path.write_text("{}\n")
    with pytest.raises(KeyError, match="there is no shard nope"):
        source.open_shard("nope")


def test_sources_travel_to_other_processes(tmp_path: Path) -> None:
    source = JsonShardedSource(numbered(tmp_path))
    copy = pickle.loads(pickle.dumps(source))
    assert list(copy) == list(source)
    assert bool(copy)


class Plain(ShardedDataSource[Row]):
    """The least that a subclass must have."""

    def __init__(self) -> None:
        self.shards = {"a": 5, "b": 0, "c": 600}

    @property
    def shard_names(self) -> list[str]:
        return list(self.shards)

    def num_shards(self) -> int:
        return len(self.shards)

    def open_shard(self, shard_name: str) -> Any:
        return ({"s": shard_name, "i": i} for i in range(self.shards[shard_name]))


def test_subclasses_work_in_the_engine() -> None:
    source = Plain()
    assert list(loaded_rows(source)) == list(source)
    assert len(list(source.open_shard_at_row("c", 590))) == 10
    with pytest.raises(TypeError, match="does not know its number of rows"):
        len(source)
    assert source.get_shard_info("a") is None
    assert [row["i"] for row in source.map(lambda row: {"i": row["i"] * 2})][:5] == [0, 2, 4, 6, 8]


def test_composites_of_equal_names_read_every_source(tmp_path: Path) -> None:
    first, second = [{"k": i} for i in range(3)], [{"k": -i} for i in range(4)]
    source = CompositeShardedSource([wrap_hf_dataset(first), wrap_hf_dataset(second)])
    assert len(set(source.shard_names)) == source.num_shards() == 2  # D10
    assert list(source) == first + second
    assert len(source) == 7
    assert list(loaded_rows(source)) == first + second
    info = source.get_shard_info(source.shard_names[1])
    assert info is not None
    assert (info.shard_id, info.num_rows) == (1, 4)
    nested = CompositeShardedSource([source, source])
    assert len(set(nested.shard_names)) == 4
    assert list(nested) == (first + second) * 2
    files = JsonShardedSource(numbered(tmp_path))
    pq.write_table(pa.table({"k": [7]}), tmp_path / "x.parquet")
    mixed = CompositeShardedSource([files, ParquetShardedSource(tmp_path / "x.parquet")])
    assert list(loaded_rows(mixed)) == list(mixed) == [*files, {"k": 7}]


def test_hugging_face_data_sets_are_read_as_arrow_with_their_indices() -> None:
    rows = [{"i": i, "t": f"x{i}", "l": [i] * (i % 3)} for i in range(3000)]
    dataset = datasets.Dataset.from_list(rows).shuffle(seed=3).select(range(500, 2900))
    source = HFDatasetShardedSource(dataset.with_format("numpy"), "data")
    expected = [dataset[i] for i in range(len(dataset))]
    assert list(source) == expected
    assert source.shard_names == ("data:0",)
    assert len(source) == 2400
    assert not source.is_streaming
    assert list(source.open_shard_at_row("data:0", 2395)) == expected[2395:]


def test_streaming_data_sets_go_on_unless_shuffled() -> None:
    rows = [{"i": i} for i in range(2500)]
    stream = datasets.Dataset.from_list(rows).to_iterable_dataset(num_shards=3)
    source = wrap_hf_dataset(stream)
    assert list(source) == rows
    assert source.is_streaming
    assert source.estimated_length is None
    assert list(source.open_shard_at_row("hf_dataset:0", 2000)) == rows[2000:]
    shuffled = wrap_hf_dataset(stream.shuffle(seed=1, buffer_size=10))
    assert sorted(row["i"] for row in shuffled) == list(range(2500))
    with pytest.raises(ValueError, match="shuffled cannot be resumed exactly"):
        list(shuffled.open_shard_at_row("hf_dataset:0", 5))


def test_rows_in_memory_stay_the_callers() -> None:
    rows = [{"i": i} for i in range(3)]
    for row in wrap_hf_dataset(rows):
        row["x"] = 1
    assert rows == [{"i": i} for i in range(3)]
    generated = wrap_hf_dataset(datasets.IterableDataset.from_generator(lambda: iter(rows)))
    assert list(generated) == rows
    for wrong in (7, "text", {"train": datasets.Dataset.from_list(rows)}):
        with pytest.raises(TypeError):
            wrap_hf_dataset(wrong)
    source = wrap_hf_dataset(rows)
    assert wrap_hf_dataset(source) is source


def test_to_hf_gives_the_same_rows(tmp_path: Path) -> None:
    source = JsonShardedSource(numbered(tmp_path))
    stream = source.to_hf()
    assert isinstance(stream, datasets.IterableDataset)
    assert list(stream) == list(source)
    assert list(stream) == list(source)
    assert stream.num_shards == 3


def test_lengths_are_counted_without_parsing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("nope\n\n" * 5)
    source = JsonShardedSource(tmp_path / "a.jsonl")
    assert len(source) == 5  # D39
    (tmp_path / "a.jsonl").unlink()
    assert len(source) == 5  # remembered


def test_num_rows_of_a_config_limits_its_rows(tmp_path: Path) -> None:
    config = DatasetConfig(data_files=numbered(tmp_path), num_rows=6)
    rows = [(row["s"], row["i"]) for row in create_source(config)]
    assert rows == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]  # D27


THREADS = """
import sys
import time
from pathlib import Path
import pyarrow  # may have a thread of its own
from easydata.sources import JsonShardedSource

def threads():
    # A thread that was joined may stay listed for a moment longer.
    counts = []
    for _ in range(10):
        counts.append(len(list(Path("/proc/self/task").iterdir())))
        time.sleep(0.005)
    return min(counts)

path = sys.argv[1]
before = threads()
rows = JsonShardedSource(path).open_shard(path)
next(rows)
assert threads() > before
rows.close()
assert list(rows) == []
assert threads() == before
next(JsonShardedSource(path).open_shard(path))  # dropped at once
assert threads() == before
"""


def test_no_thread_outlives_its_iterator(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n' * 100_000)
    run_python("-c", THREADS, path)
