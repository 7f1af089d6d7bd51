"""Two small sources, and a loader that tokenizes, mixes, packs and shuffles them."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from easydata import AsyncDataLoader, Pipeline, PipelineConfig

SEQ_LENGTH = 32
BATCH_SIZE = 12
WORDS = ("the", "of", "water", "42", "naïve", "日本", "tokenizer", ",", ".", "\n", "def f(x):")


def write_corpus(folder: Path, seed: int = 11) -> Path:
    """Writes prose (three shards) and code (two): documents of many lengths, some of them empty."""
    random = np.random.default_rng(seed)
    for name, shards, rows in (("prose", 3, 40), ("code", 2, 25)):
        (folder / name).mkdir(parents=True)
        for shard in range(shards):
            with open(folder / name / f"{shard}.jsonl", "w") as file:
                for _ in range(rows):
                    size = int(random.integers(0, 60)) * int(random.integers(0, 4))
                    file.write(json.dumps({"text": " ".join(random.choice(WORDS, size))}) + "\n")
    return folder


def packed_loader(
    corpus: Path | str,
    tokenizer: str,
    *,
    rank: int = 0,
    world_size: int = 1,
    stop_strategy: str = "restart",
    devices: Mapping[str, Any] = MappingProxyType({}),
    **load: Any,
) -> AsyncDataLoader:
    """Batches of a mix of both sources, packed and shuffled; endless unless told otherwise.

    `devices` are arguments of Pipeline.load(), `load` its options.
    """
    config = PipelineConfig.from_dict(
        {
            "seed": 5,
            "datasets": [
                {"data_files": f"{corpus}/{name}/*.jsonl", "name": name, "tokenizer": tokenizer}
                for name in ("prose", "code")
            ],
            "mix": {
                "weights": {"prose": 0.7, "code": 0.3},
                "block_size": 10,
                "stop_strategy": stop_strategy,
            },
            "pack": {
                "enabled": True,
                "seq_length": SEQ_LENGTH,
                "shuffle_packed": True,
                "shuffle_buffer_factor": 1,
            },
            "load": {"batch_size": BATCH_SIZE, "rank": rank, "world_size": world_size, **load},
        }
    )
    loader: AsyncDataLoader = (
        Pipeline.from_config(config).source().tokenize().mix().pack().load(**devices).build()
    )
    return loader


class RecordedLoader(AsyncDataLoader):
    """Keeps the arrays that it has handed out, for comparing addresses."""

    def __iter__(self) -> Any:
        for batch in super().__iter__():
            self.handed_out = batch
            yield batch


class InterruptedLoader(AsyncDataLoader):
    """Is interrupted by Ctrl-C behind the batch that begins with row 16."""

    def __iter__(self) -> Any:
        for batch in super().__iter__():
            yield batch
            if batch["n"][0] == 16:
                raise KeyboardInterrupt
