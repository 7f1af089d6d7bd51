"""A loader's batches as global JAX arrays.

```python
ranks = easydata.jax.ranks(mesh, "data")
loader = AsyncDataLoader(source, batch_size=64, **ranks)
for batch in easydata.jax.iterate(loader, mesh, "data"):   # {column: jax.Array [64, ...]}
    ...
```

With several processes (jax.distributed) each reads its own part of every batch, and the arrays are
those of the whole batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

try:
    import jax
    import numpy as np
    from jax.experimental import multihost_utils
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    raise ModuleNotFoundError(
        'easydata.jax needs jax; pip install "easydata[jax]"', name="jax"
    ) from error

from easydata.execution.frozen_listing import share_listing
from easydata.execution.mesh_rows import parts_of, rows_over
from easydata.execution.ranks import Ranks

if TYPE_CHECKING:
    from easydata.execution.async_loader import AsyncDataLoader
    from easydata.execution.chain import Pipeline
    from easydata.execution.loaders_in_turn import LoadersInTurn

__all__ = ["GlobalBatches", "iterate", "ranks"]


def ranks(
    mesh: Any,
    batch_axes: str | Sequence[str] | None = None,
    *,
    pipeline: Pipeline | None = None,
) -> Ranks:
    """Which part of each batch this process's devices hold: `{"rank": r, "world_size": w}`.

    Processes that only share an axis that batches are not split over get the same part.

    Args:
        mesh: A `jax.sharding.Mesh`.
        batch_axes: The mesh axes that batches are split over, the outermost first; None: the only
            axis that the mesh has.
        pipeline: A pipeline before its source(): the first process lists its files, and the others
            take that listing (Pipeline.freeze). All processes must give it.

    Raises:
        ValueError: When an axis is not in the mesh, this process has no device in it, or its
            devices hold no contiguous part of a batch.
    """
    if pipeline is not None:
        share_listing(pipeline, jax.process_index() == 0, _broadcast)
    return rows_over(mesh, batch_axes)[1]


def _broadcast(text: str | None) -> str:
    if jax.process_count() == 1:
        return str(text)
    data = np.frombuffer((text or "").encode(), np.uint8)
    size = int(multihost_utils.broadcast_one_to_all(np.int64(len(data))))
    filled = np.zeros(size, np.uint8)
    filled[: len(data)] = data[:size]
    return np.asarray(multihost_utils.broadcast_one_to_all(filled)).tobytes().decode()


def iterate(
    loader: AsyncDataLoader | LoadersInTurn,
    mesh: Any,
    batch_axes: str | Sequence[str] | None = None,
    *,
    prefetch: int = 0,
) -> GlobalBatches:
    """The loader's batches as `{column: jax.Array}`, split by rows over the mesh.

    An array has the rows of the whole batch, those of other processes too; axes of the mesh that
    are not in `batch_axes` hold copies. Columns that the loader gives as lists (strings) stay
    lists, of this process's rows. JAX decides on the dtype: int64 becomes int32 unless
    `jax_enable_x64` is set.

    On CPU devices an array is the loader's memory, not a copy, where the rows of a device begin at
    an address that is a multiple of 64; JAX copies others.

    Args:
        loader: A loader made with `rank` and `world_size` of ranks(mesh, batch_axes).
        mesh: A `jax.sharding.Mesh`.
        batch_axes: The mesh axes that batches are split over, the outermost first; None: the only
            axis that the mesh has.
        prefetch: Batches put on the devices ahead of the one that is handed out. The loader is then
            ahead of what was handed out, so take states from what this returns. 0: none; 1 hides
            the copy to an accelerator from a loop that waits for each step.

    Raises:
        ValueError: As ranks() does; when the loader has another rank; while iterating, when the
            rows of a batch cannot be split evenly over the devices. What is raised while iterating
            comes after all batches before it, and again with each further `next()`, until a state
            is loaded.
    """
    return GlobalBatches(loader, mesh, batch_axes, prefetch)


class GlobalBatches(Iterator[dict[str, Any]]):
    """See iterate(). After the end, the next `for` is the next epoch, as with the loader."""

    def __init__(
        self,
        loader: AsyncDataLoader | LoadersInTurn,
        mesh: Any,
        batch_axes: str | Sequence[str] | None,
        prefetch: int,
    ) -> None:
        if prefetch < 0:
            raise ValueError(f"prefetch must be at least 0, not {prefetch}")
        self._sharding, needed = rows_over(mesh, batch_axes)
        if needed != Ranks(rank=loader.rank, world_size=loader.world_size):
            raise ValueError(
                "the loader does not give this process the rows that its devices hold; make it "
                "with **easydata.jax.ranks(mesh, batch_axes); the mesh needs "
                f"rank={needed['rank']}, world_size={needed['world_size']}, the loader has "
                f"rank={loader.rank}, world_size={loader.world_size}"
            )
        self._loader = loader
        self._world_size = needed["world_size"]
        self._local_parts = parts_of(mesh, batch_axes) // self._world_size
        self._prefetch = prefetch
        self._batches = iter(loader)
        self._ended = False
        # Batches on the devices, each with the loader's state after it.
        self._ahead: deque[tuple[dict[str, Any], dict[str, Any] | None]] = deque()
        self._state: dict[str, Any] | None = None
        # What came in place of the batch after those in `_ahead`.
        self._error: Exception | None = None

    def __repr__(self) -> str:
        return f"easydata.jax.iterate({self._loader!r})"

    def __next__(self) -> dict[str, Any]:
        while not self._ended and self._error is None and len(self._ahead) <= self._prefetch:
            self._read()
        if self._ahead:
            batch, self._state = self._ahead.popleft()
            return batch
        if self._error is not None:
            raise self._error
        self._restart()
        raise StopIteration

    def _read(self) -> None:
        """Puts the loader's next batch, its end or its error after what is ahead."""
        state = None
        if self._prefetch > 0 and self._state is None:
            self._state = self._loader.state_dict()  # of the start: nothing was handed out yet
        try:
            batch = next(self._batches, None)
            if batch is None:
                self._ended = True
                return
            arrays = self._put(batch)
            if self._prefetch > 0:
                state = self._loader.state_dict()
            self._ahead.append((arrays, state))
        except Exception as error:
            self._error = error
        except BaseException:
            # Ctrl-C ends the iterator, not the loader: the next call goes on.
            self._batches = iter(self._loader)
            raise

    def _put(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        rows = len(next(iter(batch.values())))
        if rows % self._local_parts != 0:
            raise ValueError(
                f"{rows} rows cannot be split evenly over the {self._local_parts} parts that this "
                "process's devices hold; choose a batch_size that is a multiple of the devices, "
                "and drop_last=True"
            )
        return {
            name: values
            if isinstance(values, list)
            else jax.make_array_from_process_local_data(
                self._sharding, values, (rows * self._world_size, *values.shape[1:])
            )
            for name, values in batch.items()
        }

    def _restart(self) -> None:
        self._ahead.clear()
        self._ended = False
        self._error = None
        self._state = None
        self._batches = iter(self._loader)

    def state_dict(self) -> dict[str, Any]:
        """The loader's state after the batch that was handed out last."""
        # Without batches ahead the loader stands where the caller does.
        return self._loader.state_dict() if self._state is None else self._state

    def load_state_dict(self, state: Mapping[str, Any], allow: Collection[str] = ()) -> None:
        """Goes on from a state_dict(), this one's or the loader's, as the loader does."""
        self._loader.load_state_dict(state, allow)
        self._restart()
