"""Token lists packed into rows of one length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from easydata import _native
from easydata.core.choices import PackStrategy
from easydata.core.signatures import PackedShardedSourceSignature
from easydata.core.takes_options import changed_options, declared_options
from easydata.sources.huggingface import wrap_hf_dataset
from easydata.sources.mixed import MixedShardedSource, longest_window
from easydata.sources.rows_in_shards import made_of
from easydata.sources.sharded_source import (
    Keep,
    Part,
    Rewrite,
    ShardedDataSource,
    WrapperSource,
)
from easydata.sources.tokenized import tokenizers_of
from easydata.transforms.packers import _matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int32]

Strategy: TypeAlias = PackStrategy


class PackedShardedSource(
    PackedShardedSourceSignature,
    WrapperSource["dict[str, Ints]"],
    options="PackedOptions",
    positional=(
        "source",
        "seq_length",
        "eos_token_id",
        "pad_token_id",
        "strategy",
        "num_packers",
        "include_segment_ids",
        "input_field",
        "shuffle",
        "shuffle_buffer_factor",
        "seed",
    ),
    required=("seq_length",),
    types={"pad_token_id": "int | None"},
    texts={"source": "Where rows come from."},
):
    """The token lists of a source in rows of exactly seq_length tokens.

    Rows are dicts of int32 arrays [seq_length]: the tokens, attention_mask (0 on padding),
    position_ids (from 0 in each segment), segment_ids (from 0; padding has the next number) and the
    token fields. Each document is closed by one EOS token, and none of its tokens is lost. Ids of
    EOS and padding that are not named are those of the tokenizer that the tokens are of, which
    plans and files of tokens know.

    "grain_first_fit", "grain_best_fit" and "grain_concat" are as of Grain 0.2.18. Documents without
    tokens are left out there too (Grain gives them a segment number).
    """

    _passes_on = ("shuffle",)

    def _take(self, source: ShardedDataSource[Any], *, options: dict[str, Any]) -> None:
        self._inputs = (wrap_hf_dataset(source),)
        self._given = options
        # The engine judges the options before anything is read; kept as given, they can be pickled.
        native = _native.PackedOptions(**options)
        # What no file has to be asked for is judged now, the rest with the plan.
        if native.names_eos:
            known = tokenizers_of(self.source)
            native.check_tokens([tokenizer._vocabulary for tokenizer in known])
        self._given["token_fields"] = native.token_fields

    @property
    def shard_names(self) -> Sequence[str]:
        """Packed rows are one shard."""
        return ["packed_shard_0"]

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Ints]]:
        """The packed rows; their arrays are read-only."""
        return _rows_of(self._stream(None, [shard_name]))

    def __len__(self) -> int:
        raise TypeError("the number of packed rows is not known before they are packed")

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self.source,), changed_options("PackedOptions", self._given)

    def _rewritten(self, rewrite: Rewrite) -> None:
        if isinstance(rewrite, Part):
            raise ValueError(
                "packed rows are made of documents of any part; split the documents, and pack the "
                "parts"
            )
        if isinstance(rewrite, Keep):
            raise ValueError(
                "cache() cannot follow packing, whose rows are of documents of many blocks; give "
                "it to the source of tokens that is packed: PackedShardedSource(source.cache(), "
                "...)"
            )

    @property
    def _has_window(self) -> bool:
        """Whether rows are made of the documents of a window."""
        (beside,) = declared_options("PackedOptions")["pack_window"]["acting"]["beside"]
        return self._given[beside["option"]] in beside["values"]

    def _make_plan(self) -> _native.Plan:
        options = _native.PackedOptions(**self._given)
        ramp = _shortest_ramp(self.source)
        # Rows of so many steps are shuffled with each other, at most.
        most_steps = 0 if ramp is None else longest_window(ramp)
        return _native.packed_rows(self.source._plan, options, most_steps=most_steps)


def _shortest_ramp(source: ShardedDataSource[Any]) -> int | None:
    """The shortest ramp of the weight schedules in a source, in the steps that they count."""
    mixes = (each for each in made_of(source) if isinstance(each, MixedShardedSource))
    ramps = (mixed._shortest_ramp() for mixed in mixes)
    return min((ramp for ramp in ramps if ramp is not None), default=None)


def _rows_of(stream: _native.Stream) -> Iterator[dict[str, Ints]]:
    """Packed rows as dicts of arrays, which lie in the engine's memory."""
    batch: Any
    for batch in _native.iterate_batches(stream):
        columns = {name: _matrix(batch, name) for name in batch.schema.names}
        for row in range(batch.num_rows):
            yield {name: values[row] for name, values in columns.items()}


def pack_pre_tokenized(
    stream: Iterable[Mapping[str, Any]],
    seq_length: int,
    eos_token_id: int,
    batch_size: int = 1,
    shuffle: bool = True,
    buffer_factor: int = 16,
    *,
    pad_token_id: int = 0,
    tokens_field: str = "tokens",
    seed: int | None = None,
) -> Callable[[], Iterator[dict[str, Ints]]]:
    """Packs samples that have tokens into rows of `seq_length`, end to end.

    Args:
        stream: Samples; each call of the result reads it from its start.
        seq_length: Tokens of a row.
        eos_token_id: Closes every sample.
        batch_size: With `buffer_factor`, rows of a shuffle window.
        shuffle: Whether rows are permuted within windows.
        buffer_factor: See `batch_size`.
        pad_token_id: Fills the last row, so that no token is lost.
        tokens_field: The field of the tokens.
        seed: Seed of the shuffle; None means 0.

    Returns:
        A function that gives an iterator over the rows, as PackedShardedSource has them.
    """
    return pack_constant_length(
        stream,
        lambda sample: sample[tokens_field],
        seq_length,
        eos_token_id,
        batch_size,
        shuffle,
        buffer_factor,
        pad_token_id=pad_token_id,
        seed=seed,
    )


def pack_constant_length(
    stream: Iterable[Any],
    tokenize_fn: Callable[[Any], Sequence[int]],
    seq_length: int,
    eos_token_id: int,
    batch_size: int = 1,
    shuffle: bool = True,
    buffer_factor: int = 16,
    *,
    pad_token_id: int = 0,
    seed: int | None = None,
) -> Callable[[], Iterator[dict[str, Ints]]]:
    """As pack_pre_tokenized, with `tokenize_fn(sample)` for the tokens of a sample."""
    packed = PackedShardedSource(
        _Samples(stream, tokenize_fn),
        seq_length,
        eos_token_id,
        pad_token_id,
        shuffle=False,
        seed=seed,
        token_fields=[],
    )

    def rows() -> Iterator[dict[str, Ints]]:
        stream = packed._stream()
        if shuffle:
            window = max(1, batch_size * buffer_factor)
            stream = _native.shuffle_window(stream, window, seed or 0, "pack.shuffle")
        return _rows_of(stream)

    return rows


class _Samples(ShardedDataSource["dict[str, Any]"]):
    """The tokens of the samples of any iterable, as one shard."""

    def __init__(self, stream: Iterable[Any], tokenize_fn: Callable[[Any], Sequence[int]]) -> None:
        self._samples = stream
        self._tokenize_fn = tokenize_fn

    @property
    def shard_names(self) -> Sequence[str]:
        return ["samples"]

    def num_shards(self) -> int:
        return 1

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        for sample in self._samples:
            yield {"input_ids": self._tokenize_fn(sample)}
