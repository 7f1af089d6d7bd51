"""What the stages of one pipeline share."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from easydata.core.config import PipelineConfig, TokenizerConfig
from easydata.core.sizes import size_of_option
from easydata.execution.progress import Progress
from easydata.execution.writers import WriteStats
from easydata.sources.create import KnownFiles
from easydata.sources.mixed import MixedShardedSource
from easydata.sources.sharded_source import ShardedDataSource
from easydata.tokenizers.files import View
from easydata.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from easydata.cache.manager import TreeCacheManager

Sources = dict[str, ShardedDataSource[Any]]


@dataclass
class PipelineContext:
    """The config of a pipeline, and what its stages find out on the way.

    Attributes:
        config: The pipeline's config.
        seed: Seed of everything that is shuffled or mixed; None: 0.
        step: Training step, as set by update_step().
        epoch: Pass over the data, as set by update_epoch().
        metrics: What stages have recorded, by stage.
        written: What save() has written, by dataset.
        progress: Makes what shows the progress of a job, from its name and number of rows; None: as
            the config's observability says.
        mixtures: The mixtures that mix() has made, by name.
        listings: The files of each dataset, where freeze() listed them.
        listing: The text of that, for other processes.
        tokenized: The tokenizer of each dataset that was tokenized, by whatever stage did it.
        stages: The names of the stages so far.
        applied: Those of them that apply() added.
        idle_options: Options of the config that are set and do nothing, each with the reason.
        unread: Fields of rows that no token is made of, by dataset.
        keeps_finished: Whether save() keeps finished outputs of this very job even where it had
            finished all; else running it again is an error.
        by_content: Datasets whose files are known by a hash of all of them, as the cache's options
            say.
    """

    config: PipelineConfig
    seed: int | None = None
    step: int = 0
    epoch: int = 0
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    written: dict[str, WriteStats] = field(default_factory=dict)
    progress: Callable[[str, int | None], Progress] | None = field(
        default=None, repr=False, compare=False
    )
    listings: dict[str, KnownFiles] = field(default_factory=dict, repr=False, compare=False)
    listing: str | None = field(default=None, repr=False, compare=False)
    mixtures: dict[str, MixedShardedSource] = field(default_factory=dict, repr=False, compare=False)
    tokenized: dict[str, Tokenizer] = field(default_factory=dict, repr=False, compare=False)
    stages: list[str] = field(default_factory=list)
    applied: set[str] = field(default_factory=set, repr=False, compare=False)
    idle_options: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    unread: dict[str, list[str]] = field(default_factory=dict, repr=False, compare=False)
    keeps_finished: bool = False
    by_content: set[str] = field(default_factory=set, repr=False, compare=False)
    _tokenizers: dict[Any, Tokenizer] = field(default_factory=dict, repr=False, compare=False)
    _cache_manager: "TreeCacheManager | None" = field(default=None, repr=False, compare=False)

    def get_tokenizer(
        self, name: Any, view: View = "json", split_special_tokens: bool | None = None
    ) -> Tokenizer:
        """The tokenizer of that name, path or object; made once for each way of reading."""
        key = (name if isinstance(name, str) else id(name), view, split_special_tokens)
        if key not in self._tokenizers:
            plain = isinstance(name, Tokenizer) and split_special_tokens is None
            made = name if plain else Tokenizer(name, view, split_special_tokens)
            self._tokenizers[key] = made
        return self._tokenizers[key]

    def tokenizer_of(self, config: TokenizerConfig) -> Tokenizer:
        """The tokenizer that a config names."""
        return self.get_tokenizer(config.name_or_path, config.view, config.split_special_tokens)

    @property
    def cache_manager(self) -> "TreeCacheManager":
        """A cache for code of your own, in `cache_dir` of the pipeline's cache, with its options.

        It is made when it is first asked for, whether the pipeline keeps rows or not.

        Raises:
            ValueError: `cache_dir` is on an object store.
        """
        if self._cache_manager is None:
            # lazy: pipelines do without it
            from easydata.cache.manager import TreeCacheManager

            options = self.config.cache
            if "://" in options.cache_dir:
                raise ValueError(
                    "PipelineContext.cache_manager: values are kept in a folder of this machine, "
                    f"and cache.cache_dir is {options.cache_dir!r}; make a TreeCacheManager with a "
                    "folder of its own"
                )
            self._cache_manager = TreeCacheManager(
                options.cache_dir,
                options.memory_cache_size,
                options.disk_cache_expiry,
                options.compression,
                max_bytes=size_of_option("cache.max_bytes", options.max_bytes),
            )
        return self._cache_manager

    def update_step(self, step: int) -> None:
        """Tells the training step."""
        self.step = step

    def update_epoch(self, epoch: int) -> None:
        """Tells the pass over the data."""
        self.epoch = epoch

    def record_metric(self, stage: str, key: str, value: Any) -> None:
        """Keeps a figure of a stage, unless observability.metrics_enabled is off."""
        if self.config.observability.metrics_enabled:
            self.metrics.setdefault(stage, {})[key] = value

    def get_metrics(self) -> dict[str, dict[str, Any]]:
        """A copy of what stages have recorded, by stage."""
        return {stage: dict(values) for stage, values in self.metrics.items()}


@dataclass
class ResumeState:
    """A position by hand: shard and row, for sources that are read row by row.

    The position of a loader is what its state_dict() gives.
    """

    shard_index: int = 0
    row_index: int = 0
    epoch: int = 0
    step: int = 0
    dataset_states: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The state as a dict that from_dict() takes."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "ResumeState":
        """The state that to_dict() was called on."""
        return cls(**state)
