"""Reads what does not fit: little_memory.py FOLDER FILE WAY MEGABYTES.

Prints the errors that come, then what a small file gives.
"""

import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
from byte_tokenizer import write_tokenizer

import easydata as ed


def source_of(file: str) -> Any:
    by_suffix = {
        ".jsonl": ed.JsonShardedSource,
        ".json": ed.JsonShardedSource,
        ".csv": ed.CsvShardedSource,
        ".parquet": ed.ParquetShardedSource,
    }
    name = file.removesuffix(".gz")
    return by_suffix.get(Path(name).suffix, ed.TextShardedSource)(file)


def tokenized(file: str, folder: Path) -> Any:
    config = ed.TokenizerConfig(name_or_path=str(folder), max_length=1 << 40, truncation=False)
    return ed.TokenizedShardedSource(source_of(file), ed.Tokenizer(str(folder)), config)


def packed(file: str, folder: Path) -> Any:
    return ed.PackedShardedSource(tokenized(file, folder), seq_length=64, eos_token_id=263)


def work(way: str, file: str, folder: Path) -> int:
    if way == "rows":
        source = source_of(file)
        return sum(1 for shard in source.shard_names for _ in source.open_shard(shard))
    if way == "load":
        loader = ed.AsyncDataLoader(source_of(file), batch_size=1, num_threads=2, drop_last=False)
        return sum(1 for _ in loader)
    if way == "pulled":
        loader = ed.AsyncDataLoader(packed(file, folder), batch_size=1, prefetch_enabled=False)
        return sum(1 for _ in loader)
    if way == "pack":
        loader = ed.AsyncDataLoader(packed(file, folder), batch_size=1, num_threads=2)
        return sum(1 for _ in loader)
    if way == "save":
        output = str(folder / "out")
        ed.save_dataset(tokenized(file, folder), output, overwrite=True)
        return 1
    text = Path(file).read_text()
    return len(ed.Tokenizer(str(folder)).encode_batch([text] * 40, num_threads=2))


def main(name: str, file: str, way: str, megabytes: str) -> None:
    folder = write_tokenizer(Path(name))
    small = folder / "small.jsonl"
    small.write_text('{"text": "the rain"}\n' * 100)
    work(way, str(small), folder)  # what is loaded once
    np.zeros(1)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + (int(megabytes) << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for _ in range(2):
        try:
            print("gave", work(way, file, folder), flush=True)
        except MemoryError as error:
            print("MemoryError:", str(error).replace("\n", " "), flush=True)
    print("small", work(way, str(small), folder) > 0, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
