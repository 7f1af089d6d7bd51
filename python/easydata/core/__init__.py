"""What the rest of the package is described with: configs, sources, stages and types."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from easydata.core.async_dataset import AsyncDataset, AsyncDatasetProtocol
    from easydata.core.config import (
        CacheStageConfig,
        ConfigError,
        DatasetConfig,
        LoadStageConfig,
        MixStageConfig,
        ObservabilityConfig,
        PackStageConfig,
        PipelineConfig,
        RayConfig,
        SaveStageConfig,
        SourceStageConfig,
        TokenizerConfig,
        TokenizeStageConfig,
        WeightSchedulePoint,
        get_dataset_name,
        merge_tokenizer_config,
    )
    from easydata.core.context import PipelineContext, ResumeState
    from easydata.core.source import MappedShardedDataSource, ShardedDataSource, ShardInfo
    from easydata.core.stage import BaseStage, PipelineStage
    from easydata.core.types import (
        BaseDatasetInform,
        DatasetLoadError,
        DatasetMixture,
        DatasetType,
        TextDatasetInform,
        VisualDatasetInform,
    )

_NAMES = {
    "async_dataset": ("AsyncDataset", "AsyncDatasetProtocol"),
    "config": (
        "CacheStageConfig",
        "ConfigError",
        "DatasetConfig",
        "LoadStageConfig",
        "MixStageConfig",
        "ObservabilityConfig",
        "PackStageConfig",
        "PipelineConfig",
        "RayConfig",
        "SaveStageConfig",
        "SourceStageConfig",
        "TokenizeStageConfig",
        "TokenizerConfig",
        "WeightSchedulePoint",
        "get_dataset_name",
        "merge_tokenizer_config",
    ),
    "context": ("PipelineContext", "ResumeState"),
    "source": ("MappedShardedDataSource", "ShardInfo", "ShardedDataSource"),
    "stage": ("BaseStage", "PipelineStage"),
    "types": (
        "BaseDatasetInform",
        "DatasetLoadError",
        "DatasetMixture",
        "DatasetType",
        "TextDatasetInform",
        "VisualDatasetInform",
    ),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "AsyncDataset",
    "AsyncDatasetProtocol",
    "BaseDatasetInform",
    "BaseStage",
    "CacheStageConfig",
    "ConfigError",
    "DatasetConfig",
    "DatasetLoadError",
    "DatasetMixture",
    "DatasetType",
    "LoadStageConfig",
    "MappedShardedDataSource",
    "MixStageConfig",
    "ObservabilityConfig",
    "PackStageConfig",
    "PipelineConfig",
    "PipelineContext",
    "PipelineStage",
    "RayConfig",
    "ResumeState",
    "SaveStageConfig",
    "ShardInfo",
    "ShardedDataSource",
    "SourceStageConfig",
    "TextDatasetInform",
    "TokenizeStageConfig",
    "TokenizerConfig",
    "VisualDatasetInform",
    "WeightSchedulePoint",
    "get_dataset_name",
    "merge_tokenizer_config",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
