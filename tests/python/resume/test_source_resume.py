"""A loader over any kind of source goes on from every step with exactly the rest."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.sources import (
    CompositeShardedSource,
    JsonShardedSource,
    ParquetShardedSource,
    wrap_hf_dataset,
)

from easydata import AsyncDataLoader, ShardedDataSource

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


def streaming(kind: str, opened: list[int]) -> Any:
    datasets = pytest.importorskip("datasets")
    rows = [{"i": i, "t": "x" * (i % 5)} for i in range(2600)]

    def made(parts: list[int]) -> Any:
        for part in parts:
            opened.append(part)
            yield from rows[part * 260 : (part + 1) * 260]

    features = datasets.Features({"i": datasets.Value("int64"), "t": datasets.Value("string")})
    table = datasets.Dataset.from_list(rows).to_iterable_dataset(num_shards=3)
    generated = datasets.IterableDataset.from_generator(
        made, features=features, gen_kwargs={"parts": list(range(10))}
    )
    chains = {
        "table": table,
        "generated": generated,
        "mapped": generated.map(lambda row: {"i": row["i"] * 2, "t": row["t"]}, features=features),
        "filtered": table.filter(lambda row: row["i"] % 3 > 0),
        "selected": generated.select_columns(["i"]),
        "batched": table.map(
            lambda rows: {"i": rows["i"][::2], "t": rows["t"][::2]},
            batched=True,
            batch_size=100,
            features=features,
        ),
        "concatenated": datasets.concatenate_datasets([table, generated]),
        "skipped": table.skip(100).take(2000),
        "interleaved": datasets.interleave_datasets([table, generated]),
    }
    return chains[kind]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "kind",
    [
        "table",
        "generated",
        "mapped",
        "filtered",
        "selected",
        "batched",
        "concatenated",
        "skipped",
        "interleaved",
    ],
)
def test_streaming_data_sets_go_on_with_the_rest(kind: str) -> None:
    dataset = streaming(kind, [])
    expected = [row["i"] for row in dataset]
    source = wrap_hf_dataset(dataset)

    def batches(state: Any, count: int) -> tuple[list[int], list[Any]]:
        loader = AsyncDataLoader(source, batch_size=96, drop_last=False, prefetch_enabled=False)
        if state is not None:
            loader.load_state_dict(state)
        out, states = [], [json.loads(json.dumps(loader.state_dict()))]
        for batch in itertools.islice(loader, count):
            out.extend(batch["i"].tolist())
            states.append(json.loads(json.dumps(loader.state_dict())))
        loader.close()
        return out, states

    whole, states = batches(None, 1000)
    assert whole == expected
    every = 9 if kind == "interleaved" else 2  # it is slow by itself
    for step in range(0, len(states), every):
        assert batches(states[step], 1000)[0] == expected[step * 96 :]
    # A position that was gone on from and saved anew is as good.
    _, later = batches(states[5], 6)
    for step in range(0, len(later), every):
        assert batches(later[step], 1000)[0] == expected[(5 + step) * 96 :]


def test_streaming_data_sets_enter_the_shard_they_were_in() -> None:
    opened: list[int] = []
    source = wrap_hf_dataset(streaming("generated", opened))
    loader = AsyncDataLoader(source, batch_size=96, prefetch_enabled=False)
    for _ in itertools.islice(loader, 20):  # row 1920, in the eighth part
        pass
    state = loader.state_dict()
    # Others that read the data set leave the position alone.
    assert len(list(source)) == 2600
    assert loader.state_dict() == state
    next(iter(loader))
    state = loader.state_dict()
    loader.close()
    opened.clear()
    resumed = AsyncDataLoader(source, batch_size=96, prefetch_enabled=False)
    resumed.load_state_dict(state)
    assert next(iter(resumed))["i"].tolist() == list(range(21 * 96, 22 * 96))
    resumed.close()
    assert opened[0] == 7


def test_shuffled_streaming_data_sets_are_refused() -> None:
    datasets = pytest.importorskip("datasets")
    plain = streaming("table", [])
    shuffled = plain.shuffle(seed=1, buffer_size=10)
    for dataset in (shuffled, datasets.interleave_datasets([plain, shuffled])):
        source = wrap_hf_dataset(dataset)
        loader = AsyncDataLoader(source, batch_size=1100)
        next(iter(loader))
        resumed = AsyncDataLoader(source, batch_size=1100)
        resumed.load_state_dict(loader.state_dict())
        with pytest.raises(ValueError, match="was shuffled cannot be resumed exactly"):
            next(iter(resumed))
