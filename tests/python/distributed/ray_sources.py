"""Sources of several kinds, and what tokenizing here makes of them, for tests of other machines."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from easydata.sources.sharded_source import ShardedDataSource
from small_data import jsonl

from easydata import (
    CompositeShardedSource,
    HFDatasetShardedSource,
    JsonShardedSource,
    MapTransform,
    ParquetShardedSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
)

Row = dict[str, Any]


def rows_of(shard: int, count: int = 400) -> list[Row]:
    """Rows of which some lack a field that others have."""
    rows: list[Row] = []
    for i in range(count):
        row = {"text": f"row {i} of shard {shard} " + "words " * (i % 30), "id": shard * count + i}
        if i % 3 == 0:
            row["meta"] = {"a": [i, None], "b": "x"}
        rows.append(row)
    return rows


def lines(count: int = 400) -> JsonShardedSource:
    for shard in range(3):
        jsonl(f"lines/{shard}.jsonl", rows_of(shard, count))
    return JsonShardedSource("lines/*.jsonl")


def packed_lines() -> JsonShardedSource:
    Path("gz").mkdir(exist_ok=True)
    for shard in range(2):
        text = "".join(json.dumps(row) + "\n" for row in rows_of(shard))
        Path(f"gz/{shard}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return JsonShardedSource("gz/*.jsonl.gz")


def tables() -> ParquetShardedSource:
    Path("tables").mkdir(exist_ok=True)
    for shard in range(2):
        table = pa.table(
            {
                "id": list(range(400)),
                "text": [row["text"] for row in rows_of(shard)],
                "tags": [[f"t{i}", None] for i in range(400)],
            }
        )
        pq.write_table(table, f"tables/{shard}.parquet", row_group_size=64)
    return ParquetShardedSource("tables/*.parquet")


def chats() -> JsonShardedSource:
    rows = [
        {
            "messages": [
                {"role": "user", "content": f"question {i}"},
                {"role": "assistant", "content": f"answer {i}"},
            ],
            "id": i,
        }
        for i in range(100)
    ]
    return JsonShardedSource(jsonl("chats/a.jsonl", rows))


def upper(row: Row) -> Row:
    return {**row, "text": row["text"].upper()}


class Numbers(ShardedDataSource[Row]):
    """A source in Python."""

    shard_names = ("one", "two")

    def num_shards(self) -> int:
        return 2

    def open_shard(self, shard_name: str) -> Iterator[Row]:
        return ({"text": f"{shard_name} {i}", "id": i} for i in range(50))


class Stream:
    """Rows that can only be read one after the other."""

    def __iter__(self) -> Iterator[Row]:
        return iter(rows_of(1, 300))


SOURCES: dict[str, Callable[[], Any]] = {
    "lines": lines,
    "compressed lines": packed_lines,
    "tables": tables,
    "chats": chats,
    "mapped": lambda: lines().transform(MapTransform(upper)),
    "filtered": lambda: tables().map(upper),
    "shuffled": lambda: lines().shuffle("rows", seed=3),
    "several": lambda: CompositeShardedSource([lines(), tables().map(upper)]),
    "python": Numbers,
    "memory": lambda: HFDatasetShardedSource(rows_of(0, 2500)),
    "mapped memory": lambda: HFDatasetShardedSource(rows_of(0, 300)).map(upper),
    "iterator": lambda: HFDatasetShardedSource(Stream()),
    "no rows": lambda: HFDatasetShardedSource([]),
}


def expected(source: Any, tokenizer: str, max_length: int = 2048) -> list[Row]:
    """What TokenizedShardedSource makes here, with all fields but the text."""
    rows = list(source)
    config = TokenizerConfig(tokenizer, max_length=max_length)
    tokens = TokenizedShardedSource(HFDatasetShardedSource(rows), Tokenizer(tokenizer), config)
    return [
        {**{name: row[name] for name in row if name != "text"}, **made}
        for row, made in zip(rows, tokens if rows else (), strict=True)
    ]
