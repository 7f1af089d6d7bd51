"""No token is lost: what came, what was left out and what is still to come is what went in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from easydata import (
    AsyncDataLoader,
    CompositeShardedSource,
    HFDatasetShardedSource,
    PackedShardedSource,
)

EOS = 3
LENGTH = 16
FILTERED = 2  # documents of this length are


def documents(seed: int, count: int) -> list[dict[str, list[int]]]:
    lengths = np.random.default_rng(seed).choice([0, 1, FILTERED, 7, 15, 16, 17, 40], count)
    return [{"input_ids": [9] * int(length)} for length in lengths]


def tokens_in(rows: list[dict[str, list[int]]], overlong: str) -> int:
    """The tokens of documents, and an EOS for each that is put into rows."""
    lengths = [len(row["input_ids"]) for row in rows]
    longest = LENGTH - 1 if overlong == "drop" else max(lengths)
    return sum(lengths) + sum(0 < n <= longest and n != FILTERED for n in lengths)


def account(loader: AsyncDataLoader) -> int:
    """Tokens that came or were left out."""
    stats = loader.stats()
    left_out = sum(sum(each["dropped_tokens"].values()) for each in stats["sources"].values())
    return int(stats["tokens"] + left_out)


@pytest.mark.parametrize("overlong", ["split", "truncate", "drop"])
@pytest.mark.parametrize("strategy", ["greedy", "pool", "first_fit", "best_fit"])
def test_packed_tokens_at_every_step(strategy: Any, overlong: Any) -> None:
    rows = [documents(1, 60), documents(2, 45)]

    def make() -> AsyncDataLoader:
        both = CompositeShardedSource([HFDatasetShardedSource(each) for each in rows])
        packed = PackedShardedSource(
            both.filter(lambda row: len(row["input_ids"]) != FILTERED),
            LENGTH,
            eos_token_id=EOS,
            strategy=strategy,
            overlong=overlong,
            pack_window=7,
        )
        return AsyncDataLoader(packed, batch_size=3, drop_last=False, shuffle_buffer_size=5)

    with make() as loader:
        states, emitted = [], 0
        for batch in loader:
            emitted += int(batch["attention_mask"].sum())
            assert loader.stats()["tokens"] == emitted
            states.append((loader.state_dict(), emitted, account(loader)))
        # Documents that are left out behind the last row are counted with the end.
        whole = tokens_in(rows[0] + rows[1], overlong)
        assert account(loader) == whole
    assert [each[2] for each in states] == sorted(each[2] for each in states)
    for state, emitted, accounted in states:
        with make() as loader:
            loader.load_state_dict(state)
            assert loader.stats()["tokens"] == emitted
            assert account(loader) == accounted
            to_come = sum(int(batch["attention_mask"].sum()) for batch in loader)
            assert loader.stats()["tokens"] == emitted + to_come
            assert account(loader) == whole


def test_rows_that_do_not_fill_a_last_batch_are_counted_with_their_tokens() -> None:
    rows = [{"input_ids": [1] * n} for n in range(1, 12)]
    with AsyncDataLoader(HFDatasetShardedSource(rows), batch_size=4) as loader:
        for _ in loader:
            pass
        (source,) = loader.stats()["sources"].values()
    assert source["dropped"] == {"drop_last": 3}
    assert source["dropped_tokens"] == {"drop_last": 9 + 10 + 11}
