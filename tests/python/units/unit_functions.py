"""Functions of rows that tests of units give to processes, and what tests share."""

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from easydata import MapTransform

Row = dict[str, Any]

# The ids of rows that the functions below do something at.
DEADLY, BAD = 700, 900


def text_rows(count: int, first: int = 0) -> list[Row]:
    draw = random.Random(first)
    words = ["alpha", "beta", "gamma", "the quick", "brown fox", "jumps"]
    return [
        {"id": first + i, "text": " ".join(draw.choices(words, k=draw.randint(3, 40)))}
        for i in range(count)
    ]


def marked(row: Row) -> Row:
    """Puts a mark before the text."""
    return {**row, "text": f"# {row['text']}"}


def is_even(row: Row) -> bool:
    return bool(row["id"] % 2 == 0)


def _first_time(name: str) -> bool:
    try:
        Path(name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def dies_once(row: Row) -> Row:
    """Kills the process that writes, at one row, once."""
    if row["id"] == DEADLY and _first_time("died"):
        os.kill(os.getpid(), signal.SIGKILL)
    return row


def dies_always(row: Row) -> Row:
    if row["id"] == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    return row


def kills_parent_once(row: Row) -> Row:
    """Kills the process that coordinates, at one row, once; and tells who did."""
    if row["id"] == DEADLY and _first_time("died"):
        Path("worker").write_text(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return row


def waits(row: Row) -> Row:
    """Says that it is at work, and takes its time."""
    if row["id"] == DEADLY and not Path("go").exists():
        Path("waiting").write_text(str(os.getpid()))
        while not Path("go").exists():
            time.sleep(0.01)
    return row


def naps(row: Row) -> Row:
    """Takes some time at the first row of each hundred."""
    if row["id"] % 100 == 0:
        time.sleep(0.05)
    return row


def fails_at_a_row(row: Row) -> Row:
    if row["id"] == BAD and not Path("mended").exists():
        print("what a function prints")
        raise ValueError("this row is bad")
    return row


# An object of a module, which goes by its import path.
MARKED = MapTransform(marked, version="1")


def config_of(folder: Path, **save: Any) -> dict[str, Any]:
    """A pipeline over small files and a large one, whose units are several."""
    return {
        "datasets": [
            {"name": "rows", "data_files": str(folder / "in" / "*.jsonl"), "tokenizer": "tok"}
        ],
        "save": {"output_dir": "out", "units": "300KB", **save},
    }


def write_inputs(folder: Path, *sizes: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    first = 0
    for number, count in enumerate(sizes):
        lines = [json.dumps(row) + "\n" for row in text_rows(count, first)]
        (folder / "in" / f"{number}.jsonl").write_text("".join(lines))
        first += count


def shards(folder: str | Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).glob("shard-*"))}
