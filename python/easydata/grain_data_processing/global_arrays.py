"""Rows of several processes as global arrays of JAX."""

from __future__ import annotations

from collections import Counter
from typing import Any

try:
    import jax
    import numpy as np
    from jax.experimental import multihost_utils
    from jax.sharding import NamedSharding, PartitionSpec
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    raise ModuleNotFoundError(
        'iterators of JAX arrays need jax; pip install "easydata[jax]"', name="jax"
    ) from error


def process_index() -> int:
    """The number of this process."""
    return int(jax.process_index())


class GlobalBatchSharding:
    """Splits batches by rows over all axes of a mesh, each process's rows over its own devices."""

    def __init__(self, mesh: Any) -> None:
        """Takes a `jax.sharding.Mesh`."""
        self._mesh = mesh
        self._sharding = NamedSharding(mesh, PartitionSpec(tuple(mesh.axis_names)))
        by_process = dict(Counter(device.process_index for device in mesh.devices.flat))
        self._processes = len(by_process)
        self._local_devices = by_process.get(jax.process_index(), 0)
        if len(set(by_process.values())) > 1:
            raise ValueError(
                f"the mesh has another number of devices in each process, {by_process}; rows "
                "cannot be split evenly over them"
            )

    def check(self, rows: int) -> None:
        """Raises ValueError where a host's rows cannot be split evenly over its devices."""
        if rows % self._local_devices == 0:
            return
        axes = ", ".join(f"{name}={size}" for name, size in self._mesh.shape.items())
        raise ValueError(
            f"{rows} rows of a batch for this host cannot be split evenly over its "
            f"{self._local_devices} devices; the mesh axes are {axes}, and a batch is split over "
            "all of them: choose a global_batch_size that is a multiple of their product"
        )

    def put(self, values: Any) -> Any:
        """The global array of all processes' rows, of this one's: [rows, ...]."""
        self.check(len(values))
        shape = (len(values) * self._processes, *values.shape[1:])
        return jax.make_array_from_process_local_data(self._sharding, values, shape)

    def least(self, count: int) -> int:
        """The least of the numbers that the processes give."""
        if jax.process_count() == 1:
            return count
        return int(np.min(multihost_utils.process_allgather(np.int64(count))))
