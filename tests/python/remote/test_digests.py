"""Files of all formats, all forms of their names: batches and states are those of files here."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import json
import random
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import own_texts
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from data_folders import OWN
from stores import FtpServer, GcsStore, S3Store, WebServer

import easydata
from easydata import DatasetConfig, create_source

SERVERS = ["seaweed", "gcs", "nginx", "ftp"]  # the last through fsspec
PARTS, ROWS = 3, 150  # rows of each part
Rows = list[dict[str, Any]]


def lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def separated(rows: Rows, delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["id", "text"], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def parquet(rows: Rows) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), sink, row_group_size=40)
    return sink.getvalue()


def arrow(rows: Rows, opened: Callable[..., Any]) -> bytes:
    sink, table = io.BytesIO(), pa.Table.from_pylist(rows)
    with opened(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=40)
    return sink.getvalue()


def records(rows: Rows) -> bytes:
    """An ArrayRecord file of several chunks, by array_record's own writer."""
    from array_record.python import array_record_module as array_record

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.arecord"
        writer = array_record.ArrayRecordWriter(str(path), "group_size:4")
        for row in rows:
            writer.write(row["text"].encode())
        writer.close()
        return path.read_bytes()


# By the folder of its files, what a format makes of rows, and the end of its files' names.
FORMATS: dict[str, tuple[str, Callable[[Rows], bytes]]] = {
    "lines": ("jsonl", lines),
    "lines-gz": ("jsonl.gz", lambda rows: gzip.compress(lines(rows), mtime=0)),
    "lines-zst": ("jsonl.zst", lambda rows: zstd(lines(rows))),
    "array": ("json", lambda rows: json.dumps(rows, indent=1).encode()),
    "csv": ("csv", lambda rows: separated(rows, ",")),
    "csv-gz": ("csv.gz", lambda rows: gzip.compress(separated(rows, ","), mtime=0)),
    "tsv": ("tsv", lambda rows: separated(rows, "\t")),
    "txt": ("txt", lambda rows: "".join(row["text"] + "\n" for row in rows).encode()),
    "parquet": ("parquet", parquet),
    "arrow-file": ("arrow", lambda rows: arrow(rows, pa.ipc.new_file)),
    "arrow-stream": ("arrow", lambda rows: arrow(rows, pa.ipc.new_stream)),
}
if importlib.util.find_spec("array_record") is not None:
    FORMATS["records"] = ("arecord", records)
BROKEN = {"jsonl": b'{"id": 1,\n', "csv": b"1,\xff\n"}


def part(number: int) -> Rows:
    rng = random.Random(number)
    texts = [*own_texts.ENGLISH, "ünïcödé 日本語", 'she said "no", and, went']
    return [
        {"id": i, "text": " ".join(rng.choices(texts, k=3))}
        for i in range(number * ROWS, (number + 1) * ROWS)
    ]


@dataclass
class Root:
    """Where the files are: a folder here, or a bucket's or a web server's."""

    address: str
    options: dict[str, Any] = field(default_factory=dict)

    def at(self, data_files: Any) -> Any:
        if isinstance(data_files, list):
            return [self.at(each) for each in data_files]
        return f"{self.address}/{data_files}"

    def dataset(self, data_files: Any, **more: Any) -> dict[str, Any]:
        options = {"storage_options": self.options} if self.options else {}
        return {"data_files": self.at(data_files), **options, **more}

    def source(self, data_files: Any, **more: Any) -> Any:
        return create_source(DatasetConfig(**self.dataset(data_files, **more)))

    def plain(self, value: Any) -> Any:
        """A value without the location of its files."""
        return json.loads(json.dumps(value).replace(f"{self.address}/", ""))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Root:
    folder = tmp_path_factory.mktemp("digests")
    for name, (end, made) in FORMATS.items():
        (folder / name / "deep" / "er").mkdir(parents=True)
        for number in range(PARTS):
            (folder / name / f"part-{number:03}.{end}").write_bytes(made(part(number)))
        (folder / name / "deep" / "er" / f"last.{end}").write_bytes(made(part(PARTS)))
    (folder / "broken").mkdir()
    for end, bad in BROKEN.items():
        rows = FORMATS["lines" if end == "jsonl" else end][1](part(0)).splitlines(keepends=True)
        (folder / "broken" / f"a.{end}").write_bytes(b"".join([*rows[:30], bad, *rows[30:]]))
    return Root(str(folder))


_there: dict[str, Root] = {}


@pytest.fixture(params=SERVERS)
def there(request: pytest.FixtureRequest, here: Root) -> Root:
    """The same files elsewhere."""
    name = request.param
    if name in _there:
        return _there[name]
    server: S3Store | GcsStore | WebServer | FtpServer = request.getfixturevalue(name)
    paths = [path for path in Path(here.address).rglob("*") if path.is_file()]
    if isinstance(server, FtpServer):
        _there[name] = Root(f"{server.url}/digests", server.storage_options)
    elif isinstance(server, WebServer):
        _there[name] = Root(f"{server.url}/digests")
    else:
        bucket = server.bucket("digests")
        _there[name] = Root(f"{server.scheme}://{bucket}/in", server.storage_options)
    for path in paths:
        key = path.relative_to(here.address).as_posix()
        if isinstance(server, WebServer | FtpServer):
            (server.folder / "digests" / key).parent.mkdir(parents=True, exist_ok=True)
            (server.folder / "digests" / key).write_bytes(path.read_bytes())
        else:
            server.put(bucket, f"in/{key}", path.read_bytes())
    return _there[name]


def packed(root: Root, data_files: Any) -> Any:
    """A loader of packed tokens."""
    stages: dict[str, Any] = {
        "tokenize": {"default_tokenizer": str(OWN / "tokenizers" / "byte-level")},
        "pack": {"seq_length": 64},
        "load": {"batch_size": 8, "shuffle_buffer_size": 100, "seed": 3},
    }
    dataset = root.dataset(data_files, identity="size")
    made = easydata.create_pipeline([dataset], **stages)
    return made.source().tokenize().pack().load().build()


@dataclass
class Pass:
    """What a loader gave, and the state after some batches."""

    tokens: list[Any]
    digest: str
    rows: int
    state: dict[str, Any]

    def known(self, root: Root) -> Any:
        """All of the state but the hash of where files lie."""
        state = root.plain(self.state)
        del state["plan"]["source.files"]
        return state


def passed(root: Root, data_files: Any, begin: dict[str, Any] | None = None) -> Pass:
    with packed(root, data_files) as loader:
        if begin is not None:
            loader.load_state_dict(begin)
        tokens, state = [], loader.state_dict()
        for number, batch in enumerate(loader):
            tokens.append(batch["input_ids"].tolist())
            if number == 4:
                state = json.loads(json.dumps(loader.state_dict()))
        return Pass(tokens, loader.digest(), loader.stats()["rows"], state)


_passed: dict[str, Pass] = {}


def passed_here(here: Root, data_files: str | list[str]) -> Pass:
    """The same pass serves all servers."""
    name = str(data_files)
    if name not in _passed:
        _passed[name] = passed(here, data_files)
    return _passed[name]


@pytest.mark.parametrize("name", FORMATS)
def test_formats_give_the_same_batches_and_states(name: str, here: Root, there: Root) -> None:
    files = f"{name}/part-{{000..{PARTS - 1:03}}}.{FORMATS[name][0]}"
    local, far = passed_here(here, files), passed(there, files)
    assert (far.digest, far.rows) == (local.digest, local.rows)
    assert far.tokens == local.tokens
    assert len(far.tokens) > 10
    assert far.known(there) == local.known(here)
    # And each goes on where the other one was.
    rest = passed(there, files, local.state)
    assert rest.tokens == local.tokens[5:]
    assert passed(here, files, far.state).digest == rest.digest


@pytest.mark.parametrize("name", FORMATS)
def test_shards_and_rows_have_the_same_addresses(name: str, here: Root, there: Root) -> None:
    end = FORMATS[name][0]
    files = [f"{name}/part-{number:03}.{end}" for number in (2, 0, 1)]
    local, far = here.source(files), there.source(files)
    assert there.plain(far.shard_names) == here.plain(local.shard_names)
    assert list(far) == list(local)
    assert len(far) == len(local) == PARTS * ROWS
    for one, other in zip(far.shard_names, local.shard_names, strict=True):
        for row in (0, 41, ROWS - 1, ROWS):
            after = list(far.open_shard_at_row(one, row))
            assert after == list(local.open_shard_at_row(other, row))
            assert len(after) == ROWS - row


@pytest.mark.parametrize("end", BROKEN)
def test_bad_rows_have_the_same_addresses(
    end: str, here: Root, there: Root, tmp_path: Path
) -> None:
    told = []
    for number, root in enumerate((here, there)):
        path = tmp_path / f"{number}.jsonl"
        how = {"on_error": "quarantine", "quarantine_path": str(path)}
        rows = list(root.source(f"broken/a.{end}", **how))
        told.append(
            (rows, [root.plain(json.loads(line)) for line in path.read_text().splitlines()])
        )
    assert told[0] == told[1]
    assert len(told[0][0]) == ROWS
    assert len(told[0][1]) == 1


FORMS: dict[str, Any] = {
    "name": "lines/part-001.jsonl",
    "list": ["lines/part-002.jsonl", "lines/part-000.jsonl"],
    "list of formats": ["lines-gz/part-002.jsonl.gz", "lines-zst/part-000.jsonl.zst"],
    "alternatives": "parquet/part-{000,002}.parquet",
    "alternatives of folders": "{arrow-stream,arrow-file}/part-001.arrow",
    "range": "csv/part-{000..002}.csv",
}
LISTED: dict[str, Any] = {
    "pattern": "arrow-stream/part-*.arrow",
    "one character": "arrow-file/part-00?.arrow",
    "range of characters": "txt/part-00[1-2].txt",
    "any folders": "lines/**/*.jsonl",
    "any folders above": "**/last.csv",
    "folder": "lines-zst",
    "folder of folders": "parquet/",
}


@pytest.mark.parametrize("form", [*FORMS, *LISTED])
def test_forms_of_names_give_the_same_batches(form: str, here: Root, there: Root) -> None:
    files = {**FORMS, **LISTED}[form]
    if form in LISTED and there.address.startswith("http"):
        with pytest.raises((OSError, ValueError), match=re.escape(there.address)):
            there.source(files)
        return
    local, far = passed_here(here, files), passed(there, files)
    assert (far.digest, far.rows) == (local.digest, local.rows)
    assert far.tokens == local.tokens
    assert len(far.tokens) > 0
    assert far.known(there) == local.known(here)
