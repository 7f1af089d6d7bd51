"""Files compressed by xz, and by zstd with long windows."""

from __future__ import annotations

import csv
import ctypes
import ctypes.util
import io
import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest
from easydata.core.config import ConfigError
from easydata.sources import (
    ArrowShardedSource,
    CsvShardedSource,
    JsonShardedSource,
    TextShardedSource,
)
from programs import run_python
from zstd_frames import zstd_frame

from easydata import DatasetConfig, create_source

ROWS = [{"n": n, "text": f"row {n} " + "abc" * (n % 50)} for n in range(12_000)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()

_has_zstd = ctypes.util.find_library("zstd") is not None
needs_zstd = pytest.mark.skipif(not _has_zstd, reason="libzstd is not installed")


def rows_of(path: Path, **options: Any) -> list[Any]:
    return list(create_source(DatasetConfig(str(path), **options)))


def streams(data: bytes, count: int, check: int = lzma.CHECK_CRC64) -> list[bytes]:
    size = -(-len(data) // count)
    return [
        lzma.compress(data[at : at + size], check=check, preset=1)
        for at in range(0, len(data), size)
    ]


# xz.


@pytest.mark.parametrize("check", [lzma.CHECK_CRC64, lzma.CHECK_CRC32, lzma.CHECK_NONE])
@pytest.mark.parametrize("count", [1, 3])
def test_xz_files_of_all_text_formats(tmp_path: Path, count: int, check: int) -> None:
    lines = tmp_path / "a.jsonl.xz"
    lines.write_bytes(b"".join(streams(LINES, count, check)))
    assert lzma.decompress(lines.read_bytes()) == LINES
    assert rows_of(lines) == ROWS
    source = JsonShardedSource(lines)
    assert len(source) == len(ROWS)
    assert list(source.open_shard_at_row(str(lines), 11_500)) == ROWS[11_500:]
    text = tmp_path / "a.txt.xz"
    text.write_bytes(b"".join(streams(LINES, count, check)))
    assert [row["text"].encode() + b"\n" for row in rows_of(text)] == LINES.splitlines(True)
    out = io.StringIO()
    csv.writer(out).writerows([["n", "text"], *([row["n"], row["text"]] for row in ROWS)])
    table = tmp_path / "a.csv.xz"
    table.write_bytes(b"".join(streams(out.getvalue().encode(), count, check)))
    assert rows_of(table) == [{"n": str(row["n"]), "text": row["text"]} for row in ROWS]


def test_xz_is_known_by_its_content_and_padding_is_passed_over(tmp_path: Path) -> None:
    first, second = streams(LINES, 2)
    path = tmp_path / "a.jsonl"
    path.write_bytes(first + bytes(8) + second + bytes(4))
    assert rows_of(path) == ROWS
    path = tmp_path / "b.jsonl.xz"
    path.write_bytes(LINES)
    with pytest.raises(ValueError, match=r"b\.jsonl\.xz: the name ends in \.xz but the file does"):
        rows_of(path)
    path.write_bytes(lzma.compress(b""))
    assert rows_of(path) == []


def test_damaged_xz_files_are_errors_behind_what_can_be_read(tmp_path: Path) -> None:
    packed = lzma.compress(LINES, preset=1)
    path = tmp_path / "a.jsonl.xz"
    cut = packed[: len(packed) // 2]
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 1
    for content, says in (
        (cut, "ends in the middle: it was cut short"),
        (bytes(flipped), r"is damaged \(xz: corrupt data\)"),
        (packed + b"something else here", "something follows its compressed data"),
        (packed[:-4], "ends in the middle"),
    ):
        path.write_bytes(content)
        read = []
        with pytest.raises(OSError, match=rf"a\.jsonl\.xz.*the compressed file .*{says}"):
            read.extend(JsonShardedSource(path))
        assert read == ROWS[: len(read)]
        left = rows_of(path, on_missing="skip")
        assert left == ROWS[: len(left)]
        assert len(left) >= len(read)


# zstd.


def long_frames(data: bytes, log: int) -> bytes:
    """A frame of libzstd's own with a window of 2**log bytes, of which the content needs a part."""
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
    for name in ("ZSTD_createCCtx", "ZSTD_compressBound", "ZSTD_compress2"):
        getattr(zstd, name).restype = ctypes.c_void_p if "create" in name else ctypes.c_size_t
    zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    zstd.ZSTD_CCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    sizes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    zstd.ZSTD_compress2.argtypes = sizes
    zstd.ZSTD_freeCCtx.argtypes = [ctypes.c_void_p]
    context = zstd.ZSTD_createCCtx()
    zstd.ZSTD_CCtx_setParameter(context, 100, 1)  # ZSTD_c_compressionLevel
    zstd.ZSTD_CCtx_setParameter(context, 101, log)  # ZSTD_c_windowLog
    out = ctypes.create_string_buffer(zstd.ZSTD_compressBound(len(data)))
    size = zstd.ZSTD_compress2(context, out, len(out), data, len(data))
    zstd.ZSTD_freeCCtx(context)
    return out.raw[:size]


@needs_zstd
def test_long_windows_are_read_where_they_may_be(tmp_path: Path) -> None:
    """Frames by hand, whose windows are larger than what is in them, and a real one between."""
    path = tmp_path / "a.jsonl.zst"
    parts = [LINES[at : at + 100_000] for at in range(0, 1_000_000, 100_000)]
    real = long_frames(b"".join(parts), 27)
    for log, size in ((28, "256MB"), (30, "1GB"), (31, 2 << 30)):
        frames = [zstd_frame(part, log - 10 << 3) for part in parts]
        path.write_bytes(b"".join(frames) + real)
        expected = b"".join(parts) * 2
        with pytest.raises(ValueError, match=rf'window of {1 << log - 20} MiB.*zstd_max_window="'):
            rows_of(path, type="txt")
        rows = rows_of(path, type="txt", zstd_max_window=size)
        assert "\n".join(row["text"] for row in rows) == expected.decode()
        with pytest.raises(ValueError, match=rf"{(1 << log - 20) - 1} MiB are the most that may"):
            rows_of(path, type="txt", zstd_max_window=(1 << log) - 1)
    path.write_bytes(b"".join(frames)[:-50])
    with pytest.raises(OSError, match="ends in the middle: it was cut short"):
        rows_of(path, type="txt", zstd_max_window="2GB")
    frames[5] = (
        frames[5][:6] + bytes([frames[5][6] | 6]) + frames[5][7:]
    )  # a block of no known type
    path.write_bytes(b"".join(frames))
    with pytest.raises(OSError, match="damaged"):
        rows_of(path, type="txt", zstd_max_window="2GB")


@needs_zstd
def test_windows_are_of_every_format_that_may_be_compressed(tmp_path: Path) -> None:
    import pyarrow as pa

    def packed(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(zstd_frame(content, 18 << 3))
        return path

    sink = io.BytesIO()
    table = pa.table({"a": [1, 2]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    for made in (
        CsvShardedSource(packed("a.csv.zst", b"a\n1\n2\n"), zstd_max_window="256MB"),
        JsonShardedSource(packed("a.json.zst", b'[{"a": 1}, {"a": 2}]'), zstd_max_window="256MB"),
        TextShardedSource(packed("a.txt.zst", b"1\n2\n"), zstd_max_window=1 << 28),
        ArrowShardedSource(packed("a.arrow.zst", sink.getvalue()), zstd_max_window="256MB"),
    ):
        assert [str(value) for row in made for value in row.values()] == ["1", "2"]
        # How much memory is there changes no row: states know nothing of it.
        assert not any("zstd" in key for key in made._stream().description)


def test_windows_that_cannot_be_meant(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    for size in ("much", 0):
        with pytest.raises(ValueError, match="zstd_max_window"):
            create_source(DatasetConfig(str(tmp_path / "a.csv"), zstd_max_window=size))
    with pytest.raises(ConfigError, match=r"zstd_max_window has no effect"):
        create_source(DatasetConfig([{"a": 1}], zstd_max_window="1GB"))


@pytest.mark.parametrize(
    ("library", "suffix", "says"),
    [
        ("liblzma", "xz", r"reading \.xz files needs liblzma 5 \(Debian: apt install liblzma5\)"),
        ("libzstd", "zst", r"zstd_max_window above 128 MiB needs libzstd 1\.4 or newer"),
    ],
)
def test_a_library_that_is_not_there_is_named(
    tmp_path: Path, library: str, suffix: str, says: str
) -> None:
    """In a process in which that library is another one, which has nothing that is looked for."""
    content = lzma.compress(b"x\n") if suffix == "xz" else zstd_frame(b"x\n", 18 << 3)
    (tmp_path / f"a.txt.{suffix}").write_bytes(content)
    version = "5" if suffix == "xz" else "1"
    other = next(Path("/lib").glob("*/libm.so.6"), Path("/lib64/libm.so.6"))
    (tmp_path / f"{library}.so.{version}").symlink_to(other)
    done = run_python(
        "-c",
        "from easydata import DatasetConfig, create_source\n"
        f"config = DatasetConfig({str(tmp_path / f'a.txt.{suffix}')!r}, zstd_max_window='1GB')\n"
        "try:\n"
        "    list(create_source(config))\n"
        "except NotImplementedError as error:\n"
        "    print(error)\n",
        variables={"LD_LIBRARY_PATH": str(tmp_path)},
    )
    assert re.search(says, done.stdout), done
