"""Loads damaged states: load_damaged_states.py FIRST COUNT.

A process of its own, because it may crash or hang. Prints `CASE pipeline` before each case and
`result [case, verdict]` behind it.
"""

import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from damage import damaged
from easydata.sources import JsonShardedSource

from easydata import (
    AsyncDataLoader,
    MixedShardedSource,
    PackedShardedSource,
    PadSpec,
    merge_states,
    save_dataset,
)

PAD = {"input_ids": PadSpec(length=8)}
VALUES = (None, -1, 10**6, 2**63 - 1, 2**64, 1.5, 1e121, "x", "\ud800", True, [], [-1, 3], {}, "1")


def mixed(folder: Path, **options: Any) -> MixedShardedSource:
    sources = {name: JsonShardedSource(folder / f"{name}.jsonl") for name in "ab"}
    return MixedShardedSource(sources, {"a": 1, "b": 2}, block_size=30, **options)


def packed(folder: Path, strategy: str) -> PackedShardedSource:
    return PackedShardedSource(mixed(folder), 16, 5, strategy=strategy, pack_window=50)


PIPELINES: dict[str, Callable[[Path], AsyncDataLoader]] = {
    "rows": lambda folder: AsyncDataLoader(JsonShardedSource(folder / "a.jsonl"), 4, padding=PAD),
    "gzip": lambda folder: AsyncDataLoader(
        JsonShardedSource(folder / "a.jsonl"), 4, padding=PAD, shuffle_buffer_size=30
    ),
    "blocks": lambda folder: AsyncDataLoader(
        JsonShardedSource(str(folder / "*.jsonl")).shuffle("rows", 1, window_bytes=999),
        4,
        padding=PAD,
    ),
    "mix": lambda folder: AsyncDataLoader(mixed(folder), 4, padding=PAD),
    "tokens": lambda folder: AsyncDataLoader(mixed(folder, unit="tokens"), 4, padding=PAD),
    "greedy": lambda folder: AsyncDataLoader(packed(folder, "greedy"), 4),
    "best_fit": lambda folder: AsyncDataLoader(packed(folder, "best_fit"), 4),
    "parquet": lambda folder: AsyncDataLoader(
        PackedShardedSource(_parquet(folder), 16, 5), 4, lanes=2, steps=100
    ),
}


def _parquet(folder: Path) -> Any:
    from easydata.sources import ParquetShardedSource

    return ParquetShardedSource(folder / "parquet")


def write(folder: Path) -> None:
    for name in "ab":
        with (folder / f"{name}.jsonl").open("w") as file:
            for row in range(300):
                tokens = [row * 10 + k for k in range(1 + row % 7)]
                print(json.dumps({"input_ids": tokens}), file=file)
    save_dataset(JsonShardedSource(folder / "a.jsonl"), folder / "parquet", max_shard_size="2KB")


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        members = enumerate(value)
    for key, member in members:
        yield (*at, key)
        yield from _paths(member, (*at, key))


def damaged_state(state: dict[str, Any], draw: random.Random) -> Any:
    """A state with damages to its members, or to its text where that is still JSON."""
    if draw.random() < 0.3:
        for _ in range(100):
            try:
                return json.loads(damaged(json.dumps(state).encode(), draw))
            except ValueError:
                continue
    out = json.loads(json.dumps(state))
    for _ in range(draw.choice((1, 1, 2, 5))):
        every = list(_paths(out))
        if not every:
            break
        *path, last = draw.choice(every)
        at: Any = out
        for key in path:
            at = at[key]
        how = draw.random()
        if how < 0.2:
            del at[last]
        elif how < 0.3:
            at[last] = at
            return out if draw.random() < 0.5 else json.loads(json.dumps(state))
        else:
            at[last] = draw.choice(VALUES)
    return out


def case(number: int, folder: Path) -> str:
    draw = random.Random(number)
    kind = list(PIPELINES)[number % len(PIPELINES)]
    with PIPELINES[kind](folder) as loader:
        list(islice(loader, draw.randrange(1, 20)))
        state = json.loads(json.dumps(loader.state_dict()))
        following = str(next(iter(loader)))
    other = damaged_state(state, draw)
    verdict = "went on"
    with PIPELINES[kind](folder) as loader:
        try:
            loader.load_state_dict(other)
            list(islice(loader, 2))
            merge_states([other, other])
        except (ValueError, IndexError, TypeError, RecursionError, KeyError) as error:
            verdict = "refused" if len(str(error).split()) > 4 else f"wrong: it says {error!r}"
    with PIPELINES[kind](folder) as loader:
        loader.load_state_dict(state)
        if str(next(iter(loader))) != following:
            return "wrong: the state itself leads elsewhere"
    return verdict


def main(first: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        for number in range(first, first + count):
            print(number, list(PIPELINES)[number % len(PIPELINES)], flush=True)
            print("result", json.dumps([number, case(number, folder)]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
