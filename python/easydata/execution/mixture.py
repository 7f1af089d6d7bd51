"""Mixtures that the stages downstream can make again."""

from collections.abc import Mapping
from typing import Any

from easydata.sources.mixed import MixedShardedSource
from easydata.sources.sharded_source import ShardedDataSource

Sources = dict[str, ShardedDataSource[Any]]


class Mixture:
    """A mixed source, and how to mix other inputs in the same way."""

    def __init__(self, inputs: Sources, options: Mapping[str, Any]) -> None:
        self._options = dict(options)
        self.inputs: Sources = {}
        self.mixed: ShardedDataSource[Any] = self.rebuild(inputs)

    def rebuild(self, inputs: Sources) -> ShardedDataSource[Any]:
        """The mixture of these inputs; they have the same names."""
        self.inputs = dict(inputs)
        self.mixed = MixedShardedSource(dict(inputs), **self._options)
        return self.mixed
