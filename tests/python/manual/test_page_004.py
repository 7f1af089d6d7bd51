"""The manual's page on grain_data_processing: its names, their parameters, defaults and words."""

from __future__ import annotations

import inspect
import logging
from pathlib import Path
from typing import Any

import pytest
from easydata.sources.huggingface import HFDatasetShardedSource

from easydata import grain_data_processing as module
from easydata import save_dataset

REQUIRED = inspect.Parameter.empty

# What the page gives, in its order.
SIGNATURES: dict[str, list[tuple[str, Any]]] = {
    "preprocess_dataset": [
        *[
            (name, REQUIRED)
            for name in (
                "dataloading_host_index", "dataloading_host_count", "dataset", "data_column_name",
                "tokenize", "global_batch_size", "max_target_length", "shuffle",
                "data_shuffle_seed",
            )
        ],
        ("tokenizer_path", None), ("hf_access_token", None), ("add_bos", True),
        ("add_eos", True), ("add_eod", True), ("grain_packing", False),
        ("grain_packing_bin_count", None), ("shift", True), ("drop_remainder", True),
        ("num_epochs", None), ("tokenizer_cache_dir", None), ("max_steps_per_epoch", None),
        ("eod_token_id", None),
    ],
    "make_grain_iterator": [
        ("configs", REQUIRED), ("global_mesh", REQUIRED), ("process_indices", REQUIRED),
        ("dataset_weights", None),
    ],
    "PaddedDataset": [
        ("dataset", REQUIRED), ("full_dataset_length", REQUIRED), ("column_name", REQUIRED),
    ],
    "pad_dataset": [
        ("dataset", REQUIRED), ("global_batch_size", REQUIRED), ("column_name", REQUIRED),
    ],
    "load_array_record_dataset": [("dataset_path", REQUIRED), ("file_extension", ".arecord")],
    "load_huggingface_dataset": [("config", REQUIRED)],
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_and_defaults(name: str) -> None:
    parameters = list(inspect.signature(getattr(module, name)).parameters.values())
    given = SIGNATURES[name]
    assert [(each.name, each.default) for each in parameters[: len(given)]] == given
    for own in parameters[len(given) :]:  # ours, which leave the page's calls as they are
        assert own.default is not REQUIRED


def test_the_logger_is_there() -> None:
    assert isinstance(module.LOGGER, logging.Logger)


@pytest.mark.parametrize("extension", [".arecord", ".array_record"])
def test_files_come_in_the_order_of_the_shard_index(extension: str, tmp_path: Path) -> None:
    for number in (10, 2, 3):
        rows = HFDatasetShardedSource([{"text": f"{number}"}])
        save_dataset(rows, tmp_path / f"w{number}", format="array_record")
        (file,) = (tmp_path / f"w{number}").glob("*.arecord")
        file.rename(tmp_path / f"train_{number:06}{extension}")
    records = module.load_array_record_dataset(tmp_path, extension)
    assert [records[i] for i in range(len(records))] == [b"2", b"3", b"10"]


def test_a_padded_data_set_has_its_attributes() -> None:
    rows = [{"text": "a"}, {"text": "b"}, {"text": "c"}]
    padded = module.pad_dataset(rows, 4, "text")
    assert (padded.dataset, padded.full_dataset_length, padded.column_name) == (rows, 4, "text")
    assert [padded[i] for i in range(4)] == [*rows, padded.empty_sequence]
    assert padded.empty_sequence == {"text": ""}


def test_our_own_folders_are_loaded(tmp_path: Path) -> None:
    rows = HFDatasetShardedSource([{"text": f"{i}"} for i in range(40)])
    save_dataset(rows, tmp_path / "train", format="array_record", num_shards=12)
    records = module.load_array_record_dataset(tmp_path / "train")
    assert [int(records[i]) for i in range(40)] == list(range(40))
