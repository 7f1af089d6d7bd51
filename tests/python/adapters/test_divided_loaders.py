"""A loader that has ranks is not divided among processes again."""

import itertools
from typing import Any

import pytest

from easydata import AsyncDataLoader, HFDatasetShardedSource

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
data_loader = pytest.importorskip("accelerate.data_loader")


def dataset(world_size: int) -> Any:
    import easydata.torch

    source = HFDatasetShardedSource([{"n": n} for n in range(32)])
    loader = AsyncDataLoader(source, 4, rank=0, world_size=world_size)
    return easydata.torch.dataset(loader, batches=True)


def numbers(batches: Any) -> list[int]:
    return [int(n) for batch in batches for n in batch["n"].reshape(-1)]


def shards(dataset: Any) -> list[Any]:
    """What gives a process its part, as Accelerate and transformers make it."""
    from transformers.trainer_pt_utils import IterableDatasetShard

    options = {"batch_size": 1, "num_processes": 2, "process_index": 1}
    return [
        data_loader.IterableDatasetShard(dataset, **options),
        IterableDatasetShard(dataset, **options),
        torch.utils.data.DataLoader(
            data_loader.IterableDatasetShard(dataset, **options), batch_size=None
        ),
    ]


def test_its_part_is_not_divided() -> None:
    for shard in shards(dataset(2)):
        with pytest.raises(
            ValueError, match=r"divide that again.*accelerator\.prepare\(\)"
        ) as error:
            next(iter(shard))
        assert "IterableDatasetShard" in str(error.value)
    assert len(numbers(torch.utils.data.DataLoader(dataset(2), batch_size=None))) == 16


def test_a_loader_of_all_rows_is() -> None:
    for shard in shards(dataset(1)):
        assert len(numbers(shard)) == 16


def test_the_main_process_does_not_deal_its_part_out() -> None:
    class DataLoaderDispatcher:  # which needs several processes to be made
        def __init__(self, dataset: Any) -> None:
            self.loader = torch.utils.data.DataLoader(dataset, batch_size=None)

        def __iter__(self) -> Any:
            yield from itertools.islice(self.loader, 2)

    with pytest.raises(ValueError, match="DataLoaderDispatcher would divide that again"):
        list(DataLoaderDispatcher(dataset(2)))
    assert len(numbers(DataLoaderDispatcher(dataset(1)))) == 8
    assert data_loader.DataLoaderDispatcher.__name__ == "DataLoaderDispatcher"
