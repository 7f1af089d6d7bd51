"""Several sources as one."""

from __future__ import annotations

import bisect
import itertools
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.core.signatures import CompositeShardedSourceSignature
from easydata.sources.rows_in_shards import ShardInfo
from easydata.sources.sharded_source import (
    PlannedSource,
    Rewrite,
    Selection,
    ShardedDataSource,
    Shuffle,
    rows_to_select,
)

_log = logging.getLogger("easydata")

# Selected rows go from one source to another so often at most.
_MOST_RUNS = 1000


class CompositeShardedSource(
    CompositeShardedSourceSignature,
    PlannedSource[Any],
    options="VocabularyOptions",
    positional=("sources",),
    texts={"sources": "The sources, in reading order."},
):
    """The shards of several sources, one source after the other.

    A shard keeps its name where no other has the same; else it is called after its source's index:
    "0/name", "1/name".

    Columns that all sources have, in whatever order, get types that hold the values of all.
    Sources whose columns differ otherwise give rows without types, as JSON files do, each with the
    columns of its source.
    """

    def _take(self, sources: Sequence[ShardedDataSource[Any]], *, options: dict[str, Any]) -> None:
        if not sources:
            raise ValueError("a composite needs at least one source")
        self._given = options
        self._inputs = tuple(sources)
        # The names are asked for once: they are the shards' identity.
        given = [list(source.shard_names) for source in self._inputs]
        count = Counter(name for names in given for name in names)
        taken = {name for name, times in count.items() if times == 1}
        self._shards: dict[str, tuple[int, str]] = {}
        for index, names in enumerate(given):
            for name in names:
                unique = name
                while count[name] > 1 and (unique == name or unique in taken):
                    unique = f"{index}/{unique}"
                taken.add(unique)
                self._shards[unique] = (index, name)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (list(self._inputs),), {}

    @property
    def shard_names(self) -> Sequence[str]:
        """Names of all shards, distinct."""
        return tuple(self._shards)

    def _find(self, shard_name: str) -> tuple[ShardedDataSource[Any], str]:
        try:
            index, name = self._shards[shard_name]
        except KeyError:
            raise _native.MissingKey(f"there is no shard {shard_name} in this composite") from None
        return self._inputs[index], name

    def open_shard(self, shard_name: str) -> Iterator[Any]:
        """The rows of a shard, in order."""
        source, name = self._find(shard_name)
        return source.open_shard(name)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Any]:
        """The rows of a shard from row `row` on; it costs what it costs the shard's own source."""
        source, name = self._find(shard_name)
        return source.open_shard_at_row(name, row)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What the shard's own source knows of it, with its name and index here."""
        source, name = self._find(shard_name)
        info = source.get_shard_info(name)
        if info is None:
            return None
        index = list(self._shards).index(shard_name)
        return type(info)(**{**vars(info), "shard_name": shard_name, "shard_id": index})

    def __len__(self) -> int:
        return sum(len(source) for source in self._inputs)

    _passes_on = ("split", "split_by", "cache")

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Any] | None:
        if isinstance(rewrite, Shuffle):
            raise ValueError(
                "a composite reads one source after the other, and shuffling each of them leaves "
                "them so; mix shuffled sources instead (MixedShardedSource)"
            )
        return self._selected(rewrite) if isinstance(rewrite, Selection) else None

    def _selected(self, selection: Selection) -> ShardedDataSource[Any]:
        ends = list(itertools.accumulate(map(rows_to_select, self._inputs)))
        numbers = selection.numbers(ends[-1])
        runs = [
            (index, list(run))
            for index, run in itertools.groupby(numbers, lambda n: bisect.bisect_right(ends, n))
        ]
        if len(runs) > _MOST_RUNS:
            raise ValueError(
                f"these rows of a composite go from one source to another {len(runs) - 1} times, "
                f"and each time takes a stream of its own; sort them, or select from each source"
            )
        begins = [0, *ends]
        return CompositeShardedSource(
            [
                _chosen(self._inputs[index], [number - begins[index] for number in run])
                for index, run in runs or [(0, [])]
            ],
            **self._given,
        )

    def _make_plan(self) -> _native.Plan:
        return _native.concatenated_rows(
            [source._plan for source in self._inputs],
            shards=[(name, index, own) for name, (index, own) in self._shards.items()],
            rows=self._rows_plan(),
            notice=_log.warning,
            options=_native.VocabularyOptions(**self._given),
        )


def _chosen(source: ShardedDataSource[Any], numbers: list[int]) -> ShardedDataSource[Any]:
    return Selection(lambda total: numbers).of(source)
