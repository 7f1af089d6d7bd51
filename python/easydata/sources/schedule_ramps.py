"""How windows downstream of a weight schedule blur what it changes step by step."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from easydata.sources.first_rows import first_rows
from easydata.sources.mixed import MixedShardedSource, longest_window
from easydata.sources.packed import PackedShardedSource
from easydata.sources.sharded_source import ShardedDataSource

_log = logging.getLogger("easydata")

# Documents of a source that are looked at to tell how long they are.
_LOOKED_AT = 100


def tell_blurred(source: ShardedDataSource[Any], load: Mapping[str, Any]) -> None:
    """Says which windows are longer than a tenth of a schedule's shortest ramp, in steps.

    Args:
        source: What is loaded or saved.
        load: The options by which its rows become steps: batch_size, and the windows if any.
    """
    mixed = _scheduled(source)
    ramp = None if mixed is None else mixed._shortest_ramp()
    if mixed is None or ramp is None:
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


def _scheduled(source: ShardedDataSource[Any]) -> MixedShardedSource | None:
    """The mix with a schedule that a source is made of, if it is made of one."""
    if isinstance(source, MixedShardedSource) and source._shortest_ramp() is not None:
        return source
    return next(filter(None, map(_scheduled, source._inputs)), None)


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
    packed = _packer(source)
    if packed is None or not packed._has_window:
        return
    window, seq_length = packed._given["pack_window"], packed._given["seq_length"]
    tokens = _tokens_of_a_document(mixed, packed._given["input_field"])
    per_step = batch * seq_length / max(tokens, 1)
    steps = round(window / per_step)
    cure = f"pack_window={max(1, int(most * per_step))}"
    yield f"the packer's window of {window:,} documents (pack_window)", steps, cure


def _packer(source: ShardedDataSource[Any]) -> PackedShardedSource | None:
    if isinstance(source, PackedShardedSource):
        return source
    return next(filter(None, map(_packer, source._inputs)), None)


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
