"""An error that lies ahead still comes after a restart, at the same position."""

from typing import Any

import pytest

from easydata import (
    AsyncDataLoader,
    HFDatasetShardedSource,
    MixedShardedSource,
    PackedShardedSource,
)


def never(row: object) -> bool:
    return False


def test_an_empty_source_of_a_mix_is_an_error_after_a_restart() -> None:
    def loader() -> AsyncDataLoader:
        some = HFDatasetShardedSource([{"n": i} for i in range(40)])
        none = HFDatasetShardedSource([{"n": 0}]).filter(never)
        mixed = MixedShardedSource(
            {"some": some, "none": none},
            {"some": 0.9, "none": 0.1},
            block_size=20,
            stop_strategy="first_exhausted",
            seed=3,
        )
        return AsyncDataLoader(mixed, 2)

    whole = loader()
    next(iter(whole))
    state = whole.state_dict()
    with pytest.raises(ValueError, match="is empty"):
        list(whole)
    restored = loader()
    restored.load_state_dict(state)
    with pytest.raises(ValueError, match="is empty"):
        list(restored)


@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize("batch_size", [7, 10, 300, 600])
def test_after_an_error_the_rows_before_it_do_not_come_again(
    prefetch: bool, batch_size: int
) -> None:
    """Not even those that were worked on together with the bad one."""
    bad = 600

    def check(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == bad:
            raise ZeroDivisionError("a bad row")
        return row

    def loader() -> AsyncDataLoader:
        rows = HFDatasetShardedSource([{"n": n} for n in range(1000)])
        return AsyncDataLoader(
            rows.map(check), batch_size, drop_last=False, prefetch_enabled=prefetch
        )

    stopped = loader()
    seen: list[int] = []

    def drain() -> None:
        for batch in stopped:
            seen.extend(batch["n"].tolist())

    with pytest.raises(ZeroDivisionError):
        drain()
    assert len(seen) == bad // batch_size * batch_size
    state = stopped.state_dict()
    restored = loader()
    restored.load_state_dict(state)
    with pytest.raises(ZeroDivisionError):
        next(iter(restored))
    bad = -1
    restored = loader()
    restored.load_state_dict(state)
    seen += [n for batch in restored for n in batch["n"].tolist()]
    assert seen == list(range(1000))


@pytest.mark.parametrize(
    "strategy", ["greedy", "pool", "first_fit", "best_fit", "grain_first_fit", "grain_best_fit"]
)
@pytest.mark.parametrize("lengths", [[9], [3, 9], [3, 3, 9, 3], [5, 5, 5, 5, 5, 9]])
def test_a_document_that_does_not_fit_stays_an_error(strategy: Any, lengths: list[int]) -> None:
    def loader() -> AsyncDataLoader:
        rows = HFDatasetShardedSource([{"input_ids": [7] * length} for length in lengths])
        packed = PackedShardedSource(
            rows, 8, 1, 0, strategy=strategy, overlong="error", pack_window=2
        )
        return AsyncDataLoader(packed, 1)

    stopped = loader()
    with pytest.raises(ValueError, match="does not fit"):
        list(stopped)
    restored = loader()
    restored.load_state_dict(stopped.state_dict())
    with pytest.raises(ValueError, match="does not fit"):
        list(restored)
