"""Pipelines whose batches and positions are recorded for each release.

`python tests/python/resume/golden_pipelines.py` writes golden/<version>.json. Files of releases
that are out stay as they are: what they saved must load, and go on with the batches that it had
coming.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from easydata import (
    AsyncDataLoader,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    PadSpec,
    ShardedDataSource,
    TokenizedShardedSource,
    TokenizerConfig,
    WeightSchedulePoint,
    WeightScheduler,
    __version__,
)

GOLDEN = Path(__file__).parent / "golden"
STEPS = 16
SAVED_AT = 7
EOS = 3
Source = ShardedDataSource[Any]


def write_data() -> None:
    """The data, into the current folder: a path is part of a stream's plan."""
    draw = random.Random(20)
    words = ["a", "in", "is", "the", "data", "of", "text", "é", "日本", "x1"]

    def size() -> int:
        return int(draw.random() * 60 * draw.random())

    for name, shards in (("prose", 3), ("code", 2), ("notes", 1)):
        Path(name).mkdir()
        for shard in range(shards):
            lines = []
            for row in range(40):
                ids = [4 + int(draw.random() * 90) for _ in range(size())]
                text = " ".join(words[int(draw.random() * len(words))] for _ in range(size()))
                labels = [i + 1 for i in ids]
                lines.append({"row": row, "text": text, "input_ids": ids, "labels": labels})
            text = "".join(json.dumps(line) + "\n" for line in lines)
            Path(name, f"{shard}.jsonl").write_text(text, encoding="utf-8")
    characters = sorted({c for word in words for c in word} - {" "})
    vocabulary = [
        "<pad>",
        "<unk>",
        "<s>",
        "</s>",
        "▁",
        *characters,
        "th",
        "▁th",
        "▁the",
        "at",
        "▁i",
    ]
    tokenizer = {
        "version": "1.0",
        "added_tokens": [
            {"id": i, "content": token, "special": True, "single_word": False, "lstrip": False}
            | {"rstrip": False, "normalized": False}
            for i, token in enumerate(vocabulary[:4])
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "vocab": {token: i for i, token in enumerate(vocabulary)},
            "merges": [["t", "h"], ["▁", "th"], ["▁th", "e"], ["a", "t"], ["▁", "i"]],
        },
    }
    Path("tokenizer").mkdir()
    Path("tokenizer/tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    config = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    Path("tokenizer/tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def rows(name: str) -> Source:
    return JsonShardedSource(f"{name}/*.jsonl", identity="size")


def tokenized(name: str) -> Source:
    # Unset, a packer would get whole documents, and none would be cut.
    config = TokenizerConfig("tokenizer", max_length=2048)
    return TokenizedShardedSource(rows(name), "tokenizer", config)


def packed(source: Source, strategy: Any = "greedy", **options: Any) -> Source:
    overlong = "truncate" if strategy == "grain_best_fit" else "split"
    defaults = {"pack_window": 25, "seed": 3, "include_segment_ids": True, "overlong": overlong}
    return PackedShardedSource(source, 32, EOS, strategy=strategy, **{**defaults, **options})


def mixed(make: Callable[[str], Source] = rows, **options: Any) -> Source:
    sources = {name: make(name) for name in ("prose", "code", "notes")}
    if "weight_scheduler" not in options:
        options["weights"] = {"prose": 0.55, "code": 0.3, "notes": 0.15}
    return MixedShardedSource(sources, block_size=20, seed=5, **options)


def scheduled() -> Source:
    points = [
        WeightSchedulePoint(0, {"prose": 1.0, "code": 0.0, "notes": 0.0}),
        WeightSchedulePoint(8, {"prose": 0.2, "code": 0.5, "notes": 0.3}),
    ]
    return mixed(weight_scheduler=WeightScheduler(points, "linear"), schedule_unit="steps")


def loader(source: Source, batch_size: int = 4, **options: Any) -> AsyncDataLoader:
    return AsyncDataLoader(source, batch_size, **options)


PIPELINES: dict[str, Callable[[], AsyncDataLoader]] = {
    "rows": lambda: loader(rows("prose"), drop_last=False, epochs=2),
    "tokens": lambda: loader(tokenized("prose"), shuffle_buffer_size=11, seed=2),
    "pack greedy": lambda: loader(packed(tokenized("prose")), epochs=3),
    "pack pool": lambda: loader(packed(rows("prose"), "pool"), epochs=3),
    "pack first_fit": lambda: loader(packed(rows("prose"), "first_fit"), epochs=3),
    "pack best_fit": lambda: loader(packed(tokenized("code"), "best_fit"), epochs=5),
    "pack grain_concat": lambda: loader(packed(rows("prose"), "grain_concat"), epochs=3),
    "pack grain_best_fit": lambda: loader(packed(rows("prose"), "grain_best_fit"), epochs=3),
    "blocks": lambda: loader(packed(rows("prose").shuffle("blocks", 4)), steps=STEPS),
    "window": lambda: loader(
        packed(rows("prose").shuffle("rows", 4, window_bytes=3000)), steps=STEPS
    ),
    "mix": lambda: loader(packed(mixed(tokenized))),
    "mix by tokens": lambda: loader(packed(mixed(tokenized, unit="tokens"))),
    "mix with a schedule": lambda: loader(packed(scheduled())),
    "mix that ends": lambda: loader(packed(mixed(stop_strategy="all_exhausted")), epochs=2),
    "balanced": lambda: loader(packed(mixed(), balance_groups=2), 8),
    "ramp up": lambda: loader(packed(mixed()), batch_rampup={3: 2, 9: 3}),
    "lanes": lambda: loader(packed(mixed()), 12, lanes=4),
    "lanes of rows": lambda: loader(
        mixed(tokenized),
        6,
        lanes=2,
        padding={name: PadSpec(length=200) for name in ("input_ids", "attention_mask")},
    ),
}


def digests(name: str) -> dict[str, Any]:
    """What a release is known by: digests of the first steps, and of those behind a saved state."""
    with PIPELINES[name]() as whole:
        iterator = iter(whole)
        taken = [next(iterator) for _ in range(SAVED_AT)]
        state = json.loads(json.dumps(whole.state_dict()))
        taken += itertools.islice(iterator, STEPS - SAVED_AT)
        assert len(taken) == STEPS, f"{name} has {len(taken)} steps"
        return {"whole": whole.digest(), "state": state, "rest": rest(name, state)}


def rest(name: str, state: dict[str, Any]) -> str:
    """The digest of the steps that come behind a state."""
    with PIPELINES[name]() as restored:
        restored.load_state_dict(state)
        taken = list(itertools.islice(restored, STEPS - SAVED_AT))
        assert len(taken) == STEPS - SAVED_AT
        return restored.digest()


def record() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_data()
        known = {name: digests(name) for name in PIPELINES}
    GOLDEN.mkdir(exist_ok=True)
    path = GOLDEN / f"{__version__}.json"
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    sys.stdout.write(f"{path}: {len(known)} pipelines\n")


if __name__ == "__main__":
    record()
