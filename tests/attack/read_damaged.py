"""Reads damaged files of one format with EasyData and with the reference reader, row by row.

Usage: read_damaged.py FORMAT FIRST COUNT. Runs as a process of its own, because a reader may
crash: before each step a line `case what` is printed, then `result {json}`.
"""

import bz2
import csv
import gzip
import io
import json
import math
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from damage import damaged

Row = Any
# What a reader may answer with; everything else is a bug.
EXPECTED = (OSError, ValueError, MemoryError)


def table(rows: int, draw: random.Random) -> pa.Table:
    words = ["", "a", "naïve", "数据", "🙂 emoji", "x" * 300]
    return pa.table(
        {
            "text": pa.array([draw.choice([*words, None]) for _ in range(rows)], pa.string()),
            "input_ids": pa.array(
                [[draw.randrange(50_000) for _ in range(draw.randrange(9))] for _ in range(rows)],
                pa.list_(pa.int32()),
            ),
            "n": pa.array([draw.choice([i, None]) for i in range(rows)], pa.int64()),
            "kind": pa.array([draw.choice(words[1:4]) for _ in range(rows)]).dictionary_encode(),
            "nested": pa.array(
                [[{"k": draw.choice(words), "f": i / 7}] * (i % 3) for i in range(rows)],
                pa.list_(pa.struct([("k", pa.large_string()), ("f", pa.float64())])),
            ),
            "flag": pa.array([draw.choice([True, False, None]) for _ in range(rows)]),
        }
    )


def json_rows(draw: random.Random) -> list[Row]:
    words = ["", 'a"b\\', "naïve", "数据\n", "🙂", "\u2028", "x" * 200, "\ud83d\ude42", "\x00"]
    return [
        {
            "i": i,
            "text": draw.choice(words) * draw.randrange(4),
            "list": [draw.choice([1, 2.5, -0.0, 1e300, None, True, 10**18]) for _ in range(i % 5)],
            "messages": [{"role": "user", "content": draw.choice(words)}],
        }
        for i in range(60)
    ]


def parquet(draw: random.Random) -> bytes:
    sink = io.BytesIO()
    pq.write_table(
        table(120, draw),
        sink,
        row_group_size=draw.choice((40, 1000)),
        compression=draw.choice(("none", "zstd", "snappy", "gzip")),
        use_dictionary=draw.random() < 0.5,
        write_page_checksum=draw.random() < 0.5,
        data_page_version=draw.choice(("1.0", "2.0")),
        data_page_size=draw.choice((200, 100_000)),
    )
    return sink.getvalue()


def arrow(draw: random.Random, *, stream: bool) -> bytes:
    options = pa.ipc.IpcWriteOptions(compression=draw.choice((None, "lz4", "zstd")))
    data = table(90, draw)
    sink = io.BytesIO()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(sink, data.schema, options=options) as writer:
        writer.write_table(data, max_chunksize=draw.choice((30, 1000)))
    return sink.getvalue()


def jsonl(draw: random.Random) -> bytes:
    ascii_only = draw.random() < 0.5
    lines = [json.dumps(row, ensure_ascii=ascii_only) for row in json_rows(draw)]
    newline = draw.choice(("\n", "\r\n"))
    return (newline.join(lines) + newline).encode("utf-8", "surrogatepass")


def json_array(draw: random.Random) -> bytes:
    return json.dumps(json_rows(draw), indent=draw.choice((None, 1))).encode()


def csv_file(draw: random.Random) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, ["i", "text", "more"])
    writer.writeheader()
    for row in json_rows(draw):
        writer.writerow({"i": row["i"], "text": row["text"].replace("\0", ""), "more": "q,\"'\n"})
    return out.getvalue().encode("utf-8", "replace")


def text(draw: random.Random) -> bytes:
    return "\n".join(f"line {i} {draw.choice(['é', '数据', ''])}" for i in range(80)).encode()


def read_parquet(path: Path) -> Iterator[Row]:
    file = pq.ParquetFile(path, page_checksum_verification=True)
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group)
        rows.validate(full=True)
        yield from rows.to_pylist()


def read_arrow(path: Path) -> Iterator[Row]:
    data = path.read_bytes()
    if data.startswith(b"ARROW1"):
        file = pa.ipc.open_file(pa.py_buffer(data))
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
    else:
        batches = iter(pa.ipc.open_stream(pa.py_buffer(data)))
    for batch in batches:
        batch.validate(full=True)
        yield from batch.to_pylist()


def _lines(data: bytes) -> Iterator[bytes]:
    yield from data.removeprefix(b"\xef\xbb\xbf").split(b"\n")


def read_jsonl(path: Path) -> Iterator[Row]:
    for line in _lines(path.read_bytes()):
        if line.strip(b" \t\r\v\f"):
            yield json.loads(line.decode())


def read_json(path: Path) -> Iterator[Row]:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    value = json.loads(data.decode())
    yield from value if isinstance(value, list) else [value]


def read_csv(path: Path) -> Iterator[Row]:
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode()
    yield from csv.DictReader(io.StringIO(text, newline=""), strict=True)


def read_text(path: Path) -> Iterator[Row]:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for line in lines:
        yield {"text": line.removesuffix(b"\r").decode()}


def _gunzip(data: bytes) -> bytes:
    return gzip.decompress(data)


def _decode(codec: str) -> Callable[[bytes], bytes]:
    def decode(data: bytes) -> bytes:
        with pa.CompressedInputStream(pa.py_buffer(data), codec) as stream:
            return bytes(stream.read())

    return decode


def _encode(codec: str) -> Callable[[bytes], bytes]:
    return lambda data: bytes(pa.Codec(codec).compress(data, asbytes=True))


# format: (suffix, makes the whole file, the reference reader, undoes compression)
FORMATS: dict[str, tuple[str, Callable[[random.Random], bytes], Callable[[Path], Any], Any]] = {
    "parquet": (".parquet", parquet, read_parquet, None),
    "arrow": (".arrow", lambda draw: arrow(draw, stream=False), read_arrow, None),
    "arrow_stream": (".arrow", lambda draw: arrow(draw, stream=True), read_arrow, None),
    "jsonl": (".jsonl", jsonl, read_jsonl, None),
    "json": (".json", json_array, read_json, None),
    "csv": (".csv", csv_file, read_csv, None),
    "text": (".txt", text, read_text, None),
    "gzip": (".jsonl.gz", lambda draw: gzip.compress(jsonl(draw), mtime=0), read_jsonl, _gunzip),
    "bz2": (".jsonl.bz2", lambda draw: bz2.compress(jsonl(draw)), read_jsonl, bz2.decompress),
    "zstd": (".jsonl.zst", lambda draw: _encode("zstd")(jsonl(draw)), read_jsonl, _decode("zstd")),
    "lz4": (".jsonl.lz4", lambda draw: _encode("lz4")(jsonl(draw)), read_jsonl, _decode("lz4")),
}


def take(rows: Iterator[Row]) -> tuple[list[Row], Exception | None]:
    """The rows, and the error that ended them."""
    out = []
    try:
        for row in rows:
            out.append(row)
    except (*EXPECTED, csv.Error, RecursionError, EOFError, pa.ArrowException, KeyError) as error:
        return out, error
    except Exception as error:
        # zlib.error, bz2's and others of their kind derive from nothing in common.
        return out, error
    return out, None


def same(ours: Row, reference: Row) -> bool:
    """Equal, and of equal types; NaN equals NaN."""
    if isinstance(ours, float) and isinstance(reference, float) and math.isnan(reference):
        return math.isnan(ours)
    if type(ours) is not type(reference):
        return False
    if isinstance(ours, dict):
        return list(ours) == list(reference) and all(same(ours[k], reference[k]) for k in ours)
    if isinstance(ours, list):
        return len(ours) == len(reference) and all(map(same, ours, reference))
    return bool(ours == reference)


def judge(
    ours: tuple[list[Row], Exception | None], reference: tuple[list[Row], Exception | None]
) -> str:
    """What came of a case: equal, refused, stricter, or what is wrong."""
    rows, error = ours
    expected, refused = reference
    if error is not None and not isinstance(error, EXPECTED):
        return f"wrong: {type(error).__name__}: {error}"
    if error is not None and len(str(error).split()) < 5:
        return f"wrong: an error that says nothing: {error!r}"
    for number, (one, other) in enumerate(zip(rows, expected, strict=False)):
        if not same(one, other):
            return f"wrong: row {number} is {one!r:.200}, not {other!r:.200}"
    if error is None:
        if refused is not None:
            return f"laxer: {len(rows)} rows, where the reference has {refused!r:.200}"
        if len(rows) != len(expected):
            return f"wrong: {len(rows)} rows, not {len(expected)}"
        return "equal"
    if refused is None:
        return "stricter" if len(rows) <= len(expected) else "wrong: more rows than there are"
    return "refused"


def main(name: str, first: int, count: int) -> None:
    from easydata.sources import create_source

    from easydata import DatasetConfig

    suffix, make, read, undo = FORMATS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        plain = Path(folder) / "plain"
        for case in range(first, first + count):
            draw = random.Random(f"{name} {case}")
            path.write_bytes(damaged(make(draw), draw))

            def ours() -> Iterator[Row]:
                yield from create_source(DatasetConfig(str(path)))

            def reference() -> Iterator[Row]:
                if undo is None:
                    yield from read(path)
                else:
                    plain.write_bytes(undo(path.read_bytes()))
                    yield from read(plain)

            print(f"{case} ours", flush=True)
            got = take(ours())
            print(f"{case} reference", flush=True)
            verdict = judge(got, take(reference()))
            print("result", json.dumps([case, verdict, str(got[1] or "")[:300]]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
