"""Sources in a random order: each row once an epoch, an order of each seed, exact resuming."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from easydata import (
    AsyncDataLoader,
    CompositeShardedSource,
    DatasetConfig,
    HFDatasetShardedSource,
    JsonShardedSource,
    MixedShardedSource,
    ParquetShardedSource,
    Pipeline,
    ShardedDataSource,
    create_source,
)

ROWS = 5000
MODES = ["blocks", "rows", "grain"]
KINDS = ["parquet", "jsonl", "list", "datasets", "python"]


class PythonSource(ShardedDataSource[dict[str, Any]]):
    """Ten shards of numbers, made by Python code."""

    @property
    def shard_names(self) -> list[str]:
        return [f"shard {i}" for i in range(10)]

    def num_shards(self) -> int:
        return 10

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        first = int(shard_name.split()[1]) * (ROWS // 10)
        return ({"n": first + i} for i in range(ROWS // 10))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("numbers")
    for part in range(4):
        numbers = np.arange(part * ROWS // 4, (part + 1) * ROWS // 4)
        table = pa.table({"n": numbers, "text": [f"row {n}" for n in numbers]})
        pq.write_table(table, path / f"{part}.parquet", row_group_size=100)
        with open(path / f"{part}.jsonl", "w") as file:
            for n in numbers.tolist():
                file.write(json.dumps({"n": n, "text": "x" * (n % 3000)}) + "\n")
    return path


def source_of(kind: str, folder: Path) -> ShardedDataSource[Any]:
    if kind == "parquet":
        return ParquetShardedSource(str(folder / "*.parquet"))
    if kind == "jsonl":
        return JsonShardedSource(str(folder / "*.jsonl"))
    if kind == "list":
        return HFDatasetShardedSource([{"n": n} for n in range(ROWS)])
    if kind == "datasets":
        return HFDatasetShardedSource(datasets.Dataset.from_dict({"n": list(range(ROWS))}))
    if kind == "python":
        return PythonSource()
    raise AssertionError(kind)


def epochs_of(
    source: ShardedDataSource[Any], epochs: int, batch_size: int = 250
) -> list[list[int]]:
    with AsyncDataLoader(source, batch_size=batch_size) as loader:
        return [[int(n) for batch in loader for n in batch["n"]] for _ in range(epochs)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_each_row_once_in_each_epoch_in_another_order(kind: str, mode: Any, folder: Path) -> None:
    source = source_of(kind, folder).select_fields(["n"])
    if kind == "python" and mode == "grain":
        with pytest.raises(ValueError, match="one by one"):
            AsyncDataLoader(source.shuffle(mode))
        return
    first, second = epochs_of(source.shuffle(mode, seed=1), 2)
    assert sorted(first) == sorted(second) == list(range(ROWS))
    assert first != second
    assert epochs_of(source.shuffle(mode, seed=1), 1) == [first]
    assert epochs_of(source.shuffle(mode, seed=2), 1) != [first]
    assert [row["n"] for row in source.shuffle(mode, seed=1)] == first


@pytest.mark.parametrize(
    ("kind", "mode"),
    [(kind, mode) for kind in KINDS for mode in MODES if (kind, mode) != ("python", "grain")],
)
def test_goes_on_exactly(kind: str, mode: Any, folder: Path) -> None:
    def make() -> AsyncDataLoader:
        source = source_of(kind, folder).select_fields(["n"]).shuffle(mode, seed=4)
        return AsyncDataLoader(source, batch_size=130, epochs=2)

    with make() as loader:
        batches, states = [], [loader.state_dict()]
        for batch in loader:
            batches.append(batch["n"].tolist())
            states.append(loader.state_dict())
    for step in range(0, len(batches), 7):
        with make() as loader:
            loader.load_state_dict(json.loads(json.dumps(states[step])))
            assert loader.state_dict() == states[step]
            assert [batch["n"].tolist() for batch in loader] == batches[step:]


def test_rows_at_hand_have_no_window() -> None:
    rows = [{"n": n} for n in range(ROWS)]
    for data in (rows, datasets.Dataset.from_list(rows)):
        source = HFDatasetShardedSource(data).shuffle("rows", window_bytes=1000)
        with pytest.raises(ValueError, match="permuted as a whole: leave it out"):
            next(iter(source))


def test_rows_are_better_shuffled_than_blocks(folder: Path) -> None:
    source = source_of("parquet", folder)

    def neighbours(mode: Any) -> float:
        (order,) = epochs_of(source.select_fields(["n"]).shuffle(mode), 1)
        return float(np.mean(np.abs(np.diff(order)) == 1))

    assert neighbours("blocks") > 0.9
    assert neighbours("rows") < 0.01
    assert neighbours("grain") < 0.01


def test_grain_order_is_that_of_grain(folder: Path) -> None:
    grain = pytest.importorskip("grain", reason="grain is not installed")
    theirs = grain.MapDataset.range(ROWS).shuffle(seed=42).repeat(2)
    ours = epochs_of(source_of("parquet", folder).select_fields(["n"]).shuffle("grain", seed=42), 2)
    assert ours[0] + ours[1] == [theirs[i] for i in range(2 * ROWS)]


@pytest.mark.parametrize("mode", ["blocks", "rows", "grain"])
def test_the_last_of_several_shuffles_counts(mode: Any, folder: Path) -> None:
    source = source_of("parquet", folder).select_fields(["n"])
    (last,) = epochs_of(source.shuffle(mode, seed=6), 1)
    assert epochs_of(source.shuffle("grain", seed=5).shuffle(mode, seed=6), 1) == [last]


def test_wrappers_shuffle_what_lies_below(folder: Path) -> None:
    source = source_of("parquet", folder)
    doubled = source.map(lambda row: {"n": row["n"] * 2})
    (order,) = epochs_of(source.select_fields(["n"]).shuffle("rows", seed=3), 1)
    assert epochs_of(doubled.shuffle("rows", seed=3), 1) == [[2 * n for n in order]]
    mixed = MixedShardedSource({"a": source, "b": source_of("parquet", folder)})
    (blocks,) = epochs_of(source.select_fields(["n"]).shuffle("blocks", seed=3), 1)
    rows = [row for row, _ in zip(mixed.shuffle("blocks", seed=3), range(1000), strict=False)]
    for name in ("a", "b"):
        numbers = [row["n"] for row in rows if row["__source__"] == name]
        assert numbers == blocks[: len(numbers)]


@pytest.mark.parametrize("shuffle", ["blocks", "rows"])
def test_some_shuffled_rows_in_memory_can_be_counted_and_iterated(shuffle: str) -> None:
    rows = [{"n": n} for n in range(20)]
    whole = list(create_source(DatasetConfig(rows, shuffle=shuffle)))
    some = create_source(DatasetConfig(rows, shuffle=shuffle, num_rows=7))
    assert len(some) == 7
    assert list(some) == whole[:7]


def test_pipeline_shuffles_by_its_seed_and_limits_in_that_order(folder: Path) -> None:
    def numbers(seed: int, **options: Any) -> list[int]:
        config = {
            "datasets": [{"data_files": str(folder / "*.parquet"), "name": "n", **options}],
            "seed": seed,
        }
        return [row["n"] for row in Pipeline.from_config(config).source().build()]

    whole = numbers(0, shuffle="rows")
    assert sorted(whole) == list(range(ROWS))
    assert whole != numbers(1, shuffle="rows")
    assert numbers(0, shuffle="rows", num_rows=70) == whole[:70]
    source = source_of("parquet", folder)
    small = [row["n"] for row in source.shuffle("rows", window_bytes=2048)]
    assert small != whole
    for size in (2048, "2048", "2KB"):
        assert numbers(0, shuffle="rows", shuffle_window_bytes=size) == small


def test_a_window_is_that_of_rows(folder: Path) -> None:
    files = str(folder / "*.parquet")
    for options, what in (
        ({"shuffle_window_bytes": 9}, ' needs shuffle="rows", which is unset'),
        (
            {"shuffle": "blocks", "shuffle_window_bytes": 9},
            ' needs shuffle="rows", which is "blocks"',
        ),
        ({"shuffle": "rows", "shuffle_window_bytes": "much"}, ": a size is .*; got 'much'"),
    ):
        with pytest.raises(ValueError, match=f"shuffle_window_bytes{what}$"):
            create_source(DatasetConfig(files, **options))
    with pytest.raises(ValueError, match="window_bytes must be at least 1; it is 0"):
        create_source(DatasetConfig(files, shuffle="rows", shuffle_window_bytes="0MB"))


def test_says_what_it_cannot_do(folder: Path) -> None:
    source = source_of("parquet", folder)
    with pytest.raises(ValueError, match='mode: must be one of "blocks", "rows", "grain"'):
        source.shuffle("row")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed"):
        source.shuffle("rows", seed=-1)
    with pytest.raises(ValueError, match="window_bytes"):
        source.shuffle("blocks", window_bytes=5)
    with pytest.raises(ValueError, match=r"^seed must be below 2\^32, .*; it is 4294967296$"):
        source.shuffle("grain", seed=2**32)
    with pytest.raises(ValueError, match="composite"):
        CompositeShardedSource([source]).shuffle()
    with pytest.raises(KeyError, match="shuffled"):
        source.shuffle().open_shard("0.parquet")
