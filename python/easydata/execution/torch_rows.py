"""A loader's rows and batches as a torch dataset, and who iterates over it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

if TYPE_CHECKING:
    from easydata.execution.async_loader import AsyncDataLoader
    from easydata.execution.loaders_in_turn import LoadersInTurn

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


_BATCHES_OF_BATCHES = (
    "easydata.torch.dataset(): a Trainer makes batches of what it is given, and got batches "
    "(batches=True); give it rows, train_dataset=easydata.torch.dataset(loader, for_trainer=True)"
)


def callers() -> Iterator[Any]:
    """The objects whose methods are running, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if "self" in frame.f_locals:
            yield frame.f_locals["self"]
        frame = frame.f_back


def is_a(value: Any, names: Collection[str]) -> bool:
    """Whether it is of a class with one of these names: nothing need be imported for it."""
    return any(kind.__name__ in names for kind in type(value).__mro__)


@dataclass
class OpenBatch:
    """A batch of which not all rows were taken yet."""

    before: dict[str, Any]  # the loader's state before it
    columns: dict[str, Sequence[Any]]
    size: int
    taken: int


class SameErrorAgain(Iterator[dict[str, Any]]):
    """What a generator gives; what it raised is raised by each further call too.

    By itself a generator that raised is at its end, which a caller that goes on would take for the
    end of the data.
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
    """See dataset(). `iter()` goes on from the current position, as the loader's does.

    An iterator that raised raises the same error with each further `next()`.
    """

    def __init__(self, loader: AsyncDataLoader | LoadersInTurn, batches: bool) -> None:
        self._loader = loader
        self._by_batch = batches
        self._open: OpenBatch | None = None
        # Rows of the loader's next batch that were taken before the loaded state was saved.
        self._skip = 0

    def __repr__(self) -> str:
        return f"easydata.torch.dataset({self._loader!r}, batches={self._by_batch})"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._check_callers()
        return SameErrorAgain(self._batches if self._by_batch else self._rows)

    def _check_callers(self) -> None:
        """Raises where what is iterating would make something else of it than it is."""
        if get_worker_info() is not None:
            raise RuntimeError(_NO_WORKERS)
        divider = next((each for each in callers() if is_a(each, _DIVIDERS)), None)
        if self._loader.world_size > 1 and divider is not None:
            kind = type(divider)
            raise ValueError(
                _DIVIDED.format(
                    divider=f"{kind.__module__}.{kind.__name__}", ranks=self._loader.world_size
                )
            )
        if self._by_batch and any(is_a(each, ("Trainer",)) for each in callers()):
            made_by = next((each for each in callers() if isinstance(each, DataLoader)), None)
            if made_by is not None and made_by.batch_size is not None:
                raise ValueError(_BATCHES_OF_BATCHES)

    def _batches(self) -> Iterator[dict[str, Any]]:
        for batch in self._loader:
            yield self._tensors(batch)

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

    def _opened(self, before: dict[str, Any], batch: Mapping[str, Any]) -> OpenBatch:
        size = len(next(iter(batch.values())))
        skip, self._skip = self._skip, 0
        if skip >= size:
            raise ValueError(
                f"the loaded state has taken {skip} rows of a batch that has {size} here"
            )
        columns = {
            # One call makes the views of all rows.
            name: values if isinstance(values, list) else values.unbind(0)
            for name, values in self._tensors(batch).items()
        }
        return OpenBatch(before, columns, size, skip)

    def _tensors(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """A batch's arrays as tensors over the same memory; lists as they are."""
        return {
            # DLPack, because torch.from_numpy() warns of arrays that are read-only.
            name: values if isinstance(values, list) else torch.from_dlpack(values)
            for name, values in batch.items()
        }

    def state_dict(self) -> dict[str, Any]:
        """The position after what was yielded last; JSON-able and small.

        Between two batches it is the loader's own state, which any number of ranks can go on from
        (with several lanes: what merge_states() makes of those of all ranks). Within a batch it is
        the loader's state before that batch and the rows taken since, for the same number of ranks.
        """
        if self._open is not None:
            before, taken = self._open.before, self._open.taken
        elif self._skip > 0:
            before, taken = self._loader.state_dict(), self._skip
        else:
            return self._loader.state_dict()
        return self._within(before, taken)

    def _within(self, before: dict[str, Any], taken: int) -> dict[str, Any]:
        """The state after so many rows of the batch that came after `before`."""
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
