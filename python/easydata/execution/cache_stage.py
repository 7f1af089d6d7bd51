"""Where a pipeline keeps the rows that it has made."""

from typing import Any

from easydata.core.config import ConfigError, DatasetConfig, PipelineConfig
from easydata.core.config_class import is_set
from easydata.execution.context import PipelineContext, Sources
from easydata.execution.stage import BaseStage
from easydata.sources.sharded_source import Keep, ShardedDataSource, Unkeep
from easydata.sources.token_stores import Keeping

# What a data file is known by where nobody says; DatasetConfig.identity.
_IDENTITY = DatasetConfig.identity


def keeping_of(
    dataset: DatasetConfig | None, config: PipelineConfig, *, is_called: bool = False
) -> Keeping | None:
    """How the rows of a dataset are kept; None: they are not.

    Args:
        dataset: The dataset; None: rows of several.
        config: The pipeline's.
        is_called: Whether somebody asks for a cache beside the config.
    """
    stage = config.cache
    is_given = is_set(config, "cache")
    if not stage.enabled or (dataset is not None and not dataset.cache_enabled):
        return None
    if dataset is not None and dataset.cache_path is not None:
        return Keeping.at(
            dataset.cache_path,
            stage if is_given or is_called else None,
            storage_options=dataset.storage_options,
        )
    return Keeping.of_stage(stage) if is_given or is_called else None


def is_known_by_content(dataset: DatasetConfig, config: PipelineConfig) -> bool:
    """Whether the cache knows a dataset's files by a hash of all of them, and nobody else says."""
    by_content = config.cache.hash_fn == "content" and keeping_of(dataset, config) is not None
    return by_content and is_set(config, "cache") and dataset.identity == _IDENTITY


def kept_tokens(
    source: ShardedDataSource[Any],
    dataset: DatasetConfig | None,
    context: PipelineContext,
    *,
    is_on: bool,
) -> ShardedDataSource[Any]:
    """The rows of tokens of a dataset, kept where the config says so and no cache() came before."""
    if "cache" in context.stages:
        return source
    return _kept(source, keeping_of(dataset, context.config) if is_on else None)


def _kept(source: ShardedDataSource[Any], keeping: Keeping | None) -> ShardedDataSource[Any]:
    """The rows of a source as they are kept here, and nowhere before."""
    bare = Unkeep().of(source)
    return bare if keeping is None else Keep(keeping).of(bare)


class CacheStage(BaseStage):
    """Keeps the rows of each dataset as they are right here."""

    name = "cache"

    def process(self, data: Sources, context: PipelineContext) -> Sources:
        """Gives the sources, each with its cache.

        Raises:
            ConfigError: The options say what files are known by, which source() has to know.
        """
        config = context.config
        self._check_identities(context)
        made: Sources = {}
        for name, source in data.items():
            dataset = self._get_dataset_config(name, context)
            are_tokens = "tokenize" in context.stages or name in context.tokenized
            is_on = config.tokenize.cache_tokenized or not are_tokens
            keeping = keeping_of(dataset, config, is_called=True) if is_on else None
            made[name] = _kept(source, keeping)
        return made

    def _check_identities(self, context: PipelineContext) -> None:
        if context.config.cache.hash_fn != "content":
            return
        others = [
            str(dataset.name)
            for dataset in context.config.datasets
            if dataset.identity == _IDENTITY and str(dataset.name) not in context.by_content
        ]
        if others:
            raise ConfigError(
                "cache",
                [
                    "hash_fn: source() has looked at the files already; give it in the config, "
                    'PipelineConfig(cache=CacheStageConfig(hash_fn="content")), or set '
                    f'identity="content" of {", ".join(map(repr, others))}'
                ],
            )
