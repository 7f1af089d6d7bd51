# ruff: noqa: D101 (the docstrings come from the engine)
"""The configs of datasets, stages and pipelines.

Their options come from the engine (see config_class.py); docs/reference/configs.md lists them.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from easydata.core.config_class import (
    ConfigError,
    check,
    config_hash,
    declared,
    from_plain,
    plain,
    problems_of,
    require,
)

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


@declared
class TokenizerConfig:
    def to_dict(self) -> dict[str, Any]:
        """The options of a call of the tokenizer: all but its name and trust_remote_code."""
        construction = ("name_or_path", "trust_remote_code")
        return {key: value for key, value in plain(self).items() if key not in construction}


@declared
class DatasetConfig:
    def __post_init__(self) -> None:
        require(self, "data_files")

    def get_tokenizer_config(self) -> TokenizerConfig | None:
        """The dataset's own tokenizer with its options; None when it names none."""
        return _with_options(self.tokenizer, self.tokenizer_kwargs, {})


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
        if not self.datasets:
            raise ConfigError("PipelineConfig", ["datasets must name at least one dataset"])
        for position, dataset in enumerate(self.datasets):
            if isinstance(dataset, DatasetConfig) and dataset.name is None:
                dataset.name = get_dataset_name(dataset, position)

    def get_dataset_by_name(self, name: str) -> DatasetConfig | None:
        """The dataset called `name`, or None."""
        return next((dataset for dataset in self.datasets if dataset.name == name), None)

    def validate(self) -> list[str]:
        """Everything that is wrong, a sentence each, with the nearest valid names; [] when sound.

        Valid options whose feature has not come yet are listed too: building would refuse them.
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
            ConfigError: When it does not parse, or as in from_dict().
        """
        file = Path(path)
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".json":
            import json

            try:
                values = json.loads(text)
            except json.JSONDecodeError as error:
                raise ConfigError(str(file), [f"is not JSON: {error}"]) from error
        elif file.suffix in (".yaml", ".yml"):
            import yaml

            try:
                values = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ConfigError(str(file), [f"is not YAML: {error}"]) from error
        else:
            raise ConfigError(str(file), ["is not a config file: use .yaml, .yml or .json"])
        if not isinstance(values, Mapping):
            raise ConfigError(str(file), ["must hold the options of a PipelineConfig by name"])
        return cls.from_dict(values)


def get_dataset_name(ds_cfg: DatasetConfig, index: int) -> str:
    """The dataset's name, or `dataset_<index>`."""
    return ds_cfg.name or f"dataset_{index}"


def _with_options(
    tokenizer: Any, options: Mapping[str, Any] | None, defaults: Mapping[str, Any]
) -> TokenizerConfig | None:
    """`tokenizer` as a TokenizerConfig: its own options, before `options`, before `defaults`."""
    if tokenizer is None:
        return None
    if isinstance(tokenizer, TokenizerConfig):
        values = {name: getattr(tokenizer, name) for name in tokenizer.__dataclass_fields__}
    else:
        values = {**defaults, "name_or_path": tokenizer}
    # That every tokenizer is a fast one needs no option.
    values.update({key: value for key, value in (options or {}).items() if key != "use_fast"})
    return TokenizerConfig(**values)


def merge_tokenizer_config(
    ds_cfg: DatasetConfig,
    global_tokenizer: Any = None,
    stage_cfg: TokenizeStageConfig | None = None,
) -> TokenizerConfig | None:
    """The tokenizer that a dataset is tokenized with: its own, the stage's, or the pipeline's.

    A tokenizer given by name or as an object takes the stage's max_length; a TokenizerConfig has
    its own. A dataset's tokenizer_kwargs hold in any case.

    Returns:
        None when nobody names a tokenizer.
    """
    stage_tokenizer = stage_cfg.default_tokenizer if stage_cfg else None
    defaults = {"max_length": stage_cfg.max_length} if stage_cfg else {}
    for tokenizer in (ds_cfg.tokenizer, stage_tokenizer, global_tokenizer):
        if tokenizer is not None:
            return _with_options(tokenizer, ds_cfg.tokenizer_kwargs, defaults)
    return None
