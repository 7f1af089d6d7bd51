"""The engine's random numbers against NumPy's, and what is ordered by them."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from easydata import ShardedDataSource, _native

SEEDS = [0, 1, 42, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 10, 1000, 4097])
def test_lists_are_shuffled_as_by_numpy(seed: int, size: int) -> None:
    expected = list(range(size))
    np.random.default_rng(seed).shuffle(expected)
    assert _native.shuffled(seed, size) == expected


@pytest.mark.parametrize("entropy", [(0, 0, 0), (1, 2, 3), (2**40, 7, 2**33), (5, 2**32 - 1, 0)])
@pytest.mark.parametrize("size", [0, 1, 17, 1000])
def test_windows_are_ordered_as_by_numpy(entropy: tuple[int, int, int], size: int) -> None:
    expected = list(range(size))
    np.random.default_rng(entropy).shuffle(expected)
    assert _native.window_order(*entropy, size).tolist() == expected


class Numbers(ShardedDataSource[dict[str, Any]]):
    """Rows {"n": 0}, {"n": 1}, ..."""

    def __init__(self, count: int) -> None:
        self.count = count

    @property
    def shard_names(self) -> Sequence[str]:
        return ["numbers"]

    def num_shards(self) -> int:
        return 1

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        return ({"n": n} for n in range(self.count))


def numbers(stream: _native.Stream, epoch: int = 0) -> list[int]:
    return [row["n"] for row in _native.iterate_rows(stream, epoch)]


def test_windows_are_permuted_by_seed_epoch_and_number() -> None:
    stream = _native.shuffle_window(Numbers(250)._stream({"n": "any"}), 100, 7)
    for epoch in (0, 1):
        expected = []
        for window, size in enumerate((100, 100, 50)):
            order = _native.window_order(7, epoch, window, size)
            expected += [100 * window + place for place in order]
        assert numbers(stream, epoch) == expected


def test_d31_the_process_random_state_is_neither_read_nor_changed() -> None:
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist()
    first = numbers(_native.shuffle_window(Numbers(50)._stream({"n": "any"}), 20, 1))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    random.seed(4)
    assert numbers(_native.shuffle_window(Numbers(50)._stream({"n": "any"}), 20, 1)) == first


def test_d32_every_epoch_has_its_own_order() -> None:
    stream = _native.shuffle_window(Numbers(100)._stream({"n": "any"}), 100, 0)
    assert numbers(stream, 0) != numbers(stream, 1)
    repeated = numbers(_native.repeat(stream, 2))
    assert repeated == numbers(stream, 0) + numbers(stream, 1)


def test_bad_options_are_refused() -> None:
    stream = Numbers(3)._stream({"n": "any"})
    with pytest.raises(ValueError, match="at least 1 row"):
        _native.shuffle_window(stream, 0)
    with pytest.raises(ValueError, match="at least once"):
        _native.repeat(stream, 0)
