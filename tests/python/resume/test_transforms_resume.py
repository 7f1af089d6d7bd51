"""Streams with transforms in them go on exactly where they were."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from easydata.sources import JsonShardedSource
from easydata.transforms import (
    ExpandTransform,
    FilterNonEmpty,
    FilterTransform,
    LimitedShardedSource,
    MapTransform,
    TokenizedShardedSource,
)

from easydata import AsyncDataLoader, ShardedDataSource, Tokenizer, TokenizerConfig


class Letters(ExpandTransform):
    def __call__(self, example: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for index in range(example["id"] % 4):
            yield {"id": example["id"], "index": index}


def tokenized(source: ShardedDataSource[Any], folder: str) -> ShardedDataSource[Any]:
    tokenizer = Tokenizer(folder)
    kept = source.transform(FilterNonEmpty(["text"])).map(lambda row: {**row, "n": row["id"]})
    config = TokenizerConfig("given", max_length=5)
    return TokenizedShardedSource(kept, tokenizer, config, additional_fields=["n"])


Build = Callable[[ShardedDataSource[Any], str], ShardedDataSource[Any]]
CHAINS: dict[str, Build] = {
    "map": lambda source, _: source.transform(MapTransform(lambda row: {"id": row["id"] * 3})),
    "filter and select": lambda source, _: source.transform(
        FilterTransform(lambda row: row["id"] % 3 == 1)
    ).select_fields(["id"]),
    "expand": lambda source, _: source.transform(Letters()),
    "limit behind a filter": lambda source, _: LimitedShardedSource(
        source.filter(lambda row: row["id"] % 2 == 0), 40
    ).select_fields(["id"]),
    "tokenize": tokenized,
}


@pytest.mark.parametrize("name", CHAINS)
def test_every_position_is_gone_on_from(tmp_path: Path, gpt2: str, name: str) -> None:
    for shard in range(3):
        rows = [{"id": shard * 40 + i, "text": "x" * (i % 7)} for i in range(40)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{shard}.jsonl").write_text(lines)

    def loader() -> AsyncDataLoader:
        source = CHAINS[name](JsonShardedSource(str(tmp_path / "*.jsonl")), gpt2)
        return AsyncDataLoader(source, batch_size=7, drop_last=False)

    def plain(batch: dict[str, Any]) -> dict[str, Any]:
        return {key: np.asarray(value).tolist() for key, value in batch.items()}

    states = []
    batches = []
    with loader() as whole:
        states.append(whole.state_dict())
        for batch in whole:
            batches.append(plain(batch))
            states.append(whole.state_dict())
    assert len(batches) > 5
    for step, state in enumerate(states[:-1]):
        with loader() as again:
            again.load_state_dict(json.loads(json.dumps(state)))
            assert [plain(batch) for batch in again] == batches[step:]
