"""Batches of rows of about one length."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any

import datasets
import numpy as np
import pytest
from batches import Batch, difference, joined

from easydata import (
    AsyncDataLoader,
    HFDatasetShardedSource,
    PackedShardedSource,
    PadSpec,
    merge_states,
)

ROWS = 700


def source(rows: int = ROWS) -> HFDatasetShardedSource:
    """Rows of 1 to 400 tokens, most of them short; the number of the row is their first."""
    lengths = (np.random.default_rng(4).pareto(1.0, rows) * 10 + 1).clip(1, 400).astype(int)
    return HFDatasetShardedSource(
        datasets.Dataset.from_dict(
            {"input_ids": [[i] + [7] * (n - 1) for i, n in enumerate(lengths.tolist())]}
        )
    )


def loader(rows: int = ROWS, **options: Any) -> AsyncDataLoader:
    options = {"batch_size": 8, "bucket_batches": 20, "seed": 3, **options}
    return AsyncDataLoader(
        source(rows), padding={"input_ids": PadSpec(value=-1)}, num_threads=2, **options
    )


def waste(batches: list[Batch]) -> float:
    """The share of padding."""
    ids = [batch["input_ids"] for batch in batches]
    return float(sum((each < 0).sum() for each in ids) / sum(each.size for each in ids))


def numbers(batches: list[Batch]) -> list[int]:
    return [int(n) for batch in batches for n in batch["input_ids"][:, 0]]


def test_little_is_padding_and_every_row_comes_once() -> None:
    with loader(bucket_batches=None) as plain, loader() as bucketed:
        as_they_come = list(plain)
        batches = list(bucketed)
        again = list(bucketed)
    assert waste(as_they_come) > 0.5
    assert waste(batches) < 0.25
    assert len(batches) == ROWS // 8
    for each in (batches, again):
        assert len(set(numbers(each))) == ROWS // 8 * 8
    # Each epoch has its own batches, and long ones come among short ones.
    assert {frozenset(numbers([b])) for b in batches} != {frozenset(numbers([b])) for b in again}
    widths = [batch["input_ids"].shape[1] for batch in batches[:20]]
    assert widths != sorted(widths)
    assert widths != sorted(widths, reverse=True)


def test_rows_stay_within_their_window() -> None:
    with loader(drop_last=False) as bucketed:
        order = numbers(list(bucketed))
    window = 20 * 8
    assert [n // window for n in order] == sorted(n // window for n in range(ROWS))


@pytest.mark.parametrize("options", [{"steps": 52}, {"epochs": 4}, {"steps": 52, "lanes": 2}])
def test_buckets_are_whole_from_pass_to_pass(options: dict[str, Any]) -> None:
    """105 rows leave one over: it must not shift the batches of the passes behind it."""
    padding = {"input_ids": PadSpec(-1, length=400)}
    lanes = options.get("lanes", 1)
    with AsyncDataLoader(source(105), 8, bucket_batches=13, padding=padding, **options) as each:
        batches = list(each)
    assert len(batches) == 52
    for lane in range(lanes):
        parts = [np.split(batch["input_ids"], lanes)[lane] for batch in batches]
        lengths = [(part >= 0).sum(axis=1) for part in parts]
        for first in range(0, 52, 13):
            window = sorted((each.min(), each.max()) for each in lengths[first : first + 13])
            assert all(a[1] <= b[0] for a, b in pairwise(window))


def test_stats_tell_the_pass_of_repeated_rows() -> None:
    padding = {"input_ids": PadSpec(-1, length=400)}
    with AsyncDataLoader(source(104), 8, bucket_batches=13, padding=padding, epochs=3) as each:
        passes = []
        for _ in range(2):
            for _ in each:
                (counts,) = each.stats()["sources"].values()
                passes.append(counts["epoch"])
    assert passes == [epoch for epoch in range(6) for _ in range(13)]


def test_restored_at_every_step_on_other_numbers_of_ranks() -> None:
    with loader(150, bucket_batches=5) as whole:
        states, batches = [whole.state_dict()], []
        for batch in whole:
            batches.append(batch)
            states.append(whole.state_dict())
    for step in range(0, len(states), 3):
        ranks = [loader(150, bucket_batches=5, rank=rank, world_size=2) for rank in range(2)]
        for each in ranks:
            each.load_state_dict(states[step])
        rest = [joined(parts) for parts in zip(*ranks, strict=True)]
        assert difference(rest, batches[step:]) is None
        for each in ranks:
            each.close()


def test_behind_a_shuffle_and_with_lanes() -> None:
    options: dict[str, Any] = {
        "bucket_batches": 4,
        "shuffle_buffer_size": 50,
        "lanes": 2,
        "steps": 25,
        "padding": {"input_ids": PadSpec(-1, length=400)},
    }

    def make(**more: Any) -> AsyncDataLoader:
        return AsyncDataLoader(source(200), 8, **options, **more)

    with make() as whole:
        batches = list(whole)
    with make(rank=0, world_size=2) as first, make(rank=1, world_size=2) as second:
        parts = [list(islice(each, 9)) for each in (first, second)]
        state = merge_states([first.state_dict(), second.state_dict()])
    together = [joined(each) for each in zip(*parts, strict=True)]
    with make() as rest:
        rest.load_state_dict(state)
        together += list(rest)
    assert difference(together, batches) is None


def test_one_of_several_lengths() -> None:
    rows = HFDatasetShardedSource([{"input_ids": [1] * n} for n in (3, 8, 9, 1, 17, 4)])
    padding = {"input_ids": PadSpec(0, length=[16, 8, 32])}
    with AsyncDataLoader(rows, batch_size=2, padding=padding) as loader:
        assert [batch["input_ids"].shape for batch in loader] == [(2, 8), (2, 16), (2, 32)]
    # All ranks have the shape of the longest row of any.
    with AsyncDataLoader(rows, 2, padding=padding, rank=1, world_size=2) as loader:
        assert [batch["input_ids"].shape for batch in loader] == [(1, 8), (1, 16), (1, 32)]
    too_short = {"input_ids": PadSpec(0, length=(8, 16))}
    with (
        AsyncDataLoader(rows, batch_size=2, padding=too_short) as loader,
        pytest.raises(ValueError, match=r"row 4: column 'input_ids' has 17 values.*the 16 of"),
    ):
        list(loader)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="bucket_batches: must be at least 2"):
        loader(bucket_batches=1)
    packed = PackedShardedSource(source(), 64, eos_token_id=1)
    with pytest.raises(ValueError, match="bucket_batches: packed rows are all of one length"):
        AsyncDataLoader(packed, bucket_batches=8)
    with pytest.raises(ValueError, match="length needs one length at least"):
        PadSpec(length=[])
    with pytest.raises(ValueError, match="length must be at least 1, not 0"):
        PadSpec(length=[8, 0])
    several = {"input_ids": PadSpec(length=[64, 400])}
    with (
        AsyncDataLoader(source(), lanes=2, steps=3, padding=several) as lanes,
        pytest.raises(ValueError, match="give them one length"),
    ):
        next(iter(lanes))
    with loader() as bucketed, loader(bucket_batches=None) as plain:
        next(iter(bucketed))
        with pytest.raises(ValueError, match=r"loader\.buckets"):
            plain.load_state_dict(bucketed.state_dict())
