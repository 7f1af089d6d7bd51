"""A loader's rows or batches for torch.

```python
torch.distributed.init_process_group()                       # where there are several processes
loader = AsyncDataLoader(source, batch_size=64, **easydata.torch.ranks())
for batch in easydata.torch.dataset(loader, batches=True):   # {column: tensor [rows, ...]}
    ...
```

Tensors lie in the engine's own memory and keep it for as long as they live. torch knows no tensor
that is read-only, so it is up to the caller to write to none of them: `tensor.clone()` gives one of
your own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

try:
    import torch
    from torch.utils.data import IterableDataset, get_worker_info
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        'easydata.torch needs torch; pip install "easydata[torch]"', name="torch"
    ) from error

from easydata.execution.frozen_listing import share_listing
from easydata.execution.ranks import Ranks

if TYPE_CHECKING:
    from easydata.execution.async_loader import AsyncDataLoader
    from easydata.execution.chain import Pipeline
    from easydata.execution.loaders_in_turn import LoadersInTurn

__all__ = ["LoaderDataset", "dataset", "ranks"]

_NO_WORKERS = (
    "easydata.torch.dataset() does not run in DataLoader workers: each would give the whole "
    "stream, and the loader already makes batches ahead on threads of its own; use num_workers=0 "
    "and set num_threads and prefetch_buffer_size of the loader instead"
)


# What gives each process a part of what a dataset yields, by the names of its classes.
_DIVIDERS = ("DataLoaderDispatcher", "IterableDatasetShard")
_DIVIDED = (
    "easydata.torch.dataset(): the loader gives this process its part of each batch already "
    "(world_size={ranks}), and {divider} would divide that again, so that most rows reach nobody; "
    "leave this dataset out of accelerator.prepare() and iterate over it, `for batch in "
    "easydata.torch.dataset(loader, batches=True): batch = send_to_device(batch, "
    "accelerator.device)`, or make the loader without **easydata.torch.ranks()"
)


def _divider() -> str | None:
    """The class that is iterating over a dataset to divide it among processes, if one is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        for kind in type(frame.f_locals.get("self")).__mro__:
            if kind.__name__ in _DIVIDERS:
                return f"{kind.__module__}.{kind.__name__}"
        frame = frame.f_back
    return None


def ranks(group: Any = None, *, pipeline: Pipeline | None = None) -> Ranks:
    """What a loader needs to know to give this process its part: `{"rank": r, "world_size": w}`.

    Args:
        group: The processes that share each batch, such as the data-parallel group of a device
            mesh; None: all of torch.distributed. Without torch.distributed: one process.
        pipeline: A pipeline before its source(): the first process of torch.distributed lists its
            files, and the others take that listing (Pipeline.freeze). All of them must give it.

    Raises:
        RuntimeError: When this is one of several processes (WORLD_SIZE, as torchrun sets it) and
            torch.distributed is not initialised yet: each would read everything.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        if pipeline is not None:
            share_listing(pipeline, torch.distributed.get_rank() == 0, _broadcast)
        return Ranks(
            rank=torch.distributed.get_rank(group),
            world_size=torch.distributed.get_world_size(group),
        )
    started = os.environ.get("WORLD_SIZE", "1")
    if started != "1":
        raise RuntimeError(
            "torch.distributed is not initialised, so every process would read all rows; call "
            "torch.distributed.init_process_group() before easydata.torch.ranks(); "
            f"WORLD_SIZE is {started}"
        )
    if pipeline is not None:
        pipeline.freeze()
    return Ranks(rank=0, world_size=1)


def _broadcast(text: str | None) -> str:
    texts: list[Any] = [text]
    torch.distributed.broadcast_object_list(texts, src=0)
    return str(texts[0])


def dataset(loader: AsyncDataLoader | LoadersInTurn, batches: bool = False) -> LoaderDataset:
    """This rank's rows of a loader as a torch dataset, or its batches.

    What divides a dataset among processes by itself (Accelerate's `prepare()`, and with it the
    Trainer of transformers) refuses one whose loader has `ranks()`: each process would get a part
    of its part.

    It goes through torch.utils.data.DataLoader and torchdata's StatefulDataLoader with
    `num_workers=0`; `batch_size=None` there hands on what comes without a copy, `batch_size=k` has
    torch stack k rows.

    Args:
        loader: A loader. Whoever takes from it elsewhere takes from this dataset too.
        batches: Yield batches, `{column: tensor [rows, ...]}`, not rows, `{column: tensor [...]}`.
            Columns that the loader gives as lists (strings) stay lists, and Python values in rows.
            The rows that fill up a last batch (`drop_last=False`, several ranks) come as rows.
    """
    return LoaderDataset(loader, batches)


@dataclass
class _OpenBatch:
    """A batch of which not all rows were taken yet."""

    before: dict[str, Any]  # the loader's state before it
    columns: dict[str, Sequence[Any]]
    size: int
    taken: int


class _SameErrorAgain(Iterator[dict[str, Any]]):
    """What a generator gives; what it raised is raised by each further call too.

    By itself a generator that raised is at its end, which a caller that continues would take for
    the end of the data.
    """

    def __init__(self, start: Callable[[], Iterator[dict[str, Any]]]) -> None:
        self._start = start
        self._items = start()
        self._error: Exception | None = None

    def __next__(self) -> dict[str, Any]:
        if self._error is not None:
            raise self._error
        try:
            return next(self._items)
        except StopIteration:
            raise
        except Exception as error:
            self._error = error
            raise
        except BaseException:
            self._items = self._start()  # Ctrl-C ends the generator, not the loader
            raise


class LoaderDataset(IterableDataset[dict[str, Any]]):  # type: ignore[misc,unused-ignore]
    """See dataset(). `iter()` continues from the current position, as the loader's does.

    An iterator that raised raises the same error with each further `next()`.
    """

    def __init__(self, loader: AsyncDataLoader | LoadersInTurn, batches: bool) -> None:
        self._loader = loader
        self._by_batch = batches
        self._open: _OpenBatch | None = None
        # Rows of the loader's next batch that were taken before the loaded state was saved.
        self._skip = 0

    def __repr__(self) -> str:
        return f"easydata.torch.dataset({self._loader!r}, batches={self._by_batch})"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if get_worker_info() is not None:
            raise RuntimeError(_NO_WORKERS)
        if self._loader.world_size > 1 and (divider := _divider()) is not None:
            raise ValueError(_DIVIDED.format(divider=divider, ranks=self._loader.world_size))
        return _SameErrorAgain(self._batches if self._by_batch else self._rows)

    def _batches(self) -> Iterator[dict[str, Any]]:
        for batch in self._loader:
            yield {name: _tensor(values) for name, values in batch.items()}

    def _rows(self) -> Iterator[dict[str, Any]]:
        batches = iter(self._loader)
        while True:
            if self._open is None:
                before = self._loader.state_dict()
                batch = next(batches, None)
                if batch is None:
                    return
                self._open = self._opened(before, batch)
            row = {name: values[self._open.taken] for name, values in self._open.columns.items()}
            self._open.taken += 1
            if self._open.taken == self._open.size:
                self._open = None
            yield row

    def _opened(self, before: dict[str, Any], batch: Mapping[str, Any]) -> _OpenBatch:
        size = len(next(iter(batch.values())))
        skip, self._skip = self._skip, 0
        if skip >= size:
            raise ValueError(
                f"the loaded state has taken {skip} rows of a batch that has {size} here"
            )
        tensors = {name: _tensor(values) for name, values in batch.items()}
        columns = {
            # One call makes the views of all rows.
            name: values if isinstance(values, list) else values.unbind(0)
            for name, values in tensors.items()
        }
        return _OpenBatch(before, columns, size, skip)

    def state_dict(self) -> dict[str, Any]:
        """The position after what was yielded last; JSON-able and small.

        Between two batches it is the loader's own state, from which any number of ranks can resume
        (with several lanes: what merge_states() makes of those of all ranks). Within a batch it is
        the loader's state before that batch and the rows taken since, for the same number of ranks.
        """
        if self._open is not None:
            before, taken = self._open.before, self._open.taken
        elif self._skip > 0:
            before, taken = self._loader.state_dict(), self._skip
        else:
            return self._loader.state_dict()
        return {
            "version": 1,
            "loader": before,
            "rows_taken": taken,
            "world_size": self._loader.world_size,
        }

    def load_state_dict(self, state: Mapping[str, Any], allow: Collection[str] = ()) -> None:
        """Goes on from a state_dict(), or from one of the loader: exactly the next row comes.

        Args:
            state: The state.
            allow: As for the loader's load_state_dict().

        Raises:
            ValueError: When the state is of another stream, or is one within a batch and this is a
                dataset of batches, the number of ranks is another, or `allow` names something.
        """
        skip = 0
        if "rows_taken" in state:
            skip = self._rows_taken(state, allow)
            state = state["loader"]
        self._loader.load_state_dict(state, allow)
        self._open, self._skip = None, skip

    def _rows_taken(self, state: Mapping[str, Any], allow: Collection[str]) -> int:
        """The rows that a state within a batch has taken of it; fails where that means nothing."""
        if state.get("version") != 1:
            raise ValueError(
                "the state is of another version of easydata.torch.dataset(); version "
                f"{state.get('version')!r}, this one reads 1"
            )
        taken = int(state["rows_taken"])
        cause = None
        if self._by_batch:
            cause = "a dataset of batches can't begin there"
        elif state["world_size"] != self._loader.world_size:
            cause = (
                "another number of ranks has other rows in its batches; "
                f"{state['world_size']} then, {self._loader.world_size} now"
            )
        elif allow:
            cause = "allow= would change that batch"
        if cause is not None:
            raise ValueError(
                f"the state was saved within a batch, after {taken} of this rank's rows of it, "
                f"and {cause}; save between batches"
            )
        return taken

    def __reduce__(self) -> NoReturn:
        # DataLoader pickles the dataset for workers that it spawns.
        raise TypeError(_NO_WORKERS)


def _tensor(values: Any) -> Any:
    """An array of a batch as a tensor over the same memory; lists as they are."""
    # DLPack, because torch.from_numpy() warns of arrays that are read-only.
    return values if isinstance(values, list) else torch.from_dlpack(values)
