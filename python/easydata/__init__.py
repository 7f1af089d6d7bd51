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
    from easydata.core import *  # noqa: F403
    from easydata.execution import *  # noqa: F403
    from easydata.execution.loader import PadSpec as PadSpec
    from easydata.execution.states import merge_states as merge_states
    from easydata.execution.verify import VerifiedFile as VerifiedFile
    from easydata.execution.verify import VerifyReport as VerifyReport
    from easydata.execution.verify import verify as verify
    from easydata.sources import *  # noqa: F403
    from easydata.tokenizer import Tokenizer as Tokenizer
    from easydata.trainers import *  # noqa: F403
    from easydata.transforms import *  # noqa: F403

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
