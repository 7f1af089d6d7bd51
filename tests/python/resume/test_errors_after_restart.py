"""An error that lies ahead still comes after a restart, at the same place."""

import pytest

from easydata import AsyncDataLoader, HFDatasetShardedSource, MixedShardedSource


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
