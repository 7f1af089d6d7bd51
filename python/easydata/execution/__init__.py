"""Pipelines, loaders and writers."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from easydata.execution.cache import CacheLayer as CacheLayer
    from easydata.execution.cache import CacheMetadata as CacheMetadata
    from easydata.execution.cache import DatasetCache as DatasetCache
    from easydata.execution.cache import DiskCache as DiskCache
    from easydata.execution.cache import MemoryCache as MemoryCache
    from easydata.execution.cache import TreeCacheManager as TreeCacheManager
    from easydata.execution.legacy import build_dataset as build_dataset
    from easydata.execution.legacy import load_for_inform as load_for_inform
    from easydata.execution.loader import AsyncDataLoader as AsyncDataLoader
    from easydata.execution.loader import PadSpec as PadSpec
    from easydata.execution.loader import PrefetchIterator as PrefetchIterator
    from easydata.execution.loader import ShardingSpec as ShardingSpec
    from easydata.execution.loader import batch_iterator as batch_iterator
    from easydata.execution.loader import collate_batch as collate_batch
    from easydata.execution.loader import create_data_iterator as create_data_iterator
    from easydata.execution.loader import preshard_batch as preshard_batch
    from easydata.execution.one_call import pretokenize as pretokenize
    from easydata.execution.one_call import tokenize_and_save as tokenize_and_save
    from easydata.execution.pipeline import Pipeline as Pipeline
    from easydata.execution.pipeline import create_pipeline as create_pipeline
    from easydata.execution.save import ArrowWriter as ArrowWriter
    from easydata.execution.save import DatasetWriter as DatasetWriter
    from easydata.execution.save import JsonlWriter as JsonlWriter
    from easydata.execution.save import ParquetWriter as ParquetWriter
    from easydata.execution.save import WriteStats as WriteStats
    from easydata.execution.save import create_writer as create_writer
    from easydata.execution.save import parse_size as parse_size
    from easydata.execution.save import save_dataset as save_dataset
    from easydata.execution.save import save_iterator as save_iterator
    from easydata.execution.stages import LoadStage as LoadStage
    from easydata.execution.stages import MixStage as MixStage
    from easydata.execution.stages import PackStage as PackStage
    from easydata.execution.stages import SaveStage as SaveStage
    from easydata.execution.stages import TokenizeStage as TokenizeStage
    from easydata.execution.states import merge_states as merge_states

_NAMES = {
    "cache": (
        "CacheLayer",
        "CacheMetadata",
        "DatasetCache",
        "DiskCache",
        "MemoryCache",
        "TreeCacheManager",
    ),
    "legacy": ("build_dataset", "load_for_inform"),
    "loader": (
        "AsyncDataLoader",
        "PadSpec",
        "PrefetchIterator",
        "ShardingSpec",
        "batch_iterator",
        "collate_batch",
        "create_data_iterator",
        "preshard_batch",
    ),
    "pipeline": ("Pipeline", "create_pipeline"),
    "one_call": ("pretokenize", "tokenize_and_save"),
    "save": (
        "ArrowWriter",
        "DatasetWriter",
        "JsonlWriter",
        "ParquetWriter",
        "WriteStats",
        "create_writer",
        "parse_size",
        "save_dataset",
        "save_iterator",
    ),
    "stages": ("LoadStage", "MixStage", "PackStage", "SaveStage", "TokenizeStage"),
    "states": ("merge_states",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
