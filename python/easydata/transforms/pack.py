"""Packing of token lists into rows of one length."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from easydata.core.choices import PackStrategy
from easydata.core.source import Columns, ShardedDataSource, Shuffle

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from easydata import _native

    Ints: TypeAlias = NDArray[np.int32]

Strategy: TypeAlias = PackStrategy
Overlong: TypeAlias = Literal["split", "truncate", "drop", "error"]


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

    def __init__(self, native: _native.Packer, remembered: int) -> None:
        self._native = native
        self._remembered = remembered  # documents that may still be in an open row
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


class GreedyPacker(_Packer):
    """Puts documents end to end and cuts rows off.

    Args:
        seq_length: Tokens of a row.
        eos_token_id: Closes every document.
        pad_token_id: Fills the last row.
        include_segment_ids: Whether rows have segment_ids.
        overlong: What becomes of a document longer than a row; see PackedShardedSource.
    """

    def __init__(
        self,
        seq_length: int,
        eos_token_id: int,
        pad_token_id: int = 0,
        include_segment_ids: bool = True,
        *,
        overlong: Overlong = "split",
    ) -> None:
        from easydata import _native

        native = _native.Packer(
            seq_length,
            eos_token_id,
            pad_token_id,
            strategy="greedy",
            include_segment_ids=include_segment_ids,
            overlong=overlong,
        )
        super().__init__(native, seq_length + 1)


class PoolPacker(_Packer):
    """Keeps several rows open and puts a document where it fits best.

    A document that fits into none is cut at the end of the first row.

    Args:
        seq_length: Tokens of a row.
        eos_token_id: Closes every document.
        pad_token_id: Fills rows that are closed before they are full.
        num_packers: Open rows.
        include_segment_ids: Whether rows have segment_ids.
        overlong: What becomes of a document longer than a row; see PackedShardedSource.
        pack_window: Documents after which the open rows are closed.
    """

    def __init__(
        self,
        seq_length: int,
        eos_token_id: int,
        pad_token_id: int = 0,
        num_packers: int = 4,
        include_segment_ids: bool = True,
        *,
        overlong: Overlong = "split",
        pack_window: int = 1000,
    ) -> None:
        from easydata import _native

        native = _native.Packer(
            seq_length,
            eos_token_id,
            pad_token_id,
            strategy="pool",
            num_packers=num_packers,
            include_segment_ids=include_segment_ids,
            overlong=overlong,
            pack_window=pack_window,
        )
        super().__init__(native, pack_window + 1)


class FirstFitPacker(_Packer):
    """Sorts a window of documents by length, longest first, and puts each where it first fits.

    Args:
        seq_length: Tokens of a row.
        eos_token_id: Closes every document.
        pad_token_id: Fills what is left of rows.
        buffer_size: Documents of a window.
        include_segment_ids: Whether rows have segment_ids.
        overlong: What becomes of a document longer than a row; see PackedShardedSource.
    """

    def __init__(
        self,
        seq_length: int,
        eos_token_id: int,
        pad_token_id: int = 0,
        buffer_size: int = 1000,
        include_segment_ids: bool = True,
        *,
        overlong: Overlong = "split",
    ) -> None:
        from easydata import _native

        native = _native.Packer(
            seq_length,
            eos_token_id,
            pad_token_id,
            strategy="first_fit",
            include_segment_ids=include_segment_ids,
            overlong=overlong,
            pack_window=buffer_size,
        )
        super().__init__(native, buffer_size + 1)


class PackedShardedSource(ShardedDataSource["dict[str, Ints]"]):
    """The token lists of a source in rows of exactly seq_length tokens.

    Rows are dicts of int32 arrays [seq_length]: the tokens, attention_mask (0 on padding),
    position_ids (from 0 in each segment), segment_ids (from 0; padding has the next number) and the
    token fields. Each document is closed by one EOS token, and none of its tokens is lost.

    Args:
        source: Rows with lists of token ids.
        seq_length: Tokens of a row.
        eos_token_id: Closes every document; one that already ends in it gets no second.
        pad_token_id: Fills what is left of rows.
        strategy: "greedy" puts documents end to end and cuts; "pool" keeps `num_packers` rows open
            and fills the best fitting; "first_fit" takes the longest first, within windows, and
            puts each into the first row with room, "best_fit" into the fullest one.
            "grain_first_fit", "grain_best_fit" and "grain_concat" give the rows of Grain's
            FirstFitPackIterDataset, BestFitPackIterDataset and ConcatThenSplitIterDataset (0.2.18):
            they add no EOS. Documents without tokens are left out here too (Grain gives them a
            segment number).
        num_packers: Open rows of the pool; bins of "grain_first_fit" and "grain_best_fit".
        include_segment_ids: Whether rows have segment_ids.
        input_field: The field of the token ids.
        shuffle: Whether rows are permuted within windows, in another order in every epoch; with
            "grain_first_fit" and "grain_best_fit" the bins of a group, as Grain's shuffle_bins
            does with this seed.
        shuffle_buffer_factor: Hundreds of rows in a window.
        seed: Seed of the shuffle; None means 0.
        overlong: What becomes of a document that, with its EOS, is longer than a row: "split" goes
            on in the next row, "truncate" keeps its beginning and the EOS, "drop" leaves it out,
            "error" ends the stream. What is left out is counted. "grain_first_fit" and
            "grain_best_fit" cannot split: there "split" is an error too.
        token_fields: Fields with a value for each token, which are cut like the tokens. None: those
            of labels, loss_mask, completion_mask, assistant_masks and token_type_ids that there
            are. The EOS has itself as label and 1 in masks, padding has -100 and 0.
        pack_window: Documents after which pool and first_fit close their rows, and best_fit at the
            latest: it does so where its rows come out fullest, in the second half of a window.
        balance_groups: In front of a loader, the rows of each step are ordered so that this many
            equal, contiguous parts of it cost about the same (the sum of the segments' squared
            lengths: attention's cost). A step keeps its rows; one that is not full, its order. It
            must divide the loader's batch size.
    """

    def __init__(
        self,
        source: ShardedDataSource[Any],
        seq_length: int,
        eos_token_id: int,
        pad_token_id: int = 0,
        strategy: Strategy = "greedy",
        num_packers: int = 4,
        include_segment_ids: bool = True,
        input_field: str = "input_ids",
        shuffle: bool = True,
        shuffle_buffer_factor: int = 10,
        seed: int | None = None,
        *,
        overlong: Overlong = "split",
        token_fields: Sequence[str] | None = None,
        pack_window: int = 1000,
        balance_groups: int = 1,
    ) -> None:
        from easydata import _native
        from easydata.sources import wrap_hf_dataset
        from easydata.transforms.tokenize import tokenizers_of

        self._source = wrap_hf_dataset(source)
        self._given: dict[str, Any] = {
            "seq_length": seq_length,
            "eos_token_id": eos_token_id,
            "pad_token_id": pad_token_id,
            "strategy": strategy,
            "num_packers": num_packers,
            "include_segment_ids": include_segment_ids,
            "input_field": input_field,
            "shuffle": shuffle,
            "shuffle_buffer_factor": shuffle_buffer_factor,
            "seed": seed,
            "overlong": overlong,
            "token_fields": token_fields,
            "pack_window": pack_window,
            "balance_groups": balance_groups,
        }
        # The engine judges the options before anything is read; kept as given, they can be pickled.
        options = _native.PackedOptions(**self._given)
        limits = [known.id_limit for known in tokenizers_of(self._source)]
        if limits and options.eos_token_id >= max(limits):
            raise ValueError(
                f"eos_token_id: {options.eos_token_id} is no id of the tokenizer: its ids end at "
                f"{max(limits) - 1}"
            )
        self._given["token_fields"] = options.token_fields

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
    from easydata.transforms.mixture import MixedShardedSource
    from easydata.transforms.source import first_row

    if isinstance(source, MixedShardedSource):
        return {name for part in source.sources.values() for name in _fields_of(part)}
    if isinstance(source, _Samples):
        return {"input_ids"}
    names = source._column_names()
    return set(names if names is not None else first_row(source) or ())
