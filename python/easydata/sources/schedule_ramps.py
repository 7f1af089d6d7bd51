"""How windows downstream of a mix blur and delay what its weights change, in steps."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from easydata.sources.first_rows import first_rows
from easydata.sources.mixed import MixedShardedSource, longest_window
from easydata.sources.packed import PackedShardedSource
from easydata.sources.rows_in_shards import made_of
from easydata.sources.sharded_source import ShardedDataSource

_Kind = TypeVar("_Kind")

_log = logging.getLogger("easydata")

# Documents of a source that are looked at to tell how long they are.
_LOOKED_AT = 100
# Rows of the window that packed rows are shuffled in, by the unit of shuffle_buffer_factor.
_ROWS_OF_A_FACTOR = 100


def tell_blurred(source: ShardedDataSource[Any], load: Mapping[str, Any]) -> None:
    """Says which windows are longer than a tenth of a schedule's shortest ramp, in steps.

    Args:
        source: What is loaded or saved.
        load: The options by which its rows become steps: batch_size, and the windows if any.
    """
    mixes = (each for each in made_of(source) if isinstance(each, MixedShardedSource))
    ramps = ((mixed, ramp) for mixed in mixes if (ramp := mixed._shortest_ramp()) is not None)
    mixed, ramp = next(ramps, (None, 0))
    if mixed is None:
        return
    most = longest_window(ramp)
    for what, steps, cure in _windows(source, mixed, load, most):
        if steps > most:
            _log.warning(
                "%s is %s%d steps, and the weight schedule's shortest ramp has %d: what comes out "
                "is a mean over the window, not the ramp; %s keeps it within a tenth",
                what,
                "about " if "documents" in what else "",
                steps,
                ramp,
                cure,
            )


def steps_to_new_mix(source: ShardedDataSource[Any], load: Mapping[str, Any]) -> int | None:
    """About how many steps it takes at most until nothing of the mix before an edit comes.

    An edit acts from the first block on that the windows after the mix had not read; what these
    hold then comes before, and they fill once more. None: there is no mix.

    Args:
        source: What is loaded.
        load: The options by which its rows become steps.
    """
    mixed = _outermost(source, MixedShardedSource)
    if mixed is None:
        return None
    batch, packed = int(load["batch_size"]), _outermost(source, PackedShardedSource)
    windows: float = sum(steps for _, steps, _ in _windows(source, mixed, load, 1))
    documents: float = batch
    if packed is not None:
        tokens = _tokens_of_a_document(mixed, packed._given["input_field"])
        documents = batch * packed._given["seq_length"] / max(tokens, 1)
        if packed._given["shuffle"]:
            steps = packed._given["shuffle_buffer_factor"] * _ROWS_OF_A_FACTOR / batch
            ramp = mixed._shortest_ramp()
            windows += steps if ramp is None else min(steps, longest_window(ramp))
    block: int = mixed._given["block_size"]
    return math.ceil(block / documents + 2 * windows) + 1


def _outermost(source: ShardedDataSource[Any], kind: type[_Kind]) -> _Kind | None:
    """The outermost source of a kind that a source is made of, if it is made of one."""
    return next((each for each in made_of(source) if isinstance(each, kind)), None)


def _windows(
    source: ShardedDataSource[Any], mixed: MixedShardedSource, load: Mapping[str, Any], most: int
) -> Iterator[tuple[str, int, str]]:
    """(window, its steps, what to set) of those downstream of the mix."""
    batch = int(load["batch_size"])
    if (rows := load.get("shuffle_buffer_size")) is not None:
        cure = f"shuffle_buffer_size={most * batch}"
        yield (
            f"the loader's shuffle window of {rows:,} rows (shuffle_buffer_size)",
            rows // batch,
            cure,
        )
    if (batches := load.get("bucket_batches")) is not None:
        yield f"a window of {batches:,} batches (bucket_batches)", batches, f"bucket_batches={most}"
    packed = _outermost(source, PackedShardedSource)
    if packed is None or not packed._has_window:
        return
    window, seq_length = packed._given["pack_window"], packed._given["seq_length"]
    tokens = _tokens_of_a_document(mixed, packed._given["input_field"])
    per_step = batch * seq_length / max(tokens, 1)
    steps = round(window / per_step)
    cure = f"pack_window={max(1, int(most * per_step))}"
    yield f"the packer's window of {window:,} documents (pack_window)", steps, cure


def _tokens_of_a_document(mixed: MixedShardedSource, column: str) -> float:
    """About how many tokens a document has, by the first ones of the source with the longest."""
    longest = 0.0
    for source in mixed._inputs:
        try:
            rows = itertools.islice(first_rows(source), _LOOKED_AT)
            lengths = [len(row[column]) for row in rows if row.get(column) is not None]
        except Exception as error:
            # It comes again where the row is read, with its address.
            _log.debug("how long documents are is not known: %s", error)
            continue
        if lengths:
            longest = max(longest, sum(lengths) / len(lengths))
    return longest
