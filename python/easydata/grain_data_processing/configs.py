"""What a dataset for grain_data_processing is described with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

__all__ = [
    "DataConfig",
    "GrainArrayRecordsDataConfig",
    "HFHubDataConfig",
    "SyntheticDataConfig",
    "create_train_eval_configs",
]


@dataclass(kw_only=True)
class DataConfig:
    """What all datasets have.

    Attributes:
        shuffle_data: Shuffle the examples, in another order in every epoch.
        name: What logs call it.
        data_config_type: "synthetic", "huggingface_hub", "huggingface_local" or
            "grain_arrayrecord".
        global_batch_size: Rows of a batch, over all hosts.
        max_target_length: Tokens of a row.
        data_shuffle_seed: Seed of the order.
    """

    shuffle_data: bool = False
    name: str | None = None
    data_config_type: str | None = None
    global_batch_size: int
    max_target_length: int | None = None
    data_shuffle_seed: int = 42


@dataclass(kw_only=True)
class _TextDataConfig(DataConfig):
    """What datasets of documents have.

    Attributes:
        split: The split to read; of ArrayRecord files, their folder under `data_path`.
        data_column: The column of texts.
        max_steps_per_epoch: Batches of an epoch, at most: it is cut after its first
            `max_steps_per_epoch * global_batch_size` documents, the same ones in every epoch.
        tokenizer_path: A folder, a file or a name on the Hub, as easydata.Tokenizer takes them.
        hf_access_token: Token of the Hub, for a dataset and a tokenizer.
        hf_cache_dir: Where what comes from the Hub is kept.
        add_bos: Put the tokenizer's BOS before every document.
        add_eos: Put the tokenizer's EOS after every document.
        add_eod: Put the end-of-document token after every document that leaves room for it.
        grain_packing: Pack several documents into a row.
        grain_packing_bin_count: Rows that are filled at a time; None: the host's batch size.
        worker_count: Accepted, as the engine's threads need no processes: the order is the same.
        worker_buffer_size: Batches that are made ahead, for each worker.
        drop_remainder: Leave out rows that fill no batch; else an epoch is filled up with empty
            rows.
        batch_rampup_factors: {step: factor of the batch size from there on}.
    """

    split: str = "train"
    data_column: str = "text"
    max_steps_per_epoch: int | None = None
    tokenizer_path: str = "gpt2"
    hf_access_token: str | None = field(default=None, repr=False)
    hf_cache_dir: str | Path | None = None
    add_bos: bool = False
    add_eos: bool = False
    add_eod: bool = True
    grain_packing: bool = False
    grain_packing_bin_count: int | None = None
    worker_count: int = 1
    worker_buffer_size: int = 1
    drop_remainder: bool = False
    batch_rampup_factors: Mapping[int, float] | None = None


@dataclass(kw_only=True)
class HFHubDataConfig(_TextDataConfig):
    """A dataset that datasets.load_dataset() reads.

    Attributes:
        hf_path: Name of the dataset, or of its builder ("json", "parquet").
        hf_data_dir: A folder of the dataset.
        hf_data_files: Its files, in the forms that `datasets` takes.
        hf_num_data_processes: Processes of `datasets` for making the dataset.
    """

    hf_path: str
    hf_data_dir: str | None = None
    hf_data_files: Any = None
    hf_num_data_processes: int | None = None


@dataclass(kw_only=True)
class GrainArrayRecordsDataConfig(_TextDataConfig):
    """A folder of ArrayRecord files.

    Attributes:
        data_path: The folder that has one of each split; local or of a store.
        tokenize_data: Whether records are texts; else they are tokens, little-endian int32.
    """

    data_path: str | Path
    tokenize_data: bool = True


@dataclass(kw_only=True)
class SyntheticDataConfig(DataConfig):
    """Batches of zeros, to measure a trainer by.

    Attributes:
        num_batches: Batches of an epoch.
    """

    num_batches: int = 100


AnyDataConfig: TypeAlias = HFHubDataConfig | GrainArrayRecordsDataConfig | SyntheticDataConfig

_TRAIN = {"shuffle_data": True, "drop_remainder": True, "split": "train"}
_EVAL = {"shuffle_data": False, "drop_remainder": False, "split": "validation"}


def create_train_eval_configs(
    config_class: type[Any],
    train_kwargs: Mapping[str, Any] | None = None,
    eval_kwargs: Mapping[str, Any] | None = None,
    **shared: Any,
) -> tuple[Any, Any]:
    """Makes the configs of training and of evaluation.

    Training is shuffled, drops the remainder and reads the split "train"; evaluation does neither
    and reads "validation".

    Args:
        config_class: The class of both, such as HFHubDataConfig.
        train_kwargs: Fields of training alone.
        eval_kwargs: Fields of evaluation alone.
        **shared: Fields of both, over those.
    """

    def made(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> Any:
        fields = {name: value for name, value in defaults.items() if hasattr(config_class, name)}
        return config_class(**{**fields, **(given or {}), **shared})

    return made(_TRAIN, train_kwargs), made(_EVAL, eval_kwargs)
