"""Mixing: EasyDeL's recorded orders, exact shares, and the defects that EasyDeL has."""

import itertools
import json
import math
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from data_folders import OWN
from hypothesis import given, settings
from hypothesis import strategies as st

from easydata import (
    AsyncDataLoader,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    WeightScheduler,
    block_mixture_interleave,
)


class Rows(ShardedDataSource[dict[str, Any]]):
    """Rows in memory, in shards of up to 7 rows."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows = list(rows)

    @property
    def shard_names(self) -> Sequence[str]:
        return [f"rows-{start}" for start in range(0, len(self.rows), 7)]

    def num_shards(self) -> int:
        return len(self.shard_names)

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        start = int(shard_name.removeprefix("rows-"))
        return iter(self.rows[start : start + 7])

    def __len__(self) -> int:
        return len(self.rows)


def source(name: str, count: int) -> Rows:
    return Rows([{"k": name, "i": i} for i in range(count)])


def scheduler(schedule: Sequence[Any], interpolation: Any = "step") -> WeightScheduler:
    points = [SimpleNamespace(step=step, weights=dict(weights)) for step, weights in schedule]
    return WeightScheduler(points, interpolation)


def row_mode(mixed: MixedShardedSource, limit: int) -> list[tuple[str, int]]:
    rows = itertools.islice(mixed.open_shard(mixed.shard_names[0]), limit)
    return [(row["__source__"], row["i"]) for row in rows]


def stream_mode(mixed: MixedShardedSource, limit: int) -> list[tuple[str, int]]:
    rows = itertools.islice(loaded_rows(mixed), limit)
    return [(row["__source__"], row["i"]) for row in rows]


def golden_cases(shared: Path) -> list[dict[str, Any]]:
    path = shared / "data/golden/easydel/mixture.json"
    cases: list[dict[str, Any]] = json.loads(path.read_text())["cases"]
    return cases


def mixture_of(case: dict[str, Any]) -> Any:
    sources = {name: source(name, count) for name, count in case["sources"]}
    weights = None if case["weights"] is None else dict(case["weights"])
    if case["api"] == "block_mixture_interleave":
        return block_mixture_interleave(
            sources,
            weights,
            case["block_size"],
            case["seed"],
            case["stop"],
        )
    schedule = None
    if case["schedule"] is not None:
        schedule = scheduler(case["schedule"], case["interpolation"])
        weights = None
    return MixedShardedSource(
        sources, weights, case["block_size"], case["seed"], case["stop"], schedule
    )


def test_recorded_orders_of_numpy() -> None:
    """Orders that NumPy's generators give blocks, recorded by us."""
    cases = json.loads((OWN / "golden/mixture.json").read_text())["cases"]
    assert len(cases) == 32
    expect_recorded(cases)


def test_recorded_orders_of_easydel(shared: Path) -> None:
    cases = [
        case for case in golden_cases(shared) if case["exact_counts"] and not case["float_edge"]
    ]
    assert len(cases) >= 69
    expect_recorded(cases)


def expect_recorded(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        names = [name for name, _ in case["sources"]]
        expected = [
            (names[index], row) for index, row in zip(case["order"], case["rows"], strict=True)
        ]
        limit = len(expected) + (5 if case["ended"] else 0)
        mixed = mixture_of(case)
        if isinstance(mixed, MixedShardedSource):
            assert row_mode(mixed, limit) == expected, case
            assert stream_mode(mixed, limit) == expected, case
        else:
            rows = list(itertools.islice(mixed, limit))
            assert [(row["k"], row["i"]) for row in rows] == expected, case
            assert all("__source__" not in row for row in rows)


def test_block_zero_is_easydels_where_one_example_is_left_over(shared: Path) -> None:
    checked = 0
    for case in golden_cases(shared):
        size = case["block_size"]
        if case["exact_counts"] or case["float_edge"] or case["schedule"] or not case["weights"]:
            continue
        total = sum(weight for _, weight in case["weights"])
        left = size - sum(math.floor(weight / total * size) for _, weight in case["weights"])
        if left != 1 or case["api"] != "MixedShardedSource":
            continue
        names = [name for name, _ in case["sources"]]
        block = [names[index] for index in case["order"][:size]]
        assert [name for name, _ in row_mode(mixture_of(case), len(block))] == block
        checked += 1
    assert checked > 0


@given(
    weights=st.lists(st.floats(0.001, 100), min_size=1, max_size=12),
    block_size=st.integers(1, 60),
    seed=st.integers(0, 2**40),
)
@settings(max_examples=60, deadline=None)
def test_every_source_is_within_one_example_at_every_blocks_end(
    weights: list[float], block_size: int, seed: int
) -> None:
    names = [str(index) for index in range(len(weights))]
    mixed = MixedShardedSource({n: source(n, 100) for n in names}, weights, block_size, seed)
    order = [name for name, _ in row_mode(mixed, 119 * block_size)]
    counts: Counter[str] = Counter()
    total = math.fsum(weights)
    for block in range(1, 120):
        counts.update(order[(block - 1) * block_size : block * block_size])
        assert counts.total() == block * block_size
        for name, weight in zip(names, weights, strict=True):
            assert abs(counts[name] - weight / total * block_size * block) <= 1 + 1e-6


def test_d11_small_weights_do_not_starve() -> None:
    mixed = MixedShardedSource(
        {"rare": source("rare", 5), "common": source("common", 50)},
        {"rare": 0.001, "common": 0.999},
        100,
    )
    counts = Counter(name for name, _ in row_mode(mixed, 10_000))
    assert counts["rare"] == 10


@pytest.mark.parametrize("sizes", [(50, 50), (2, 500), (1, 1), (500, 2)])
def test_d4_all_exhausted_sees_each_source_whole_and_ends(sizes: tuple[int, int]) -> None:
    sources = {"a": source("a", sizes[0]), "b": source("b", sizes[1])}
    mixed = MixedShardedSource(sources, block_size=10, stop_strategy="all_exhausted")
    rows = row_mode(mixed, 10_000)
    assert len(set(rows)) == sum(sizes)
    assert len(rows) <= 2 * max(sizes) + 10
    assert stream_mode(mixed, 10_000) == rows


def test_first_exhausted_ends_where_an_example_is_missing() -> None:
    mixed = MixedShardedSource(
        {"a": source("a", 5), "b": source("b", 500)}, block_size=4, stop_strategy="first_exhausted"
    )
    rows = row_mode(mixed, 1000)
    assert Counter(name for name, _ in rows)["a"] == 5
    assert stream_mode(mixed, 1000) == rows


@pytest.mark.parametrize("stop", ["restart", "first_exhausted", "all_exhausted"])
def test_empty_sources_are_an_error(stop: Any) -> None:
    mixed = MixedShardedSource({"full": source("full", 5), "void": Rows([])}, stop_strategy=stop)
    with pytest.raises(ValueError, match=r'sources\["void"\] is empty'):
        row_mode(mixed, 1000)
    with pytest.raises(ValueError, match=r'sources\["void"\] is empty'):
        stream_mode(mixed, 1000)


def test_d22_the_sources_own_rows_are_not_changed() -> None:
    rows = [{"i": i} for i in range(10)]
    mixed = MixedShardedSource({"a": Rows(rows), "b": Rows(rows)}, block_size=4)
    assert {row["__source__"] for row in itertools.islice(mixed, 20)} == {"a", "b"}
    assert all(row == {"i": i} for i, row in enumerate(rows))


def test_d36_schedules_count_steps_where_a_loader_follows() -> None:
    sources = {"a": source("a", 10), "b": source("b", 10)}
    schedule = scheduler([(0, {"a": 1.0, "b": 0.0}), (100, {"a": 0.0, "b": 1.0})])
    alone = MixedShardedSource(sources, weight_scheduler=schedule, block_size=10)
    assert Counter(name for name, _ in row_mode(alone, 4000))["a"] == 100
    mixed = MixedShardedSource(
        sources, weight_scheduler=schedule, block_size=10, schedule_unit="steps"
    )

    def of_a(batches: int, **options: Any) -> int:
        with AsyncDataLoader(mixed, 8, **options) as loader:
            rows = [name for b in islice(loader, batches) for name in b["__source__"]]
        return Counter(rows)["a"]

    assert of_a(500) == 800
    assert of_a(300, batch_rampup={50: 2}) == 50 * 8 + 50 * 16
    # Where nobody takes steps it counts examples.
    assert Counter(name for name, _ in row_mode(mixed, 4000))["a"] == 100
    assert Counter(name for name, _ in stream_mode(mixed, 4000))["a"] == 100


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 1.0, "bb": 1.0}, "names no source of the mix with 'bb'"),
        ({"a": 1.0}, "missing: b"),
        ({"a": 1.0, "b": -0.5}, 'the weight of "b" is negative'),
        ({"a": 0.0, "b": 0.0}, "positive sum"),
        ([1.0], "2 sources, but 1 weights"),
        ({"a": float("inf"), "b": 1.0}, "not a finite number"),
    ],
)
def test_bad_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MixedShardedSource({"a": source("a", 3), "b": source("b", 3)}, weights)


def test_bad_options_are_refused() -> None:
    sources = {"a": source("a", 3)}
    schedule = scheduler([(0, {"a": 1.0})])
    with pytest.raises(ValueError, match="stop_strategy: must be one of"):
        MixedShardedSource(sources, stop_strategy="never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="block_size"):
        MixedShardedSource(sources, block_size=0)
    with pytest.raises(ValueError, match=r"^seed: must be from 0 to .*, not -1$"):
        MixedShardedSource(sources, seed=-1)
    with pytest.raises(ValueError, match="not both"):
        MixedShardedSource(sources, {"a": 1.0}, weight_scheduler=schedule)
    with pytest.raises(ValueError, match="names no source of the mix with 'a'"):
        MixedShardedSource({"b": source("b", 3)}, weight_scheduler=schedule)
    with pytest.raises(ValueError, match="at least one source"):
        MixedShardedSource({})
    with pytest.raises(ValueError, match="unit: must be one of"):
        MixedShardedSource(sources, unit="words")  # type: ignore[arg-type]


def test_lists_of_sources_and_weights_are_named() -> None:
    mixed = MixedShardedSource([source("a", 30), source("b", 30)], [0.75, 0.25], block_size=8)
    assert Counter(name for name, _ in row_mode(mixed, 8)) == {"dataset_0": 6, "dataset_1": 2}
    assert list(mixed.sources) == ["dataset_0", "dataset_1"]


def test_seed_none_is_zero_and_seeds_differ() -> None:
    def order(seed: int | None) -> list[tuple[str, int]]:
        sources = {"a": source("a", 50), "b": source("b", 50)}
        return row_mode(MixedShardedSource(sources, block_size=20, seed=seed), 60)

    assert order(None) == order(0)
    assert order(1) != order(0)


def test_len_pickle_and_shard_names() -> None:
    mixed = MixedShardedSource({"a": source("a", 3), "b": source("b", 4)})
    with pytest.raises(TypeError, match="never ends"):
        len(mixed)
    assert len(MixedShardedSource(mixed.sources, stop_strategy="all_exhausted")) == 7
    assert mixed.shard_names == ["mixed_shard_0"]
    assert row_mode(pickle.loads(pickle.dumps(mixed)), 20) == row_mode(mixed, 20)
    with pytest.raises(KeyError, match="mixed_shard_0"):
        next(mixed.open_shard("other"))


def test_the_order_is_independent_of_threads_and_of_mode() -> None:
    sources = {"a": source("a", 100), "b": source("b", 333), "c": source("c", 71)}
    mixed = MixedShardedSource(sources, {"a": 0.2, "b": 0.55, "c": 0.25}, 37, seed=9)
    assert row_mode(mixed, 2000) == stream_mode(mixed, 2000)


def test_interleave_takes_datasets_by_name_or_as_a_list() -> None:
    datasets = pytest.importorskip("datasets")
    parts = [datasets.Dataset.from_list([{"i": i, "k": k} for i in range(9)]) for k in "ab"]
    by_name = block_mixture_interleave({"a": parts[0], "b": parts[1]}, {"a": 0.5, "b": 0.5}, 4)
    as_list = block_mixture_interleave(parts, [0.5, 0.5], 4)
    assert isinstance(by_name, datasets.IterableDataset)
    rows = list(itertools.islice(by_name, 30))
    assert list(itertools.islice(as_list, 30)) == rows
    assert set(rows[0]) == {"i", "k"}
    with pytest.raises(TypeError, match="dict by name or as a list"):
        block_mixture_interleave(5)  # type: ignore[arg-type]


def token_source(path: Path, lengths: Sequence[int]) -> ParquetShardedSource:
    rows = [list(range(length)) for length in lengths]
    table = pa.table({"input_ids": pa.array(rows, pa.list_(pa.int32())), "i": range(len(rows))})
    if not path.exists():  # one that is written again is another one
        pq.write_table(table, path)
    return ParquetShardedSource(str(path))


def test_by_tokens_each_source_is_within_one_document_at_every_prefix(tmp_path: Path) -> None:
    sources = {
        "long": token_source(tmp_path / "long.parquet", [400, 700, 20] * 30),
        "short": token_source(tmp_path / "short.parquet", [3, 0, 9, 1] * 50),
        "one row": token_source(tmp_path / "one.parquet", [50]),
    }
    weights = {"long": 0.5, "short": 0.3, "one row": 0.2}
    mixed = MixedShardedSource(sources, weights, unit="tokens")
    given: Counter[str] = Counter()
    rows = list(itertools.islice(mixed.open_shard("mixed_shard_0"), 3000))
    for row in rows:
        given[row["__source__"]] += len(row["input_ids"])
        for name, weight in weights.items():
            assert abs(given[name] - weight * given.total()) <= 700
    stream = itertools.islice(loaded_rows(mixed.select_fields(["i"])), 3000)
    assert [row["i"] for row in stream] == [row["i"] for row in rows]


def test_by_tokens_untokenized_rows_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    mixed = MixedShardedSource({"a": JsonShardedSource(str(tmp_path / "a.jsonl"))}, unit="tokens")
    with pytest.raises(TypeError, match='needs lists of tokens in column "input_ids"; tokenize'):
        next(iter(mixed.open_shard("mixed_shard_0")))


def test_each_source_of_a_mix_has_its_own_epoch(tmp_path: Path) -> None:
    def loader() -> AsyncDataLoader:
        sources = {
            "many": token_source(tmp_path / "many.parquet", [2] * 1000),
            "few": token_source(tmp_path / "few.parquet", [2] * 7),
        }
        return AsyncDataLoader(MixedShardedSource(sources, block_size=10), 10)

    def epochs(of: AsyncDataLoader) -> dict[str, int]:
        return {name: counts["epoch"] for name, counts in of.stats()["sources"].items()}

    whole = loader()
    batches = iter(whole)
    for step in range(1, 40):
        next(batches)
        # Five examples of each a step; a pass of "few" is seven.
        assert epochs(whole) == {"many": 0, "few": (5 * step - 1) // 7}
        if step % 13 == 0:
            restored = loader()
            restored.load_state_dict(json.loads(json.dumps(whole.state_dict())))
            assert epochs(restored) == epochs(whole)
            next(iter(restored))
            assert epochs(restored) == {"many": 0, "few": (5 * step + 4) // 7}


def test_states_of_sixteen_sources_are_small(tmp_path: Path) -> None:
    sources = {
        f"source_{index}": token_source(tmp_path / f"{index}.parquet", range(1, 90))
        for index in range(16)
    }
    weights = {name: index + 0.5 for index, name in enumerate(sources)}
    for unit in ("examples", "tokens"):
        mixed = MixedShardedSource(sources, weights, unit=unit)  # type: ignore[arg-type]
        loader = AsyncDataLoader(PackedShardedSource(mixed, 64, 0), 8)
        for _ in zip(range(300), loader, strict=False):
            state = loader.state_dict()
        names = sum(len(path) for source in sources.values() for path in source.shard_names)
        assert len(json.dumps(state, separators=(",", ":"))) - names <= 4096
