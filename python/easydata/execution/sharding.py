"""Where the arrays of a batch lie on JAX devices."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from easydata import _native
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


def check_sharded(sharding_map: Mapping[str, Any] | Any, columns: Collection[str]) -> None:
    """Raises ValueError for a column that is to be put on devices, and that there is not."""
    if not isinstance(sharding_map, Mapping):
        return
    for name, sharding in sharding_map.items():
        if sharding is not None and name not in columns:
            hint = _native.suggestion(name, list(columns))
            raise ValueError(f"sharding_map: the batches have no column {name!r}{hint}")


def preshard_batch(batch: Batch, sharding_map: Mapping[str, Any] | Any) -> Batch:
    """Puts the arrays that `sharding_map` has a sharding for on JAX devices.

    Where a sharding has devices of other processes, the batch is this process's part of an array
    that all of them make together.

    Args:
        batch: Columns; lists (strings) stay lists.
        sharding_map: `{column: sharding}`, or one sharding for all columns; None: arrays stay where
            they are.

    Raises:
        ValueError: When an array cannot be split as its sharding says; the message names the
            column.
    """
    if sharding_map is None:
        return batch
    out = {}
    for name, value in batch.items():
        sharding = _sharding_of(name, sharding_map)
        stays = sharding is None or isinstance(value, list)
        out[name] = value if stays else _put(value, sharding, name)
    return out


def _sharding_of(column: str, sharding_map: Mapping[str, Any] | Any) -> Any:
    return sharding_map.get(column) if isinstance(sharding_map, Mapping) else sharding_map


def _put(value: Any, sharding: Any, column: str) -> Any:
    import jax  # type: ignore[import-not-found,unused-ignore]

    try:
        if getattr(sharding, "is_fully_addressable", True):
            return jax.device_put(value, sharding)
        return jax.make_array_from_process_local_data(sharding, value)
    except ValueError as error:
        raise ValueError(
            f"column {column!r}: this process's part of a batch, of shape {value.shape}, cannot be "
            "put on the devices as the sharding says; choose a batch_size that is a multiple of "
            f"the devices, and drop_last=True; {error}"
        ) from error


class DevicePrefetch:
    """Puts a loader's batches on JAX devices, each while the one before is in use.

    Only batches that are ready are put there ahead. They are not taken from the loader by that:
    whatever is asked of it in between is answered for the batch handed out last.
    """

    def __init__(self, loader: _native.Loader, sharding_map: Mapping[str, Any] | Any) -> None:
        self._loader = loader
        self._sharding_map = sharding_map
        # Which arrays of the next batch to look at: those that have a sharding, or all.
        self._columns: list[str] = []
        if isinstance(sharding_map, Mapping):
            self._columns = [name for name in sharding_map if sharding_map[name] is not None]
        # Arrays of the engine that are on the devices already, with what they are there.
        self._ahead: dict[str, tuple[Any, Any]] = {}

    def put(self, batch: Batch) -> Batch:
        """The batch on the devices, as preshard_batch() puts it there."""
        there = {
            name: self._ahead[name][1]
            for name, value in batch.items()
            if name in self._ahead and _is_same_memory(self._ahead[name][0], value)
        }
        rest = {name: value for name, value in batch.items() if name not in there}
        put = {**preshard_batch(rest, self._sharding_map), **there}
        self._look_ahead()
        return {name: put[name] for name in batch}

    def _look_ahead(self) -> None:
        self._ahead = {}
        following = self._loader.peek(self._columns)
        if following is None:
            return
        try:
            put = preshard_batch(following, self._sharding_map)
        except Exception:  # it comes again, and is raised, where the batch is handed out
            return
        self._ahead = {name: (value, put[name]) for name, value in following.items()}


def _is_same_memory(kept: Any, value: Any) -> bool:
    """Whether two arrays are the same one of the engine's: while one is kept, it has no other."""
    if isinstance(value, list):
        return False
    return bool(
        kept.__array_interface__["data"] == value.__array_interface__["data"]
        and kept.shape == value.shape
    )
