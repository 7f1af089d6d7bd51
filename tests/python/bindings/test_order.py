"""The engine's random numbers against NumPy's, and what is ordered by them."""

import random
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.reports.order_quality import ideal_order, measure
from easydata.reports.row_order import BlockMap, RowOrder
from python_rows import Rows

from easydata import ParquetShardedSource, _native

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


def counted(count: int) -> _native.Stream:
    return Rows([{"n": n} for n in range(count)])._stream({"n": "any"})


def numbers(stream: _native.Stream, epoch: int = 0) -> list[int]:
    return [row["n"] for row in _native.iterate_rows(stream, epoch)]


def test_windows_are_permuted_by_seed_epoch_and_number() -> None:
    stream = _native.shuffle_window(counted(250), 100, 7)
    for epoch in (0, 1):
        expected = []
        for window, size in enumerate((100, 100, 50)):
            order = _native.window_order(7, epoch, window, size)
            expected += [100 * window + index for index in order]
        assert numbers(stream, epoch) == expected


def test_d31_the_process_random_state_is_neither_read_nor_changed() -> None:
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist()
    first = numbers(_native.shuffle_window(counted(50), 20, 1))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    random.seed(4)
    assert numbers(_native.shuffle_window(counted(50), 20, 1)) == first


def test_d32_every_epoch_has_its_own_order() -> None:
    stream = _native.shuffle_window(counted(100), 100, 0)
    assert numbers(stream, 0) != numbers(stream, 1)
    repeated = numbers(_native.repeat(stream, 2))
    assert repeated == numbers(stream, 0) + numbers(stream, 1)


def test_bad_options_are_refused() -> None:
    stream = counted(3)
    with pytest.raises(ValueError, match="at least 1 row"):
        _native.shuffle_window(stream, 0)
    with pytest.raises(ValueError, match="at least once"):
        _native.repeat(stream, 0)


def permutation_order(size: int, seed: int) -> RowOrder:
    """Our own permutation of all rows."""

    def rows(begin: int, end: int, epoch: int) -> npt.NDArray[np.int64]:
        return np.array(_native.permuted(size, seed, epoch, begin, end), np.int64)

    return RowOrder(size, rows, moves=size - 1, parts=size - 1)


def test_our_own_permutation_is_as_good_as_random(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": np.arange(1_000_000)}), path, row_group_size=2000)
    blocks = BlockMap(ParquetShardedSource(str(path)))
    ideal = measure(ideal_order(blocks.num_rows), blocks, 1024)
    for seed in range(3):
        own = measure(permutation_order(blocks.num_rows, seed), blocks, 1024, ideal)
        assert abs(own.worst_correlation) < 0.005
        assert own.independent_rows > 950
        # A batch of 1,024 of 500 blocks of one size.
        expected = 500 * (1 - (1 - 1 / 500) ** 1024)
        assert own.blocks_in_batch == pytest.approx(expected, rel=0.01)
