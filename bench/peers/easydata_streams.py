"""What a stream costs: the tokenizer by itself, text to packed batches, and what is added to that.

Arguments: a folder with 16 files of JSONL, a tokenizer, the work, and "one" for one worker thread,
"busy" for one and a Python thread that spins beside it, or "beside" for one and another process
that does. Works: "tokenizer" (the column in memory -> ids), "packed" (files -> batches), "mixed"
(16 sources mixed by weights), "shuffled" (mixed, and rows shuffled), "everything" (that, and a
state saved after every batch), and "sources" (a mix of 1,000 sources up to its first batch).
"""

import atexit
import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import easydata.execution.async_loader
import easydata.sources
import easydata.transforms
import numpy as np
import pyarrow as pa
import pyarrow.json

import easydata

folder, tokenizer_path, work, mode = sys.argv[1:5]
files = sorted(Path(folder).glob("*.jsonl"))
tokenizer = easydata.Tokenizer(tokenizer_path)
config = easydata.TokenizerConfig(tokenizer, max_length=1 << 30)


def tokenized(path: str | Path, shuffled: bool = False) -> easydata.TokenizedShardedSource:
    """The tokens of files."""
    source: easydata.ShardedDataSource[Any] = easydata.JsonShardedSource(str(path))
    if shuffled:
        source = source.shuffle("rows", 1, window_bytes=1 << 20)
    return easydata.TokenizedShardedSource(source, tokenizer, config)


def mixed(paths: list[Path], shuffled: bool) -> easydata.MixedShardedSource:
    """A source for each path, in equal shares."""
    sources = {str(i): tokenized(path, shuffled) for i, path in enumerate(paths)}
    weights = {name: 1 / len(sources) for name in sources}
    return easydata.MixedShardedSource(sources, weights, stop_strategy="all_exhausted")


def spin() -> None:
    """Holds on to the GIL for as long as it may."""
    while True:
        pass


def batches(source: easydata.ShardedDataSource[Any], save: bool = False) -> dict[str, float]:
    """Takes all batches, or the first of a thousand sources."""
    packed = easydata.PackedShardedSource(source, 2048, 50256, shuffle=False)
    tokens, first = 0, 0.0
    begin = time.perf_counter()
    threads = 1 if mode else None
    with easydata.AsyncDataLoader(packed, 8, num_threads=threads) as loader:
        for batch in loader:
            first = first or time.perf_counter() - begin
            tokens += int(np.size(batch["input_ids"]))
            if save:
                loader.state_dict()
            if work == "sources":
                break
        handles = len(os.listdir("/proc/self/fd"))
    return {"tokens": tokens, "first": first, "handles": handles}


column = pa.chunked_array([], pa.string())
if work == "tokenizer":
    options = pyarrow.json.ReadOptions(block_size=64 << 20)  # a row must not be larger
    tables = [pyarrow.json.read_json(path, options) for path in files]
    column = pa.chunked_array([chunk for t in tables for chunk in t.column("text").chunks])
if mode == "busy":
    threading.Thread(target=spin, daemon=True).start()
if mode == "beside":
    # It waits for no GIL of ours, so what it costs is the processor's time alone.
    beside = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    atexit.register(beside.kill)
used = resource.getrusage(resource.RUSAGE_SELF)
start = time.perf_counter()
if work == "tokenizer":
    done: dict[str, float] = {"tokens": 0}
    for chunk in column.chunks:
        for at in range(0, len(chunk), 1000):
            done["tokens"] += len(tokenizer.encode_batch(chunk.slice(at, 1000)).values)
elif work == "packed":
    done = batches(tokenized(Path(folder) / "*.jsonl"))
elif work == "sources":
    done = batches(mixed([files[i % len(files)] for i in range(1000)], False))
else:
    done = batches(mixed(files, work != "mixed"), work == "everything")
seconds = time.perf_counter() - start
now = resource.getrusage(resource.RUSAGE_SELF)
cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
print(json.dumps({**done, "seconds": seconds, "cpu_seconds": cpu}))
