"""A loader's rows for the Trainer of transformers."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils.data import DataLoader

from easydata.execution.torch_rows import LoaderDataset, OpenBatch, SameErrorAgain, callers, is_a

if TYPE_CHECKING:
    from easydata.execution.async_loader import AsyncDataLoader
    from easydata.execution.loaders_in_turn import LoadersInTurn

_TWO_ITERATIONS = (
    "easydata.torch.dataset(): another iteration over this dataset has begun, and both would take "
    "from one loader; make a loader and a dataset for training, and others to evaluate on"
)
# Columns that say what is trained on; ids alone are made labels of.
_LABELS = ("labels", "label", "label_ids")
_TRAINED_ON = ("attention_mask", "completion_mask", "assistant_masks")
_NO_LABEL = -100
_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.uint8, torch.uint16, torch.uint32)


class _Place(NamedTuple):
    """Where a row is: its batch, its number in that, and the loader's state after the batch."""

    batch: OpenBatch
    number: int
    after: dict[str, Any]


class TrainerDataset(LoaderDataset):
    """Rows for the Trainer of transformers: `dataset(loader, for_trainer=True)`.

    Whole numbers are int64, as losses want their labels, in memory that may be written to. Rows
    that are put into one batch (`per_device_train_batch_size` of them, on each process) have one
    length: shorter ones are filled up as the loader does it, so that any collator takes them. Rows
    with `input_ids` and no labels get `labels`: the ids, and -100 where `attention_mask`,
    `completion_mask` or `assistant_masks` is 0.

    Each `iter()` begins a pass; one that was left begins anew, and after one that ended the next
    one comes, or that of set_epoch(). So a Trainer that resumes, and leaves out the batches that it
    has had, gets those that come next; with `ignore_data_skip` load_state_dict() takes it there at
    once. A loader that is not at its beginning gives the rest of its pass first.

    `len()` is the number of rows of a pass, where it is known: else `max_steps` must be set.
    """

    def __init__(self, loader: AsyncDataLoader | LoadersInTurn) -> None:
        super().__init__(loader, batches=False)
        self._pass = 0  # that iter() begins
        self._starts: dict[int, dict[str, Any]] = {}  # where passes begin
        # The pass that the loader is at the beginning of.
        self._at_start_of: int | None = None if loader._is_begun() else 0
        self._resumes = self._at_start_of is None
        self._iterations = 0
        self._last: _Place | None = None  # of the row that was yielded last

    def __repr__(self) -> str:
        return f"easydata.torch.dataset({self._loader!r}, for_trainer=True)"

    def __len__(self) -> int:
        return self._loader._rows_of_pass()

    def set_epoch(self, epoch: int) -> None:
        """Says which pass the next iter() begins, from 0; a Trainer does."""
        self._pass = epoch

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._check_callers()
        at_once = _rows_at_once()
        return SameErrorAgain(lambda: self._rows_of_pass(at_once))

    def _rows_of_pass(self, at_once: int) -> Iterator[dict[str, Any]]:
        resumed, self._resumes = self._resumes, False
        if not resumed:
            self._go_to(self._pass)
        number = self._pass
        yield from self._rest(at_once)
        if resumed and self._last is None:  # the state was that of the end of the pass before
            self._at_start_of = number
            yield from self._rows_of_pass(at_once)
        else:
            self._pass = self._at_start_of = number + 1

    def _go_to(self, number: int) -> None:
        """Goes to where a pass begins."""
        if self._at_start_of != number:
            known = max((each for each in self._starts if each <= number), default=None)
            if known is None:
                self._loader.reset()
            else:
                self._loader.load_state_dict(self._starts[known])
            for each in range(known or 0, number):
                self._starts[each] = self._loader.state_dict()
                for _ in self._loader:
                    pass
        self._starts[number] = self._loader.state_dict()
        self._at_start_of = self._last = None
        self._skip = 0

    def _rest(self, at_once: int) -> Iterator[dict[str, Any]]:
        """The rows up to the end of the pass."""
        placed = self._placed_rows()
        while together := list(itertools.islice(placed, at_once)):
            rows = [row for row, _ in together]
            if together[0][1].batch is not together[-1][1].batch:
                _fill_up(rows, self._loader._paddings())
            for row, place in together:
                self._last = place
                yield row

    def _placed_rows(self) -> Iterator[tuple[dict[str, Any], _Place]]:
        """The rows as they come, each with its place."""
        self._iterations += 1
        iteration = self._iterations
        batches = iter(self._loader)
        before = self._loader.state_dict()
        while True:
            if iteration != self._iterations:
                raise RuntimeError(_TWO_ITERATIONS)
            if (batch := next(batches, None)) is None:
                return
            opened = self._opened(before, batch)
            before = self._loader.state_dict()
            for number in range(opened.taken, opened.size):
                row = {name: values[number] for name, values in opened.columns.items()}
                yield row, _Place(opened, number, before)

    def _tensors(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        columns = super()._tensors(batch)
        for name, values in columns.items():
            if not isinstance(values, list):
                columns[name] = values.long() if values.dtype in _INTEGERS else values.clone()
        if "input_ids" in columns and not any(name in columns for name in _LABELS):
            columns["labels"] = _labels(columns)
        return columns

    def state_dict(self) -> dict[str, Any]:
        """The position after the row that was yielded last; JSON-able and small.

        Whoever reads ahead, as Accelerate does, has taken more rows than were trained on.
        """
        if self._last is None:
            return super().state_dict()
        batch, number, after = self._last
        return after if number + 1 == batch.size else self._within(batch.before, number + 1)

    def load_state_dict(self, state: Mapping[str, Any], allow: Collection[str] = ()) -> None:
        """Goes on from a state_dict(), or from one of the loader: exactly the next row comes."""
        super().load_state_dict(state, allow)
        self._at_start_of = self._last = None
        self._resumes = True


def _labels(columns: Mapping[str, Any]) -> Any:
    """The ids where they are trained on."""
    labels = columns["input_ids"].clone()
    for name in _TRAINED_ON:
        if name in columns and columns[name].shape == labels.shape:
            labels[columns[name] == 0] = _NO_LABEL
    return labels


def _fill_up(rows: Sequence[dict[str, Any]], paddings: Mapping[str, tuple[float, str]]) -> None:
    """Brings the columns of rows to one length each."""
    other = next((row for row in rows if row.keys() != rows[0].keys()), None)
    if other is not None:
        raise ValueError(
            "the datasets of the loader have other columns each, and a Trainer's batch has rows of "
            f"several; keep those of all, by select_fields(); {sorted(rows[0])}, {sorted(other)}"
        )
    # Those that were made of the ids.
    of_labels = (_NO_LABEL, paddings.get("input_ids", (0, "right"))[1])
    for name in rows[0]:
        if isinstance(rows[0][name], torch.Tensor) and rows[0][name].ndim > 0:
            value, side = paddings.get(name, of_labels)
            width = max(row[name].shape[0] for row in rows)
            for row in rows:
                row[name] = _filled_up(row[name], width, value, side)


def _filled_up(values: Any, width: int, value: float, side: str) -> Any:
    missing = values.new_full((width - values.shape[0], *values.shape[1:]), value)
    if missing.shape[0] == 0:
        return values
    return torch.cat([missing, values] if side == "left" else [values, missing])


def _rows_at_once() -> int:
    """How many rows whoever is iterating puts into one batch, of all processes together."""
    rows, processes = 1, 1
    for each in callers():
        if is_a(each, ("IterableDatasetShard",)):
            return int(each.batch_size) * (1 if each.split_batches else int(each.num_processes))
        if is_a(each, ("DataLoaderDispatcher",)) and not each.split_batches:
            processes = int(each.state.num_processes)
        if isinstance(each, DataLoader) and rows == 1:
            rows = each.batch_size or 1
    return rows * processes
