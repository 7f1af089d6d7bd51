# ruff: noqa: D101 (the docstrings come from the engine)
"""The configs of datasets, stages and pipelines.

Their options come from the engine (see config_class.py); docs/reference/configs.md lists them.
"""

import os
from collections.abc import Mapping
from typing import Any

from easydata.core.config_class import (
    ConfigError,
    check,
    config_hash,
    declared,
    from_plain,
    is_set,
    plain,
    problems_of,
    require,
)
from easydata.core.config_file import read_config_file

__all__ = [
    "CacheStageConfig",
    "ConfigError",
    "DatasetConfig",
    "LoadStageConfig",
    "MixStageConfig",
    "ObservabilityConfig",
    "PackStageConfig",
    "PipelineConfig",
    "RayConfig",
    "SaveStageConfig",
    "SourceStageConfig",
    "TokenizeStageConfig",
    "TokenizerConfig",
    "WeightSchedulePoint",
    "check",
    "config_hash",
    "get_dataset_name",
    "merge_tokenizer_config",
]


# Options of TokenizerConfig that are no options of a call.
_CONSTRUCTION = (
    "name_or_path",
    "trust_remote_code",
    "view",
    "split_special_tokens",
    "chat_template",
    "template_date",
    "chat_template_kwargs",
)


@declared
class TokenizerConfig:
    def to_dict(self) -> dict[str, Any]:
        """The options of a call of the tokenizer: all but those that it is made with."""
        call = (name for name in self.__dataclass_fields__ if name not in _CONSTRUCTION)
        return {name: getattr(self, name) for name in call}


@declared
class DatasetConfig:
    def __post_init__(self) -> None:
        require(self, "data_files")

    def get_tokenizer_config(self) -> TokenizerConfig | None:
        """The dataset's own tokenizer with its options; None when it names none."""
        return _with_options(self.tokenizer, self.tokenizer_kwargs, None)


@declared
class SourceStageConfig:
    pass


@declared
class TokenizeStageConfig:
    pass


@declared
class CacheStageConfig:
    pass


@declared
class WeightSchedulePoint:
    def __post_init__(self) -> None:
        require(self, "step", "weights")


@declared
class MixStageConfig:
    def __post_init__(self) -> None:
        require(self, "weights")


@declared
class PackStageConfig:
    pass


@declared
class LoadStageConfig:
    pass


@declared
class SaveStageConfig:
    pass


@declared
class RayConfig:
    pass


@declared
class ObservabilityConfig:
    pass


@declared
class PipelineConfig:
    def __post_init__(self) -> None:
        if isinstance(self.datasets, (DatasetConfig, Mapping, str, os.PathLike)):
            kind = type(self.datasets).__name__
            raise ConfigError(
                "PipelineConfig",
                [f"datasets must be a list of DatasetConfigs, not a {kind}; write [{_one(kind)}]"],
            )
        if not self.datasets:
            raise ConfigError("PipelineConfig", ["datasets must name at least one dataset"])
        unnamed = [
            dataset
            for dataset in self.datasets
            if isinstance(dataset, DatasetConfig) and dataset.name is None
        ]
        if len(unnamed) == len(self.datasets):
            for dataset, name in zip(unnamed, _names_in_weights(self), strict=False):
                dataset.name = name
        for position, dataset in enumerate(self.datasets):
            if isinstance(dataset, DatasetConfig) and dataset.name is None:
                dataset.name = get_dataset_name(dataset, position)

    def get_dataset_by_name(self, name: str) -> DatasetConfig | None:
        """The dataset called `name`, or None."""
        return next((dataset for dataset in self.datasets if dataset.name == name), None)

    def validate(self) -> list[str]:
        """Everything that is wrong, a sentence each, with the nearest valid names; [] when sound.

        Valid options whose feature has not come yet are listed too: building would refuse them. So
        is what can be run but is hardly meant, such as documents that are cut before packing.
        """
        return [said for _, _, said in problems_of(self)]

    def to_dict(self) -> dict[str, Any]:
        """All options as dicts, lists and scalars; from_dict() makes an equal config of them.

        Callables become their import paths; a lambda, which has none, stays as it is.
        """
        values: dict[str, Any] = plain(self)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "PipelineConfig":
        """Makes a config of nested dicts, as a config file holds them.

        Raises:
            ConfigError: Names every key that is no option, with the nearest one, and every value
                of a wrong type. Bounds and the like are what validate() is for.
        """
        config: PipelineConfig = from_plain(cls, values)
        return config

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "PipelineConfig":
        """Reads a config file: YAML (.yaml, .yml) or JSON (.json).

        Raises:
            FileNotFoundError: When there is no such file.
            ConfigError: When it does not parse, gives a key twice, stands for more than 100,000
                values once its aliases are put in, or as in from_dict().
        """
        return cls.from_dict(read_config_file(path))


def _one(kind: str) -> str:
    """How one dataset is written, of which somebody gave something of this type."""
    return {"DatasetConfig": "DatasetConfig(...)", "dict": "{...}"}.get(kind, "DatasetConfig(path)")


def _names_in_weights(config: PipelineConfig) -> list[str]:
    """The names of the mixing weights, where they can be those of a list of unnamed datasets."""
    weights = getattr(config.mix, "weights", None)
    if not isinstance(weights, Mapping) or len(weights) != len(config.datasets):
        return []
    own = {f"dataset_{position}" for position in range(len(weights))}
    return [] if own & set(weights) else list(weights)


def get_dataset_name(ds_cfg: DatasetConfig, index: int) -> str:
    """The dataset's name, or `dataset_<index>`."""
    return ds_cfg.name or f"dataset_{index}"


def _with_options(
    tokenizer: Any, options: Mapping[str, Any] | None, stage: TokenizeStageConfig | None
) -> TokenizerConfig | None:
    """`tokenizer` as a TokenizerConfig: `options` before its own, those before the stage's."""
    if tokenizer is None:
        return None
    own = tokenizer if isinstance(tokenizer, TokenizerConfig) else TokenizerConfig(tokenizer)
    values = {name: getattr(own, name) for name in own.__dataclass_fields__}
    if stage is not None and not is_set(own, "max_length"):
        values["max_length"] = stage.max_length
        values["truncation"] = own.truncation and stage.truncation
    # That every tokenizer is a fast one needs no option.
    values.update({key: value for key, value in (options or {}).items() if key != "use_fast"})
    return TokenizerConfig(**values)


def merge_tokenizer_config(
    ds_cfg: DatasetConfig,
    global_tokenizer: Any = None,
    stage_cfg: TokenizeStageConfig | None = None,
) -> TokenizerConfig | None:
    """The tokenizer that a dataset is tokenized with: its own, the stage's, or the pipeline's.

    One whose max_length nobody set takes the stage's, and its truncation. A dataset's
    tokenizer_kwargs hold in any case.

    Returns:
        None when nobody names a tokenizer.
    """
    stage_tokenizer = stage_cfg.default_tokenizer if stage_cfg else None
    named = (ds_cfg.tokenizer, stage_tokenizer, global_tokenizer)
    tokenizer = next((each for each in named if each is not None), None)
    made = _with_options(tokenizer, ds_cfg.tokenizer_kwargs, stage_cfg)
    if made is not None:
        for option in ("view", "chat_template", "template_date"):
            if (own := getattr(ds_cfg, option)) is not None:
                setattr(made, option, own)
        if ds_cfg.chat_template_kwargs is not None:
            given = {**(made.chat_template_kwargs or {}), **ds_cfg.chat_template_kwargs}
            made.chat_template_kwargs = given
    return made
