"""Reads token files as their page says, and nothing else."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

_CODECS = {1: "gzip", 2: "lz4", 3: "zstd"}


@dataclass
class TokenBlock:
    """A block of a token file, as it was put."""

    plan: bytes
    block: bytes
    rows: pa.RecordBatch
    tokens: int
    facts: bytes
    notes: bytes
    parts: list[dict[str, int]]
    columns: list[dict[str, int]]


class _Footer:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, names: str, form: str) -> dict[str, int]:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return dict(zip(names.split(), values, strict=True))

    def bytes(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        padded = -size % 8
        assert self.data[self.at + size : self.at + size + padded] == b"\0" * padded
        self.at += size + padded
        return found


def read_token_file(path: Path) -> list[TokenBlock]:
    """All blocks of a file, whose bytes are all checked."""
    data = path.read_bytes()
    assert len(data) % 64 == 0
    header, trailer = data[:64], data[-64:]
    assert header[:8] == trailer[56:] == b"EASYTOKS"
    assert struct.unpack("<I44x", header[8:56]) == (1,)
    assert struct.unpack("<Q", header[56:]) == (_hash(header[:56]),)
    offset, size, footer_hash, version = struct.unpack("<3Q20xI", trailer[:48])
    assert (version, struct.unpack("<Q", trailer[48:56])) == (1, (_hash(trailer[:48]),))
    assert offset % 64 == 0
    assert offset + size + -size % 64 + 64 == len(data)
    assert not any(data[offset + size : -64])
    footer = _Footer(data[offset : offset + size])
    assert _hash(footer.data) == footer_hash
    count = footer.take("schemas blocks", "2Q")
    schemas = []
    for _ in range(count["schemas"]):
        length = footer.take("bytes", "Q")["bytes"]
        schemas.append(pa.ipc.read_schema(pa.py_buffer(footer.bytes(length))))
    blocks = list(_blocks(data, footer, schemas, count["blocks"]))
    assert footer.at == size
    return blocks


def _blocks(
    data: bytes, footer: _Footer, schemas: list[pa.Schema], count: int
) -> Iterator[TokenBlock]:
    end = 64
    for _ in range(count):
        keys = footer.take("p0 p1 b0 b1", "4Q")
        head = footer.take(
            "rows tokens offset bytes schema message notes parts columns facts", "4qI2i3I"
        )
        assert head["offset"] >= end
        assert head["offset"] % 64 == head["bytes"] % 64 == 0
        end = head["offset"] + head["bytes"]
        parts = [
            footer.take("offset bytes raw hash codec zero", "3qQ2I") for _ in range(head["parts"])
        ]
        columns = [
            footer.take("way offsets values valid_rows valid_values zero count constant", "I4iIqQ")
            for _ in range(head["columns"])
        ]
        facts = footer.bytes(head["facts"])
        raw = [_part(data, part, head["offset"], end) for part in parts]
        schema = schemas[head["schema"]]
        yield TokenBlock(
            plan=struct.pack(">2Q", keys["p0"], keys["p1"]),
            block=struct.pack(">2Q", keys["b0"], keys["b1"]),
            rows=_rows(head, columns, raw, schema),
            tokens=head["tokens"],
            facts=facts,
            notes=raw[head["notes"]] if head["notes"] >= 0 else b"",
            parts=parts,
            columns=columns,
        )


def _part(data: bytes, part: dict[str, int], begin: int, end: int) -> bytes:
    assert part["offset"] % 64 == 0
    assert begin <= part["offset"] <= part["offset"] + part["bytes"] <= end
    stored = data[part["offset"] : part["offset"] + part["bytes"]]
    assert _hash(stored) == part["hash"]
    if part["codec"] == 0:
        assert part["bytes"] == part["raw"]
        return stored
    found: bytes = pa.decompress(stored, part["raw"], codec=_CODECS[part["codec"]], asbytes=True)
    return found


def _rows(
    head: dict[str, int], columns: list[dict[str, int]], raw: list[bytes], schema: pa.Schema
) -> pa.RecordBatch:
    others = [at for at, column in enumerate(columns) if column["way"] == 0]
    arrays: list[Any] = [None] * len(columns)
    if others:
        inner = pa.schema([schema.field(at) for at in others])
        stream = inner.serialize().to_pybytes() + raw[head["message"]]
        (batch,) = pa.ipc.open_stream(stream)
        for at, column in zip(others, batch.columns, strict=True):
            arrays[at] = column
    tokens = None
    for at, column in enumerate(columns):
        if column["way"] == 0:
            continue
        arrays[at] = _list(column, raw, schema.field(at).type, head["rows"])
        tokens = column["count"] if tokens is None else tokens
    assert head["tokens"] == (tokens or 0)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _list(column: dict[str, int], raw: list[bytes], kind: pa.DataType, rows: int) -> pa.Array:
    number = np.dtype(kind.value_type.to_pandas_dtype())
    count = column["count"]
    if column["way"] == 4:
        assert column["values"] == -1
        low = np.frombuffer(struct.pack("<Q", column["constant"])[: number.itemsize], number)
        values = np.repeat(low, count)
    else:
        stored = {1: number, 2: np.dtype("<u2"), 3: np.dtype("<i4")}[column["way"]]
        values = np.frombuffer(raw[column["values"]], stored).astype(number)
    assert len(values) == count
    offsets = np.frombuffer(raw[column["offsets"]], "<i8")
    assert offsets[0] == 0
    assert offsets[-1] == count
    assert len(offsets) == rows + 1
    assert (np.diff(offsets) >= 0).all()
    valid = _bitmap(column["valid_values"], raw, count)
    child = pa.Array.from_buffers(kind.value_type, count, [valid, pa.py_buffer(values.tobytes())])
    wide = kind == pa.large_list(kind.value_field)
    placed = offsets.astype("<i8" if wide else "<i4").tobytes()
    valid = _bitmap(column["valid_rows"], raw, rows)
    return pa.Array.from_buffers(kind, rows, [valid, pa.py_buffer(placed)], children=[child])


def _bitmap(number: int, raw: list[bytes], count: int) -> pa.Buffer | None:
    if number < 0:
        return None
    assert len(raw[number]) == (count + 7) // 8
    return pa.py_buffer(raw[number])


def _hash(data: bytes) -> int:
    found: int = xxhash.xxh3_64_intdigest(data)
    return found
