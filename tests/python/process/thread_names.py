"""Prints what threads reading and saving start, and which of them stay: thread_names.py FOLDER."""

import gc
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine_parts import num_threads
from fault_server import FaultServer
from thread_count import threads_by_name

import easydata as ed

Row = dict[str, Any]
PATIENCE = 20  # seconds; threads that serve the whole process end 2 seconds after their last work


def names(before: set[str]) -> Iterator[str]:
    yield from (name for number, name in threads_by_name().items() if number not in before)


def main(folder: Path) -> None:
    data = "".join(f'{{"text": "row {i}"}}\n' for i in range(2000)).encode()
    seen: set[str] = set()
    most = 0
    with FaultServer({"/rows.jsonl": data, "/more.jsonl": data}) as server:
        before = set(threads_by_name())

        def look(row: Row) -> Row:
            nonlocal most
            most = max(most, num_threads())
            seen.update(names(before))
            return row

        source = ed.JsonShardedSource([f"{server.url}/rows.jsonl", f"{server.url}/more.jsonl"])
        with ed.AsyncDataLoader(source.map(look), 8) as loader:
            for _ in range(10):
                next(iter(loader))
        ed.save_dataset(source.map(look), folder / "out")
        del source, loader
        gc.collect()
        deadline = time.monotonic() + PATIENCE
        while (left := sorted(names(before))) and time.monotonic() < deadline:
            time.sleep(0.05)
    counts = {"most": most, "at the end": num_threads()}
    print(json.dumps({"seen": sorted(seen), "left": left, **counts}))


main(Path(sys.argv[1]))
