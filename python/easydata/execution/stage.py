"""Stages: what Pipeline.apply() takes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from easydata.core.config import DatasetConfig
from easydata.execution.context import PipelineContext
from easydata.sources.sharded_source import ShardedDataSource


@runtime_checkable
class PipelineStage(Protocol):
    """A step of a pipeline: takes named sources and gives named sources (or loaders)."""

    @property
    def name(self) -> str:
        """What get_stages() calls it."""
        ...

    def process(
        self, data: dict[str, ShardedDataSource[Any]], context: PipelineContext
    ) -> dict[str, Any]:
        """Puts the step downstream of each source; nothing is read yet."""
        ...


class BaseStage(ABC):
    """Base of custom stages, applied by `pipeline.apply(stage)`.

    Args:
        config: The stage's options: a dict, or any object of the stage's own.
    """

    def __init__(self, config: Any = None) -> None:
        self._options = config if config is not None else {}
        self._metrics: dict[str, Any] = {}

    @property
    @abstractmethod
    def name(self) -> str:
        """What get_stages() calls it."""

    @abstractmethod
    def process(
        self, data: dict[str, ShardedDataSource[Any]], context: PipelineContext
    ) -> dict[str, Any]:
        """Puts the step downstream of each source; nothing is read yet."""

    def validate_config(self, config: Any) -> bool:
        """Whether the options can be used; a pipeline refuses the stage when not."""
        return True

    def get_metrics(self) -> dict[str, Any]:
        """A copy of what the stage has counted."""
        return dict(self._metrics)

    def _update_metric(self, key: str, value: Any) -> None:
        self._metrics[key] = value

    def _get_dataset_config(
        self, dataset_id: str, context: PipelineContext
    ) -> DatasetConfig | None:
        """The config of the dataset called `dataset_id`, or None (a mixture has none)."""
        config = context.config
        if isinstance(config, Mapping):
            return None
        return config.get_dataset_by_name(dataset_id)
