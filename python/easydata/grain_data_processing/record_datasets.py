"""Datasets whose records are found by their numbers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from easydata.grain_data_processing.configs import HFHubDataConfig
from easydata.sources.array_record import ArrayRecordDataSource
from easydata.sources.data_files import list_data_files

__all__ = [
    "PaddedDataset",
    "RandomAccess",
    "load_array_record_dataset",
    "load_huggingface_dataset",
    "pad_dataset",
]


class RandomAccess(Protocol):
    """Records by number, from 0."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class PaddedDataset:
    """A dataset with empty records after its own, or without its last ones.

    It is a RandomAccessDataSource of Grain's.

    Attributes:
        dataset: What is filled up.
        full_dataset_length: Records that there are to be.
        column_name: The column of the dataset's texts.
    """

    def __init__(self, dataset: RandomAccess, full_dataset_length: int, column_name: str) -> None:
        if full_dataset_length < 0:
            raise ValueError(f"full_dataset_length must be at least 0; it is {full_dataset_length}")
        self.dataset = dataset
        self.full_dataset_length = full_dataset_length
        self.column_name = column_name

    def __len__(self) -> int:
        return self.full_dataset_length

    def __getitem__(self, index: int) -> Any:
        if index < len(self.dataset):
            return self.dataset[index]
        return self.empty_sequence

    @property
    def empty_sequence(self) -> bytes | dict[str, str]:
        """The record that fills up: bytes where the dataset's records are, else an empty text."""
        if holds_bytes(self.dataset):
            return b""
        return {self.column_name: ""}

    def __repr__(self) -> str:
        return f"PaddedDataset({self.dataset!r}, {self.full_dataset_length})"


def holds_bytes(dataset: RandomAccess) -> bool:
    """Whether records are bytes, not rows with columns."""
    if isinstance(dataset, PaddedDataset):
        return holds_bytes(dataset.dataset)
    if isinstance(dataset, ArrayRecordDataSource):
        return True
    return len(dataset) > 0 and isinstance(dataset[0], bytes)


def pad_dataset(dataset: RandomAccess, global_batch_size: int, column_name: str) -> PaddedDataset:
    """Fills a dataset up to a multiple of a batch size.

    Args:
        dataset: The dataset.
        global_batch_size: Rows of a batch, over all hosts.
        column_name: The column of its texts.
    """
    length = -(-len(dataset) // global_batch_size) * global_batch_size
    return PaddedDataset(dataset, length, column_name)


def load_array_record_dataset(
    dataset_path: str | os.PathLike[str],
    file_extension: str = ".arecord",
    storage_options: Mapping[str, Any] | None = None,
) -> ArrayRecordDataSource:
    """Opens the ArrayRecord files of a folder, in the order of their numbers.

    Args:
        dataset_path: The folder, local or on a store; its files are named `<name>_<number><file
            extension>`, such as `train_000001.arecord`, or as EasyData names them,
            `shard-00001.arecord`.
        file_extension: The extension.
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.

    Raises:
        FileNotFoundError: When there is no such folder, or no such file in it.
        ValueError: When a file's name has no number, or two have the same.
    """
    folder = os.fspath(dataset_path).rstrip("/")
    listing = list_data_files(f"{folder}/*{file_extension}", storage_options)
    pattern = re.compile(rf"[_-](\d+){re.escape(file_extension)}$")
    indices: dict[int, int] = {}
    for index, name in enumerate(listing.uris):
        found = pattern.search(name)
        if found is None:
            raise ValueError(
                f"{name}: the name does not end in _<number>{file_extension}, which says where the "
                "file comes among those of its folder; rename it"
            )
        if indices.setdefault(int(found[1]), index) != index:
            other = listing.uris[indices[int(found[1])]]
            raise ValueError(f"{name} has the same number as {other}; rename one of them")
    return ArrayRecordDataSource(listing.in_order([indices[number] for number in sorted(indices)]))


def load_huggingface_dataset(config: HFHubDataConfig) -> Any:
    """Loads a dataset by `datasets.load_dataset`: a map-style one.

    Args:
        config: Says which one.

    Raises:
        ModuleNotFoundError: Without the library `datasets`.
    """
    import datasets

    cache: Path | str | None = config.hf_cache_dir
    return datasets.load_dataset(
        config.hf_path,
        data_dir=config.hf_data_dir,
        data_files=config.hf_data_files,
        split=config.split,
        cache_dir=None if cache is None else os.fspath(cache),
        token=config.hf_access_token,
        num_proc=config.hf_num_data_processes,
        streaming=False,
    )
