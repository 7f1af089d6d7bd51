"""Transforms of rows, tokenizing, mixing and packing."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from easydata.transforms.base import ChainedTransform as ChainedTransform
    from easydata.transforms.base import Example as Example
    from easydata.transforms.base import ExpandTransform as ExpandTransform
    from easydata.transforms.base import MapTransform as MapTransform
    from easydata.transforms.base import Transform as Transform
    from easydata.transforms.chat import ChatTemplateTransform as ChatTemplateTransform
    from easydata.transforms.chat import ConvertInputOutputToChatML as ConvertInputOutputToChatML
    from easydata.transforms.chat import ConvertToChatML as ConvertToChatML
    from easydata.transforms.chat import MaybeApplyChatTemplate as MaybeApplyChatTemplate
    from easydata.transforms.chat import is_conversational as is_conversational
    from easydata.transforms.conversation import DEFAULT_ROLE_MAPPING as DEFAULT_ROLE_MAPPING
    from easydata.transforms.fields import AddField as AddField
    from easydata.transforms.fields import CombineFields as CombineFields
    from easydata.transforms.fields import DropFields as DropFields
    from easydata.transforms.fields import ExtractField as ExtractField
    from easydata.transforms.fields import MapField as MapField
    from easydata.transforms.fields import RenameFields as RenameFields
    from easydata.transforms.fields import SelectFields as SelectFields
    from easydata.transforms.filters import FilterByField as FilterByField
    from easydata.transforms.filters import FilterNonEmpty as FilterNonEmpty
    from easydata.transforms.filters import FilterTransform as FilterTransform
    from easydata.transforms.mixture import MixedShardedSource as MixedShardedSource
    from easydata.transforms.mixture import MixedShardState as MixedShardState
    from easydata.transforms.mixture import WeightScheduler as WeightScheduler
    from easydata.transforms.mixture import block_mixture_interleave as block_mixture_interleave
    from easydata.transforms.pack import FirstFitPacker as FirstFitPacker
    from easydata.transforms.pack import GreedyPacker as GreedyPacker
    from easydata.transforms.pack import PackedSequence as PackedSequence
    from easydata.transforms.pack import PackedShardedSource as PackedShardedSource
    from easydata.transforms.pack import PoolPacker as PoolPacker
    from easydata.transforms.pack import pack_constant_length as pack_constant_length
    from easydata.transforms.pack import pack_pre_tokenized as pack_pre_tokenized
    from easydata.transforms.source import LimitedShardedSource as LimitedShardedSource
    from easydata.transforms.source import TransformedShardedSource as TransformedShardedSource
    from easydata.transforms.tokenize import TokenizedShardedSource as TokenizedShardedSource
    from easydata.transforms.tokenize import TokenizerManager as TokenizerManager
    from easydata.transforms.tokenize import TokenizeTransform as TokenizeTransform
    from easydata.transforms.tokenize import (
        batched_tokenize_iterator as batched_tokenize_iterator,
    )
    from easydata.transforms.tokenize import compute_tokenizer_hash as compute_tokenizer_hash
    from easydata.transforms.tokenize import tokenize_dataset_config as tokenize_dataset_config

_NAMES = {
    "base": ("ChainedTransform", "Example", "ExpandTransform", "MapTransform", "Transform"),
    "chat": (
        "ChatTemplateTransform",
        "ConvertInputOutputToChatML",
        "ConvertToChatML",
        "MaybeApplyChatTemplate",
        "is_conversational",
    ),
    "conversation": ("DEFAULT_ROLE_MAPPING",),
    "fields": (
        "AddField",
        "CombineFields",
        "DropFields",
        "ExtractField",
        "MapField",
        "RenameFields",
        "SelectFields",
    ),
    "filters": ("FilterByField", "FilterNonEmpty", "FilterTransform"),
    "mixture": (
        "MixedShardState",
        "MixedShardedSource",
        "WeightScheduler",
        "block_mixture_interleave",
    ),
    "pack": (
        "FirstFitPacker",
        "GreedyPacker",
        "PackedSequence",
        "PackedShardedSource",
        "PoolPacker",
        "pack_constant_length",
        "pack_pre_tokenized",
    ),
    "source": ("LimitedShardedSource", "TransformedShardedSource"),
    "tokenize": (
        "TokenizeTransform",
        "TokenizedShardedSource",
        "TokenizerManager",
        "batched_tokenize_iterator",
        "compute_tokenizer_hash",
        "tokenize_dataset_config",
    ),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
