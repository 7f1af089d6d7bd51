"""What people type without having read anything, and what they are told."""

import contextlib
import gzip
import io
import json
import logging
import re
import shlex
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from easydata.cli.app import run as run_command

import easydata

# A row of a table: what is typed, and what the answer must say of what, where and the cure.
Try = tuple[str, Sequence[str]]

# What Python, numpy and the binding say of their own, which no answer may be.
RAW = re.compile(
    r"incompatible function arguments"
    r"|__init__\(\) got an unexpected keyword argument '\w+'$"
    r"|object (is not (callable|iterable|subscriptable)|has no attribute '\w+'$)"
    r"|^expected str, bytes or os\.PathLike|^list index out of range|dictionary update sequence"
    r"|not supported between instances|unsupported operand|invalid literal for int"
    r"|int\(\) argument must be|inhomogeneous shape|json\.exception|Traceback"
)
SECONDS = 5


@contextlib.contextmanager
def in_folder_of_tries(folder: Path, tokenizer: str) -> Iterator[dict[str, Any]]:
    """The names that may be used in what is typed, in a folder of files to try on."""
    _write(folder, tokenizer)
    with contextlib.chdir(folder):
        yield _names()


def _write(folder: Path, tokenizer: str) -> None:
    rows = [{"text": f"row {i}", "id": i} for i in range(8)]
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]
    for name, content in {
        "a": rows,
        "chats": [{"messages": chat}],
        "tokens": [{"input_ids": [1 + i] * (3 + i)} for i in range(8)],
        "pairs": [{"prompt": "a", "chosen": "b", "rejected": "c"}],
        "empty": [],
    }.items():
        lines = "".join(json.dumps(row) + "\n" for row in content)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    for name, text in {
        "a.csv": "id,text\n1,one\n2,two\n",
        "a.txt": "one\ntwo\n",
        "bad.jsonl": '{"text": "a"}\n{"text": \n{"text": "c"}\n',
        "no.parquet": "this is text\n",
        "config.yaml": "datasets:\n- {data_files: a.jsonl, tokenizer: tok}\n",
        "bad.yaml": "datasets:\n- data_files: [a.jsonl\npack: {\n",
        "typo.yaml": "datasets:\n- {data_files: a.jsonl, tokeniser: tok}\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.txt").write_bytes("café\n".encode("latin-1"))
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"text": "aaaa"}\n' * 1000)[:-20])
    (folder / "emptydir").mkdir()
    (folder / "tok").symlink_to(tokenizer)


def _names() -> dict[str, Any]:
    def dataset(path: Any = "a.jsonl", **options: Any) -> Any:
        return easydata.DatasetConfig(path, **{"tokenizer": "tok", **options})

    def rows(*given: Any, **options: Any) -> list[Any]:
        pipeline = easydata.create_pipeline([dataset(*given, **options)])
        return list(pipeline.source().build())

    def tokens(*given: Any, **options: Any) -> list[Any]:
        pipeline = easydata.create_pipeline([dataset(*given, **options)])
        return list(pipeline.source().tokenize().build())

    def loader(source: Any, **options: Any) -> Any:
        return easydata.AsyncDataLoader(source, **{"batch_size": 2, **options})

    return {
        **{name: getattr(easydata, name) for name in easydata.__all__},
        "np": np,
        "src": easydata.JsonShardedSource("a.jsonl"),
        "toks": easydata.JsonShardedSource("tokens.jsonl"),
        "chats": easydata.JsonShardedSource("chats.jsonl"),
        "pairs": easydata.JsonShardedSource("pairs.jsonl"),
        "tok": easydata.Tokenizer("tok"),
        "dataset": dataset,
        "rows": rows,
        "tokens": tokens,
        "loader": loader,
        "first": lambda batches: next(iter(batches)),
        "pipe": lambda *datasets, **stages: easydata.create_pipeline(
            list(datasets) or [dataset()], **stages
        ),
    }


def answer(typed: str, known: dict[str, Any]) -> str:
    """What is said to what is typed: the error, warnings, or what a command prints; "" if nothing.

    Raises:
        AssertionError: It took longer than people wait, or nothing but Python speaks.
    """
    for _ in range(3):  # libraries that are imported first are read from disk, maybe a busy one
        begin = time.monotonic()
        said, is_error = _answer(typed, known)
        seconds = time.monotonic() - begin
        if seconds <= SECONDS:
            break
    assert seconds <= SECONDS, f"{typed}: {seconds:.1f} s"
    assert said, f"{typed}: silent"
    assert not RAW.search(said), f"{typed}: {said}"
    if typed.startswith("$ "):
        assert is_error, f"{typed}: exit 0"
    return said


def _answer(typed: str, known: dict[str, Any]) -> tuple[str, bool]:
    log = _Log()
    logger = logging.getLogger("easydata")
    logger.addHandler(log)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            error, is_error = _do(typed, known)
    finally:
        logger.removeHandler(log)
    of_ours = [str(each.message) for each in warned if each.category is UserWarning]
    return "\n".join([*filter(None, [error]), *log.lines, *of_ours]), is_error


def _do(typed: str, known: dict[str, Any]) -> tuple[str, bool]:
    if typed.startswith("$ easydata"):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run_command(shlex.split(typed)[2:])
        return (err.getvalue() or out.getvalue()), status != 0
    try:
        exec(typed, dict(known))
    except Exception as error:
        return "\n".join([str(error), *getattr(error, "__notes__", ())]), True
    return "", False


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
