"""Rows to batches, in Python."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from easydata import _native
from easydata.core.config_class import ConfigError
from easydata.execution.prefetch import PrefetchIterator

T = TypeVar("T")
Batch = dict[str, Any]


@dataclass(frozen=True)
class PadSpec:
    """How the rows of a column are brought to one length.

    Attributes:
        value: What is put in; None: what the column gets without a PadSpec (see
            `AsyncDataLoader`).
        side: Where: "right" (after the values) or "left"; None: where it is without a PadSpec.
        length: Values a row; None: as many as the longest row of the batch has. Of several lengths
            the least that the longest row fits into: so many shapes, and no more, come out.
    """

    value: float | None = None
    side: Literal["left", "right"] | None = None
    length: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.side not in ("left", "right", None):
            raise ValueError(f'side must be "left" or "right", not {self.side!r}')
        several = isinstance(self.length, Sequence) and not isinstance(self.length, str)
        lengths = list(self.length) if isinstance(self.length, Sequence) else [self.length]
        if not lengths:
            raise ValueError("length needs one length at least; None: that of the longest row")
        # What is no number is named by the loader, with the column.
        known = [each for each in lengths if isinstance(each, int)]
        if any(each < 1 for each in known):
            raise ValueError(f"length must be at least 1, not {min(known)}")
        if several:
            in_order = sorted(set(known)) if len(known) == len(lengths) else lengths
            object.__setattr__(self, "length", tuple(in_order))


def pad_specs(padding: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The PadSpecs of `padding`, where some may be the options of one, as in a config file.

    What is no mapping stays what it is: the engine refuses it.

    Raises:
        ConfigError: An option is none of PadSpec's.
    """
    if padding is not None and not isinstance(padding, Mapping):
        return padding
    names = [field.name for field in dataclasses.fields(PadSpec)]
    specs: dict[str, Any] = {}
    for column, spec in (padding or {}).items():
        unknown = [key for key in spec if key not in names] if isinstance(spec, Mapping) else []
        if unknown:
            raise ConfigError(
                f"padding[{column!r}]",
                [
                    f"PadSpec has no option {key!r}{_native.suggestion(str(key), names)}"
                    for key in unknown
                ],
            )
        specs[column] = PadSpec(**spec) if isinstance(spec, Mapping) else spec
    return specs


def collate_batch(examples: Sequence[Mapping[str, Any]]) -> Batch:
    """Joins rows into a batch, as the loader does.

    Numbers and arrays of one shape become one numpy array; lists of numbers of several lengths are
    padded (0; `labels` with -100); anything else becomes a list. Columns are those of all rows
    together.

    Raises:
        ValueError: When a row lacks a number that others have.
    """
    import numpy as np

    columns = dict.fromkeys(name for example in examples for name in example)
    batch: Batch = {}
    for name in columns:
        values = [example.get(name) for example in examples]
        arrays = [None if value is None else np.asarray(value) for value in values]
        known = [array for array in arrays if array is not None]
        numeric = bool(known) and all(array.dtype.kind in "biuf" for array in known)
        shapes = {array.shape for array in known}
        if numeric and len(known) == len(values) and len(shapes) == 1:
            batch[name] = np.stack(known)
        elif numeric and all(array.ndim == 1 for array in known):
            batch[name] = _pad(name, arrays, np.result_type(*known))
        elif numeric and shapes == {()}:
            raise ValueError(
                f"column {name!r} has no value in row {values.index(None)}, and an array cannot "
                "hold that; drop such rows or give them a value"
            )
        else:
            batch[name] = values
    return batch


def _pad(name: str, arrays: Sequence[Any], dtype: Any) -> Any:
    import numpy as np

    length = max(0 if array is None else len(array) for array in arrays)
    # An empty list has numpy's default type, which must not decide.
    filled = [array.dtype for array in arrays if array is not None and len(array) > 0]
    out = np.full(
        (len(arrays), length),
        -100 if name == "labels" else 0,
        np.result_type(*filled) if filled else dtype,
    )
    for row, array in zip(out, arrays, strict=True):
        if array is not None:
            row[: len(array)] = array
    return out


def batch_iterator(
    source: Iterable[Mapping[str, Any]], batch_size: int, drop_last: bool = True
) -> Iterator[Batch]:
    """Batches of `batch_size` rows of an iterable of dicts, by collate_batch()."""
    return map(collate_batch, _lists(source, batch_size, drop_last))


def _lists(source: Iterable[T], batch_size: int, drop_last: bool) -> Iterator[list[T]]:
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}")
    rows = iter(source)
    lists = iter(lambda: list(itertools.islice(rows, batch_size)), [])
    return (each for each in lists if len(each) == batch_size or not drop_last)


def create_data_iterator(
    dataset: Any,
    batch_size: int,
    shuffle: bool = True,
    drop_last: bool = False,
    prefetch: bool = True,
    prefetch_workers: int = 2,
    prefetch_buffer: int = 4,
    shuffle_buffer: int | None = None,
    seed: int | None = None,
) -> Iterator[Any]:
    """Rows of a `datasets` object in lists of `batch_size`; single rows where that is 1 or less.

    Args:
        dataset: A `datasets.Dataset` or `datasets.IterableDataset`.
        batch_size: Rows a list.
        shuffle: Shuffle by the dataset's own method.
        drop_last: Leave out a last list that is not full.
        prefetch: Read ahead on a thread.
        prefetch_workers: At most one thread reads an iterator, so any number from 1 on does the
            same.
        prefetch_buffer: Lists read ahead at most.
        shuffle_buffer: Rows of the shuffle buffer of a streaming dataset; None: 10,000.
        seed: Seed of the shuffle.
    """
    if shuffle:
        streaming = hasattr(dataset, "_ex_iterable")
        options = {"buffer_size": shuffle_buffer or 10_000} if streaming else {}
        dataset = dataset.shuffle(seed=seed, **options)
    rows = dataset if batch_size <= 1 else _lists(dataset, batch_size, drop_last)
    if not prefetch:
        return iter(rows)
    return PrefetchIterator(iter(rows), prefetch_buffer, prefetch_workers)
