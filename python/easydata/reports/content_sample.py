"""How many rows and tokens files hold, told by a sample of them."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from easydata import _native
from easydata.core.config import DatasetConfig
from easydata.sources.sharded_source import ShardedDataSource, Unkeep

# Parts of the files that are read, and rows and bytes of content of all of them at most.
_PARTS = 32
_ROWS = 200_000
_BYTES = 64 << 20
# A part is a chunk of lines, a row group or a small file.
_PART_BYTES = 1 << 20
_MOST_PARTS = 4096
# Of a normal distribution: 95 of 100 samples are as near.
_SIGMAS = 1.96


@dataclass(frozen=True)
class Estimate:
    """A count, and how far off it may be.

    Attributes:
        count: The count.
        plus_minus: Half of the range that 95 of 100 such samples put it in; 0: it is exact. None:
            one part was read, which tells nothing of the others.
    """

    count: int
    plus_minus: int | None = 0

    @property
    def is_exact(self) -> bool:
        """Whether all was read."""
        return self.plus_minus == 0


@dataclass(frozen=True)
class ContentSample:
    """What was read of a source, and what it says of all of it.

    Attributes:
        rows: Rows of the source.
        tokens: Their tokens; None where they have none.
        share: How much of the files was read, from 0 to 1.
        parts: Of how many parts.
    """

    rows: Estimate
    tokens: Estimate | None
    share: float
    parts: int


@dataclass(frozen=True)
class _Read:
    """What was read of one part: rows and tokens, and how much of the files that is."""

    rows: int
    tokens: int
    bytes: float
    share: float


def as_it_lies(dataset: DatasetConfig) -> DatasetConfig:
    """The dataset in the order of its files, whole, and not kept: what there is of it."""
    return replace(
        dataset,
        shuffle=None,
        shuffle_window_bytes=None,
        num_rows=None,
        parts=None,
        part=None,
        part_seed=0,
        part_by=None,
        cache_path=None,
        cache_enabled=False,
    )


def sample_content(
    source: ShardedDataSource[Any], sizes: Sequence[int | None], known_rows: int | None = None
) -> ContentSample | None:
    """Reads parts of a source of files, spread over all of it; all of it where it is small.

    Nothing is kept of what is read, and bad rows go to no quarantine.

    Args:
        source: Its rows are counted, and the lists in their column "input_ids".
        sizes: Bytes of each of its files.
        known_rows: Its rows, where the files say it.

    Returns:
        What it says, or None where the source cannot be read in parts, or its size is not known.
    """
    total = sum(size or 0 for size in sizes)
    if not total or None in sizes:
        return None
    stream = Unkeep().of(source)._plan.stream(is_look=True, whole_documents=True)
    units = _native.divided(stream, max(_PART_BYTES, total // _MOST_PARTS))
    if not units:
        return None
    # Files end anywhere: the last part may be much smaller than it says, so it is always read.
    *others, last = units
    chosen = _spread(len(others))
    is_sampled = len(chosen) < len(others)
    most = (_ROWS // (len(chosen) + 1), _BYTES // (len(chosen) + 1))
    # The seed is the part's number: a second look gives the same figures.
    units = [
        _one_run(others[number], sizes, number) if is_sampled else others[number]
        for number in chosen
    ]
    every = [_read(stream, unit, most) for unit in (*units, last)]
    *reads, end = every
    is_whole = not is_sampled and all(each.share >= 1 for each in every)

    def estimate(what: str) -> Estimate:
        *counts, at_end = [getattr(each, what) for each in every]
        if is_whole:
            return Estimate(sum(counts) + at_end)
        if known_rows is not None:
            return _estimate([*counts, at_end], [each.rows for each in every], known_rows)
        rest = _estimate(counts, [each.bytes for each in reads], total - last["bytes"])
        return Estimate(rest.count + round(at_end / (end.share or 1)), rest.plus_minus)

    has_tokens = "input_ids" in _native.schema_of(stream).names
    return ContentSample(
        estimate("rows") if known_rows is None else Estimate(known_rows),
        estimate("tokens") if has_tokens else None,
        min(sum(each.bytes for each in every) / total, 1.0),
        len(every),
    )


def _spread(count: int) -> list[int]:
    """Numbers of the parts that are read: one at random of each of as many equal runs."""
    most = _PARTS - 1
    if count <= most:
        return list(range(count))
    ends = itertools.pairwise(count * run // most for run in range(most + 1))
    return [random.Random(run).randrange(*each) for run, each in enumerate(ends)]


def _one_run(unit: dict[str, Any], sizes: Sequence[int | None], seed: int) -> dict[str, Any]:
    """One file of a unit, or one block, so that little is read of large units."""
    draw = random.Random(seed)
    parts = sum(1 if end < 0 else end - begin for _, begin, end in unit["runs"])
    shard, begin, end = draw.choice(unit["runs"])
    if end < 0:
        return {**unit, "runs": [[shard, begin, end]], "bytes": sizes[shard] or 1}
    block = draw.randrange(begin, end)
    return {**unit, "runs": [[shard, block, block + 1]], "bytes": max(1, unit["bytes"] // parts)}


def _read(stream: _native.Stream, unit: dict[str, Any], most: tuple[int, int]) -> _Read:
    """Counts what is in a part, or at its beginning where there is much."""
    most_rows, most_bytes = most
    rows = tokens = size = 0
    batches = _native.iterate_batches(stream, unit=unit)
    batch: Any
    for batch in batches:
        rows += batch.num_rows
        size += batch.nbytes
        if "input_ids" in batch.schema.names:
            tokens += len(batch.column("input_ids").flatten())
        if rows >= most_rows or size >= most_bytes:
            break
    # Read to its end, or so nearly that nobody knows better.
    share = batches.read_share
    batches.close()
    share = 1.0 if share is None else share
    return _Read(rows, tokens, unit["bytes"] * share, share)


def _estimate(counts: Sequence[int], sizes: Sequence[float], total: float) -> Estimate:
    """The count of all parts, from that of some, by their sizes: the ratio estimate."""
    size = sum(sizes)
    if not size:
        return Estimate(0, None)
    ratio = sum(counts) / size
    number = len(counts)
    if number < 2:
        return Estimate(round(ratio * total), None)
    # Of the ratio, by how far each part is from it; sampled parts may have been read in part.
    variance = sum(
        (count - ratio * part) ** 2 for count, part in zip(counts, sizes, strict=True)
    ) / (number - 1)
    unread = max(0.0, 1 - size / total)
    error = total / size * math.sqrt(number * variance * unread)
    return Estimate(round(ratio * total), max(1, round(_SIGMAS * error)))
