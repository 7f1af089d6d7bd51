"""Memory stays as it is, however many rows examples are made of.

What is measured is a program of its own, which is this file: what other tests leave in a process
comes and goes by as much as is looked for. So does what Arrow's allocator has of memory that was
freed: it gives that back a second later, or more where the machine is slow (60 MB, now more, now
less). In this program it does so at once.
"""

import json
import random
import statistics
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import own_texts
import pyarrow as pa
import pyarrow.ipc
import pytest
from data_folders import OWN
from programs import run_python
from resident_memory import GIVES_BACK, resident

from easydata import (
    ArrowShardedSource,
    ArrowWriter,
    AsyncDataLoader,
    DPOPreprocessTransform,
    JsonShardedSource,
    SFTPreprocessTransform,
)

MEGABYTE = 1 << 20
ROWS_OF_FILE = 1000
FILES = 240
# Between the second fifth of the rows and the last: 150 bytes a row that nobody frees are 21 MB.
MOST_GROWTH = 20 * MEGABYTE
# Above what the process held before.
LIMIT = 200 * MEGABYTE
TOKENIZER = str(OWN / "tokenizers" / "split")

MADE: dict[str, Any] = {
    "sft": lambda: SFTPreprocessTransform(TOKENIZER, 256, layout="trl", mask_prompt=True),
    "turns": lambda: SFTPreprocessTransform(
        TOKENIZER, 256, mask_prompt=True, expand_turns=True, fixed_shapes=False
    ),
    "dpo": lambda: DPOPreprocessTransform(TOKENIZER, 128, 128),
    "dpo of trl": lambda: DPOPreprocessTransform(TOKENIZER, max_length=128, layout="trl"),
}


def text(rng: random.Random) -> str:
    """Prose with words of its own, and now and then something odd."""
    if rng.random() < 0.01:
        return own_texts.document(rng, 100)
    said = rng.choices(own_texts.ENGLISH, k=rng.choice((1, 1, 2, 4)))
    return " ".join([*said, own_texts.made_word(rng)])


def rows() -> Iterator[dict[str, Any]]:
    """Chats of four messages with two answers; of some nothing is made, some are cut."""
    rng = random.Random(3)
    for number in range(ROWS_OF_FILE):
        asked = [{"role": role, "content": text(rng)} for role in ("user", "assistant", "user")]
        chosen, rejected = ([{"role": "assistant", "content": text(rng)}] for _ in range(2))
        messages = asked[:1] if number % 100 == 0 else asked + chosen
        yield {"prompt": asked, "chosen": chosen, "rejected": rejected, "messages": messages}


def many(folder: Path, suffix: str) -> ArrowShardedSource | JsonShardedSource:
    """A source of many files, which are one."""
    path = folder / f"rows.{suffix}"
    if suffix == "arrow":
        table = pa.Table.from_pylist(list(rows()))
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=250)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    files = folder / "files"
    files.mkdir()
    for number in range(FILES):
        (files / f"{number:03}.{suffix}").symlink_to(path)
    return (ArrowShardedSource if suffix == "arrow" else JsonShardedSource)(str(files))


def load(kind: str, suffix: str, folder: Path) -> Iterator[int]:
    """Loads batches of many examples, and looks at what is resident after each."""
    source = many(folder, suffix).transform(MADE[kind]())
    with AsyncDataLoader(source, 64, num_threads=2) as loader:
        for _ in loader:
            yield resident()


def save(kind: str, suffix: str, folder: Path) -> Iterator[int]:
    """Writes files of many examples, and looks at what is resident every 10 ms."""
    looks: list[int] = []
    is_written = threading.Event()

    def look() -> None:
        while not is_written.wait(0.01):
            looks.append(resident())

    writer = ArrowWriter(folder / "out", num_threads=2, max_shard_size=2 * MEGABYTE)
    source = many(folder, suffix).transform(MADE[kind]())
    thread = threading.Thread(target=look)
    thread.start()
    try:
        written = writer.write(source)
    finally:
        is_written.set()
        thread.join()
    assert written.num_examples == FILES * ROWS_OF_FILE * 99 // 100
    yield from looks


def check(work: str, kind: str, suffix: str, folder: Path, least: int) -> None:
    """Checks what was resident: its middle, as what is read ahead comes and goes."""
    done = run_python(__file__, work, kind, suffix, folder, variables=GIVES_BACK)
    start, *looks = json.loads(done.stdout)
    assert len(looks) > least
    part = len(looks) // 5
    before, after = statistics.median(looks[part : 2 * part]), statistics.median(looks[-part:])
    assert after - before < MOST_GROWTH, f"{(after - before) / MEGABYTE:.0f} MB more"
    assert max(looks) - start < LIMIT, f"{(max(looks) - start) / MEGABYTE:.0f} MB"


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("sft", "arrow"), ("turns", "jsonl"), ("dpo", "arrow"), ("dpo of trl", "jsonl")],
)
def test_batches_of_many_rows(kind: str, suffix: str, tmp_path: Path) -> None:
    check("load", kind, suffix, tmp_path, FILES * ROWS_OF_FILE // 320)


def test_files_of_many_rows(tmp_path: Path) -> None:
    check("save", "sft", "arrow", tmp_path, 20)


if __name__ == "__main__":
    _, work, kind, suffix, folder = sys.argv
    looks = {"load": load, "save": save}[work](kind, suffix, Path(folder))
    print(json.dumps([resident(), *looks]))
