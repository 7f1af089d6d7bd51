"""Orders of Grain's shuffles, recorded: whatever Grain repeats, slices or shuffles again, by host.

The engine makes each permutation, by `source.shuffle("grain", seed)`; what is done here is Grain's
derivation of a shuffle's seed from `.seed(s)`, and the cutting and chaining of what it shuffles.

One kind of recorded cases is left out: `random_map` hands a generator to a user's function.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_folders import OWN

from easydata import (
    AsyncDataLoader,
    HFDatasetShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
)

# Makes a source of rows {"n": number}.
SourceOf = Callable[[Sequence[int]], ShardedDataSource[Any]]


@pytest.fixture(params=["list", "parquet"])
def source_of(request: pytest.FixtureRequest, tmp_path: Path) -> SourceOf:
    names = itertools.count()

    def rows(numbers: Sequence[int]) -> ShardedDataSource[Any]:
        return HFDatasetShardedSource([{"n": int(n)} for n in numbers])

    def files(numbers: Sequence[int]) -> ShardedDataSource[Any]:
        folder = tmp_path / str(next(names))
        folder.mkdir()
        for part, share in enumerate(np.array_split(np.asarray(numbers), 2)):
            pq.write_table(pa.table({"n": share}), folder / f"{part}.parquet", row_group_size=7)
        return ParquetShardedSource(str(folder / "*.parquet"))

    return rows if request.param == "list" else files


def derived(seed: int, depth: int) -> int:
    """The seed of a shuffle that has none: `depth` nodes behind `.seed(seed)`."""
    return int(np.random.SeedSequence([seed, depth]).generate_state(1, np.uint32)[0])


def shuffled(source: ShardedDataSource[Any], seed: int, epochs: int = 1) -> list[int]:
    """The rows of so many epochs."""
    with AsyncDataLoader(source.shuffle("grain", seed), 64, drop_last=False) as loader:
        return [int(n) for _ in range(epochs) for batch in loader for n in batch["n"]]


def share(n: int, host: int, hosts: int) -> range:
    """A host's rows where they are dealt in runs: the first `n % hosts` have one more."""
    each, more = divmod(n, hosts)
    start = host * each + min(host, more)
    return range(start, start + each + (host < more))


def identity(row: dict[str, Any]) -> dict[str, Any]:
    return row


def order_of(case: dict[str, Any], source_of: SourceOf) -> list[int] | None:
    """Our order for a recorded case; None where it is of no mode of ours."""
    n, seed, epochs = case["n"], case["seed"], case.get("epochs", 2)
    source = source_of(range(n))
    match case["name"]:
        case "range(n).shuffle(seed=s).repeat(E)":
            return shuffled(source, seed, epochs)
        case "range(n).seed(s).shuffle().repeat(E)":
            return shuffled(source, derived(seed, 1), epochs)
        case "range(n).seed(s).map(identity).shuffle()":
            return shuffled(source.map(identity), derived(seed, 2))
        case "range(n).seed(s).shuffle().shuffle()":
            once = shuffled(source, derived(seed, 1))
            return shuffled(source_of(once), derived(seed, 2))
        case "range(n)[n//4:n].seed(s).shuffle().repeat(2)":
            return shuffled(source_of(range(n // 4, n)), derived(seed, 1), 2)
        case "range(n).seed(s).repeat(2).shuffle()":
            return shuffled(source_of([*range(n)] * 2), derived(seed, 2))
        case "range(n).seed(s).repeat(2,reseed_each_epoch=False).shuffle()":
            return shuffled(source, derived(seed, 1)) * 2  # as its note has it: shuffled, repeated
        case "host shard contiguous then seed(s+h).shuffle().repeat(2)":
            rows = share(n, case["host"], case["hosts"])
            return shuffled(source_of(rows), derived(seed + case["host"], 1), 2)
        case "seed(s).shuffle().repeat(2)[h::H]":
            return shuffled(source, derived(seed, 1), 2)[case["host"] :: case["hosts"]]
        case "window_shuffle iter":
            # Each window is taken from its end.
            size = case["window"]
            order = []
            for w, start in enumerate(range(0, n, size)):
                order += shuffled(source_of(range(n)[start : start + size]), seed + w)[::-1]
            return order
        case "window_shuffle map":
            # A window that the rows do not fill goes on with the first ones.
            size = case["window"]
            order = []
            for w, start in enumerate(range(0, n, size)):
                rows = [row % n for row in range(start, start + size)]
                order += shuffled(source_of(rows), seed + w)
            return order[:n]
    return None


def test_recorded_orders(source_of: SourceOf, golden: Path) -> None:
    recorded = json.loads((golden / "grain/shuffle.json").read_text())
    covered: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for case in recorded["cases"]:
        order = order_of(case, source_of)
        if order is None:
            left_out[case["name"].split()[0]] += 1
            continue
        assert order == case["order"], {key: case[key] for key in case if key != "order"}
        covered[case["name"]] += 1
    if golden.is_relative_to(OWN):
        assert sorted(covered.values()) == [2, 2, 2, 2, 2, 4, 8, 8]
        assert not left_out
    else:
        assert sorted(covered.values()) == [2, 2, 2, 2, 2, 3, 3, 12, 12, 18, 18]
        assert left_out == {"random_map": 4}


def test_seeds_of_epochs_go_round(source_of: SourceOf) -> None:
    """Of epoch e it is (seed + e) mod 2^32."""
    last = shuffled(source_of(range(50)), 2**32 - 1, 3)
    assert last[50:] == shuffled(source_of(range(50)), 0, 2)


@pytest.mark.parametrize("seed", [0, 7, 2**31, 2**32 - 1])
def test_like_the_real_package(seed: int, source_of: SourceOf) -> None:
    grain = pytest.importorskip("grain", reason="grain is not installed")
    rows = grain.MapDataset.range(91)
    given = rows.shuffle(seed=seed).repeat(3)
    assert shuffled(source_of(range(91)), seed, 3) == [int(given[i]) for i in range(273)]
    own = rows.seed(seed).shuffle().repeat(3)
    assert shuffled(source_of(range(91)), derived(seed, 1), 3) == [int(own[i]) for i in range(273)]
