"""The pipeline: stages, one after the other."""

import dataclasses
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, cast

from easydata.core.config import (
    CacheStageConfig,
    ConfigError,
    DatasetConfig,
    LoadStageConfig,
    MixStageConfig,
    PackStageConfig,
    PipelineConfig,
    SaveStageConfig,
    TokenizeStageConfig,
    check,
)
from easydata.core.short_repr import call, table
from easydata.execution.cache_stage import CacheStage
from easydata.execution.context import PipelineContext
from easydata.execution.frozen_listing import freeze_listings
from easydata.execution.idle_options import judge
from easydata.execution.loaders_in_turn import LoadersInTurn
from easydata.execution.save_stage import SaveStage
from easydata.execution.stage import PipelineStage
from easydata.execution.stages import (
    LoadStage,
    MixStage,
    PackStage,
    SourceStage,
    TokenizeStage,
)
from easydata.execution.units.coordinate import is_shared_out
from easydata.execution.units.fill import fill_before_loading

# What may not come after what: each stage comes once, and before these.
_BEFORE = {
    "tokenize": ("pack", "load"),
    "cache": ("mix", "pack", "load"),
    "mix": ("pack", "load"),
    "pack": ("load",),
    "save": ("load",),
    "load": (),
}

# More of where a stage belongs.
_WHERE = {"cache": ", right after tokenize(): rows are kept for each dataset, block by block"}

if TYPE_CHECKING:
    # What type checkers bring along: with it `Pipeline` alone, too, is a type.
    from typing_extensions import TypeVar

    from easydata.execution.async_loader import AsyncDataLoader
    from easydata.execution.writers import WriteStats

    _Built_co = TypeVar("_Built_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    _Built_co = TypeVar("_Built_co", covariant=True)

_C = TypeVar("_C")

_log = logging.getLogger("easydata")


class Pipeline(Generic[_Built_co]):
    """Puts stages one after the other; rows flow when the result is read.

    Each method adds a stage and gives the pipeline back: `source()` first, then any of
    `tokenize()`, `cache()`, `mix()`, `pack()`, `save()` and `load()`, in that order or another that
    makes sense, and `build()` last. Calling a stage means it: options given to it replace those of
    the config, and `enabled=False` in them has no say (but for that of `cache()`). Only `save()`
    does its work at once.

    Args:
        config: The datasets, and the options of the stages.
    """

    def __init__(self, config: PipelineConfig) -> None:
        if not isinstance(config, PipelineConfig):
            raise TypeError(
                f"Pipeline() takes a PipelineConfig, not a {type(config).__name__}; a dict or the "
                "path of a config file takes Pipeline.from_config()"
            )
        self._context = PipelineContext(config=config, seed=config.seed)
        self._data: dict[str, Any] | None = None
        self._advised: set[str] = set()

    def __repr__(self) -> str:
        config = self._context.config
        return call("Pipeline", [each.name for each in config.datasets], stages=self.get_stages())

    def _repr_html_(self) -> str:
        made = {name: f"{made!r}" for name, made in (self._data or {}).items()}
        return table("Pipeline", {**made, "stages": " → ".join(self.get_stages()) or "none yet"})

    @classmethod
    def from_config(
        cls, config: PipelineConfig | Mapping[str, Any] | str | os.PathLike[str]
    ) -> "Pipeline[Iterator[dict[str, Any]]]":
        """Makes a pipeline of a config, a dict of its options, or a YAML or JSON file."""
        if isinstance(config, Mapping):
            config = PipelineConfig.from_dict(config)
        elif not isinstance(config, PipelineConfig):
            config = PipelineConfig.from_file(config)
        return cast("Pipeline[Any]", cls(config))

    def source(self) -> "Pipeline[Iterator[dict[str, Any]]]":
        """Opens the datasets.

        Raises:
            ConfigError: With everything that is wrong with the config.
            NotImplementedError: When the config asks for what has not come yet.
            FileNotFoundError: When data_files match nothing.
        """
        if self._data is not None:
            raise RuntimeError("source() was called before; a pipeline has one source stage")
        logging.getLogger("easydata").setLevel(self._context.config.observability.log_level)
        self._check(self._context.config)
        if self._context.listing is None and is_shared_out(self._context.config):
            self.freeze()  # other processes read the files that this one found
        self._data = SourceStage().process({}, self._context)
        self._context.stages.append("source")
        return cast("Pipeline[Any]", self)

    def freeze(self, listing: str | None = None) -> str:
        """Lists the files of the datasets, once, for all processes of a job.

        One process calls it before source() and hands the text to the others, which give it to
        theirs: no other then asks a store what there is, and all read the same files. (`ranks()`
        of easydata.torch and easydata.jax do both: ``ranks(pipeline=pipeline)``.)

        Args:
            listing: What freeze() of another process returned; None: the files are listed here.

        Returns:
            The listing as JSON: names, sizes and identities, the commits of tokenizers that the
            config names on the Hub, and no credentials.

        Raises:
            FileNotFoundError: When data_files match nothing.
            ValueError: When the listing is not one of these datasets.
        """
        if self._data is not None:
            raise RuntimeError("freeze() comes before source(), which lists the files otherwise")
        self._check(self._context.config)
        self._context.listings, text = freeze_listings(self._context.config, listing)
        self._context.listing = text
        return text

    def tokenize(
        self, config: TokenizeStageConfig | None = None
    ) -> "Pipeline[Iterator[dict[str, Any]]]":
        """Makes tokens of every dataset that a tokenizer is named for; the others go through."""
        return self._run(TokenizeStage(self._options("tokenize", config)))

    def cache(self, config: CacheStageConfig | None = None) -> "Pipeline[Iterator[dict[str, Any]]]":
        """Keeps the rows of each dataset as they are here, so that later runs find them.

        After tokenize() they are tokens. A config whose `cache` is given does as much without this
        call, right after tokenize(). Of these options alone `enabled=False` has a say here, too,
        as have `cache_enabled` of a dataset and `cache_tokenized`.

        Raises:
            ConfigError: The options are not those of the config, and say what files are known by,
                which source() has to know.
            RuntimeError: After mix() or pack().
        """
        return self._run(CacheStage(self._options("cache", config)))

    def mix(self, config: MixStageConfig | None = None) -> "Pipeline[Iterator[dict[str, Any]]]":
        """Makes one stream, "mixed", of several datasets; one dataset stays as it is."""
        return self._run(MixStage(self._options("mix", config)))

    def pack(self, config: PackStageConfig | None = None) -> "Pipeline[Iterator[dict[str, Any]]]":
        """Puts documents into rows of one length."""
        return self._run(PackStage(self._options("pack", config)))

    def save(self, config: SaveStageConfig | None = None) -> "Pipeline[dict[str, WriteStats]]":
        """Writes what has come so far, now; what follows reads on from the stages before.

        Raises:
            FileExistsError: When there is an output already and `overwrite` is not set.
            ValueError: When the stream never ends.
        """
        return self._run(SaveStage(self._options("save", config)))

    def load(
        self,
        config: LoadStageConfig | None = None,
        *,
        sharding_map: Mapping[str, Any] | Any = None,
        mesh: Any = None,
        batch_axes: str | Sequence[str] | None = None,
    ) -> "Pipeline[AsyncDataLoader]":
        """Makes batches.

        (To a type checker build() gives a loader after it. That of several unmixed datasets can
        do the same.)

        Args:
            config: Options in place of the pipeline's.
            sharding_map: `{column: jax sharding}`, or one sharding for all columns: where arrays
                are put.
            mesh: In place of it: a `jax.sharding.Mesh` that the rows of each batch are split over.
                `rank` and `world_size` follow from it.
            batch_axes: The axes of the mesh that rows are split over, the outermost first; None:
                the only axis that it has.

        Raises:
            ValueError: When `prefetch_to_device` is set and neither says which devices; as
                easydata.jax.ranks() does for the mesh.
        """
        options = self._options("load", config)
        if self._context.config.ray.enabled:
            fill_before_loading(self._context)
        stage = LoadStage(options, sharding_map=sharding_map, mesh=mesh, batch_axes=batch_axes)
        return self._run(stage)

    def apply(self, stage: PipelineStage) -> "Pipeline[Any]":
        """Adds a stage of your own (see BaseStage)."""
        name = getattr(stage, "name", None)
        if not isinstance(name, str) or not callable(getattr(stage, "process", None)):
            raise TypeError(
                "apply() takes a stage, an object with a name and process(data, context); "
                f"derive it from BaseStage; got {type(stage).__name__}"
            )
        self._ready(name, custom=True)
        options = getattr(stage, "_options", None)
        validate = getattr(stage, "validate_config", None)
        if validate is not None and not validate(options):
            raise ValueError(f"stage {name!r} refuses its options: {options!r}")
        self._context.applied.add(name)
        return self._run(stage)

    def build(self) -> _Built_co:
        """What the chain makes.

        Returns:
            After load(): the loader, or for several unmixed datasets one that takes their batches
            in turn, with the single ones in `.loaders`. After save() alone: `{name: WriteStats}`.
            Else an iterator over the rows, as dicts.

        Raises:
            ConfigError: When an option is set that nothing in the chain heeds; so do save() and
                load().
        """
        data = self._ready("build")
        if self._context.stages[-1] == "load":
            if len(data) == 1:
                return cast("_Built_co", next(iter(data.values())))

            return cast("_Built_co", LoadersInTurn(data))
        if self._context.stages[-1] == "save":
            return cast("_Built_co", dict(self._context.written))
        if self._context.config.ray.enabled:
            raise ConfigError(
                "ray",
                [
                    "ray.enabled: rows that are iterated over are read by this process; save() "
                    "them, or load() them from a cache, which Ray fills first"
                ],
            )
        judge(self._context, data, {name: source._stream() for name, source in data.items()})
        return cast("_Built_co", _rows(data))

    def get_data(self) -> dict[str, Any]:
        """What the stages so far have made, by dataset: sources, or loaders after load()."""
        return dict(self._ready("get_data"))

    def explain(self) -> dict[str, Any]:
        """What of the config and of the rows has no effect, though it may look so.

        Returns:
            `{"options_without_effect": {option: why}, "fields_not_read": {dataset: [field]}}`, as
            far as build(), save() and load() have looked. Options are those that are set and that
            another one supersedes, or that are taken for compatibility; one that was meant to do
            something and does not is an error there. Fields are those of the first 1,000 rows of a
            dataset that hold text, or that carry meaning, and that no token is made of.
        """
        self._ready("explain")
        return {
            "options_without_effect": dict(self._context.idle_options),
            "fields_not_read": {name: list(each) for name, each in self._context.unread.items()},
        }

    def get_context(self) -> PipelineContext:
        """What the stages share."""
        return self._context

    def get_stages(self) -> list[str]:
        """The names of the stages so far."""
        return list(self._context.stages)

    def _ready(self, name: str, *, custom: bool = False) -> dict[str, Any]:
        """The data so far, where a stage called `name` may come now."""
        if self._data is None:
            raise RuntimeError("Call source() before other pipeline stages")
        if "load" in self._context.stages and (custom or name in _BEFORE):
            raise RuntimeError(f"{name}() cannot follow load(): batches are the end of a pipeline")
        if not custom and name in _BEFORE:
            if name in self._context.stages:
                raise RuntimeError(f"{name}() was called before; a pipeline has one {name} stage")
            for later in _BEFORE[name]:
                if later in self._context.stages:
                    raise RuntimeError(
                        f"{name}() cannot follow {later}(); call it before{_WHERE.get(name, '')}"
                    )
        return self._data

    def _options(self, field: str, given: _C | None) -> _C:
        """The options of a stage that may come now: those given, checked, or the config's."""
        self._ready(field)
        config = self._context.config
        if given is None:
            return cast(_C, getattr(config, field))
        wanted = type(getattr(config, field))
        if not issubclass(type(given), wanted):
            raise TypeError(f"{field}() takes a {wanted.__name__}, not {type(given).__name__}")
        change: dict[str, Any] = {field: given}
        changed = dataclasses.replace(config, **change)
        self._check(changed)
        self._context.config = changed
        return given

    def _check(self, config: PipelineConfig) -> None:
        """Raises for a config that cannot be run, and says once what is hardly meant."""
        for said in check(config):
            if said not in self._advised:
                _log.warning("%s", said)
                self._advised.add(said)

    def _run(self, stage: PipelineStage) -> "Pipeline":
        assert self._data is not None
        made = stage.process(dict(self._data), self._context)
        if not isinstance(made, Mapping) or not made:
            raise TypeError(
                f"stage {stage.name!r} must give a dict of sources by name, "
                f"not {type(made).__name__}"
            )
        self._data = dict(made)
        self._context.stages.append(stage.name)
        return self


def _rows(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for source in data.values():
        yield from source


def create_pipeline(
    datasets: Sequence[DatasetConfig | Mapping[str, Any]],
    default_tokenizer: Any = None,
    **options: Any,
) -> Pipeline:
    """Makes a pipeline of datasets and options of PipelineConfig.

    Args:
        datasets: Configs, or dicts of their options.
        default_tokenizer: Tokenizer of datasets that name none.
        **options: More options of PipelineConfig: configs, or dicts of their options.
    """
    if isinstance(datasets, (DatasetConfig, Mapping, str, os.PathLike)):
        PipelineConfig(datasets=datasets)  # type: ignore[arg-type]  # refuses it
    return Pipeline.from_config(
        {"datasets": list(datasets), "default_tokenizer": default_tokenizer, **options}
    )
