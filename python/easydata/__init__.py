"""EasyData: the data engine for training language models.

Reads text, chats and tables, transforms, tokenizes, mixes and packs them, saves them or feeds them
to training, and can stop anywhere and go on with exactly the batches that would have come.
Importing it is cheap: what a name needs is imported when the name is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from easydata import core as core
    from easydata import distributed as distributed
    from easydata import execution as execution
    from easydata import jax as jax
    from easydata import sources as sources
    from easydata import torch as torch
    from easydata import transforms as transforms
    from easydata import utils as utils
    from easydata._native import Cancelled as Cancelled
    from easydata.core import AsyncDataset as AsyncDataset
    from easydata.core import BaseDatasetInform as BaseDatasetInform
    from easydata.core import BaseStage as BaseStage
    from easydata.core import CacheStageConfig as CacheStageConfig
    from easydata.core import DatasetConfig as DatasetConfig
    from easydata.core import DatasetLoadError as DatasetLoadError
    from easydata.core import DatasetMixture as DatasetMixture
    from easydata.core import DatasetType as DatasetType
    from easydata.core import LoadStageConfig as LoadStageConfig
    from easydata.core import MixStageConfig as MixStageConfig
    from easydata.core import ObservabilityConfig as ObservabilityConfig
    from easydata.core import PackStageConfig as PackStageConfig
    from easydata.core import PipelineConfig as PipelineConfig
    from easydata.core import PipelineContext as PipelineContext
    from easydata.core import RayConfig as RayConfig
    from easydata.core import ResumeState as ResumeState
    from easydata.core import SaveStageConfig as SaveStageConfig
    from easydata.core import ShardedDataSource as ShardedDataSource
    from easydata.core import ShardInfo as ShardInfo
    from easydata.core import SourceStageConfig as SourceStageConfig
    from easydata.core import TextDatasetInform as TextDatasetInform
    from easydata.core import TokenizerConfig as TokenizerConfig
    from easydata.core import TokenizeStageConfig as TokenizeStageConfig
    from easydata.core import VisualDatasetInform as VisualDatasetInform
    from easydata.core import WeightSchedulePoint as WeightSchedulePoint
    from easydata.execution import ArrowWriter as ArrowWriter
    from easydata.execution import AsyncDataLoader as AsyncDataLoader
    from easydata.execution import CacheLayer as CacheLayer
    from easydata.execution import CacheMetadata as CacheMetadata
    from easydata.execution import DatasetCache as DatasetCache
    from easydata.execution import DiskCache as DiskCache
    from easydata.execution import JsonlWriter as JsonlWriter
    from easydata.execution import LoadStage as LoadStage
    from easydata.execution import MemoryCache as MemoryCache
    from easydata.execution import MixStage as MixStage
    from easydata.execution import PackStage as PackStage
    from easydata.execution import ParquetWriter as ParquetWriter
    from easydata.execution import Pipeline as Pipeline
    from easydata.execution import PrefetchIterator as PrefetchIterator
    from easydata.execution import SaveStage as SaveStage
    from easydata.execution import ShardingSpec as ShardingSpec
    from easydata.execution import TokenizeStage as TokenizeStage
    from easydata.execution import TreeCacheManager as TreeCacheManager
    from easydata.execution import WriteStats as WriteStats
    from easydata.execution import batch_iterator as batch_iterator
    from easydata.execution import build_dataset as build_dataset
    from easydata.execution import collate_batch as collate_batch
    from easydata.execution import create_data_iterator as create_data_iterator
    from easydata.execution import create_pipeline as create_pipeline
    from easydata.execution import create_writer as create_writer
    from easydata.execution import preshard_batch as preshard_batch
    from easydata.execution import pretokenize as pretokenize
    from easydata.execution import save_dataset as save_dataset
    from easydata.execution import save_iterator as save_iterator
    from easydata.execution import tokenize_and_save as tokenize_and_save
    from easydata.execution.loader import PadSpec as PadSpec
    from easydata.execution.states import merge_states as merge_states
    from easydata.execution.verify import VerifiedFile as VerifiedFile
    from easydata.execution.verify import VerifyReport as VerifyReport
    from easydata.execution.verify import verify as verify
    from easydata.sources import ArrowShardedSource as ArrowShardedSource
    from easydata.sources import CompositeShardedSource as CompositeShardedSource
    from easydata.sources import CsvShardedSource as CsvShardedSource
    from easydata.sources import HFDatasetShardedSource as HFDatasetShardedSource
    from easydata.sources import HuggingFaceShardedSource as HuggingFaceShardedSource
    from easydata.sources import JsonShardedSource as JsonShardedSource
    from easydata.sources import ParquetShardedSource as ParquetShardedSource
    from easydata.sources import TextShardedSource as TextShardedSource
    from easydata.sources import create_source as create_source
    from easydata.sources import expand_data_files as expand_data_files
    from easydata.sources import wrap_hf_dataset as wrap_hf_dataset
    from easydata.tokenizer import Tokenizer as Tokenizer
    from easydata.trainers import BCOPreprocessTransform as BCOPreprocessTransform
    from easydata.trainers import CPOPreprocessTransform as CPOPreprocessTransform
    from easydata.trainers import DPOPreprocessTransform as DPOPreprocessTransform
    from easydata.trainers import GRPOPreprocessTransform as GRPOPreprocessTransform
    from easydata.trainers import KTOPreprocessTransform as KTOPreprocessTransform
    from easydata.trainers import ORPOPreprocessTransform as ORPOPreprocessTransform
    from easydata.trainers import RewardPreprocessTransform as RewardPreprocessTransform
    from easydata.trainers import SFTPreprocessTransform as SFTPreprocessTransform
    from easydata.transforms import AddField as AddField
    from easydata.transforms import ChainedTransform as ChainedTransform
    from easydata.transforms import ChatTemplateTransform as ChatTemplateTransform
    from easydata.transforms import CombineFields as CombineFields
    from easydata.transforms import ConvertInputOutputToChatML as ConvertInputOutputToChatML
    from easydata.transforms import ConvertToChatML as ConvertToChatML
    from easydata.transforms import DropFields as DropFields
    from easydata.transforms import ExtractField as ExtractField
    from easydata.transforms import FilterByField as FilterByField
    from easydata.transforms import FilterNonEmpty as FilterNonEmpty
    from easydata.transforms import FilterTransform as FilterTransform
    from easydata.transforms import FirstFitPacker as FirstFitPacker
    from easydata.transforms import GreedyPacker as GreedyPacker
    from easydata.transforms import LimitedShardedSource as LimitedShardedSource
    from easydata.transforms import MapField as MapField
    from easydata.transforms import MapTransform as MapTransform
    from easydata.transforms import MaybeApplyChatTemplate as MaybeApplyChatTemplate
    from easydata.transforms import MixedShardedSource as MixedShardedSource
    from easydata.transforms import MixedShardState as MixedShardState
    from easydata.transforms import PackedSequence as PackedSequence
    from easydata.transforms import PackedShardedSource as PackedShardedSource
    from easydata.transforms import PoolPacker as PoolPacker
    from easydata.transforms import RenameFields as RenameFields
    from easydata.transforms import SelectFields as SelectFields
    from easydata.transforms import TokenizedShardedSource as TokenizedShardedSource
    from easydata.transforms import TokenizerManager as TokenizerManager
    from easydata.transforms import Transform as Transform
    from easydata.transforms import TransformedShardedSource as TransformedShardedSource
    from easydata.transforms import WeightScheduler as WeightScheduler
    from easydata.transforms import block_mixture_interleave as block_mixture_interleave
    from easydata.transforms import pack_constant_length as pack_constant_length
    from easydata.transforms import pack_pre_tokenized as pack_pre_tokenized
    from easydata.transforms import tokenize_dataset_config as tokenize_dataset_config

__version__ = "0.1.0"

_SUBMODULES = ("core", "distributed", "execution", "sources", "transforms", "utils")

# They need libraries that not everybody has, so `import *` leaves them out.
_ADAPTERS = ("jax", "torch")

# Where each public name lives.
_NAMES = {
    "easydata.core": (
        "AsyncDataset",
        "BaseDatasetInform",
        "BaseStage",
        "CacheStageConfig",
        "DatasetConfig",
        "DatasetLoadError",
        "DatasetMixture",
        "DatasetType",
        "LoadStageConfig",
        "MixStageConfig",
        "ObservabilityConfig",
        "PackStageConfig",
        "PipelineConfig",
        "PipelineContext",
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
    ),
    "easydata.sources": (
        "ArrowShardedSource",
        "CompositeShardedSource",
        "CsvShardedSource",
        "HFDatasetShardedSource",
        "HuggingFaceShardedSource",
        "JsonShardedSource",
        "ParquetShardedSource",
        "TextShardedSource",
        "create_source",
        "expand_data_files",
        "wrap_hf_dataset",
    ),
    "easydata.transforms": (
        "AddField",
        "ChainedTransform",
        "ChatTemplateTransform",
        "CombineFields",
        "ConvertInputOutputToChatML",
        "ConvertToChatML",
        "DropFields",
        "ExtractField",
        "FilterByField",
        "FilterNonEmpty",
        "FilterTransform",
        "FirstFitPacker",
        "GreedyPacker",
        "LimitedShardedSource",
        "MapField",
        "MapTransform",
        "MaybeApplyChatTemplate",
        "MixedShardState",
        "MixedShardedSource",
        "PackedSequence",
        "PackedShardedSource",
        "PoolPacker",
        "RenameFields",
        "SelectFields",
        "TokenizedShardedSource",
        "TokenizerManager",
        "Transform",
        "TransformedShardedSource",
        "WeightScheduler",
        "block_mixture_interleave",
        "pack_constant_length",
        "pack_pre_tokenized",
        "tokenize_dataset_config",
    ),
    "easydata.execution": (
        "ArrowWriter",
        "AsyncDataLoader",
        "CacheLayer",
        "CacheMetadata",
        "DatasetCache",
        "DiskCache",
        "JsonlWriter",
        "LoadStage",
        "MemoryCache",
        "MixStage",
        "PackStage",
        "ParquetWriter",
        "Pipeline",
        "PrefetchIterator",
        "SaveStage",
        "ShardingSpec",
        "TokenizeStage",
        "TreeCacheManager",
        "WriteStats",
        "batch_iterator",
        "build_dataset",
        "collate_batch",
        "create_data_iterator",
        "create_pipeline",
        "create_writer",
        "preshard_batch",
        "pretokenize",
        "save_dataset",
        "save_iterator",
        "tokenize_and_save",
    ),
    "easydata.trainers": (
        "BCOPreprocessTransform",
        "CPOPreprocessTransform",
        "DPOPreprocessTransform",
        "GRPOPreprocessTransform",
        "KTOPreprocessTransform",
        "ORPOPreprocessTransform",
        "RewardPreprocessTransform",
        "SFTPreprocessTransform",
    ),
    # What the manual of easydel.data does not have.
    "easydata.execution.loader": ("PadSpec",),
    "easydata.execution.states": ("merge_states",),
    "easydata.execution.verify": ("VerifiedFile", "VerifyReport", "verify"),
    "easydata.tokenizer": ("Tokenizer",),
    "easydata._native": ("Cancelled",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_SUBMODULES, *_HOME])


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES or name in _ADAPTERS:
        return importlib.import_module(f"easydata.{name}")
    home = _HOME.get(name)
    if home is None:
        import difflib

        near = difflib.get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(f"module 'easydata' has no attribute {name!r}{hint}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
