"""Mixing as Grain does it: recorded orders, and the real package where it is installed."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from data_folders import OWN

from easydata import (
    AsyncDataLoader,
    HFDatasetShardedSource,
    MixedShardedSource,
    WeightScheduler,
)

Stop = Literal["restart", "first_exhausted", "all_exhausted"]

# Data set and element are one number, as in the recorded cases.
DATASET = 1_000_000
# Cases that name no lengths have two of these.
LENGTH_WHERE_NOT_SAID = 50


def mix(
    lengths: Sequence[int],
    weights: Sequence[float] | None,
    stop: Stop,
    block_size: int = 1000,
    **options: Any,
) -> MixedShardedSource:
    sources = [
        HFDatasetShardedSource([{"n": index * DATASET + row} for row in range(length)])
        for index, length in enumerate(lengths)
    ]
    return MixedShardedSource(
        sources, weights, block_size, stop_strategy=stop, order="grain", **options
    )


def rows(mixed: MixedShardedSource, limit: int) -> list[int]:
    """Numbers of the first rows, read one by one and through a loader, which must agree."""
    one_by_one = [row["n"] for row in itertools.islice(mixed, limit)]
    with AsyncDataLoader(mixed, 50, drop_last=False, epochs=1) as loader:
        batches = itertools.islice(loader, -(-limit // 50))
        loaded = [int(n) for batch in batches for n in batch["n"]]
    assert loaded[:limit] == one_by_one
    return one_by_one


def recorded(golden: Path, key: str) -> list[dict[str, Any]]:
    """The cases that have `key`; there are as many as were recorded."""
    cases: list[dict[str, Any]] = json.loads((golden / "grain/mix.json").read_text())["cases"]
    cases = [case for case in cases if key in case]
    ours, theirs = {"lengths": (8, 15), "first_60": (1, 2), "error": (2, 3)}[key]
    assert len(cases) == (ours if golden.is_relative_to(OWN) else theirs)
    return cases


@pytest.mark.parametrize("block_size", [1, 7, 1000])
def test_recorded_orders(block_size: int, golden: Path) -> None:
    for case in recorded(golden, "lengths"):
        lengths, weights = case["lengths"], case["weights"]
        repeated = rows(mix(lengths, weights, "restart", block_size), 300)
        assert repeated == case["map_repeated_first_300"], case
        # As many as were recorded, and one more where the stream ended.
        ours = rows(mix(lengths, weights, "first_exhausted", block_size), len(case["iter"]) + 1)
        assert ours[: len(case["iter"])] == case["iter"], case
        assert (len(ours) == len(case["iter"])) == (case["iter_total"] == len(case["iter"]))
        # MapDataset.mix counts its rows beforehand, and may stop a row or two earlier.
        assert ours[: len(case["map"])] == case["map"], case
        whole = mix(lengths, weights, "first_exhausted", block_size)
        assert sum(1 for _ in whole) == case["iter_total"]


def test_recorded_orders_of_very_uneven_weights(golden: Path) -> None:
    for case in recorded(golden, "first_60"):
        mixed = mix([LENGTH_WHERE_NOT_SAID] * 2, case["weights"], "restart")
        assert rows(mixed, 60) == case["first_60"]


def test_what_grain_fails_on_is_refused(golden: Path) -> None:
    for case in recorded(golden, "error"):
        with pytest.raises(ValueError, match=r"weight"):
            mix([LENGTH_WHERE_NOT_SAID] * 2, case["weights"], "restart")


def test_what_has_no_meaning_in_grains_order_is_refused() -> None:
    with pytest.raises(ValueError, match=r'order="grain".*unit="tokens"'):
        mix([5, 5], [1, 1], "restart", unit="tokens")
    points = [SimpleNamespace(step=0, weights={"dataset_0": 1.0, "dataset_1": 2.0})]
    with pytest.raises(ValueError, match=r'order="grain".*weight schedule.*order="blocks"'):
        mix([5, 5], None, "restart", weight_scheduler=WeightScheduler(points))
    with pytest.raises(ValueError, match=r'order="grain".*sources\["dataset_1"\] is 0'):
        mix([5, 5], [1, 0], "restart")
    with pytest.raises(ValueError, match=r'order: must be one of "blocks", "grain", not "Grain"'):
        MixedShardedSource([[{"n": 1}]], order="Grain")  # type: ignore[arg-type, list-item]


def test_the_seed_has_no_effect() -> None:
    orders = [rows(mix([40, 30], [2, 3], "restart", seed=seed), 200) for seed in (0, 1, None)]
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("stop", ["restart", "first_exhausted", "all_exhausted"])
def test_restored_at_every_step_and_cut_for_three_ranks(stop: Stop) -> None:
    # Tiny sources end the mix's batches early, so that positions within blocks are saved, too.
    lengths, weights = [11, 3, 8] if stop == "restart" else [41, 17, 60], [0.5, 0.2, 0.357]

    def loader(**options: Any) -> AsyncDataLoader:
        mixed = mix(lengths, weights, stop, 7)
        return AsyncDataLoader(mixed, 6, drop_last=False, **{"epochs": 1, **options})

    steps = 40
    with loader() as whole:
        states, batches = [whole.state_dict()], []
        for batch in itertools.islice(whole, steps):
            batches.append(batch["n"].tolist())
            states.append(json.loads(json.dumps(whole.state_dict())))
    assert len(batches) > 10
    numbers = [n for batch in batches for n in batch]
    assert numbers == rows(mix(lengths, weights, stop), len(numbers))
    for step, state in enumerate(states):
        with loader() as restored:
            restored.load_state_dict(state)
            assert restored.state_dict() == state
            rest = [batch["n"].tolist() for batch in itertools.islice(restored, steps - step)]
            assert rest == batches[step:], step
    # A rank has its share of each batch; another one's state will do.
    full = [batch for batch in batches if len(batch) == 6]
    for rank in range(3):
        with loader(rank=rank, world_size=3) as part:
            part.load_state_dict(states[2])
            shares = [batch["n"].tolist() for batch in itertools.islice(part, len(full) - 2)]
            assert shares == [batch[2 * rank : 2 * rank + 2] for batch in full[2:]]


def test_a_batch_by_its_number() -> None:
    with AsyncDataLoader(mix([41, 17], [0.7, 0.3], "restart", 7), 6) as loader:
        batches = [batch["n"].tolist() for batch in itertools.islice(loader, 30)]
        assert [loader.at(step)["n"].tolist() for step in range(30)] == batches


@pytest.mark.parametrize("orders", [("blocks", "grain"), ("grain", "blocks"), ("grain", "grain")])
def test_edits_at_a_checkpoint_are_refused(orders: tuple[Any, Any]) -> None:
    def loader(order: Any, weights: list[float]) -> AsyncDataLoader:
        sources = [HFDatasetShardedSource([{"n": n} for n in range(50)]) for _ in weights]
        return AsyncDataLoader(MixedShardedSource(sources, weights, 10, order=order), 4)

    with loader(orders[0], [1, 1]) as before:
        next(iter(before))
        state = before.state_dict()
    with loader(orders[1], [1, 3]) as behind:
        with pytest.raises(ValueError, match=r'a mix with order="grain" cannot be edited'):
            behind.load_state_dict(state, allow=("mix",))
        with pytest.raises(ValueError, match=r"mix\.(order|weights)"):
            behind.load_state_dict(state)
    with loader(orders[0], [1, 1]) as same:
        same.load_state_dict(state, allow=("mix",))  # nothing is edited
        next(iter(same))


@pytest.mark.parametrize("seed", range(40))
def test_like_the_real_package(seed: int) -> None:
    grain = pytest.importorskip("grain", reason="grain is not installed")
    draw = random.Random(seed)
    count = draw.choice((1, 2, 3, 5, 9))
    lengths = [draw.randint(1, 60) for _ in range(count)]
    weights = draw.choice(
        (
            None,
            [draw.random() + 1e-3 for _ in range(count)],
            [float(draw.randint(1, 9)) for _ in range(count)],
            list(np.random.default_rng(seed).dirichlet([1.0] * count) + 1e-4),
        )
    )
    theirs = [
        grain.MapDataset.source(range(index * DATASET, index * DATASET + length))
        for index, length in enumerate(lengths)
    ]
    stops = grain.IterDataset.mix([each.to_iter_dataset() for each in theirs], weights)
    order = [int(n) for n in stops]
    assert rows(mix(lengths, weights, "first_exhausted"), len(order) + 1) == order
    endless = grain.MapDataset.mix([each.repeat() for each in theirs], weights)
    assert rows(mix(lengths, weights, "restart"), 400) == [int(endless[i]) for i in range(400)]
