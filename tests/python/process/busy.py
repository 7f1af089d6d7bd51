"""Threads that are in the middle of everything the engine does."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import easydata as ed

TEXTS = [f"the rain in the north {number} and on and on again " * 40 for number in range(400)]


def encode(folder: Path) -> Callable[[], Any]:
    tokenizer = ed.Tokenizer(str(folder))
    return lambda: tokenizer.encode_batch(TEXTS)


def encode_one(folder: Path) -> Callable[[], Any]:
    tokenizer = ed.Tokenizer(str(folder))
    text = "".join(TEXTS)
    return lambda: tokenizer.encode(text)


def decode(folder: Path) -> Callable[[], Any]:
    tokenizer = ed.Tokenizer(str(folder))
    ids = tokenizer.encode_batch(TEXTS)
    return lambda: tokenizer.decode_batch(ids)


def source(folder: Path) -> Any:
    """The texts of a file, in 8,000 rows, tokenized and packed."""
    file = folder / "texts.txt"
    if not file.exists():
        file.write_text("".join(f"{text}\n" for text in TEXTS * 20), encoding="utf-8")
    rows = ed.TextShardedSource(str(file))
    config = ed.TokenizerConfig(name_or_path=str(folder))
    tokenized = ed.TokenizedShardedSource(rows, ed.Tokenizer(str(folder)), config)
    return ed.PackedShardedSource(tokenized, seq_length=128, eos_token_id=263)


def load(folder: Path) -> Callable[[], Any]:
    data = source(folder)

    def passes() -> None:
        loader = ed.AsyncDataLoader(data, batch_size=4, num_threads=2)
        for number, _ in enumerate(loader):
            if number == 50:
                break

    return passes


def load_one(folder: Path) -> Callable[[], Any]:
    loader = ed.AsyncDataLoader(source(folder), batch_size=4, num_threads=2)
    return lambda: next(iter(loader), None)


def rows(folder: Path) -> Callable[[], Any]:
    data = source(folder)
    shard = data.shard_names[0]
    return lambda: sum(1 for _ in data.open_shard(shard))


def drop(folder: Path) -> Callable[[], Any]:
    """Pipelines that begin and end."""
    data = source(folder)
    return lambda: ed.AsyncDataLoader(data, batch_size=4).state_dict()


def call(folder: Path) -> Callable[[], Any]:
    file = folder / "texts.txt"
    source(folder)
    data = ed.TextShardedSource(str(file)).map(lambda row: {"n": len(row["text"])})
    return lambda: [None for _ in ed.AsyncDataLoader(data, batch_size=100, num_threads=2)]


def save(folder: Path) -> Callable[[], Any]:
    data = source(folder)
    return lambda: ed.save_dataset(data, str(folder / "saved"), overwrite=True)


ALL = (encode, encode_one, decode, load, load_one, rows, drop, call, save)


def start_with(work: Callable[[], Any], daemon: bool, go_on: Callable[[], bool]) -> None:
    """Starts a thread that does a work over and over, and returns when it has begun."""
    began = threading.Event()

    def again() -> None:
        began.set()
        while go_on():
            work()

    threading.Thread(target=again, daemon=daemon).start()
    began.wait(20)


def start(folder: Path, names: str, daemon: bool, go_on: Callable[[], bool]) -> None:
    """Starts a thread for each of the named works."""
    by_name = {each.__name__: each for each in ALL}
    for name in names.split(","):
        start_with(by_name[name](folder), daemon, go_on)
