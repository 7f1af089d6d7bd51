"""How often files are opened: once up to the first batch, and not at all to be described."""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from easydata.sources.files import FileSource
from easydata.sources.first_rows import first_rows
from fault_log import logged_calls
from programs import run_python

from easydata import (
    ArrayRecordShardedSource,
    ArrowShardedSource,
    CsvShardedSource,
    JsonShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    TextShardedSource,
)

ROWS = 300
KINDS = ["jsonl", "jsonl.gz", "json", "parquet", "arrow", "arrows", "csv", "txt", "arecord"]


def write(path: Path, kind: str, count: int = ROWS) -> str:
    rows = [{"text": f"row {n} of some words"} for n in range(count)]
    table = pa.Table.from_pylist(rows)
    if kind.startswith("jsonl"):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        with pa.output_stream(str(path)) as stream:  # compresses by the name
            stream.write(text.encode())
    elif kind == "json":
        path.write_text(json.dumps(rows))
    elif kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif kind == "arrows":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    elif kind == "arecord":
        array_record = pytest.importorskip("array_record.python.array_record_module")
        writer = array_record.ArrayRecordWriter(str(path), "group_size:1")
        for row in rows:
            writer.write(row["text"].encode())
        writer.close()
    else:
        head = "text\n" if kind == "csv" else ""
        path.write_text(head + "".join(row["text"] + "\n" for row in rows))
    return str(path)


FIRST_BATCH = """
import json, sys
from collections import Counter
from easydata import LoadStageConfig, PackStageConfig, create_pipeline

tokenizer, kind, *files = sys.argv[1:]
opened = Counter()

def watch(event, args):
    if event == "open" and str(args[0]) in files:
        opened[str(args[0])] += 1

sys.addaudithook(watch)
kinds = {"jsonl.gz": None, "arrows": "arrow"}
datasets = [
    {"data_files": file, "name": file, "tokenizer": tokenizer, "content_field": "text",
     "type": kinds.get(kind)}
    for file in files
]
pipeline = create_pipeline(datasets, default_tokenizer=tokenizer)
pack = PackStageConfig(seq_length=16)
data = pipeline.source().tokenize().mix().pack(pack).load(LoadStageConfig(batch_size=2)).build()
next(iter(data))
print(json.dumps(opened))
data.close()
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
def test_files_are_opened_once_up_to_the_first_batch(
    tmp_path: Path, own_tokenizers: Path, kind: str
) -> None:
    # So many that nothing is read twice: mixing goes on where a source has ended.
    files = [write(tmp_path / f"{name}.{kind}", kind, 20_000) for name in "ab"]
    log = tmp_path / "calls.log"
    tokenizer, plan = own_tokenizers / "byte-level", {"EASYDATA_FAULT_PLAN": f"log={log}"}
    done = run_python("-c", FIRST_BATCH, tokenizer, kind, *files, variables=plan)
    lines = logged_calls(log)
    engine = Counter(line.removeprefix("open ") for line in lines if line.startswith("open "))
    assert {file: engine[file] for file in files} == dict.fromkeys(files, 1)
    assert json.loads(done.stdout.splitlines()[-1]) == {}, "Python opens none"


SOURCES: dict[str, Callable[[str], FileSource]] = {
    "jsonl": JsonShardedSource,
    "jsonl.gz": JsonShardedSource,
    "json": lambda path: JsonShardedSource(path, jsonl=None),
    "parquet": ParquetShardedSource,
    "arrow": ArrowShardedSource,
    "arrows": ArrowShardedSource,
    "csv": CsvShardedSource,
    "txt": TextShardedSource,
    "arecord": ArrayRecordShardedSource,
}


@pytest.mark.parametrize("kind", KINDS)
def test_describing_asks_the_disk_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    size = os.stat(write(path, kind)).st_size
    mtime = path.stat().st_mtime_ns
    source = SOURCES[kind](str(path))
    path.unlink()
    described = source._stream().description
    assert described["source.files"] == [str(path)]
    assert described["source.bytes"] == [size]
    assert described["source.mtimes"] == [mtime]
    assert source._stream({"text": "text"}, [str(path)]).description["source.shards"] == [str(path)]
    with pytest.raises(FileNotFoundError, match=f"cannot open {path}"):
        next(iter(source))


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_ahead_is_remembered(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    write(path, kind)
    source = SOURCES[kind](str(path))
    first = next(first_rows(source))
    names = source._plan.column_names()
    assert first == {"text": "row 0 of some words"}
    assert names == (None if kind.startswith("json") else ["text"])
    path.unlink()
    assert next(first_rows(source)) == first


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_ahead_goes_on_to_the_end(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    write(path, kind)
    other = tmp_path / f"b.{kind}"
    for n in range(8):
        write(other.with_name(f"{n}{other.name}"), kind)
    source: ShardedDataSource[Any]
    for files in (str(path), f"{tmp_path}/*"):  # 300 rows, and 2,700: more than a look has at once
        source = SOURCES[kind](files)
        assert list(first_rows(source)) == list(source)


def test_a_look_ahead_ends_at_a_row_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": 0}\n{"n": 1}\nnope\n{"n": 3}\n')
    rows = first_rows(JsonShardedSource(str(path), name="s"))
    assert [next(rows), next(rows)] == [{"n": 0}, {"n": 1}]
    with pytest.raises(ValueError, match=r"a\.jsonl row 2: line 3: "):
        next(rows)
    skipping = first_rows(JsonShardedSource(str(path), on_error="skip"))
    assert list(skipping) == [{"n": 0}, {"n": 1}, {"n": 3}]


@pytest.mark.parametrize("change", ["replaced", "rewritten", "removed"])
def test_a_file_that_changes_after_a_look_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a.parquet"
    write(path, "parquet")
    os.utime(path, ns=(1, 1_700_000_000_000_000_000))
    source = ParquetShardedSource(str(path))
    next(first_rows(source))
    if change == "replaced":
        write(tmp_path / "new", "parquet")
        (tmp_path / "new").rename(path)
    elif change == "rewritten":
        write(path, "parquet")
    else:
        path.unlink()
    expected = "cannot open" if change == "removed" else "is not the file any more"
    with pytest.raises(OSError, match=expected):
        next(iter(source))


def test_descriptors_do_not_grow_with_looks(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{n}.parquet", "parquet") for n in range(40)]
    before = len(os.listdir("/proc/self/fd"))
    source = ParquetShardedSource(files)
    assert len(source) == 40 * ROWS
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    many = [ParquetShardedSource(file) for file in files * 8]
    assert {len(source) for source in many} == {ROWS}
    assert len(os.listdir("/proc/self/fd")) <= before + 130
    del source, many
    assert len(os.listdir("/proc/self/fd")) <= before
