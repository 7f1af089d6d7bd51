"""Where a mix ends, and whose weights are whose."""

import itertools
import json
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from batches import loaded_rows
from easydata.core.config import PipelineConfig, WeightSchedulePoint
from hypothesis import given, settings
from hypothesis import strategies as st
from small_data import jsonl

from easydata import (
    AsyncDataLoader,
    BaseStage,
    HFDatasetShardedSource,
    MixedShardedSource,
    ShardedDataSource,
    WeightScheduler,
    block_mixture_interleave,
    create_pipeline,
)

Picks = list[tuple[str, int]]


def source(name: str, count: int) -> ShardedDataSource[Any]:
    return HFDatasetShardedSource([{"k": name, "i": i, "input_ids": [i]} for i in range(count)])


def mix(sizes: dict[str, int], weights: Any = None, **options: Any) -> MixedShardedSource:
    options.setdefault("stop_strategy", "all_exhausted")
    return MixedShardedSource({n: source(n, size) for n, size in sizes.items()}, weights, **options)


def row_mode(mixed: MixedShardedSource, limit: int | None = None) -> Picks:
    rows = itertools.islice(mixed.open_shard(mixed.shard_names[0]), limit)
    return [(row["__source__"], row["i"]) for row in rows]


def stream_mode(mixed: MixedShardedSource, limit: int | None = None) -> Picks:
    rows = itertools.islice(loaded_rows(mixed), limit)
    return [(row["__source__"], row["i"]) for row in rows]


def literal(sizes: dict[str, int], weights: dict[str, float], block_size: int, seed: int) -> Picks:
    """The rule as it is written: up to the row that completes the last unseen source."""
    endless = mix(sizes, weights, block_size=block_size, seed=seed, stop_strategy="restart")
    unseen = {name for name, weight in weights.items() if weight > 0}
    picks: Picks = []
    for row in endless.open_shard(endless.shard_names[0]):
        name, number = row["__source__"], row["i"]
        picks.append((name, number))
        if number == sizes[name] - 1:
            unseen.discard(name)
        if not unseen:
            break
    return picks


@pytest.mark.parametrize(
    ("sizes", "weights", "block_size", "rows"),
    [
        ({"a": 5, "b": 5}, None, 10, 10),
        ({"a": 8000, "b": 1}, {"a": 8000, "b": 1}, 8001, 8001),
        ({"a": 1}, None, 10, 1),
        ({"a": 30, "b": 10}, {"a": 3, "b": 1}, 4, 40),
        ({"a": 10, "b": 1000}, {"a": 1, "b": 0}, 10, 10),
    ],
)
def test_all_exhausted_ends_with_the_last_new_row(
    sizes: Any, weights: Any, block_size: int, rows: int
) -> None:  # C18
    mixed = mix(sizes, weights, block_size=block_size)
    assert len(row_mode(mixed)) == rows
    assert stream_mode(mixed) == row_mode(mixed)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    parts=st.lists(st.integers(0, 9), min_size=5, max_size=5),
    block_size=st.integers(1, 30),
    seed=st.integers(0, 5),
)
def test_all_exhausted_is_the_literal_rule(
    sizes: list[int], parts: list[int], block_size: int, seed: int
) -> None:  # C18
    named = {f"s{i}": size for i, size in enumerate(sizes)}
    weights = {name: float(parts[i]) for i, name in enumerate(named)}
    weights["s0"] += 1
    mixed = mix(named, weights, block_size=block_size, seed=seed)
    expected = literal(named, weights, block_size, seed)
    assert row_mode(mixed) == expected
    assert stream_mode(mixed) == expected


@pytest.mark.parametrize("unit", ["examples", "tokens"])
def test_all_exhausted_from_every_state(unit: Any) -> None:  # C18
    def make() -> AsyncDataLoader:
        mixed = mix({"a": 30, "b": 7, "c": 11}, [0.5, 0.2, 0.3], block_size=10, unit=unit)
        return AsyncDataLoader(mixed, batch_size=1, epochs=1)

    with make() as loader:
        states = [loader.state_dict()]
        rows = []
        for batch in loader:
            rows.append((batch["__source__"][0], int(batch["i"][0])))
            states.append(json.loads(json.dumps(loader.state_dict())))
    for name, size in (("a", 30), ("b", 7), ("c", 11)):
        assert {i for source, i in rows if source == name} == set(range(size))
    assert rows.count(rows[-1]) == 1
    for step, state in enumerate(states):
        with make() as loader:
            loader.load_state_dict(state)
            rest = [(batch["__source__"][0], int(batch["i"][0])) for batch in loader]
        assert rest == rows[step:], step


class FailsBehind(ShardedDataSource[dict[str, Any]]):
    """Ten rows, then an error."""

    @property
    def shard_names(self) -> Sequence[str]:
        return ["only"]

    def num_shards(self) -> int:
        return 1

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        for i in range(10):
            yield {"i": i}
        raise ZeroDivisionError("behind the last row")


@pytest.mark.parametrize("read", ["rows", "stream"])
def test_a_look_ahead_fails_when_the_turn_comes(read: str) -> None:  # C18
    sources = {"good": source("good", 50), "bad": FailsBehind()}
    mixed = MixedShardedSource(sources, block_size=2, stop_strategy="all_exhausted")
    rows = iter(mixed) if read == "rows" else loaded_rows(mixed)
    seen: list[str] = []
    with pytest.raises(ZeroDivisionError, match="behind"):
        seen.extend(row["__source__"] for row in rows)
    picks = literal({"good": 50, "bad": 50}, {"good": 1.0, "bad": 1.0}, 2, 0)
    eleventh = [index for index, (name, _) in enumerate(picks) if name == "bad"][10]
    assert seen == [name for name, _ in picks[:eleventh]]


def test_a_list_takes_the_names_of_as_many_weights() -> None:  # C4
    datasets = pytest.importorskip("datasets")
    a = datasets.Dataset.from_list([{"t": "code", "i": i} for i in range(50)])
    b = datasets.Dataset.from_list([{"t": "text", "i": i} for i in range(50)])
    mixed = block_mixture_interleave([a, b], weights={"code": 0.3, "text": 0.7}, block_size=10)
    first = list(itertools.islice(mixed, 100))
    assert Counter(row["t"] for row in first) == {"code": 30, "text": 70}
    ours = MixedShardedSource([source("x", 9), source("y", 9)], {"x": 0.2, "y": 0.8}, 10)
    assert list(ours.sources) == ["x", "y"]
    assert Counter(name for name, _ in stream_mode(ours, 100)) == {"x": 20, "y": 80}
    by_index = MixedShardedSource(
        [source("x", 9), source("y", 9)], {"dataset_1": 0.2, "dataset_0": 0.8}, 10
    )
    assert Counter(name for name, _ in stream_mode(by_index, 10)) == {
        "dataset_0": 8,
        "dataset_1": 2,
    }
    for wrong in ({"x": 1.0}, {"x": 0.5, "dataset_0": 0.5}, {"x": 0.2, "y": 0.2, "z": 0.6}):
        with pytest.raises(ValueError, match="names no source"):
            MixedShardedSource([source("x", 9), source("y", 9)], wrong)


def test_unnamed_datasets_take_the_names_of_the_weights(folder: Path) -> None:  # C4
    paths = [jsonl(f"{n}.jsonl", [{"input_ids": [n]}] * 20) for n in (1, 2)]
    mixing = {"weights": {"code": 0.3, "text": 0.7}, "block_size": 10}
    config = {"datasets": [{"data_files": path} for path in paths], "mix": mixing}
    made = PipelineConfig.from_dict(config)
    assert [dataset.name for dataset in made.datasets] == ["code", "text"]
    assert made.validate() == []
    rows = create_pipeline(config["datasets"], mix=mixing).source().mix().build()
    counts = Counter(row["input_ids"][0] for row in itertools.islice(rows, 100))
    assert counts == {1: 30, 2: 70}
    config["datasets"][0]["name"] = "code"  # type: ignore[index]
    assert "names no dataset" in PipelineConfig.from_dict(config).validate()[0]


@pytest.mark.parametrize("way", ["source", "pickled", "pipeline"])
@pytest.mark.parametrize("interpolation", ["step", "linear"])
def test_a_schedule_in_another_order(folder: Path, way: str, interpolation: Any) -> None:
    """E2: names in a schedule come in any order, in each point in another one."""
    points = [
        WeightSchedulePoint(step=0, weights={"b": 0.9, "c": 0.1, "a": 0.0}),
        WeightSchedulePoint(step=100, weights={"c": 0.2, "a": 0.7, "b": 0.1}),
    ]
    if way == "pipeline":
        datasets = [
            {"data_files": jsonl(f"{n}.jsonl", [{"input_ids": [1], "k": n}] * 9), "name": n}
            for n in "abc"
        ]
        options = {"weight_schedule": points, "weight_schedule_type": interpolation}
        options |= {"block_size": 10, "schedule_unit": "examples"}
        built = create_pipeline(datasets, mix=options).source().mix().build()
        names = [row["__source__"] for row in itertools.islice(built, 300)]
    else:
        schedule = WeightScheduler(points, interpolation)
        if way == "pickled":  # E12
            schedule = pickle.loads(pickle.dumps(schedule))
            assert schedule.get_weights(100) == pytest.approx({"a": 0.7, "b": 0.1, "c": 0.2})
        sources = {name: source(name, 9) for name in "abc"}
        mixed = MixedShardedSource(sources, block_size=10, weight_scheduler=schedule)
        names = [name for name, _ in stream_mode(mixed, 300)]
        assert names == [name for name, _ in row_mode(mixed, 300)]
    assert Counter(names[:10]) == {"b": 9, "c": 1}
    last = Counter(names[100:])
    assert all(abs(last[name] - share) <= 1 for name, share in (("a", 140), ("b", 20), ("c", 40)))


class Passing(BaseStage):
    """A stage of one's own, which wraps what the mix gives."""

    @property
    def name(self) -> str:
        return "passing"

    def process(self, data: Any, context: Any) -> Any:
        return {name: each.map(dict) for name, each in data.items()}


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("packs", [False, True])
def test_the_clock_runs_behind_a_stage_of_ones_own(folder: Path, packs: bool, own: bool) -> None:
    """E12: steps of a schedule are the loader's, whatever stands between."""
    datasets = [
        {"data_files": jsonl(f"{n}.jsonl", [{"input_ids": [n] * 7}] * 9), "name": str(n)}
        for n in (5, 6)
    ]
    points = [
        WeightSchedulePoint(step=0, weights={"6": 0.0, "5": 1.0}),
        WeightSchedulePoint(step=10, weights={"6": 1.0, "5": 0.0}),
    ]
    pipeline = create_pipeline(
        datasets,
        mix={"weight_schedule": points, "block_size": 4},
        pack={"seq_length": 16, "eos_token_id": 2, "shuffle_packed": False},
        load={"batch_size": 4, "steps": 30},
    ).source()
    pipeline.mix()
    if own:
        pipeline.apply(Passing())
    if packs:
        pipeline.pack()
    with pipeline.load().build() as loader:
        shares = [
            float((batch["input_ids"] == 6).sum() / (batch["input_ids"] >= 5).sum())
            for batch in loader
        ]
    # A step has 4 rows, or 64 tokens: 8 documents with their EOS; blocks of 4 documents.
    assert all(share == 0 for share in shares[:10])
    assert all(share == 1 for share in shares[12:])
