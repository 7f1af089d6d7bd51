"""The module paths of easydel.data 0.3.0: each is there, with the public names that it defines."""

import importlib

import pytest

import easydata

CONFIGS = """
    CacheStageConfig DatasetConfig LoadStageConfig MixStageConfig ObservabilityConfig
    PackStageConfig PipelineConfig RayConfig SaveStageConfig SourceStageConfig TokenizeStageConfig
    TokenizerConfig WeightSchedulePoint get_dataset_name merge_tokenizer_config
"""
PROTOCOLS = """
    AsyncDataset AsyncDatasetProtocol BaseStage MappedShardedDataSource PipelineContext
    PipelineStage ResumeState ShardInfo ShardedDataSource
"""
TYPES = """
    BaseDatasetInform DatasetLoadError DatasetMixture DatasetType TextDatasetInform
    VisualDatasetInform
"""
RAY = """
    RayPreprocessor RayTokenizeWorker TokenizeBatch TokenizedBatch parallel_process_shards
    tokenize_with_ray
"""
CACHE = "CacheLayer CacheMetadata DatasetCache DiskCache MemoryCache TreeCacheManager"
LOADER = """
    AsyncDataLoader LoadStage PrefetchIterator ShardingSpec batch_iterator collate_batch
    create_data_iterator preshard_batch
"""
PIPELINE = "Pipeline build_dataset create_pipeline pretokenize tokenize_and_save"
SAVE = """
    ArrowWriter DatasetWriter JsonlWriter ParquetWriter SaveStage WriteStats create_writer
    parse_size save_dataset save_iterator
"""
FILES = """
    ArrowShardedSource CompositeShardedSource CsvShardedSource HuggingFaceShardedSource
    JsonShardedSource ParquetShardInfo ParquetShardedSource TextShardedSource create_source
    expand_data_files load_for_inform
"""
WRAPPER = "HFDatasetShardedSource wrap_hf_dataset"
TRAINERS = """
    BCOPreprocessTransform CPOPreprocessTransform DPOPreprocessTransform GRPOPreprocessTransform
    KTOPreprocessTransform ORPOPreprocessTransform RewardPreprocessTransform SFTPreprocessTransform
"""
BASE = "ChainedTransform ExpandTransform Transform"
CHAT = """
    ChatTemplateTransform ConvertInputOutputToChatML ConvertToChatML DEFAULT_ROLE_MAPPING
    MaybeApplyChatTemplate
"""
FIELDS = "AddField CombineFields DropFields ExtractField RenameFields SelectFields"
FILTERS = "FilterByField FilterNonEmpty FilterTransform"
MAPS = "MapField MapTransform"
MIXTURE = "MixStage MixedShardState MixedShardedSource WeightScheduler block_mixture_interleave"
PACK = """
    FirstFitPacker GreedyPacker PackStage PackedSequence PackedShardedSource PoolPacker
    pack_constant_length pack_pre_tokenized
"""
SOURCE = "LimitedShardedSource TransformedShardedSource"
TOKENIZE = """
    TokenizeStage TokenizedShardedSource TokenizerManager batched_tokenize_iterator
    compute_tokenizer_hash tokenize_dataset_config
"""

# What each module defines; what a package's __all__ lists.
MODULES = {
    "core": CONFIGS + PROTOCOLS + TYPES,
    "core.config": CONFIGS,
    "core.protocols": PROTOCOLS,
    "core.types": TYPES,
    "distributed": RAY,
    "distributed.ray_utils": RAY,
    "execution": " ".join((CACHE, LOADER, PIPELINE, SAVE)),
    "execution.cache": CACHE,
    "execution.loader": LOADER,
    "execution.pipeline": PIPELINE,
    "execution.save": SAVE,
    "sources": FILES + WRAPPER,
    "sources.base": FILES,
    "sources.hf_wrapper": WRAPPER,
    "transforms": " ".join(
        (BASE, CHAT, FIELDS, FILTERS, MAPS, MIXTURE, PACK, SOURCE, TOKENIZE, TRAINERS)
    ),
    "transforms.base": BASE + " Example",
    "transforms.chat_template": CHAT + " convert_to_chatml is_conversational",
    "transforms.field_ops": FIELDS,
    "transforms.filter_ops": FILTERS,
    "transforms.map_ops": MAPS,
    "transforms.mixture": MIXTURE,
    "transforms.pack": PACK,
    "transforms.source": SOURCE,
    "transforms.tokenize": TOKENIZE,
    "utils": """
        align_columns_intersection get_cached_filesystem glob_files infer_builder_from_ext
        is_streaming warn_deprecated with_retry wrap_format_callback
    """,
}


@pytest.mark.parametrize("path", MODULES)
def test_a_module_has_its_names(path: str) -> None:
    module = importlib.import_module(f"easydata.{path}")
    names = MODULES[path].split()
    assert [name for name in names if not hasattr(module, name)] == []
    # One thing, wherever it is found.
    for name in names:
        if name in easydata.__all__:
            assert getattr(module, name) is getattr(easydata, name), name


def test_there_are_25() -> None:
    assert len(MODULES) == 25


def test_from_value_messages_get_the_keys_of_chatml() -> None:
    from easydata.transforms.chat_template import convert_to_chatml

    messages = [{"from": "human", "value": "a"}, {"role": "assistant", "content": "b"}]
    assert convert_to_chatml(messages) == [{"role": "human", "content": "a"}, messages[1]]


def test_a_deprecation_is_a_warning() -> None:
    from easydata.utils import warn_deprecated

    with pytest.warns(DeprecationWarning, match=r"use new\(\)"):
        warn_deprecated("use new()")
