"""Where rows come from: files, data sets in memory, and several of them as one."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from easydata.execution.legacy import load_for_inform as load_for_inform
    from easydata.sources.arrow import ArrowShardedSource
    from easydata.sources.composite import CompositeShardedSource
    from easydata.sources.create import create_source
    from easydata.sources.csv import CsvShardedSource
    from easydata.sources.data_files import expand_data_files
    from easydata.sources.huggingface import (
        HFDatasetShardedSource,
        HuggingFaceShardedSource,
        wrap_hf_dataset,
    )
    from easydata.sources.json import JsonShardedSource
    from easydata.sources.parquet import ParquetShardedSource, ParquetShardInfo
    from easydata.sources.shuffled import ShuffledShardedSource
    from easydata.sources.text import TextShardedSource

_HOME = {
    "ArrowShardedSource": "arrow",
    "CompositeShardedSource": "composite",
    "CsvShardedSource": "csv",
    "HFDatasetShardedSource": "huggingface",
    "HuggingFaceShardedSource": "huggingface",
    "JsonShardedSource": "json",
    "ParquetShardInfo": "parquet",
    "ParquetShardedSource": "parquet",
    "ShuffledShardedSource": "shuffled",
    "TextShardedSource": "text",
    "create_source": "create",
    "expand_data_files": "data_files",
    "load_for_inform": "easydata.execution.legacy",
    "wrap_hf_dataset": "huggingface",
}

__all__ = [
    "ArrowShardedSource",
    "CompositeShardedSource",
    "CsvShardedSource",
    "HFDatasetShardedSource",
    "HuggingFaceShardedSource",
    "JsonShardedSource",
    "ParquetShardInfo",
    "ParquetShardedSource",
    "ShuffledShardedSource",
    "TextShardedSource",
    "create_source",
    "expand_data_files",
    "load_for_inform",
    "wrap_hf_dataset",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME[name]
    value = getattr(importlib.import_module(home if "." in home else f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
