"""How well an order of rows is shuffled, and what a better one costs.

Measured is where the rows come from: the part of a batch's composition that the order decides. Each
figure stands beside that of a random permutation of as many rows, measured in the same way.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from easydata import _native
from easydata.reports.row_order import (
    BlockMap,
    RowOrder,
    Rows,
    Setting,
    grain_order,
    order_of,
)

# Parts of the source that batches are looked at for, and the distances between rows that are.
_PARTS = 16
_LAGS = tuple(2**k for k in range(11))
# Rows of an epoch that are looked at, and rows of windows that are permuted for it, at most.
_SAMPLE_ROWS = 1 << 20
_WINDOW_ROWS = 1 << 24
_ACCESSES = 1 << 20

# What is taken for as good as random: a batch that is worth half its rows or more, and correlations
# that explain less than 0.3 % of where the next row comes from.
_GOOD_SHARE = 0.5
_GOOD_CORRELATION = 0.05
# Windows that are proposed, and the rows of a buffer where the config names none.
_WINDOWS = (256 << 20, 1 << 30, 4 << 30)
_BUFFER_ROWS = 10_000


@dataclass
class OrderQuality:
    """Statistics of an order.

    Attributes:
        neighbour_correlation: Of the indices in the source of a row and the next one; 1 where they
            are read as they lie, 0 at random.
        worst_correlation: The largest of it between rows 1, 2, 4 .. 1,024 apart.
        worst_lag: How far those are apart.
        part_chi_squared: Chi-squared, per degree of freedom, of the rows of a batch over 16 equal
            parts of the source, on average; about 1 at random, the batch's size where a batch comes
            from one part.
        blocks_in_batch: Distinct blocks that a batch's rows come from, on average.
        independent_rows: Rows, drawn at random, that make a batch as representative as this one:
            its size divided by part_chi_squared (Kish's design effect), relative to the ideal.
    """

    neighbour_correlation: float
    worst_correlation: float
    worst_lag: int
    part_chi_squared: float
    blocks_in_batch: float
    independent_rows: float


@dataclass
class OrderCost:
    """What an epoch in an order costs.

    Attributes:
        passes: Bytes of file that it reads, as a multiple of all of them.
        bytes: The same as a number.
        blocks: Blocks that it reads; those of "grain" as one thread does, while several, which
            work on rows side by side, share some.
        memory: Bytes of rows that are held for it.
    """

    passes: float
    bytes: float
    blocks: int
    memory: int


@dataclass
class Rung:
    """A setting with what it gives and takes.

    Attributes:
        setting: How rows are shuffled.
        name: The same for people.
        quality: Its statistics.
        cost: What an epoch costs.
        moves: Rows that a row can be away from where it lies in the source, at most.
        parts: Rows that two neighbours in a block can be apart, at most.
    """

    setting: Setting
    name: str
    quality: OrderQuality
    cost: OrderCost
    moves: int
    parts: int


@dataclass
class ShuffleReport:
    """The chosen setting, which comes first, and those that are better.

    Attributes:
        rungs: The settings.
        ideal: The statistics of a random permutation.
        batch_rows: Rows of a batch.
        advice: What to do, in a sentence.
    """

    rungs: list[Rung]
    ideal: OrderQuality
    batch_rows: int
    advice: str


def ideal_order(size: int) -> RowOrder:
    """A random permutation, by NumPy; of many rows, rows drawn at random."""

    def rows(begin: int, end: int, epoch: int) -> Rows:
        if size > _SAMPLE_ROWS:
            return np.random.default_rng([epoch, begin]).integers(size, size=end - begin)
        return np.random.default_rng([epoch]).permutation(size)[begin:end]

    return RowOrder(size, rows, moves=size - 1, parts=size - 1)


def measure(
    order: RowOrder, blocks: BlockMap, batch_rows: int, ideal: OrderQuality | None = None
) -> OrderQuality:
    """The statistics of an order.

    Orders of up to a million rows are looked at as a whole, small ones in several epochs; longer
    ones in up to 64 runs.

    Args:
        order: The order.
        blocks: Where the rows lie.
        batch_rows: Rows of a batch.
        ideal: What is as good as it gets; None: this order.
    """
    size = order.size
    batch = min(batch_rows, size)
    parts = min(_PARTS, size)
    mean, deviation = (size - 1) / 2, max(np.sqrt((size**2 - 1) / 12), 1e-9)
    share = np.diff(-(-np.arange(parts + 1) * size // parts)) / size
    products = dict.fromkeys(_LAGS, 0.0)
    pairs = dict.fromkeys(_LAGS, 0)
    chi, distinct, batches = 0.0, 0, 0
    for epoch, begin, end in _runs(order, batch):
        rows = order.rows(begin, end, epoch)
        scaled = (rows - mean) / deviation
        for lag in _LAGS:
            if lag == 1 or 2 * lag <= len(rows):
                products[lag] += float(np.dot(scaled[lag:], scaled[:-lag]))
                pairs[lag] += len(rows) - lag
        whole = rows[: len(rows) // batch * batch].reshape(-1, batch)
        found = np.arange(len(whole))[:, None] * parts + whole * parts // size
        counts = np.bincount(found.ravel(), minlength=len(whole) * parts).reshape(-1, parts)
        chi += float(((counts - batch * share) ** 2 / (batch * share)).sum())
        of_blocks = np.sort(blocks.blocks_of(whole), axis=1)
        distinct += len(whole) + int((np.diff(of_blocks, axis=1) != 0).sum())
        batches += len(whole)
    found_at = {lag: products[lag] / pairs[lag] for lag in _LAGS if pairs[lag]}
    worst = max(found_at, key=lambda lag: abs(found_at[lag]))
    per_degree = chi / max(1, batches) / max(1, parts - 1)
    least = per_degree if ideal is None else ideal.part_chi_squared
    return OrderQuality(
        neighbour_correlation=found_at[1],
        worst_correlation=found_at[worst],
        worst_lag=worst,
        part_chi_squared=per_degree,
        blocks_in_batch=distinct / max(1, batches),
        independent_rows=batch * min(1.0, least / per_degree) if least else batch,
    )


def _runs(order: RowOrder, batch: int) -> list[tuple[int, int, int]]:
    """The runs of rows to look at, as (epoch, begin, end); each begins with a batch."""
    if order.size <= _SAMPLE_ROWS:
        epochs = min(16, _SAMPLE_ROWS // order.size)
        return [(epoch, 0, order.size) for epoch in range(epochs)]
    count = max(4, min(64, _WINDOW_ROWS // order.window_rows))
    length = min(max(1, _SAMPLE_ROWS // count // batch) * batch, order.size)
    begins = np.linspace(0, order.size - length, count).astype(np.int64) // batch * batch
    return [(0, int(begin), int(begin) + length) for begin in begins]


def cost_of(setting: Setting, blocks: BlockMap, seed: int) -> OrderCost:
    """What an epoch in the order of a setting costs.

    Bytes are those of whole blocks: columns that are not read make all settings cheaper alike.
    """
    limits = _native.shuffle_limits()
    content = blocks.num_rows * blocks.row_bytes
    total = float(blocks.block_bytes.sum())
    held, read, count = 0.0, total, blocks.num_blocks
    if setting.mode == "rows":
        held += min(setting.window_bytes or limits["rows_window_bytes"], content)
    if setting.mode == "grain":
        held += min(limits["grain_cache_bytes"], content)
        count, read = _grain_reads(blocks, seed, limits)
        read += blocks.uncounted_bytes
    if setting.buffer_rows is not None:
        held += min(setting.buffer_rows * blocks.row_bytes, limits["window_bytes"], content)
    return OrderCost(read / total if total else 1.0, read, count, round(held))


def _grain_reads(blocks: BlockMap, seed: int, limits: dict[str, int]) -> tuple[int, float]:
    """Blocks, and bytes of file, that an epoch of "grain" reads, with the cache as it is."""
    order = grain_order(blocks, seed)
    at_once = limits["grain_rows_at_once"]
    content = np.diff(blocks.starts) * blocks.row_bytes
    cache: OrderedDict[int, None] = OrderedDict()
    held, accesses = 0.0, 0
    reads: list[tuple[int, float]] = []
    for begin in range(0, order.size, at_once):
        if accesses > _ACCESSES:
            break
        rows = order.rows(begin, min(begin + at_once, order.size), 0)
        wanted = np.unique(blocks.blocks_of(rows)).tolist()
        accesses += len(wanted)
        missed, read = 0, 0.0
        for block in wanted:
            if block in cache:
                cache.move_to_end(block)
                continue
            cache[block] = None
            missed += 1
            read += float(blocks.block_bytes[block])
            held += float(content[block])
            while held > limits["grain_cache_bytes"] and len(cache) > 1:
                held -= float(content[cache.popitem(last=False)[0]])
        reads.append((missed, read))
    counts, volumes = (np.array(column) for column in zip(*reads, strict=True))
    # The rest goes on as the second half did, when the cache was full.
    rest = -(-order.size // at_once) - len(reads)
    later = slice(len(reads) // 2, None)
    return (
        round(float(counts.sum() + rest * counts[later].mean())),
        float(volumes.sum() + rest * volumes[later].mean()),
    )


def shuffle_report(
    chosen: Setting, blocks: BlockMap, batch_rows: int, seed: int = 0, buffer_seed: int = 0
) -> ShuffleReport:
    """Measures the chosen setting, those above it, and a random permutation.

    Args:
        chosen: How the rows are shuffled.
        blocks: Where they lie.
        batch_rows: Rows of a batch.
        seed: Of the source.
        buffer_seed: Of LoadStageConfig.shuffle_buffer_size.

    Raises:
        ValueError: The source has no two rows.
    """
    if blocks.num_rows < 2:
        raise ValueError(f"there is nothing to shuffle: rows in all files: {blocks.num_rows}")
    batch = min(batch_rows, blocks.num_rows)
    ideal = measure(ideal_order(blocks.num_rows), blocks, batch)
    rungs = []
    for setting in _ladder(chosen, blocks):
        order = order_of(setting, blocks, seed, buffer_seed)
        quality = measure(order, blocks, batch, ideal)
        cost = cost_of(setting, blocks, seed)
        rungs.append(Rung(setting, name_of(setting), quality, cost, order.moves, order.parts))
    return ShuffleReport(rungs, ideal, batch, _advice(rungs, ideal, batch))


def _ladder(chosen: Setting, blocks: BlockMap) -> list[Setting]:
    """The chosen setting and those that shuffle more, in the order of what they hold or read."""
    content = blocks.num_rows * blocks.row_bytes
    rows = [chosen if chosen.mode == "rows" else replace(chosen, mode="rows", window_bytes=None)]
    held = rows[0].window_bytes or _native.shuffle_limits()["rows_window_bytes"]
    for window in _WINDOWS:
        if held < min(window, content):  # else one window has all rows already
            rows.append(replace(chosen, mode="rows", window_bytes=window))
            held = window
    grain = replace(chosen, mode="grain", window_bytes=None)
    if chosen.mode == "grain":
        return [chosen, *rows]
    all_of_them = [
        replace(chosen, mode=None, window_bytes=None),
        replace(chosen, mode="blocks", window_bytes=None),
        *rows,
        grain,
    ]
    if chosen.mode is None and chosen.buffer_rows is None:
        all_of_them.insert(1, Setting(buffer_rows=_BUFFER_ROWS))
    return all_of_them[all_of_them.index(chosen) :]


def name_of(setting: Setting) -> str:
    """A setting for people."""
    names = [] if setting.mode is None else [setting.mode]
    if setting.mode == "rows":
        window = setting.window_bytes or _native.shuffle_limits()["rows_window_bytes"]
        size, unit = (window / 2**20, "MB") if window < 2**30 else (window / 2**30, "GB")
        names = [f"rows {size:.3g} {unit}"]
    if setting.buffer_rows is not None:
        names.append(f"buffer {setting.buffer_rows:,}")
    return ", ".join(names) or "as it is"


def _how_to(rung: Rung) -> str:
    setting = rung.setting
    if setting.window_bytes is not None:
        return f'source.shuffle("{setting.mode}", window_bytes={setting.window_bytes:_})'
    if setting.mode is not None:
        return f'shuffle="{setting.mode}"'
    return f"shuffle_buffer_size={setting.buffer_rows}"


def _advice(rungs: list[Rung], ideal: OrderQuality, batch: int) -> str:
    chosen, own = rungs[0], rungs[0].quality
    noise = 2 * abs(ideal.worst_correlation)
    good = [
        rung
        for rung in rungs
        if rung.quality.independent_rows >= _GOOD_SHARE * batch
        and abs(rung.quality.worst_correlation) <= _GOOD_CORRELATION + noise
    ]
    if chosen in good:
        said = f"{chosen.name} is as good as random for batches of {batch:,} rows"
        cheaper = [rung for rung in good if rung.cost.passes < 0.8 * chosen.cost.passes]
        if cheaper:
            return (
                f"{said}, and reads the data {chosen.cost.passes:.3g} times an epoch; "
                f"{_how_to(cheaper[0])} is so, too, at {cheaper[0].cost.passes:.3g}."
            )
        return f"{said}; nothing better is needed."
    better = [rung for rung in rungs if rung.quality.independent_rows > 1.2 * own.independent_rows]
    if not good and not better:
        return "No setting is better; smaller blocks or more files would help."
    if good:
        best = min(good, key=lambda rung: (round(rung.cost.passes, 1), rung.cost.memory))
        said = f"{_how_to(best)} would be as good as random"
    else:
        affordable = [rung for rung in better if rung.cost.passes < 2] or better
        best = max(affordable, key=lambda rung: rung.quality.independent_rows)
        said = f"No setting is as good as random; {_how_to(best)} comes nearest"
    reads = f"reads the data {best.cost.passes:.3g} times an epoch"
    if best.cost.passes < 1.05 * chosen.cost.passes:
        reads = "reads no more"
    return (
        f"{said}: a batch of {batch:,} rows would be worth "
        f"{best.quality.independent_rows:,.0f} independent ones instead of "
        f"{own.independent_rows:,.0f}; it {reads} and holds "
        f"{best.cost.memory / 2**20:,.0f} MB of rows."
    )
