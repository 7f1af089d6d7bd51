"""The public surface: every name of the manual, its parameters and defaults; a cheap import."""

import importlib
import inspect
import time
from typing import Any

import pytest
from programs import run_python

import easydata

SUBMODULES = ("core", "distributed", "execution", "sources", "transforms", "utils")

REQUIRED = object()

# Names and defaults as the reference lists them (section 1); parameters of ours may follow.
SIGNATURES: dict[str, dict[str, Any]] = {
    "AddField": {"field": REQUIRED, "value": REQUIRED},
    "ArrowShardedSource": {"data_files": REQUIRED, "storage_options": None},
    "ArrowWriter": {
        "output_path": REQUIRED,
        "max_shard_size": 500 * 2**20,
        "num_shards": None,
        "compression": None,
        "overwrite": False,
    },
    "AsyncDataLoader": {
        "source": REQUIRED,
        "batch_size": 8,
        "prefetch_enabled": True,
        "prefetch_workers": 2,
        "prefetch_buffer_size": 4,
        "shuffle_buffer_size": None,
        "drop_last": True,
        "sharding_map": None,
        "seed": None,
    },
    "AsyncDataset": {},
    "BaseDatasetInform": {
        "type": None,
        "data_files": None,
        "num_rows": None,
        "dataset_split_name": None,
        "split": "train",
        "format_callback": None,
        "format_fields": None,
    },
    "BaseStage": {"config": None},
    "BCOPreprocessTransform": {},
    "CPOPreprocessTransform": {},
    "CacheLayer": {},
    "CacheMetadata": {
        "version": "1.0",
        "created_at": ...,
        "source_hash": "",
        "tokenizer_hash": None,
        "transform_hash": None,
        "num_examples": 0,
        "config_hash": "",
        "extra": ...,
    },
    "CacheStageConfig": {
        "enabled": True,
        "cache_type": "hierarchical",
        "cache_dir": ".cache/easydel_pipeline",
        "memory_cache_size": 100,
        "disk_cache_expiry": 86400,
        "compression": "none",
        "hash_fn": "combined",
    },
    "ChainedTransform": {"transforms": REQUIRED},
    "ChatTemplateTransform": {
        "tokenizer": REQUIRED,
        "messages_field": "messages",
        "output_field": "text",
        "tools": None,
        "convert_from_value_format": True,
        "drop_messages": True,
    },
    "CombineFields": {
        "source_fields": None,  # required, under this name or as `fields`
        "target_field": None,
        "combiner": None,
        "separator": " ",
        "drop_sources": False,
    },
    "CompositeShardedSource": {"sources": REQUIRED},
    "ConvertInputOutputToChatML": {
        "input_field": "conversation",
        "output_field": "messages",
        "user_role": "user",
        "assistant_role": "assistant",
    },
    "ConvertToChatML": {
        "input_field": "conversations",
        "output_field": "messages",
        "role_mapping": None,
        "use_default_mapping": True,
    },
    "CsvShardedSource": {"data_files": REQUIRED, "storage_options": None, "delimiter": ","},
    "DPOPreprocessTransform": {},
    "DatasetCache": {"cache_dir": REQUIRED},
    "DatasetConfig": {
        "data_files": REQUIRED,
        "name": None,
        "type": None,
        "split": "train",
        "num_rows": None,
        "dataset_split_name": None,
        "tokenizer": None,
        "tokenizer_kwargs": None,
        "cache_path": None,
        "cache_enabled": True,
        "save_path": None,
        "save_format": None,
        "content_field": "text",
        "additional_fields": None,
        "format_callback": None,
        "format_fields": None,
        "shard_column": None,
        "num_shards": None,
    },
    "DatasetLoadError": {},
    "DatasetMixture": {
        "informs": REQUIRED,
        "cache_dir": ...,
        "streaming": True,
        "text_target_field": "text",
        "image_target_field": "image",
        "batch_size": 1,
        "shuffle_buffer_size": None,
        "seed": 42,
        "pack_tokens": False,
        "tokens_field_name": "tokens",
        "pack_seq_length": None,
        "pack_eos_token_id": 0,
        "pack_shuffle": True,
        "pack_shuffle_buffer_factor": 16,
        "dask_storage_options": None,
        "pack_on_the_fly": False,
        "tokenize_callback": None,
        "prefetch_workers": 2,
        "prefetch_buffer_size": 4,
        "cloud_max_retries": 3,
        "cloud_retry_delay": 0.1,
        "cache_remote_files": True,
        "cache_expiry_seconds": 86400,
        "block_mixture": True,
        "mixture_block_size": 2048,
        "stop_strategy": "restart",
        "mixture_weights": None,
    },
    "DatasetType": {},
    "DiskCache": {"cache_dir": REQUIRED, "compression": "none", "expiry_seconds": None},
    "DropFields": {"fields": REQUIRED},
    "ExtractField": {"source_path": REQUIRED, "target_field": REQUIRED, "default": None},
    "FilterByField": {"field": REQUIRED, "predicate": REQUIRED},
    "FilterNonEmpty": {"fields": REQUIRED},
    "FilterTransform": {"predicate": REQUIRED},
    "FirstFitPacker": {},
    "GRPOPreprocessTransform": {},
    "GreedyPacker": {},
    "HFDatasetShardedSource": {"dataset": REQUIRED, "name": None},
    "HuggingFaceShardedSource": {
        "dataset_name": REQUIRED,
        "split": "train",
        "subset": None,
        "streaming": True,
        "cache_dir": None,
    },
    "JsonShardedSource": {"data_files": REQUIRED, "storage_options": None, "jsonl": True},
    "JsonlWriter": {
        "output_path": REQUIRED,
        "max_shard_size": 500 * 2**20,
        "num_shards": None,
        "compression": None,
        "overwrite": False,
    },
    "KTOPreprocessTransform": {},
    "LimitedShardedSource": {"source": REQUIRED, "max_rows": REQUIRED},
    "LoadStage": {"config": None},
    "LoadStageConfig": {
        "batch_size": 8,
        "prefetch_enabled": True,
        "prefetch_workers": 2,
        "prefetch_buffer_size": 4,
        "shuffle_buffer_size": None,
        "drop_last": True,
        "prefetch_to_device": False,
    },
    "MapField": {"field": REQUIRED, "fn": REQUIRED, "output_field": None},
    "MapTransform": {"fn": REQUIRED},
    "MaybeApplyChatTemplate": {"tokenizer": REQUIRED},
    "MemoryCache": {"max_size": 1000},
    "MixStage": {"config": None},
    "MixStageConfig": {
        "weights": None,
        "weight_schedule": None,
        "weight_schedule_type": "step",
        "block_size": 1000,
        "stop_strategy": "restart",
        "seed": None,
    },
    "MixedShardState": {
        "source_index": REQUIRED,
        "shard_index": REQUIRED,
        "row_index": REQUIRED,
        "block_index": 0,
        "examples_yielded": 0,
    },
    "MixedShardedSource": {
        "sources": REQUIRED,
        "weights": None,
        "block_size": 1000,
        "seed": None,
        "stop_strategy": "restart",
        "weight_scheduler": None,
    },
    "ORPOPreprocessTransform": {},
    "ObservabilityConfig": {
        "progress_enabled": True,
        "progress_type": "tqdm",
        "metrics_enabled": True,
        "log_level": "INFO",
        "log_interval": 100,
    },
    "PackStage": {"config": None},
    "PackStageConfig": {
        "enabled": False,
        "seq_length": 2048,
        "eos_token_id": ...,  # 2 in EasyDeL; unset means the tokenizer's
        "pad_token_id": 0,
        "strategy": "greedy",
        "num_packers": 4,
        "include_segment_ids": True,
        "shuffle_packed": True,
        "shuffle_buffer_factor": 10,
    },
    "PackedSequence": {},
    "PackedShardedSource": {
        "source": REQUIRED,
        "seq_length": REQUIRED,
        "eos_token_id": ...,
        "pad_token_id": ...,  # unset, which reads as 0
        "strategy": "greedy",
        "num_packers": 4,
        "include_segment_ids": True,
        "input_field": "input_ids",
        "shuffle": True,
        "shuffle_buffer_factor": 10,
        "seed": None,
    },
    "ParquetShardedSource": {"data_files": REQUIRED, "storage_options": None, "columns": None},
    "ParquetWriter": {
        "output_path": REQUIRED,
        "max_shard_size": 500 * 2**20,
        "num_shards": None,
        "compression": None,
        "overwrite": False,
    },
    "Pipeline": {"config": REQUIRED},
    "PipelineConfig": {
        "datasets": REQUIRED,
        "default_tokenizer": None,
        "streaming": True,
        "seed": None,
        **dict.fromkeys(
            (
                "source",
                "tokenize",
                "cache",
                "mix",
                "pack",
                "load",
                "save",
                "ray",
                "observability",
            ),
            ...,
        ),
    },
    "PipelineContext": {"config": REQUIRED, "seed": None, "step": 0, "epoch": 0},
    "PoolPacker": {},
    "PrefetchIterator": {"source": REQUIRED, "buffer_size": 4, "num_workers": 2},
    "RayConfig": {
        "enabled": False,
        "num_workers": 4,
        "resources_per_worker": None,
        "use_gpu": False,
        "object_store_memory": None,
    },
    "RenameFields": {"mapping": REQUIRED},
    "ResumeState": {
        "shard_index": 0,
        "row_index": 0,
        "epoch": 0,
        "step": 0,
        "dataset_states": ...,
    },
    "RewardPreprocessTransform": {},
    "SFTPreprocessTransform": {},
    "SaveStage": {"config": None},
    "SaveStageConfig": {
        "enabled": False,
        "output_dir": "./output",
        "format": "parquet",
        "num_shards": None,
        "compression": None,
        "max_shard_size": "500MB",
        "overwrite": False,
        "push_to_hub": False,
        "hub_repo_id": None,
        "hub_private": False,
        "hub_token": None,
    },
    "SelectFields": {"fields": REQUIRED},
    "ShardInfo": {
        "shard_id": REQUIRED,
        "shard_name": REQUIRED,
        "num_rows": None,
        "byte_size": None,
        "url": None,
        "checksum": None,
    },
    "ShardedDataSource": {},
    "ShardingSpec": {},
    "SourceStageConfig": {
        "streaming": True,
        "cloud_max_retries": 3,
        "cloud_retry_delay": 1.0,
        "dask_storage_options": None,
    },
    "TextDatasetInform": {"content_field": "content", "additional_fields": None},
    "TextShardedSource": {"data_files": REQUIRED, "storage_options": None, "text_field": "text"},
    "TokenizeStage": {"config": None},
    "TokenizeStageConfig": {
        "default_tokenizer": None,
        "max_length": 2048,
        "batch_size": 1000,
        "num_workers": 4,
        "cache_tokenized": True,
        "remove_columns": None,
    },
    "TokenizedShardedSource": {
        "source": REQUIRED,
        "tokenizer": REQUIRED,
        "tokenizer_config": REQUIRED,
        "content_field": "text",
        "additional_fields": None,
        "format_callback": None,
        "format_fields": None,
    },
    "TokenizerConfig": {
        "name_or_path": REQUIRED,
        "max_length": 2048,
        "truncation": True,
        "padding": False,
        "add_special_tokens": True,
        "return_attention_mask": True,
        "trust_remote_code": True,
    },
    "TokenizerManager": {},
    "Transform": {},
    "TransformedShardedSource": {"source": REQUIRED, "transform": REQUIRED},
    "TreeCacheManager": {
        "cache_dir": REQUIRED,
        "memory_size": 100,
        "disk_expiry": 86400,
        "compression": "none",
    },
    "VisualDatasetInform": {"pixel_field": "images", "content_field": None},
    "WeightSchedulePoint": {"step": REQUIRED, "weights": REQUIRED},
    "WeightScheduler": {"schedule": REQUIRED, "interpolation": "step"},
    "WriteStats": {},
    "batch_iterator": {"source": ..., "batch_size": REQUIRED, "drop_last": True},
    "block_mixture_interleave": {
        "datasets": REQUIRED,
        "weights": None,
        "block_size": 1000,
        "seed": 42,
        "stop": "restart",
    },
    "build_dataset": {"mixture": REQUIRED},
    "collate_batch": {},
    "create_data_iterator": {
        "dataset": REQUIRED,
        "batch_size": REQUIRED,
        "shuffle": True,
        "drop_last": False,
        "prefetch": True,
        "prefetch_workers": 2,
        "prefetch_buffer": 4,
        "shuffle_buffer": None,
        "seed": None,
    },
    "create_pipeline": {"datasets": REQUIRED, "default_tokenizer": None},
    "create_source": {"config": ...},
    "create_writer": {},
    "expand_data_files": {"data_files": ...},
    "pack_constant_length": {},
    "pack_pre_tokenized": {},
    "preshard_batch": {},
    "pretokenize": {
        "source": REQUIRED,
        "transform": REQUIRED,
        "output_path": REQUIRED,
        "output_format": "parquet",
        "max_shard_size": "500MB",
        "compression": "snappy",
        "num_proc": None,
        "show_progress": True,
    },
    "save_dataset": {
        "source": REQUIRED,
        "output_path": REQUIRED,
        "format": ...,
        "max_shard_size": "500MB",
        "num_shards": None,
        "compression": None,
    },
    "save_iterator": {
        "iterator": REQUIRED,
        "output_path": REQUIRED,
        "format": "parquet",
        "max_shard_size": "500MB",
        "compression": None,
    },
    "tokenize_and_save": {
        "data_files": REQUIRED,
        "tokenizer": REQUIRED,
        "output_path": REQUIRED,
        "output_format": "parquet",
        "max_length": 2048,
    },
    "tokenize_dataset_config": {"source": REQUIRED, "config": REQUIRED, "global_tokenizer": None},
    "wrap_hf_dataset": {"dataset": ...},
}

# What the reference names in sub-packages only.
ELSEWHERE = {
    "core": (
        "MappedShardedDataSource",
        "AsyncDatasetProtocol",
        "PipelineStage",
        "get_dataset_name",
        "merge_tokenizer_config",
    ),
    "execution": ("DatasetWriter", "parse_size"),
    "sources": ("ParquetShardInfo", "load_for_inform"),
    "transforms": (
        "batched_tokenize_iterator",
        "compute_tokenizer_hash",
        "ExpandTransform",
        "DEFAULT_ROLE_MAPPING",
        "Example",
        "TokenizeTransform",
    ),
}


def test_the_manual_has_113_names() -> None:
    assert len(SIGNATURES) + len(SUBMODULES) == 113


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_name_with_its_parameters(name: str) -> None:
    value = getattr(easydata, name)
    assert name in easydata.__all__
    assert name in dir(easydata)
    wanted = SIGNATURES[name]
    if not wanted:
        return
    parameters = inspect.signature(value).parameters
    for parameter, default in wanted.items():
        assert parameter in parameters, f"{name} has no parameter {parameter}"
        if default is ...:
            continue
        got = parameters[parameter].default
        if default is REQUIRED:
            assert got is inspect.Parameter.empty, f"{name}({parameter}=) has the default {got!r}"
        else:
            assert got == default, f"{name}({parameter}=) has the default {got!r}"
    # Positional arguments mean what they mean in EasyDeL.
    positional = [
        parameter.name
        for parameter in parameters.values()
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    if "Inform" not in name:
        shared = [parameter for parameter in positional if parameter in wanted]
        assert shared == [parameter for parameter in wanted if parameter in shared]
        assert positional[: len(shared)] == shared


@pytest.mark.parametrize("name", SUBMODULES)
def test_submodules(name: str) -> None:
    module = getattr(easydata, name)
    assert module is importlib.import_module(f"easydata.{name}")
    for other in ELSEWHERE.get(name, ()):
        assert hasattr(module, other), f"easydata.{name} has no {other}"


def test_import_paths_of_the_manual() -> None:
    from easydata.core.protocols import BaseStage, PipelineContext, ShardedDataSource

    assert easydata.BaseStage is BaseStage
    assert easydata.PipelineContext is PipelineContext
    assert easydata.ShardedDataSource is ShardedDataSource


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean ParquetShardedSource"):
        easydata.ParquetShardedSourc  # noqa: B018


def fresh(code: str) -> str:
    return run_python("-c", code).stdout


def test_import_is_light() -> None:
    """No thread, and nothing that is slow to import, until it is needed."""
    out = fresh(
        "import sys, os, easydata\n"
        "heavy = ('numpy', 'pyarrow', 'transformers', 'tokenizers', 'datasets', 'torch', 'jax')\n"
        "print([name for name in heavy if name in sys.modules], len(os.listdir('/proc/self/task')))"
    )
    assert out.split("\n")[0] == "[] 1"


@pytest.mark.alone
def test_import_is_fast() -> None:
    """The least of a few fresh processes: the machine may be busy with other things."""
    code = "import time; t = time.perf_counter(); import easydata; print(time.perf_counter() - t)"
    deadline = time.monotonic() + 20
    best = float("inf")
    while best >= 0.3 and time.monotonic() < deadline:
        best = min(best, float(fresh(code)))
    assert best < 0.3


def test_using_sources_and_transforms_needs_no_numpy() -> None:
    out = fresh(
        "import sys, easydata\n"
        "easydata.JsonShardedSource, easydata.TransformedShardedSource, easydata.SelectFields\n"
        "easydata.TokenizedShardedSource, easydata.Tokenizer\n"
        "print([name for name in ('numpy', 'transformers', 'datasets') if name in sys.modules])"
    )
    assert out == "[]\n"
