"""Files that are others than those that were listed: truncated, rewritten, swapped, copied."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from easydata import (
    ArrayRecordShardedSource,
    ArrowShardedSource,
    AsyncDataLoader,
    CsvShardedSource,
    DatasetConfig,
    JsonShardedSource,
    MixedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    TextShardedSource,
    create_source,
)

# Of the first file, more than is read ahead.
ROWS = 2500
PAD = "x" * 5000
Source = ShardedDataSource[Any]


def text_of(row: int) -> str:
    return f"row {row:06}" + (PAD if row < ROWS else "")


def write(path: Path, kind: str, rows: range) -> None:
    values = [{"text": text_of(n)} for n in rows]
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in values), encoding="utf-8")
    elif kind == "json":
        path.write_text(json.dumps(values), encoding="utf-8")
    elif kind == "txt":
        path.write_text("".join(row["text"] + "\n" for row in values), encoding="utf-8")
    elif kind == "csv":
        text = "text\n" + "".join(row["text"] + "\n" for row in values)
        path.write_text(text, encoding="utf-8")
    elif kind == "arecord":
        array_record = pytest.importorskip("array_record.python.array_record_module")
        writer = array_record.ArrayRecordWriter(str(path), "group_size:1,uncompressed")
        for row in values:
            writer.write(row["text"].encode())
        writer.close()
    elif kind == "parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(values), path)
    else:
        table = pa.Table.from_pylist(values)
        make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table)


SOURCES: dict[str, Callable[..., Source]] = {
    "jsonl": JsonShardedSource,
    "json": lambda *args, **options: JsonShardedSource(*args, jsonl=None, **options),
    "txt": TextShardedSource,
    "csv": CsvShardedSource,
    "parquet": ParquetShardedSource,
    "arrow": ArrowShardedSource,
    "arrows": ArrowShardedSource,
    "arecord": ArrayRecordShardedSource,
}


def three(folder: Path, kind: str, **options: Any) -> tuple[list[Path], Source]:
    paths = [folder / f"{name}.{kind}" for name in "abc"]
    for number, path in enumerate(paths):
        write(path, kind, range(ROWS) if number == 0 else range(number * ROWS, number * ROWS + 50))
    return paths, SOURCES[kind]([str(path) for path in paths], **options)


def truncate(b: Path, c: Path) -> None:
    os.truncate(b, b.stat().st_size // 2)


def replace_by_shorter(b: Path, c: Path) -> None:
    write(b.with_suffix(".new"), b.suffix[1:], range(ROWS, ROWS + 10))
    b.with_suffix(".new").rename(b)


def swap(b: Path, c: Path) -> None:
    b.rename(b.with_suffix(".old"))
    c.rename(b)
    b.with_suffix(".old").rename(c)


def rewrite(b: Path, c: Path) -> None:
    write(b, b.suffix[1:], range(7 * ROWS, 7 * ROWS + 50))


CHANGES = [truncate, replace_by_shorter, swap, rewrite]


# A6
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_file_that_changed_before_its_turn_is_an_error(
    tmp_path: Path, kind: str, change: Callable[[Path, Path], None]
) -> None:
    paths, _ = three(tmp_path, kind)
    before = paths[1].stat().st_size
    # Long after the three were written: times of change may be as coarse as 10 ms.
    os.utime(paths[2], ns=(1, 1_700_000_000_000_000_000))
    source = SOURCES[kind]([str(path) for path in paths])
    with AsyncDataLoader(source, 100, drop_last=False, prefetch_enabled=False) as loader:
        batches = iter(loader)
        seen = list(next(batches)["text"])
        change(paths[1], paths[2])
        pattern = re.escape(str(paths[1])) + (
            rf" is not the file any more that was listed: it had {before} bytes, changed "
            rf"20.* UTC, now it has {paths[1].stat().st_size} bytes, changed 20.* UTC; put that"
        )

        def drain() -> None:
            for batch in batches:
                seen.extend(batch["text"])

        with pytest.raises(OSError, match=pattern):
            drain()
    # The first file came whole, and nothing of the others.
    assert seen == [text_of(n) for n in range(ROWS)]


# A6
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_rows_as_dicts_end_with_the_same_error(tmp_path: Path, kind: str) -> None:
    paths, source = three(tmp_path, kind)
    rows = iter(source)
    next(rows)
    # All three were looked at, the first is being read.
    rewrite(paths[2], paths[2])
    seen = []
    with pytest.raises(OSError, match=re.escape(str(paths[2])) + " is not the file any more"):
        seen.extend(row["text"] for row in rows)
    assert seen == [text_of(n) for n in [*range(1, ROWS), *range(ROWS, ROWS + 50)]]


# A7
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_state_of_other_files_is_refused_by_name(
    tmp_path: Path, kind: str, change: Callable[[Path, Path], None]
) -> None:
    paths, source = three(tmp_path, kind)
    os.utime(paths[2], ns=(1, 1_700_000_000_000_000_000))
    with AsyncDataLoader(source, 100) as loader:
        next(iter(loader))
        state = json.loads(json.dumps(loader.state_dict()))
    change(paths[1], paths[2])
    _, source = paths, SOURCES[kind]([str(path) for path in paths])
    with AsyncDataLoader(source, 100) as loader:
        message = re.escape(f"of other files: {paths[1]} changed since the state was saved")
        with pytest.raises(ValueError, match=message):
            loader.load_state_dict(state)


# A7
def test_a_state_of_a_mix_names_the_source_of_other_files(tmp_path: Path) -> None:
    def loader() -> AsyncDataLoader:
        names = ("one", "two")
        sources: dict[str, Source] = {
            name: JsonShardedSource(str(tmp_path / f"{name}.jsonl")) for name in names
        }
        return AsyncDataLoader(MixedShardedSource(sources), 10)

    write(tmp_path / "one.jsonl", "jsonl", range(ROWS, ROWS + 100))
    write(tmp_path / "two.jsonl", "jsonl", range(ROWS, ROWS + 100))
    with loader() as first:
        next(iter(first))
        state = first.state_dict()
    with loader() as second:
        second.load_state_dict(state)
    write(tmp_path / "two.jsonl", "jsonl", range(2 * ROWS, 2 * ROWS + 100))
    with loader() as third, pytest.raises(ValueError, match=r"sources\[two\] .*two.jsonl changed"):
        third.load_state_dict(state)


# A7: copies have another time; who knows better says so.
@pytest.mark.parametrize(
    ("saved_by", "loaded_by", "loads"),
    [
        ("mtime", "mtime", False),
        ("mtime", "size", True),
        ("mtime", "content", True),
        ("content", "content", True),
        ("content", "mtime", True),
        ("size", "mtime", True),
    ],
)
def test_a_state_goes_on_over_copies(
    tmp_path: Path, saved_by: Any, loaded_by: Any, loads: bool
) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "jsonl", range(ROWS, ROWS + 100))
    os.utime(path, ns=(1, 1_700_000_000_000_000_000))
    config = DatasetConfig(data_files=str(path), identity=saved_by)
    with AsyncDataLoader(create_source(config), 10) as loader:
        next(iter(loader))
        state = loader.state_dict()
    shutil.copy(path, tmp_path / "copy")
    (tmp_path / "copy").rename(path)
    config = DatasetConfig(data_files=str(path), identity=loaded_by)
    with AsyncDataLoader(create_source(config), 10) as loader:
        if loads:
            loader.load_state_dict(state)
            assert next(iter(loader))["text"][0] == text_of(ROWS + 10)
        else:
            match = r"a.jsonl changed since .* from 2023-11-14 .* UTC to 20.*identity=\"size\""
            with pytest.raises(ValueError, match=match):
                loader.load_state_dict(state)


# A7
def test_content_tells_files_of_one_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "jsonl", range(ROWS, ROWS + 100))
    os.utime(path, ns=(1, 1))
    with AsyncDataLoader(JsonShardedSource(str(path), identity="content"), 10) as loader:
        next(iter(loader))
        state = loader.state_dict()
    write(path, "jsonl", range(2 * ROWS, 2 * ROWS + 100))
    os.utime(path, ns=(1, 1))
    with (
        AsyncDataLoader(JsonShardedSource(str(path), identity="content"), 10) as loader,
        pytest.raises(ValueError, match=r"a\.jsonl changed since the state was saved"),
    ):
        loader.load_state_dict(state)


def test_other_identities_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", "jsonl", range(1))
    with pytest.raises(ValueError, match='identity: must be one of "mtime", "content", "size"'):
        JsonShardedSource(str(tmp_path), identity="inode")  # type: ignore[arg-type]
    config = DatasetConfig(data_files=str(tmp_path), identity="inode")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="identity"):
        create_source(config)


def test_files_are_looked_at_once(tmp_path: Path) -> None:
    """Plans of one source describe the files as they were when it was first used."""

    def plan(source: Source) -> Any:
        with AsyncDataLoader(source) as loader:
            return loader.state_dict()["plan"]

    paths, source = three(tmp_path, "jsonl")
    before = plan(source)
    rewrite(tmp_path / "b.jsonl", tmp_path / "c.jsonl")
    assert plan(source) == before
    now = plan(SOURCES["jsonl"]([str(path) for path in paths]))
    assert now["source.mtimes"] != before["source.mtimes"]
