"""Pipelines of texts that are tokenized: shuffled, mixed and packed in every way."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from data_folders import EOS, tokenizer_folder

from easydata import (
    AsyncDataLoader,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    TokenizedShardedSource,
    TokenizerConfig,
)

KINDS = [
    "tokens",
    "shuffled rows",
    "pack greedy",
    "pack pool",
    "pack first_fit",
    "pack best_fit",
    "pack grain_best_fit",
    "pack grain_concat",
    "mix",
    "grain mix",
]


def write_corpus(folder: Path) -> Path:
    """Writes prose, also as Parquet, and code: documents of many lengths, some of them empty."""
    random = np.random.default_rng(11)
    words = [
        "the",
        "of",
        "water",
        "42",
        "naïve",
        "übung",
        "日本",
        "tokenizer",
        ",",
        ".",
        "\n",
        "def f(x):",
    ]
    for name, shards, rows in (("prose", 3, 40), ("code", 2, 25)):
        (folder / name).mkdir()
        for shard in range(shards):
            path = folder / name / f"{shard}.jsonl"
            made = []
            for _ in range(rows):
                size = int(random.integers(0, 60)) * int(random.integers(0, 4))
                text = " ".join(random.choice(words, size))
                made.append({"text": text, "id": int(random.integers(99))})
            path.write_text("".join(json.dumps(row) + "\n" for row in made))
            if name == "prose":
                table = pa.Table.from_pylist(made)
                pq.write_table(table, path.with_suffix(".parquet"), row_group_size=7)
    return folder


def make(kind: str, corpus: Path, **options: Any) -> AsyncDataLoader:
    """The pipelines that are restored."""
    return AsyncDataLoader(rows_of(kind, corpus), 4, drop_last=False, **options)


def rows_of(kind: str, corpus: Path) -> ShardedDataSource[Any]:
    """Their rows."""
    tokenizer = str(tokenizer_folder("byte-level"))

    def tokenized(source: Any) -> TokenizedShardedSource:
        return TokenizedShardedSource(source, tokenizer, TokenizerConfig(name_or_path=tokenizer))

    def tokens(name: str) -> TokenizedShardedSource:
        return tokenized(JsonShardedSource(str(corpus / name / "*.jsonl")))

    def packed(source: Any, strategy: str) -> PackedShardedSource:
        overlong: Any = "truncate" if strategy == "grain_best_fit" else "split"
        return PackedShardedSource(source, 64, EOS, strategy=strategy, seed=3, overlong=overlong)

    if kind == "tokens":
        return tokens("prose")
    if kind == "shuffled rows":
        rows = tokenized(ParquetShardedSource(str(corpus / "prose" / "*.parquet")))
        return rows.shuffle("rows", 7, window_bytes=2000)
    if kind.startswith("pack "):
        return packed(tokens("prose"), kind[5:])
    mixed = MixedShardedSource(
        {"prose": tokens("prose"), "code": tokens("code")},
        {"prose": 0.7, "code": 0.3},
        block_size=10,
        seed=1,
        stop_strategy="all_exhausted",
        order="grain" if kind == "grain mix" else "blocks",
    )
    return packed(mixed, "greedy")
