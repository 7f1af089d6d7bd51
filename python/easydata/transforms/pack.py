"""Packing of token lists into rows of one length."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from easydata.core.choices import PackStrategy
from easydata.core.source import Columns, ShardedDataSource, Shuffle
from easydata.transforms.packed_signature import PackedShardedSourceSignature
from easydata.transforms.packer_signatures import (
    FirstFitPackerSignature,
    GreedyPackerSignature,
    PoolPackerSignature,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from easydata import _native

    Ints: TypeAlias = NDArray[np.int32]

Strategy: TypeAlias = PackStrategy


@dataclass
class PackedSequence:
    """One packed row: int32 arrays of the packer's seq_length.

    Attributes:
        input_ids: The tokens, each document closed by the EOS token.
        attention_mask: 1, and 0 on padding.
        position_ids: Places in the segment, from 0.
        segment_ids: Number of the document in the row, from 0; padding has the next number. None
            where the packer leaves them out.
        source_ids: The source_id of each segment's document; None where none was given.
    """

    input_ids: Ints
    attention_mask: Ints
    position_ids: Ints
    segment_ids: Ints | None = None
    source_ids: list[Any] | None = None

    def to_dict(self) -> dict[str, Ints]:
        """The arrays that there are, by name."""
        arrays = {
            "input_ids": self.input_ids,
            "attention_mask": self.attention_mask,
            "position_ids": self.position_ids,
        }
        if self.segment_ids is not None:
            arrays["segment_ids"] = self.segment_ids
        return arrays


class _Packer:
    """What the packers share: the engine's packer, and who the documents belong to."""

    def _start(self, strategy: Strategy, options: dict[str, Any], window: str) -> None:
        from easydata import _native

        self._native = _native.Packer(strategy=strategy, **options)
        self._remembered: int = options[window] + 1  # documents that may still be in an open row
        self._source_ids: dict[int, Any] = {}
        self._count = 0

    def add(self, tokens: Sequence[int] | Ints, source_id: Any = None) -> list[PackedSequence]:
        """Takes a document in and gives the rows that it completes: none, one or many.

        A document that ends in the EOS token gets no second one; one without tokens is passed over.
        """
        import numpy as np
        import pyarrow as pa

        if source_id is not None:
            self._source_ids[self._count] = source_id
            if len(self._source_ids) > 2 * self._remembered:
                oldest = self._count - self._remembered
                self._source_ids = {n: s for n, s in self._source_ids.items() if n >= oldest}
        self._count += 1
        # A copy: the document's tokens are needed until its rows are complete.
        rows = self._native.add(pa.array(np.array(tokens, dtype=np.int32)))
        return [self._sequence(*row) for row in rows]

    def flush(self) -> list[PackedSequence]:
        """Closes the open rows with padding and gives them."""
        return [self._sequence(*row) for row in self._native.flush()]

    def _sequence(self, row: Any, documents: list[int]) -> PackedSequence:
        arrays = {name: _matrix(row, name)[0] for name in row.schema.names}
        ids = None
        if self._source_ids:
            ids = [self._source_ids.get(document) for document in documents]
        return PackedSequence(**arrays, source_ids=ids)


class GreedyPacker(GreedyPackerSignature, _Packer):
    """Puts documents end to end and cuts rows off."""

    def _take(self, options: dict[str, Any]) -> None:
        self._start("greedy", options, "seq_length")


class PoolPacker(PoolPackerSignature, _Packer):
    """Keeps several rows open and puts a document where it fits best.

    A document that fits into none is cut at the end of the first row.
    """

    def _take(self, options: dict[str, Any]) -> None:
        self._start("pool", options, "pack_window")


class FirstFitPacker(FirstFitPackerSignature, _Packer):
    """Sorts a window of documents by length, longest first, and puts each where it first fits."""

    def _take(self, options: dict[str, Any]) -> None:
        self._start("first_fit", options, "pack_window")


class PackedShardedSource(PackedShardedSourceSignature, ShardedDataSource["dict[str, Ints]"]):
    """The token lists of a source in rows of exactly seq_length tokens.

    Rows are dicts of int32 arrays [seq_length]: the tokens, attention_mask (0 on padding),
    position_ids (from 0 in each segment), segment_ids (from 0; padding has the next number) and the
    token fields. Each document is closed by one EOS token, and none of its tokens is lost.

    "grain_first_fit", "grain_best_fit" and "grain_concat" are as of Grain 0.2.18. Documents without
    tokens are left out there too (Grain gives them a segment number).
    """

    def _take(self, source: ShardedDataSource[Any], options: dict[str, Any]) -> None:
        from easydata import _native
        from easydata.sources import wrap_hf_dataset
        from easydata.transforms.tokenize import tokenizers_of

        self._source = wrap_hf_dataset(source)
        self._given = options
        # The engine judges the options before anything is read; kept as given, they can be pickled.
        native = _native.PackedOptions(**options)
        limits = [known.id_limit for known in tokenizers_of(self._source)]
        if limits and native.eos_token_id >= max(limits):
            raise ValueError(
                f"eos_token_id: {native.eos_token_id} is no id of the tokenizer: its ids end at "
                f"{max(limits) - 1}"
            )
        self._given["token_fields"] = native.token_fields

    @property
    def source(self) -> ShardedDataSource[Any]:
        """Where the documents come from."""
        return self._source

    @property
    def shard_names(self) -> Sequence[str]:
        """Packed rows are one shard."""
        return ["packed_shard_0"]

    def num_shards(self) -> int:
        """Always 1."""
        return 1

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Ints]]:
        """The packed rows; their arrays are read-only."""
        return _rows_of(self._stream(None, [shard_name]))

    def __len__(self) -> int:
        raise TypeError("the number of packed rows is not known before they are packed")

    def _shuffled(self, order: Shuffle) -> PackedShardedSource:
        packed = copy.copy(self)
        packed._source = self._source._shuffled(order)
        return packed

    def __repr__(self) -> str:
        return f"PackedShardedSource({self._source!r}, {self._given})"

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        from easydata import _native

        if shards is not None and list(shards) != self.shard_names:
            raise KeyError(
                f"the shard of packed rows is {self.shard_names[0]!r}, not {list(shards)!r}"
            )
        options = _native.PackedOptions(**self._given)
        fields = options.token_fields
        if fields is None:
            known = _fields_of(self._source)
            fields = [name for name in _native.default_token_fields() if name in known]
        wanted: Columns = dict.fromkeys([options.input_field, *fields], "tokens")
        source = self._source
        if options.splits_documents:
            source = source._split_later()
        return _native.pack(source._stream(wanted), options, fields)


def _rows_of(stream: _native.Stream) -> Iterator[dict[str, Ints]]:
    """Packed rows as dicts of arrays, which lie in the engine's memory."""
    from easydata import _native

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
        from easydata import _native

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


def _matrix(batch: Any, name: str) -> Ints:
    """A column of packed rows as an array [rows, seq_length] over the engine's own memory."""
    column = batch.column(name)
    values: Ints = column.flatten().to_numpy(zero_copy_only=True)
    return values.reshape(batch.num_rows, column.type.list_size)


def _fields_of(source: ShardedDataSource[Any]) -> set[str]:
    """Names of the fields that a source's rows have; without a schema, those of the first row."""
    from easydata import _native
    from easydata.transforms.mixture import MixedShardedSource
    from easydata.transforms.source import first_row

    if isinstance(source, MixedShardedSource):
        return {name for part in source.sources.values() for name in _fields_of(part)}
    if isinstance(source, _Samples):
        return {"input_ids"}
    names = _native.column_names(source._stream(None))
    return set(names if names is not None else first_row(source) or ())
