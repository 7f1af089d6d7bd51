"""Token files as nanoGPT, llm.c and Megatron-LM write them, byte by byte."""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

EOS = 50256
MEGATRON_CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}


def some_documents(count: int, dtype: str = "uint16", seed: int = 0) -> list[list[int]]:
    """Documents without an EOS; some are empty, one is longer than what is read at once."""
    rng = np.random.default_rng(seed)
    limit = min(50_000, np.iinfo(dtype).max)
    lengths = rng.integers(0, 400, count)
    lengths[count // 2] = 700_000 if count > 100 else 500
    return [rng.integers(1, limit, length).tolist() for length in lengths]


def stream_of(documents: Sequence[Sequence[int]], dtype: str = "uint16") -> NDArray[np.int64]:
    """As nanoGPT's prepare.py joins documents: an EOS behind each."""
    return np.concatenate([np.array([*each, EOS], dtype) for each in documents])


def write_llmc(path: Path, tokens: NDArray[np.int64]) -> Path:
    """llm.c's header (256 int32) and its tokens: uint16 of GPT-2, uint32 of Llama 3."""
    header = np.zeros(256, np.int32)
    magic = {2: (20240520, 1), 4: (20240801, 7)}[tokens.itemsize]
    header[:3] = (*magic, len(tokens))
    path.write_bytes(header.tobytes() + tokens.tobytes())
    return path


def write_megatron(
    prefix: Path, documents: Sequence[Sequence[Sequence[int]]], dtype: str, *, modes: bool = False
) -> Path:
    """The pair that IndexedDatasetBuilder writes; a document has one sequence or several."""
    sequences = [sequence for document in documents for sequence in document]
    lengths = np.array([len(sequence) for sequence in sequences], np.int32)
    size = np.dtype(dtype).itemsize
    pointers = np.concatenate([[0], np.cumsum(lengths.astype(np.int64) * size)])[:-1]
    ends = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
    index = (
        b"MMIDIDX\x00\x00"
        + struct.pack("<QB", 1, MEGATRON_CODES[dtype])
        + struct.pack("<QQ", len(sequences), len(ends))
        + lengths.tobytes()
        + pointers.astype(np.int64).tobytes()
        + ends.astype(np.int64).tobytes()
        + (bytes(len(sequences)) if modes else b"")
    )
    prefix.with_suffix(".idx").write_bytes(index)
    tokens = [np.array(sequence, dtype) for sequence in sequences]
    path = prefix.with_suffix(".bin")
    path.write_bytes(b"".join(each.tobytes() for each in tokens))
    return path
