"""States know every file: of all kinds of sources, whatever lies between files and batches."""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.trainers.trl import kl_completions
from fault_server import FaultServer

from easydata import (
    ArrowShardedSource,
    AsyncDataLoader,
    CompositeShardedSource,
    CsvShardedSource,
    JsonShardedSource,
    LimitedShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    TextShardedSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
)

ROWS = 120
BATCH = 30
Source = ShardedDataSource[Any]
SOURCES: dict[str, Any] = {
    "jsonl": JsonShardedSource,
    "csv": CsvShardedSource,
    "txt": TextShardedSource,
    "parquet": ParquetShardedSource,
    "arrow": ArrowShardedSource,
}
WIDE = pa.schema({"n": pa.int64(), "text": pa.string(), "ids": pa.list_(pa.int64())})
NARROW = pa.schema({"n": pa.int32(), "text": pa.large_string(), "ids": pa.list_(pa.int32())})
MORE = WIDE.append(pa.field("more", pa.int64()))
WITH_MAPS = WIDE.append(pa.field("map", pa.map_(pa.string(), pa.int64())))
# The first and the second file's format, and the columns of tables.
Form = tuple[tuple[str, pa.Schema], tuple[str, pa.Schema]]
FORMS: dict[str, Form] = {
    "same columns": (("parquet", WIDE), ("parquet", WIDE)),
    "other order": (("parquet", WIDE), ("parquet", pa.schema(list(WIDE)[::-1]))),
    "other types": (("parquet", NARROW), ("arrow", WIDE)),
    "other types and order": (("arrow", WIDE), ("parquet", pa.schema(list(NARROW)[::-1]))),
    "other columns": (("parquet", WIDE), ("parquet", MORE)),
    "JSON and JSON": (("jsonl", WIDE), ("jsonl", WIDE)),
    "JSON and table": (("jsonl", WIDE), ("parquet", WIDE)),
    "table and JSON": (("arrow", NARROW), ("jsonl", WIDE)),
    "JSON and text": (("jsonl", WIDE), ("txt", WIDE)),
    "text and table": (("txt", WIDE), ("parquet", WIDE)),
    "CSV and text": (("csv", WIDE), ("txt", WIDE)),
    "maps and JSON": (("parquet", WITH_MAPS), ("jsonl", WIDE)),  # as rows, in Python
}


def write(path: Path, schema: pa.Schema, word: str, rows: int = ROWS) -> None:
    values: list[dict[str, Any]] = [
        {"n": i, "text": f"{word} {i:04}", "ids": [i % 7] * (i % 5), "more": i, "map": [("k", i)]}
        for i in range(rows)
    ]
    kind = path.suffix[1:]
    if kind == "txt":
        path.write_text("".join(row["text"] + "\n" for row in values))
    elif kind == "csv":
        path.write_text("n,text\n" + "".join(f"{row['n']},{row['text']}\n" for row in values))
    elif kind == "jsonl":
        keys = schema.names
        lines = [json.dumps({key: row[key] for key in keys}) + "\n" for row in values]
        path.write_text("".join(lines))
    else:
        table = pa.Table.from_pylist(values, schema)
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=50, compression="none", use_dictionary=False)
        else:
            with pa.ipc.new_file(path, schema) as writer:
                writer.write_table(table, max_chunksize=50)


def same(row: dict[str, Any]) -> dict[str, Any]:
    return row


def with_answer(row: dict[str, Any]) -> dict[str, Any]:
    return {"text": row["text"], "completion_ids": [len(row["text"]), int(row["text"][-4:])]}


def with_ids(row: dict[str, Any]) -> dict[str, Any]:
    return {"input_ids": [ord(c) for c in row["text"]]}


def parts(*sources: Source) -> Source:
    return CompositeShardedSource(sources)


def mix(**sources: Source) -> Source:
    return MixedShardedSource(sources, block_size=10, stop_strategy="all_exhausted")


def shuffled(source: Source) -> Source:
    return source.shuffle("rows", 1)


KINDS: dict[str, Callable[[Source, Source, str], Source]] = {
    "parts": lambda a, b, _: parts(a, b),
    "parts mapped": lambda a, b, _: parts(a, b).map(same),
    "mapped parts": lambda a, b, _: parts(a.map(same), b),
    "filtered parts": lambda a, b, _: parts(a, b.filter(bool)),
    "chosen fields of parts": lambda a, b, _: parts(a, b).select_fields(["text"]),
    "a part twice": lambda a, b, _: parts(a, b, a),
    "parts of parts": lambda a, b, _: parts(a, parts(b, a)),
    "shuffled parts": lambda a, b, _: parts(shuffled(a), b.shuffle("blocks", 2)),
    "parts limited": lambda a, b, _: LimitedShardedSource(parts(a, b), 200),
    "limited parts": lambda a, b, _: parts(LimitedShardedSource(a, 90), b),
    "parts limited and shuffled": lambda a, b, _: shuffled(
        LimitedShardedSource(parts(a, b).map(with_answer), 200)
    ),
    "mix": lambda a, b, _: mix(a=a.map(with_answer), b=b.map(with_answer)),
    "parts in a mix": lambda a, b, _: mix(x=parts(a, b).map(with_answer), y=a.map(with_answer)),
    "other completions": lambda a, b, _: kl_completions(parts(a, b).map(with_answer), 4),
    "packed": lambda a, b, _: PackedShardedSource(parts(a, b).map(with_ids), 16, 2, shuffle=False),
    "tokenized": lambda a, b, tokenizer: TokenizedShardedSource(
        parts(a, b), Tokenizer(tokenizer), TokenizerConfig(tokenizer)
    ),
}
# Rows that are made in Python know files, but not where a copy of a shard lies.
STAY = ("parts limited and shuffled",)


class Files:
    """Two files of a form, and what kinds of sources make of them."""

    def __init__(self, form: str, folder: Path, tokenizer: str) -> None:
        self.folder = folder
        self.tokenizer = tokenizer
        self.forms = dict(zip("ab", FORMS[form], strict=True))
        self.names = {name: f"{name}.{kind}" for name, (kind, _) in self.forms.items()}
        folder.mkdir()
        self.times = 1_700_000_000
        for name in "ab":
            self.write(name, name * 4)

    def write(self, name: str, word: str, rows: int = ROWS, *, later: bool = True) -> None:
        path = self.folder / self.names[name]
        write(path, self.forms[name][1], word, rows)
        self.times += later
        os.utime(path, (self.times, self.times))

    def open(self, name: str, root: str = "", **options: Any) -> Source:
        source: Source = SOURCES[self.forms[name][0]](
            f"{root or self.folder}/{self.names[name]}", **options
        )
        return source

    def make(self, kind: str, root: str = "", order: str = "ab", **options: Any) -> AsyncDataLoader:
        one, two = (self.open(name, root, **options) for name in order)
        source = KINDS[kind](one, two, self.tokenizer)
        # Tokens of any number: lists of rows, one by one.
        batch = 1 if kind == "tokenized" else BATCH
        return AsyncDataLoader(source, batch, drop_last=False)


def rest_of(loader: AsyncDataLoader, state: Any = None) -> list[Any]:
    if state is not None:
        loader.load_state_dict(state)
    rest = [{key: [str(v) for v in values] for key, values in batch.items()} for batch in loader]
    loader.close()
    return rest


def saved(loader: AsyncDataLoader) -> tuple[Any, list[Any]]:
    """A state after the first batch, and what comes then."""
    iterator = iter(loader)
    next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    rest = [{key: [str(v) for v in values] for key, values in batch.items()} for batch in iterator]
    loader.close()
    assert len(rest) > 2
    return state, rest


def check_refused(loader: AsyncDataLoader, state: Any) -> None:
    with (
        loader,
        pytest.raises(ValueError, match=r"the saved state is of (other files|another stream)"),
    ):
        loader.load_state_dict(state)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_a_state_is_of_its_files(form: str, kind: str, tmp_path: Path, tiny: str) -> None:
    files = Files(form, tmp_path / "data", tiny)
    state, rest = saved(files.make(kind))
    by_content, _ = saved(files.make(kind, identity="content"))
    by_size, _ = saved(files.make(kind, identity="size"))
    assert rest_of(files.make(kind), state) == rest

    check_refused(files.make(kind, order="ba"), state)
    check_refused(files.make(kind, order="ba", identity="size"), by_size)

    # Copies elsewhere: the same stream where the size says what a file is.
    shutil.copytree(files.folder, tmp_path / "copy")
    moved = files.make(kind, str(tmp_path / "copy"), identity="size")
    may_stay = kind in STAY or form == "maps and JSON"
    with moved, suppress(ValueError) if may_stay else nullcontext():
        assert rest_of(moved, by_size) == rest
    check_refused(files.make(kind, str(tmp_path / "copy")), state)

    for name in "ab":
        files.write(name, "XXXX", later=False)  # of the same size and time
        check_refused(files.make(kind, identity="content"), by_content)
        files.write(name, "XXXX")
        check_refused(files.make(kind), state)
        files.write(name, name * 4, ROWS // 2)
        for identity, of_files in (("mtime", state), ("size", by_size), ("content", by_content)):
            check_refused(files.make(kind, identity=identity), of_files)
        shutil.copy2(files.folder / files.names[name], tmp_path / "copy")
        check_refused(files.make(kind, str(tmp_path / "copy"), identity="size"), by_size)
        shutil.copytree(files.folder, tmp_path / "copy", dirs_exist_ok=True)
        files.write(name, name * 4)


@pytest.mark.parametrize("form", ["same columns", "other types", "JSON and text"])
def test_states_of_parts_move_to_a_web_server(form: str, tmp_path: Path, tiny: str) -> None:
    files = Files(form, tmp_path / "data", tiny)
    served = {f"/{name}": (files.folder / name).read_bytes() for name in files.names.values()}
    with FaultServer(served) as server:
        for kind in ("parts", "a part twice", "parts of parts", "parts in a mix"):
            state, rest = saved(files.make(kind, identity="size"))
            assert rest_of(files.make(kind, server.url, identity="size"), state) == rest
            state, _ = saved(files.make(kind, server.url, identity="size"))
            assert rest_of(files.make(kind, identity="size"), state) == rest


def test_shards_of_a_limit_are_read_by_the_engine(tmp_path: Path, tiny: str) -> None:
    files = Files("other types", tmp_path / "data", tiny)

    class Some(CompositeShardedSource):
        """The shards of a source in another order."""

        def _stream(self, columns: Any = None, shards: Any = None) -> Any:
            return super()._stream(columns, list(self.shard_names)[::-1])

    def make() -> AsyncDataLoader:
        a, b = (files.open(name) for name in "ab")
        return AsyncDataLoader(Some([LimitedShardedSource(parts(a, b), 200)]), BATCH)

    state, _ = saved(make())
    files.write("b", "XXXX")
    check_refused(make(), state)
