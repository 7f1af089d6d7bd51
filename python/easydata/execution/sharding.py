"""Where the arrays of a batch lie on JAX devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from easydata.execution.collate import Batch


@dataclass
class ShardingSpec:
    """Where the arrays of a batch lie on JAX devices.

    Attributes:
        mesh: A `jax.sharding.Mesh`; None: arrays stay where they are.
        partition_specs: `{column: PartitionSpec}`; other columns are replicated.
    """

    mesh: Any = None
    partition_specs: dict[str, Any] = field(default_factory=dict)

    def apply(self, batch: Batch) -> Batch:
        """The batch with its arrays put on the devices."""
        if self.mesh is None:
            return batch
        from jax.sharding import (  # type: ignore[import-not-found,unused-ignore]
            NamedSharding,
            PartitionSpec,
        )

        shardings = {
            name: NamedSharding(self.mesh, self.partition_specs.get(name, PartitionSpec()))
            for name in batch
        }
        return preshard_batch(batch, shardings)


def preshard_batch(batch: Batch, sharding_map: Mapping[str, Any] | None) -> Batch:
    """Puts the arrays that `sharding_map` has a sharding for on JAX devices."""
    if sharding_map is None:
        return batch
    import jax  # type: ignore[import-not-found,unused-ignore]

    return {
        name: value
        if sharding_map.get(name) is None or isinstance(value, list)
        else jax.device_put(value, sharding_map[name])
        for name, value in batch.items()
    }
