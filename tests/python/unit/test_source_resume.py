"""A loader over any kind of source goes on from every step with exactly the rest."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.core.source import ShardedDataSource
from easydata.sources import (
    CompositeShardedSource,
    JsonShardedSource,
    ParquetShardedSource,
    wrap_hf_dataset,
)

from easydata import AsyncDataLoader

Row = dict[str, Any]


class Shards(ShardedDataSource[Row]):
    """Rows made by Python code."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts

    @property
    def shard_names(self) -> list[str]:
        return list(self._counts)

    def num_shards(self) -> int:
        return len(self._counts)

    def open_shard(self, shard_name: str) -> Iterator[Row]:
        return ({"i": i} for i in range(self._counts[shard_name]))


def sources(folder: Path) -> dict[str, ShardedDataSource[Any]]:
    datasets = pytest.importorskip("datasets")
    rows = [{"i": i} for i in range(700)]
    lines, table = folder / "a.jsonl", folder / "a.parquet"
    lines.write_text("\n\n".join(json.dumps(row) for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), table, row_group_size=90)
    made: dict[str, ShardedDataSource[Any]] = {
        "python": Shards({"a": 5, "b": 0, "c": 600}),
        "list": wrap_hf_dataset(rows),
        "dataset": wrap_hf_dataset(datasets.Dataset.from_list(rows).shuffle(seed=1)),
        "streaming": wrap_hf_dataset(datasets.Dataset.from_list(rows).to_iterable_dataset()),
        "jsonl": JsonShardedSource(lines),
        "parquet": ParquetShardedSource(table),
    }
    made["composite"] = CompositeShardedSource([made["jsonl"], made["python"], made["list"]])
    return made


@pytest.mark.parametrize(
    "kind", ["python", "list", "dataset", "streaming", "jsonl", "parquet", "composite"]
)
def test_every_step_goes_on_with_the_rest(tmp_path: Path, kind: str) -> None:
    source = sources(tmp_path)[kind]
    states, batches = [], []
    loader = AsyncDataLoader(source, batch_size=16, drop_last=False)
    for batch in loader:
        batches.append(batch["i"].tolist())
        states.append(json.dumps(loader.state_dict()))
    assert [i for batch in batches for i in batch] == [row["i"] for row in source]
    for step in range(0, len(batches), 7):
        resumed = AsyncDataLoader(source, batch_size=16, drop_last=False)
        resumed.load_state_dict(json.loads(states[step]))
        assert [batch["i"].tolist() for batch in resumed] == batches[step + 1 :]
