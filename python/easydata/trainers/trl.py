"""Trainers of TRL, and of transformers, on sources whose rows are made already.

```python
source = JsonShardedSource("pairs/*.jsonl").transform(
    DPOPreprocessTransform(tokenizer, layout="trl", max_length=1024)
)
trainer = prepared(trl.DPOTrainer)(model, args=args, train_dataset=source, processing_class=...)
```
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from easydata import _native
from easydata.execution.async_loader import AsyncDataLoader
from easydata.execution.loaders_in_turn import LoadersInTurn
from easydata.sources.sharded_source import ShardedDataSource
from easydata.transforms.base import Example

__all__ = ["kl_completions", "prepared"]

Trainer = TypeVar("Trainer", bound=type[Any])

_PAIR = ("prompt_ids", "chosen_ids", "rejected_ids")
_ANSWER = ("prompt_ids", "completion_ids", "label")
_KL = "KL_completion_ids"
# What TRL's trainers read, and what makes it.
_WANTED = {
    "SFTTrainer": (("input_ids",), "SFTPreprocessTransform"),
    "DPOTrainer": (_PAIR, "DPOPreprocessTransform"),
    "KTOTrainer": (_ANSWER, "KTOPreprocessTransform"),
    "RewardTrainer": (("chosen_ids", "rejected_ids"), "RewardPreprocessTransform"),
}


@functools.cache
def prepared(trainer: Trainer) -> Trainer:
    """The trainer, taking sources as `train_dataset` and `eval_dataset`.

    Rows of layout "trl" go into it as they are: DPOTrainer and KTOTrainer, too, which would make
    all rows anew, leave them alone. What their `max_length` leaves out is left out here as well.
    `KL_completion_ids`, for KTO losses that need them, are added where rows lack them; rows that
    have them (see kl_completions()) must have them for `per_device_train_batch_size`. Other
    datasets go the trainer's own way.

    A source gives a `datasets.IterableDataset`, so `max_steps` must be set.

    Args:
        trainer: `trl.SFTTrainer`, `DPOTrainer`, `KTOTrainer`, `RewardTrainer`,
            `transformers.Trainer`, or a class derived from one of them.

    Returns:
        A class derived from it, the same one each time.
    """
    names = {"__module__": trainer.__module__, "__doc__": trainer.__doc__}
    made: Trainer = type(trainer.__name__, (_Prepared, trainer), names)  # type: ignore[assignment]
    return made


def kl_completions(source: ShardedDataSource[Any], batch_size: int) -> ShardedDataSource[Example]:
    """Rows of KTO with the column `KL_completion_ids`: each has the completion of another row.

    In each batch of so many rows they move on by one, the last one to the first row, as KTOTrainer
    does it; the rows are one shard then. A prepared trainer adds the column itself: this is for
    rows that are saved, or go elsewhere.

    Args:
        source: Rows with `completion_ids`.
        batch_size: The trainer's `per_device_train_batch_size`.

    Raises:
        ValueError: A batch has fewer than two rows: there is no other one.
        KeyError: The rows have no `completion_ids`.
    """
    if batch_size < 2:
        raise ValueError(
            f"batch_size must be at least 2: each row gets another one's completion; {batch_size}"
        )
    names = source._plan.field_names()
    if names and "completion_ids" not in names:
        raise _native.MissingKey(
            "the rows have no 'completion_ids'; make them by KTOPreprocessTransform(tokenizer, "
            f'layout="trl"); they have {_listed(names)}'
        )
    return _KLCompletions(source, batch_size)


class _KLCompletions(ShardedDataSource[Example]):
    """See kl_completions()."""

    def __init__(self, source: ShardedDataSource[Any], batch_size: int) -> None:
        self._inputs = (source,)
        self._batch_size = batch_size

    _passes_on = ("shuffle", "split")

    @property
    def shard_names(self) -> Sequence[str]:
        """The one shard's name: batches go across those of the source."""
        return ("kl_completions",)

    def num_shards(self) -> int:
        """One."""
        return 1

    def open_shard(self, shard_name: str) -> Iterator[Example]:
        """The rows, in order."""
        rows = iter(self._inputs[0])
        while batch := list(itertools.islice(rows, self._batch_size)):
            for row, other in zip(batch, [batch[-1], *batch[:-1]], strict=True):
                yield {**row, _KL: other["completion_ids"]}

    def __len__(self) -> int:
        return len(self._inputs[0])


class _Prepared:
    """Comes before a trainer: what it is given, and what it makes of datasets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = inspect.signature(super().__init__).bind(*args, **kwargs)
        for name in ("train_dataset", "eval_dataset"):
            if name in given.arguments:
                given.arguments[name] = _as_data_set(given.arguments[name], name, type(self))
        super().__init__(*given.args, **given.kwargs)

    def evaluate(self, eval_dataset: Any = None, *args: Any, **kwargs: Any) -> Any:
        eval_dataset = _as_data_set(eval_dataset, "eval_dataset", type(self))
        return super().evaluate(eval_dataset, *args, **kwargs)  # type: ignore[misc]

    def _prepare_dataset(
        self, dataset: Any, processing_class: Any, args: Any, *rest: Any, **named: Any
    ) -> Any:
        names = dataset.column_names or list(next(iter(dataset), {}))
        if _is_a(type(self), "DPOTrainer") and set(names).issuperset(_PAIR):
            return _short_enough(dataset, args)
        if _is_a(type(self), "KTOTrainer") and set(names).issuperset(_ANSWER):
            size = args.per_device_train_batch_size
            if not self.calculate_KL:  # type: ignore[attr-defined]
                return _short_enough(dataset, args)
            if _KL in names:
                _check_kl(dataset, size)
                return _short_enough(dataset, args, has_neighbours=True)
            return _short_enough(dataset, args).map(_moved_on, batched=True, batch_size=size)
        return super()._prepare_dataset(  # type: ignore[misc]
            dataset, processing_class, args, *rest, **named
        )


def _is_a(trainer: type[Any], name: str) -> bool:
    """Whether a class is, or is derived from, one of this name: TRL need not be imported for it."""
    return any(base.__name__ == name for base in trainer.__mro__)


def _as_data_set(given: Any, name: str, trainer: type[Any]) -> Any:
    """What a trainer takes for what is given to it."""
    if isinstance(given, AsyncDataLoader | LoadersInTurn):
        raise TypeError(
            f"{name} is a loader, and {trainer.__name__} makes batches itself: give it the "
            "source that the loader reads, or source.to_hf()"
        )
    if isinstance(given, Mapping) and any(
        isinstance(each, ShardedDataSource) for each in given.values()
    ):
        return {key: _as_data_set(each, f"{name}[{key!r}]", trainer) for key, each in given.items()}
    if not isinstance(given, ShardedDataSource):
        return given
    for base, (columns, transform) in _WANTED.items():
        if not _is_a(trainer, base):
            continue
        names = given._plan.field_names()
        missing = [column for column in columns if column not in names]
        if missing:
            raise TypeError(
                f"{name} has no {_listed(missing)}, which {trainer.__name__} reads; make "
                f'its rows by source.transform({transform}(tokenizer, layout="trl")); '
                f"it has {_listed(names)}"
            )
    return given.to_hf()


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in sorted(names)) or "no rows"


def _short_enough(dataset: Any, args: Any, *, has_neighbours: bool = False) -> Any:
    """The rows whose prompts leave room for an answer.

    Nothing can be left out of rows that have completions of their neighbours: all must be so.
    """
    keeps_start = getattr(args, "truncation_mode", "keep_start") == "keep_start"
    if not keeps_start or args.max_length is None:
        return dataset
    if has_neighbours:
        return dataset.map(_must_fit, fn_kwargs={"limit": args.max_length})
    return dataset.filter(_fits, fn_kwargs={"limit": args.max_length})


def _fits(row: Example, limit: int) -> bool:
    return len(row["prompt_ids"]) < limit


def _must_fit(row: Example, limit: int) -> Example:
    if _fits(row, limit):
        return row
    raise ValueError(
        "a prompt leaves no room for its completion, and its row cannot be left out without "
        f"its neighbour, which has that in {_KL}; make the rows with the trainer's max_length; "
        f"the prompt has {len(row['prompt_ids'])} tokens, max_length is {limit}"
    )


def _moved_on(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """A batch with the completions moved on by one row."""
    completions = batch["completion_ids"]
    return {**batch, _KL: [completions[-1], *completions[:-1]]}


def _check_kl(dataset: Any, batch_size: int) -> None:
    """Raises where the first rows have completions moved on within batches of another size."""
    rows = list(itertools.islice(iter(dataset), 2 * batch_size))
    completions = [row["completion_ids"] for row in rows]
    found = [row[_KL] for row in rows]
    for start in range(0, len(rows), batch_size):
        batch = completions[start : start + batch_size]
        if found[start : start + batch_size] == [batch[-1], *batch[:-1]]:
            continue
        sizes = [size for size in range(1, len(rows) + 1) if completions[size - 1] == found[0]]
        theirs = f"batches of {sizes[0]} rows" if sizes else "batches of more rows, or of none"
        raise ValueError(
            f"the rows have in {_KL} completions of other batches than the trainer's; leave the "
            "column out, and the trainer makes it, or make it by kl_completions(source, "
            f"per_device_train_batch_size); they are of {theirs}, and "
            f"per_device_train_batch_size is {batch_size}"
        )
