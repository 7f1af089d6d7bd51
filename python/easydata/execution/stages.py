"""The stages that a pipeline has methods for."""

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.core.config import (
    ConfigError,
    DatasetConfig,
    LoadStageConfig,
    MixStageConfig,
    PackStageConfig,
    TokenizerConfig,
    TokenizeStageConfig,
    merge_tokenizer_config,
)
from easydata.core.config_class import is_set, options_of
from easydata.execution.async_loader import AsyncDataLoader, OneOfLoaders
from easydata.execution.cache_stage import is_known_by_content, kept_tokens
from easydata.execution.context import PipelineContext, Sources
from easydata.execution.frozen_listing import storage_options_of
from easydata.execution.idle_options import judge
from easydata.execution.stage import BaseStage
from easydata.sources.create import (
    dataset_rows,
    formatted,
    has_transforms,
    rows_path_of,
    transforms_of,
)
from easydata.sources.known_fields import absent_fields, require_fields
from easydata.sources.mixed import MixedShardedSource
from easydata.sources.of_tokenizer import OfTokenizerSource
from easydata.sources.packed import PackedShardedSource
from easydata.sources.sharded_source import (
    ShardedDataSource,
    TransformedShardedSource,
    Unkeep,
    chain_of,
)
from easydata.sources.tokenized import TokenizedShardedSource
from easydata.sources.weight_schedule import WeightScheduler
from easydata.tokenizers.files import choose_view
from easydata.transforms.fields import DropFields
from easydata.transforms.trainer_examples import gives_examples

_log = logging.getLogger("easydata")

# What a mixture is called.
MIXED = "mixed"


class SourceStage(BaseStage):
    """Opens the datasets of the pipeline's config."""

    name = "source"

    def process(self, data: Sources, context: PipelineContext) -> Sources:
        """Gives a source for each dataset; `data` is not looked at."""
        made: Sources = {}
        commits: dict[str, str] = {}
        for dataset in context.config.datasets:
            reached = copy.copy(dataset)  # it was checked, and there may be thousands
            if is_known_by_content(dataset, context.config):
                reached.identity = "content"
                context.by_content.add(str(dataset.name))
            reached.storage_options = storage_options_of(dataset, context.config.source)
            if dataset.view is not None:
                tokenizer = _tokenizer_config(dataset, context)
                choose_view(None if tokenizer is None else tokenizer.name_or_path)
            known = context.listings.get(str(dataset.name))
            source = formatted(dataset_rows(reached, context.seed, known, commits), dataset)
            for step in dataset_transforms(dataset, context):
                source = source.transform(step)
            if str(dataset.name) in context.tokenized:
                is_on = context.config.tokenize.cache_tokenized
                source = kept_tokens(source, dataset, context, is_on=is_on)
            made[str(dataset.name)] = source
        return made


def dataset_transforms(dataset: DatasetConfig, context: PipelineContext) -> list[Any]:
    """What a dataset's transforms say, with the tokenizer that the pipeline gives them."""
    if not has_transforms(dataset):
        return []
    config = _tokenizer_config(dataset, context)
    steps = transforms_of(dataset, config, context.tokenizer_of)
    for step in filter(gives_examples, steps):
        context.tokenized[str(dataset.name)] = step.tokenizer
    return steps


def _tokenizer_config(dataset: DatasetConfig, context: PipelineContext) -> TokenizerConfig | None:
    config = context.config
    return merge_tokenizer_config(dataset, config.default_tokenizer, config.tokenize)


def _of_datasets(
    made_of: Callable[[str, ShardedDataSource[Any], PipelineContext], ShardedDataSource[Any]],
    name: str,
    source: ShardedDataSource[Any],
    context: PipelineContext,
) -> ShardedDataSource[Any]:
    """What a stage makes of a source, or of each dataset of a mixture.

    Mixing moves rows about and nothing else: tokens of the mixed rows are the mixed rows of tokens,
    and each dataset keeps its own tokenizer.
    """
    mixture = context.mixtures.get(name)
    if mixture is None or mixture is not source:
        return made_of(name, source, context)
    inputs = [made_of(key, item, context) for key, item in mixture.sources.items()]
    context.mixtures[name] = mixture._over(inputs)
    return context.mixtures[name]


class TokenizeStage(BaseStage):
    """Makes tokens of text, with each dataset's own tokenizer, the stage's or the pipeline's."""

    name = "tokenize"

    def __init__(self, config: TokenizeStageConfig | None = None) -> None:
        super().__init__(config)
        self._config = config or TokenizeStageConfig()

    def process(self, data: Sources, context: PipelineContext) -> Sources:
        """Tokenizes each source; tokens that need no tokenizer stay as they are.

        Raises:
            ConfigError: A dataset names no tokenizer and has no tokens, or an option names a field
                that there is not.
        """
        self._check_removed(data, context)
        return {name: _of_datasets(self._kept, name, data[name], context) for name in data}

    def _kept(
        self, name: str, source: ShardedDataSource[Any], context: PipelineContext
    ) -> ShardedDataSource[Any]:
        made = self._tokenized(name, source, context)
        dataset = self._get_dataset_config(name, context)
        return kept_tokens(made, dataset, context, is_on=self._config.cache_tokenized)

    def _tokenized(
        self, name: str, source: ShardedDataSource[Any], context: PipelineContext
    ) -> ShardedDataSource[Any]:
        dataset = self._get_dataset_config(name, context) or _shared_dataset(name, context)
        config = merge_tokenizer_config(dataset, context.config.default_tokenizer, self._config)
        removed = set(self._config.remove_columns or ())
        if str(dataset.name) in context.tokenized and _has_examples(Unkeep().of(source)):
            return source.transform(DropFields(sorted(removed))) if removed else source
        if "input_ids" in removed:
            raise ValueError("tokenize.remove_columns must keep input_ids, which is what is made")
        if config is None:
            if dataset.tokenizer_kwargs:
                raise ValueError(f"dataset {name!r} has tokenizer_kwargs, but names no tokenizer")
            absent, names = absent_fields(source, ["input_ids"])
            if absent:
                raise ConfigError(
                    f"dataset {name!r}",
                    [
                        "names no tokenizer, and its rows have no input_ids; set its tokenizer=, "
                        "tokenize.default_tokenizer or default_tokenizer; its fields: "
                        + ", ".join(names)
                    ],
                )
            _log.info("dataset %r names no tokenizer: its rows go through as they are", name)
            return source.transform(DropFields(sorted(removed))) if removed else source
        if "attention_mask" in removed:
            config.return_attention_mask = False
        if dataset.additional_fields and source._plan.column_names() is None:
            # Where there is a schema, the engine names what it lacks.
            option = f"additional_fields of dataset {dataset.name!r}"
            require_fields(source, dataset.additional_fields, option)
        kept = [field for field in dataset.additional_fields or () if field not in removed]
        tokenizer = context.tokenizer_of(config)
        own = self._get_dataset_config(name, context)
        for tokenized in [own] if own else context.config.datasets:
            context.tokenized[str(tokenized.name)] = tokenizer
        return TokenizedShardedSource(
            source,
            tokenizer,
            config,
            content_field=dataset.content_field,
            additional_fields=kept or None,
            batch_size=self._config.batch_size,
            num_workers=self._config.num_workers,
            on_error=dataset.on_error,
            quarantine_path=rows_path_of(dataset),
        )

    def _check_removed(self, data: Sources, context: PipelineContext) -> None:
        """Raises for names in remove_columns that are fields of no dataset."""
        known = {"input_ids", "attention_mask"}
        for dataset in context.config.datasets:
            known.update(dataset.additional_fields or (), dataset.format_fields or ())
        unknown = [name for name in self._config.remove_columns or () if name not in known]
        if not unknown:
            return
        fields: dict[str, None] = {}
        for name, source in data.items():
            mixture = context.mixtures.get(name)
            inputs = [source] if mixture is None else mixture._inputs
            for each in inputs:
                # What a callback takes away was there, too.
                each = Unkeep().of(each)
                below = chain_of(each)[0] if isinstance(each, TransformedShardedSource) else each
                for looked_at in {id(each): each, id(below): below}.values():
                    unknown, names = absent_fields(looked_at, unknown)
                    fields.update(dict.fromkeys(names))
        if unknown and fields:
            raise ConfigError(
                "tokenize.remove_columns",
                [
                    f"names {name!r}, but no row has it{_native.suggestion(name, list(fields))}"
                    for name in unknown
                ],
            )


def _has_examples(source: ShardedDataSource[Any]) -> bool:
    """Whether a source's rows are examples for a trainer, of tokens already."""
    return isinstance(source, TransformedShardedSource) and any(
        gives_examples(step) for step in chain_of(source)[1]
    )


def _shared_dataset(name: str, context: PipelineContext) -> DatasetConfig:
    """What holds for all datasets, for a source that a stage has made of several.

    Raises:
        RuntimeError: When the datasets are tokenized in different ways.
    """
    first, *others = context.config.datasets
    ways = ("tokenizer", "tokenizer_kwargs", "content_field", "additional_fields", "on_error")
    for other in others:
        for option in ways:
            if getattr(first, option) != getattr(other, option):
                raise RuntimeError(
                    f"tokenize() does not know how to tokenize {name!r}, which is made of "
                    "several datasets: "
                    f"{option} differs between {first.name!r} and {other.name!r}; tokenize before"
                )
    return first


class MixStage(BaseStage):
    """Makes one stream of several datasets."""

    name = "mix"

    def __init__(self, config: MixStageConfig | None = None) -> None:
        super().__init__(config)
        self._config = config or MixStageConfig()

    def process(self, data: Sources, context: PipelineContext) -> Sources:
        """Gives {"mixed": the mixture}, or one dataset as it is."""
        if len(data) < 2:
            return data
        config = self._config
        options = options_of(config, "MixOptions")
        if config.seed is None:
            options["seed"] = context.seed
        if config.weight_schedule:
            points: list[Any] = list(config.weight_schedule)
            options["weight_scheduler"] = WeightScheduler(points, config.weight_schedule_type)
        else:
            options["weights"] = config.weights
        context.mixtures[MIXED] = MixedShardedSource(data, **options)
        return {MIXED: context.mixtures[MIXED]}


class PackStage(BaseStage):
    """Puts documents into rows of one length."""

    name = "pack"

    def __init__(self, config: PackStageConfig | None = None) -> None:
        super().__init__(config)
        self._config = config or PackStageConfig()

    def process(self, data: Sources, context: PipelineContext) -> Sources:
        """Puts a packer downstream of each source."""
        options = options_of(self._config, "PackedOptions", shuffle="shuffle_packed")
        options["seed"] = context.seed
        if not is_set(self._config, "pad_token_id"):
            options["pad_token_id"] = None  # it reads as the manual's 0
        packed: Sources = {}
        for name, source in data.items():
            if self._config.eos_token_id is None:
                source = _of_datasets(self._of_tokenizer, name, source, context)
            packed[name] = PackedShardedSource(source, **options)
        return packed

    def _of_tokenizer(
        self, name: str, source: ShardedDataSource[Any], context: PipelineContext
    ) -> ShardedDataSource[Any]:
        """The source, whose tokens are of the tokenizer that the dataset names, if they come so."""
        dataset = self._get_dataset_config(name, context)
        if dataset is None or name in context.tokenized:
            return source
        config = _tokenizer_config(dataset, context)
        if config is None:
            return source
        return OfTokenizerSource(source, context.tokenizer_of(config), f"dataset {name!r}")


class LoadStage(BaseStage):
    """Makes batches of rows.

    Args:
        config: The options.
        sharding_map: Where arrays are put; see AsyncDataLoader.
        mesh: In place of it: a `jax.sharding.Mesh` that the rows of each batch are split over.
        batch_axes: The axes of the mesh that they are split over, the outermost first; None: the
            only axis that it has.
    """

    name = "load"

    def __init__(
        self,
        config: LoadStageConfig | None = None,
        *,
        sharding_map: Mapping[str, Any] | Any = None,
        mesh: Any = None,
        batch_axes: str | Sequence[str] | None = None,
    ) -> None:
        super().__init__(config)
        if mesh is not None and sharding_map is not None:
            raise ValueError("mesh and sharding_map both say where arrays are put; give one")
        if mesh is None and batch_axes is not None:
            raise ValueError("batch_axes are axes of a mesh; give mesh=, too")
        self._config = config or LoadStageConfig()
        self._sharding_map, self._mesh, self._batch_axes = sharding_map, mesh, batch_axes

    def process(self, data: Sources, context: PipelineContext) -> dict[str, Any]:
        """Gives a loader for each source."""
        config = self._config
        loader = AsyncDataLoader if len(data) == 1 else OneOfLoaders
        options = options_of(config, "LoadOptions")
        if config.seed is None:
            options["seed"] = context.seed
        sharding_map = self._sharding_map
        if self._mesh is not None:
            # lazy: JAX is installed with an extra
            from easydata.execution.mesh_rows import rows_over

            sharding_map, ranks = rows_over(self._mesh, self._batch_axes)
            if config.world_size > 1 and (config.rank, config.world_size) != tuple(ranks.values()):
                raise ValueError(
                    "load.rank and load.world_size are not those of the mesh; leave them out; they "
                    f"are {config.rank} of {config.world_size}, the mesh has {ranks['rank']} of "
                    f"{ranks['world_size']}"
                )
            options.update(ranks)
        loaders = {
            name: loader(source, sharding_map=sharding_map, padding=config.padding, **options)
            for name, source in data.items()
        }
        streams = {name: each._native.stream for name, each in loaders.items()}
        judge(context, data, streams, "load")
        return loaders
