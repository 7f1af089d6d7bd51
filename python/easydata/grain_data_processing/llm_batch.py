"""Batches for training language models."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

__all__ = ["LLMBatch", "LLMIndexedBatch"]


@dataclass(frozen=True)
class LLMBatch:
    """Rows of tokens: NumPy or JAX arrays of int32, [batch, length] each.

    Attributes:
        inputs: What the model reads.
        targets: What it is to predict at each position.
        inputs_position: Position of each input in its document.
        targets_position: The same of targets.
        inputs_segmentation: Which document of the row each input is of, from 1; 0: padding.
        targets_segmentation: The same of targets; the loss is masked where it is 0.
    """

    inputs: Any
    targets: Any
    inputs_position: Any
    targets_position: Any
    inputs_segmentation: Any
    targets_segmentation: Any
    # Of a part of a batch: where its documents began in the whole.
    _document_borders: Any = None

    @staticmethod
    def from_inputs(inputs: Any, targets: Any | None = None) -> LLMBatch:
        """A batch whose rows are one document each.

        Args:
            inputs: [batch, length].
            targets: None: the inputs, one position on, with a 0 after them.
        """
        np = _numpy_of(inputs)
        if targets is None:
            targets = np.concatenate([inputs[:, 1:], np.zeros_like(inputs[:, :1])], axis=1)
        position = np.broadcast_to(np.arange(inputs.shape[1], dtype=np.int32), inputs.shape)
        segmentation = np.ones(inputs.shape, np.int32)
        return LLMBatch(inputs, targets, position, position, segmentation, segmentation)

    @classmethod
    def get_dtype_struct(cls, batch_size: int, max_length: int) -> LLMBatch:
        """The shapes and dtypes of a batch, as jax.ShapeDtypeStruct."""
        import jax
        import numpy as np

        struct = jax.ShapeDtypeStruct((batch_size, max_length), np.int32)
        return cls(**dict.fromkeys(_arrays(), struct))

    @classmethod
    def get_sample(cls, batch_size: int, max_length: int) -> LLMBatch:
        """A batch of zeros, all of them tokens of one document a row."""
        import numpy as np

        return cls.from_inputs(np.zeros((batch_size, max_length), np.int32))

    def arrays(self) -> dict[str, Any]:
        """The arrays of [batch, length], by their names."""
        return {name: getattr(self, name) for name in _arrays()}

    def get_document_borders(self) -> Any:
        """Where a document begins, as bool [batch, length]; the first position of a row always."""
        if self._document_borders is not None:
            return self._document_borders
        np = _numpy_of(self.inputs)
        segments = self.inputs_segmentation
        changes = segments[:, 1:] != segments[:, :-1]
        return np.concatenate([np.ones_like(changes[:, :1]), changes], axis=1)

    def __getitem__(self, key: Any) -> LLMBatch:
        """The rows, and with a second index the positions, of a slice, with the batch's borders."""
        parts = {name: array[key] for name, array in self.arrays().items()}
        return dataclasses.replace(
            self, **parts, _document_borders=self.get_document_borders()[key]
        )


@dataclass(frozen=True)
class LLMIndexedBatch(LLMBatch):
    """A batch that says which document, and which part of it, each row is.

    Attributes:
        document_idx: Number of each row's document, [batch]; 0: padding.
        sequence_idx: Number of the row in its document, [batch].
    """

    document_idx: Any = None
    sequence_idx: Any = None

    def __getitem__(self, key: Any) -> LLMIndexedBatch:
        """The same of the batch's rows; both numbers are theirs."""
        batch = super().__getitem__(key)
        assert isinstance(batch, LLMIndexedBatch)
        rows = key[0] if isinstance(key, tuple) else key
        return dataclasses.replace(
            batch, document_idx=self.document_idx[rows], sequence_idx=self.sequence_idx[rows]
        )


def _arrays() -> list[str]:
    """The fields of [batch, length]."""
    return [field.name for field in dataclasses.fields(LLMBatch) if field.name[0] != "_"]


def _numpy_of(array: Any) -> Any:
    """jax.numpy for arrays of JAX, tracers too, else numpy."""
    if type(array).__module__.partition(".")[0] in ("jax", "jaxlib"):
        import jax.numpy

        return jax.numpy
    import numpy as np

    return np


def register_with_jax() -> None:
    """Makes the batches pytrees: jax.jit and jax.tree take them."""
    import jax

    for kind in (LLMBatch, LLMIndexedBatch):
        names = [field.name for field in dataclasses.fields(kind)]
        if not jax.tree_util.all_leaves([kind(*[0] * len(names))]):
            return  # registered before
        jax.tree_util.register_dataclass(kind, data_fields=names, meta_fields=[])
