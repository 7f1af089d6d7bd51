"""The protocols of the data plane under the import path that the manual gives."""

from easydata.core.async_dataset import AsyncDataset, AsyncDatasetProtocol
from easydata.core.context import PipelineContext, ResumeState
from easydata.core.source import MappedShardedDataSource, ShardedDataSource, ShardInfo
from easydata.core.stage import BaseStage, PipelineStage

__all__ = [
    "AsyncDataset",
    "AsyncDatasetProtocol",
    "BaseStage",
    "MappedShardedDataSource",
    "PipelineContext",
    "PipelineStage",
    "ResumeState",
    "ShardInfo",
    "ShardedDataSource",
]
