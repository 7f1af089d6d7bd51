"""Rows through transforms and loaders that fail at random, one loader after the other; see main().

    lifetime_rows.py FOLDER LOADERS ROWS

Prints threads, handles and memory after every tenth of the loaders, a line of JSON each.
"""

import collections
import gc
import itertools
import json
import logging
import random
import sys
import time
from pathlib import Path
from typing import Any

from resident_memory import give_back, resident
from small_tokenizer import small_tokenizer
from thread_count import handles, threads

import easydata as ed

Row = dict[str, Any]
BATCH = 50


class Failing:
    """Holds the loader that calls it, and fails now and then."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.loader: Any = None
        self.rows = 0

    def __call__(self, row: Row) -> Row:
        self.rows += 1
        if self._dice.random() < 1 / 6000:
            raise LookupError("this row was not meant to be", self)
        return row


def loader_of(number: int, failing: Failing, source: ed.JsonShardedSource, folder: str) -> Any:
    """A loader of a kind, which differs from number to number."""
    mapped: ed.ShardedDataSource[Any] = source.map(failing)
    if number % 3 == 0:
        mapped = ed.TokenizedShardedSource(mapped, folder, ed.TokenizerConfig(folder))
    elif number % 3 == 1:
        mapped = mapped.transform(ed.SFTPreprocessTransform(folder, max_length=256))
    else:
        lengths = {"max_prompt_length": 16, "max_completion_length": 16}
        mapped = mapped.transform(ed.DPOPreprocessTransform(folder, **lengths))
    return ed.AsyncDataLoader(mapped, BATCH, epochs=None)


def main() -> None:
    """Reads ROWS rows of each of LOADERS loaders, three at a time, and drops them."""
    folder, loaders, rows = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.WARNING)
    tokenizer = small_tokenizer(folder / "tokenizer")
    row = {
        "text": "a text of a few words",
        "prompt": "a?",
        "chosen": "yes",
        "rejected": "no",
        "messages": [{"role": "user", "content": "a?"}, {"role": "assistant", "content": "yes"}],
    }
    path = folder / "rows.jsonl"
    path.write_text((json.dumps(row) + "\n") * 5000, encoding="utf-8")
    dice = random.Random(7)
    failed = read = 0
    open_now: collections.deque[Any] = collections.deque(maxlen=3)
    for number in range(loaders):
        failing = Failing(dice)
        loader = loader_of(number, failing, ed.JsonShardedSource([path]), tokenizer)
        failing.loader = loader  # a circle
        open_now.append(loader)
        for each in open_now:
            try:
                for batch in itertools.islice(iter(each), rows // BATCH // 3):
                    read += len(next(iter(batch.values())))
            except LookupError:
                failed += 1
        if number % (loaders // 10) != loaders // 10 - 1:
            continue
        open_now.clear()
        del loader, each, failing
        gc.collect()
        deadline = time.monotonic() + 2
        while threads() > 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        give_back()
        print(
            json.dumps(
                {
                    "loaders": number + 1,
                    "rows": read,
                    "failed": failed,
                    "threads": threads(),
                    "handles": handles(),
                    "memory": resident(),
                }
            ),
            flush=True,
        )


main()
