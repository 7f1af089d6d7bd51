"""The part of a batch that this process's devices of a JAX mesh hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

from easydata.core.short_repr import short
from easydata.execution.ranks import Ranks


def rows_over(mesh: Any, batch_axes: str | Sequence[str] | None) -> tuple[NamedSharding, Ranks]:
    """How the rows of a batch are split over a mesh, and this process's part of them.

    See easydata.jax.ranks() for arguments and errors.
    """
    if not hasattr(mesh, "axis_names"):
        hint = f'; its axis is named by batch_axes="{mesh}"' if isinstance(mesh, str) else ""
        raise TypeError(f"mesh: must be a jax.sharding.Mesh, not {short(mesh)}{hint}")
    axes = _axes(mesh, batch_axes)
    sharding = NamedSharding(mesh, PartitionSpec(axes))
    parts = parts_of(mesh, axes)
    held: dict[int, set[int]] = {}
    for device, (index,) in sharding.devices_indices_map((parts,)).items():
        held.setdefault(device.process_index, set()).add(index.indices(parts)[0])
    mine = held.get(jax.process_index())
    if mine is None:
        raise ValueError(f"the mesh has no device of this process, {jax.process_index()}")
    first, size = min(mine), len(mine)
    for process, numbers in held.items():
        # Contiguous and of one size everywhere: then each begins at a multiple of that size.
        if numbers != set(range(min(numbers), min(numbers) + size)):
            raise ValueError(
                "each process must hold one contiguous part of a batch, all of one size; order "
                f"the devices of the mesh by process along the axes {axes}; process {process} "
                f"holds the parts {sorted(numbers)} of {parts}"
            )
    return sharding, Ranks(rank=first // size, world_size=parts // size)


def parts_of(mesh: Any, batch_axes: str | Sequence[str] | None) -> int:
    """The parts that a batch is split into."""
    return math.prod(mesh.shape[axis] for axis in _axes(mesh, batch_axes))


def _axes(mesh: Any, batch_axes: str | Sequence[str] | None) -> tuple[str, ...]:
    names = tuple(mesh.axis_names)
    if batch_axes is None:
        if len(names) != 1:
            raise ValueError(
                f"batch_axes: say which axes of the mesh batches are split over; it has {names}"
            )
        return names
    axes = (batch_axes,) if isinstance(batch_axes, str) else tuple(batch_axes)
    for axis in axes:
        if axis not in names:
            raise ValueError(f"batch_axes: the mesh has no axis {axis!r}; it has {names}")
    return axes
