"""Mixing of several sources into one, by weights that may change over time."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from easydata import _native
from easydata.core.signatures import MixedShardedSourceSignature
from easydata.core.takes_options import changed_options
from easydata.sources.huggingface import wrap_hf_dataset
from easydata.sources.rows_in_shards import made_of
from easydata.sources.sharded_source import (
    Keep,
    PlannedSource,
    Rewrite,
    Selection,
    ShardedDataSource,
)
from easydata.sources.weight_schedule import WeightScheduler

if TYPE_CHECKING:
    import datasets


StopStrategy: TypeAlias = Literal["restart", "first_exhausted", "all_exhausted"]

SOURCE_FIELD = "__source__"

_log = logging.getLogger("easydata")


@dataclass
class MixedShardState:
    """Where a mixture stands, in EasyDeL's terms; a loader's state_dict() is its own."""

    source_index: int
    shard_index: int
    row_index: int
    block_index: int = 0
    examples_yielded: int = 0


class MixedShardedSource(
    MixedShardedSourceSignature,
    PlannedSource[dict[str, Any]],
    options="MixOptions",
    positional=(
        "sources",
        "weights",
        "block_size",
        "seed",
        "stop_strategy",
        "weight_scheduler",
    ),
    texts={
        "sources": "The sources by name; a list gets the names in `weights`, if that is a dict of "
        "as many, else dataset_0, dataset_1, ...",
        "weights": "By name, or a list in the sources' order; any positive sum. None: equal.",
        "weight_scheduler": "Weights that change, instead of `weights`.",
    },
):
    """Several sources mixed block by block, or as Grain mixes.

    In each block of `block_size` examples every source has its share, and NumPy's
    `default_rng(seed + block)` orders them. A share that is no whole number is carried on: at every
    block's end each source is within one example of what its weight gives it.

    With `order="grain"` the number of a row alone says which source it is of, exactly as in Grain's
    `MapDataset.mix` and `IterDataset.mix`.

    Raises:
        ValueError: For weights that name other sources, are negative or all zero, for unknown
            options, and for what Grain's order has no meaning for: `unit="tokens"`, a
            `weight_scheduler`, a weight of 0.
    """

    _passes_on = ("shuffle", "split", "split_by")

    def _take(
        self,
        sources: Mapping[str, ShardedDataSource[Any]] | Sequence[ShardedDataSource[Any]],
        weights: Mapping[str, float] | Sequence[float] | None = None,
        weight_scheduler: WeightScheduler | None = None,
        *,
        options: dict[str, Any],
    ) -> None:
        if weight_scheduler is not None and not isinstance(weight_scheduler, WeightScheduler):
            raise TypeError(
                f"weight_scheduler: must be a WeightScheduler, not {weight_scheduler!r}"
            )
        named = _named(sources, weights)
        self._inputs = tuple(named.values())
        self._names = list(named)
        self._given = options
        self._scheduler = weight_scheduler
        self._counts_steps = weight_scheduler is not None and options["schedule_unit"] == "steps"
        self._weights = _weights_in_order(self._names, weights)
        if weight_scheduler is not None:
            if weights is not None:
                raise ValueError("give a mixture weights or a weight_scheduler, not both")
            _check_names(self._names, weight_scheduler.dataset_names, "the weight schedule")
        self._order()  # the engine judges weights and options before anything is read

    @property
    def sources(self) -> dict[str, ShardedDataSource[Any]]:
        """The sources that are mixed, by name."""
        return dict(zip(self._names, self._inputs, strict=True))

    @property
    def shard_names(self) -> Sequence[str]:
        """The mixture is one shard."""
        return ["mixed_shard_0"]

    def open_shard(self, shard_name: str) -> Iterator[Any]:
        """The mixed rows from the first on, each a new dict with its source as `__source__`."""
        if shard_name not in self.shard_names:
            raise _native.MissingKey(
                f"the shard of a mixture is {self.shard_names[0]!r}, not {shard_name!r}"
            )
        if self._given["unit"] == "tokens":
            yield from _native.iterate_rows(self._stream())
            return
        for name, row in self._picks():
            yield {**row, SOURCE_FIELD: name}

    def __len__(self) -> int:
        if self._given["stop_strategy"] == "restart":
            raise TypeError(
                'the mix never ends (stop_strategy="restart") and has no length; one with '
                'stop_strategy="first_exhausted" or "all_exhausted" ends'
            )
        return sum(len(source) for source in self._inputs)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        mix = {"weights": self._weights, "weight_scheduler": self._scheduler}
        given = {name: value for name, value in mix.items() if value is not None}
        return (self._names,), {**given, **changed_options("MixOptions", self._given)}

    def _rewritten(self, rewrite: Rewrite) -> None:
        if isinstance(rewrite, Selection):
            raise rewrite.refused(
                "a mix draws its rows from one source and another as it goes, and numbers none"
            )
        if isinstance(rewrite, Keep):
            raise ValueError(
                "cache() cannot follow a mix, whose rows are of blocks of many files; give it to "
                "each of the sources that are mixed: MixedShardedSource({name: source.cache(), "
                "...})"
            )

    def _shortest_ramp(self) -> int | None:
        """The steps between the two points of the schedule that lie closest; None: no two.

        None, too, where the schedule counts examples: how many a row of a window holds is not
        known.
        """
        if self._scheduler is None or not self._counts_steps:
            return None
        steps = [point.step for point in self._scheduler.schedule]
        return min((b - a for a, b in itertools.pairwise(steps)), default=None)

    def _options(self) -> _native.MixOptions:
        schedule = None if self._scheduler is None else self._scheduler._in_order(self._names)
        return _native.MixOptions(self._names, self._weights, schedule, **self._given)

    def _order(self) -> _native.MixOrder:
        return _native.MixOrder(self._options())

    def _picks(self) -> Iterator[tuple[str, Any]]:
        """(source name, row) in the order of the mixture; the rows are the sources' own."""
        order, stop = self._order(), self._given["stop_strategy"]
        names = self._names
        iterators = [iter(source.iter_shards()) for source in self._inputs]
        has_rows = [False] * len(names)
        seen_whole = [not order.wanted(index) for index in range(len(names))]
        ahead: dict[int, Any] = {}
        while True:
            for index in order.next_block():
                row = ahead.pop(index) if index in ahead else next(iterators[index], _END)
                if isinstance(row, Exception):
                    raise row
                while row is _END:
                    if not has_rows[index]:
                        raise ValueError(
                            f'sources["{names[index]}"] is empty: a mix cannot take examples from '
                            "it; remove it from the mix, or look at what filters its rows out"
                        )
                    if stop == "first_exhausted":
                        return
                    iterators[index] = iter(self._inputs[index].iter_shards())
                    has_rows[index] = False
                    row = next(iterators[index], _END)
                has_rows[index] = True
                if stop == "all_exhausted" and not seen_whole[index]:
                    # The mixture ends with the last row of a source: is this it?
                    try:
                        ahead[index] = next(iterators[index], _END)
                    except Exception as error:
                        ahead[index] = error  # raised when its turn comes
                    seen_whole[index] = ahead[index] is _END
                    if all(seen_whole):
                        yield names[index], row
                        return
                yield names[index], row

    def _make_plan(self) -> _native.Plan:
        plans = [source._plan for source in self._inputs]
        return _native.mixed_rows(plans, self._options(), _log.warning)


_END = object()


def block_mixture_interleave(
    datasets: Mapping[str, Any] | Sequence[Any],
    weights: Mapping[str, float] | Sequence[float] | None = None,
    block_size: int = 1000,
    seed: int | None = 42,
    stop: StopStrategy = "restart",
) -> datasets.IterableDataset:
    """Mixes datasets block by block into one `datasets.IterableDataset`.

    Args:
        datasets: Hugging Face datasets, or sources of this package, by name; a list gets the names
            in `weights`, if that is a dict of as many, else dataset_0, dataset_1, ...
        weights: By name, or a list in the datasets' order; any positive sum. None: equal.
        block_size: Examples of a block.
        seed: Seed of the order; None means 0.
        stop: "restart", "first_exhausted" or "all_exhausted", as for MixedShardedSource.

    Returns:
        The rows as the datasets have them, without `__source__`.
    """
    from datasets import IterableDataset

    mixed = MixedShardedSource(datasets, weights, block_size, seed, stop)
    return IterableDataset.from_generator(_mixed_rows, gen_kwargs={"mixed": mixed})


def longest_window(ramp: int) -> int:
    """The most steps of a window downstream of a mix that leave a ramp of so many steps a ramp."""
    return max(1, ramp // 10)


def _mixed_rows(mixed: MixedShardedSource) -> Iterator[Any]:
    for _, row in mixed._picks():
        yield dict(row)


def _named(
    sources: Mapping[str, Any] | Sequence[Any], weights: Any
) -> dict[str, ShardedDataSource[Any]]:
    """Sources by name; what holds rows otherwise becomes a source."""
    if isinstance(sources, Mapping):
        named = {str(name): source for name, source in sources.items()}
    elif isinstance(sources, Sequence) and not isinstance(sources, str):
        names = [f"dataset_{index}" for index in range(len(sources))]
        given = list(weights) if isinstance(weights, Mapping) else names
        if len(given) == len(names) and not set(given) & set(names):
            names = given
        named = dict(zip(names, sources, strict=True))
    else:
        raise TypeError(
            f"sources to mix come as a dict by name or as a list, not as {type(sources).__name__}"
        )
    if not named:
        raise ValueError("a mix needs at least one source")
    return {name: wrap_hf_dataset(source) for name, source in named.items()}


def _check_names(names: list[str], given: Sequence[str], what: str) -> None:
    """Raises ValueError unless `given` names exactly the sources."""
    for name in given:
        if name not in names:
            raise ValueError(
                f"{what} names no source of the mix with {name!r}{_native.suggestion(name, names)}"
            )
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"{what} must name every source of the mix; missing: {', '.join(missing)}")


def _weights_in_order(
    names: list[str], weights: Mapping[str, float] | Sequence[float] | None
) -> list[float]:
    """Weights in the order of the names; none at all for equal ones."""
    if weights is None:
        return []
    if isinstance(weights, Mapping):
        _check_names(names, list(weights), "weights")
        return [weights[name] for name in names]
    if isinstance(weights, str) or not hasattr(weights, "__len__"):
        raise TypeError(
            f"weights: must be a mapping or a list, one for each source, not {weights!r}"
        )
    if len(weights) != len(names):
        raise ValueError(f"the mix has {len(names)} sources, but {len(weights)} weights")
    return list(weights)


def rows_to_come(source: ShardedDataSource[Any]) -> int:
    """The rows of a pass over a source; TypeError where they are not known before they are read.

    `len()` of a mix is that of its sources together: it may end before, or take rows again.
    """
    if any(isinstance(each, MixedShardedSource) for each in made_of(source)):
        raise TypeError("a mix does not know how many rows it gives before it ends")
    return len(source)
