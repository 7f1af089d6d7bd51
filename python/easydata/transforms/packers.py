"""Packers that take one document at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from easydata import _native
from easydata.core.choices import PackStrategy
from easydata.core.signatures import (
    FirstFitPackerSignature,
    GreedyPackerSignature,
    PoolPackerSignature,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int32]


@dataclass
class PackedSequence:
    """One packed row: int32 arrays of the packer's seq_length.

    Attributes:
        input_ids: The tokens, each document closed by the EOS token.
        attention_mask: 1, and 0 on padding.
        position_ids: Positions in the segment, from 0.
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


_REQUIRED = ("seq_length", "eos_token_id")
_FIRST = (*_REQUIRED, "pad_token_id")
# Nothing tells of what tokenizer the documents are, so that both ids are the caller's.
_OF_ALL: dict[str, Any] = {
    "options": "PackOptions",
    "required": _REQUIRED,
    "types": {"eos_token_id": "int"},
    "defaults": {"pad_token_id": 0},
}


class _Packer:
    """What the packers share: the engine's packer, and who the documents belong to."""

    _strategy: ClassVar[PackStrategy]
    # The option that says how many documents may be in an open row.
    _window: ClassVar[str] = "pack_window"

    def _take(self, *, options: dict[str, Any]) -> None:
        self._native = _native.Packer(_native.PackOptions(strategy=self._strategy, **options))
        self._remembered: int = options[self._window] + 1
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
        ids = np.asarray(tokens)
        if ids.size and not (ids.ndim == 1 and ids.dtype.kind in "iu"):
            raise TypeError(
                "tokens must be the ids of one document, whole numbers in one dimension, not "
                f"{ids.dtype} of shape {ids.shape}; a text is tokenized first"
            )
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


class GreedyPacker(
    GreedyPackerSignature,
    _Packer,
    positional=(*_FIRST, "include_segment_ids"),
    keywords=("overlong",),
    **_OF_ALL,
):
    """Puts documents end to end and cuts rows off."""

    _strategy = "greedy"
    _window = "seq_length"


class PoolPacker(
    PoolPackerSignature,
    _Packer,
    positional=(*_FIRST, "num_packers", "include_segment_ids"),
    keywords=("overlong", "pack_window"),
    **_OF_ALL,
):
    """Keeps several rows open and puts a document where it fits best.

    A document that fits into none is cut at the end of the first row.
    """

    _strategy = "pool"


class FirstFitPacker(
    FirstFitPackerSignature,
    _Packer,
    positional=(*_FIRST, "buffer_size=pack_window", "include_segment_ids"),
    keywords=("overlong",),
    **_OF_ALL,
):
    """Sorts a window of documents by length, longest first, and puts each where it first fits."""

    _strategy = "first_fit"


def _matrix(batch: Any, name: str) -> Any:
    """A column of packed rows as an array [rows, seq_length] over the engine's own memory.

    The lengths of segments, of which rows have different numbers, are an array for each row; where
    they come from is a list of dicts for each.
    """
    column = batch.column(name)
    if name == "segment_sources":
        return column.to_pylist()
    if not hasattr(column.type, "list_size"):
        return [row.values.to_numpy() for row in column]
    values: Ints = column.flatten().to_numpy(zero_copy_only=True)
    return values.reshape(batch.num_rows, column.type.list_size)
