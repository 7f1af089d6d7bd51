"""A bit that is turned over on its way: found where there is a checksum, and read once more."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import xxhash
from faults import Rule
from served_files import HASTY, ServedFiles, served_files
from small_files import loader

from easydata import DatasetConfig, create_source

_rng = random.Random(11)
ROWS = [{"id": i, "text": f"row {i}: {_rng.getrandbits(480):0120x}"} for i in range(6000)]
SMALL = ROWS[:2000]
HELD = 64 << 20  # a member of more decompressed text than this is used before it is checked


def lines(data: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in data).encode()


def stored_zstd(data: bytes) -> bytes:
    """A frame of zstd that packs nothing: only its checksum can tell that a bit was turned over."""
    pieces = [b"\x28\xb5\x2f\xfd\xa4", len(data).to_bytes(4, "little")]
    size = 1 << 16
    for begin in range(0, len(data), size):
        part = data[begin : begin + size]
        is_last = begin + size >= len(data)
        pieces += [(len(part) << 3 | is_last).to_bytes(3, "little"), part]
    checksum = (xxhash.xxh64_intdigest(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"".join([*pieces, checksum])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage")
    (folder / "small.jsonl.gz").write_bytes(gzip.compress(lines(SMALL)))
    (folder / "large.jsonl.gz").write_bytes(gzip.compress(lines(ROWS * 3)))
    (folder / "small.jsonl.zst").write_bytes(stored_zstd(lines(SMALL)))
    (folder / "large.jsonl.zst").write_bytes(stored_zstd(lines(ROWS * 2)))
    huge = lines(ROWS) * (HELD // len(lines(ROWS)) + 2)
    (folder / "huge.jsonl.zst").write_bytes(stored_zstd(huge))
    (folder / "plain.jsonl").write_bytes(lines(SMALL))
    table = pa.Table.from_pylist(ROWS)
    options = {"write_page_checksum": True, "use_dictionary": False, "compression": "none"}
    pyarrow.parquet.write_table(table, folder / "small.parquet", row_group_size=1000, **options)
    wide = pa.table({"text": [row["text"] * 20 for row in ROWS]})
    # One row group of more than is decoded at once.
    pyarrow.parquet.write_table(wide, folder / "large.parquet", data_page_size=1 << 18, **options)
    return folder


def flip(at: int, times: int = 1, skip: int = 0) -> Rule:
    return Rule("flip", path=r"small|large|huge|plain", at=at, times=times, skip=skip)


def read(here: ServedFiles, name: str) -> tuple[list[Any], dict[str, int]]:
    """The rows, and what was read once more, by cause."""
    options = {**here.options, **HASTY}
    with loader(here.address(name), storage_options=options) as batches:
        found = list(batches)
        again: dict[str, int] = batches.stats()["io"]["retries"]
    names = list(found[0])
    texts = [
        dict(zip(names, values, strict=True))
        for batch in found
        for values in zip(*(list(batch[name]) for name in names), strict=True)
    ]
    return texts, again


def local(files: Path, name: str) -> list[Any]:
    return list(create_source(DatasetConfig(str(files / name))))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("where", ["seaweed", "nginx"])
@pytest.mark.parametrize(
    "name",
    [
        f"{size}.{kind}"
        for size in ("small", "large")
        for kind in ("parquet", "jsonl.gz", "jsonl.zst")
    ],
)
def test_a_flipped_bit_is_found_and_read_once_more(
    name: str, where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    expected = [row["text"] for row in local(files, name)]
    found = 0
    # Of the first and the second request, which may ask for bytes that nobody needs.
    for at, skip in ((20_000, 0), (60_000, 0), (100_000, 0), (20_000, 1), (60_000, 1)):
        with served_files(request, where, files) as here:
            here.proxy.rules = [flip(at, skip=skip)]
            got, again = read(here, name)
            assert [row["text"] for row in got] == expected
            assert again in ({}, {"damaged": 1})
            found += bool(again)
    assert found >= 1


@pytest.mark.parametrize(
    "name",
    [
        f"{size}.{kind}"
        for size in ("small", "large")
        for kind in ("parquet", "jsonl.gz", "jsonl.zst")
    ],
)
def test_what_stays_damaged_is_one_error(
    name: str, files: Path, request: pytest.FixtureRequest
) -> None:
    words = "row group 0 cannot be read" if name.endswith("parquet") else "is damaged"
    with served_files(request, "seaweed", files) as here:
        source = here.source(name)
        here.proxy.rules = [flip(20_000, times=1 << 30)]
        with pytest.raises(OSError, match=words) as raised:
            list(source)
        assert here.address(name) in str(raised.value)


@pytest.mark.parametrize("skip", [2, pytest.param(4, marks=pytest.mark.sliced)])
def test_of_more_than_is_held_back_wrong_rows_end_in_an_error_that_says_so(
    skip: int, files: Path, request: pytest.FixtureRequest
) -> None:
    with served_files(request, "seaweed", files) as here:
        here.proxy.rules = [flip(900_000, skip=skip)]
        with pytest.raises(OSError, match="is another one when it is read again") as raised:
            read(here, "huge.jsonl.zst")
        assert here.address("huge.jsonl.zst") in str(raised.value)


def outcome(source: Any, expected: list[Any], address: str) -> str:
    """Whether a source has the expected rows, or ends by an error that names its file."""
    said = ""
    try:
        got = list(source)
    except (OSError, ValueError) as error:
        said = str(error)
    if not said:
        assert got == expected
        return "same"
    assert address in said
    return "error"


@pytest.mark.parametrize("where", ["seaweed"])
def test_a_flipped_bit_anywhere_in_compressed_text_loses_nothing(
    where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    """Wherever the bit is: in the data, the frame or the checksum."""
    rng = random.Random(3)
    outcomes = set()
    kinds = ("gz", "zst")
    for name in (f"{size}.jsonl.{kind}" for size in ("small", "large") for kind in kinds):
        expected = local(files, name)
        for at in rng.sample(range(20, (files / name).stat().st_size), 12):
            with served_files(request, where, files) as here:
                source = here.source(name)
                here.proxy.rules = [flip(at, skip=1)]
                outcomes.add((name, outcome(source, expected, here.address(name))))
    # Members are held back until they were checked.
    assert {how for _, how in outcomes} == {"same"}


def test_a_flipped_bit_of_plain_text_cannot_be_found(
    files: Path, request: pytest.FixtureRequest
) -> None:
    """A part of an object has no checksum on any store: one of the row's letters is another."""
    at = lines(SMALL).index(b"row 17:")
    with served_files(request, "seaweed", files) as here:
        source = here.source("plain.jsonl")
        here.proxy.rules = [flip(at, times=1 << 30)]
        got = list(source)
    assert sum(a != b for a, b in zip(got, SMALL, strict=True)) == 1


def test_damaged_files_of_this_machine_are_not_read_twice(files: Path, tmp_path: Path) -> None:
    data = bytearray((files / "small.jsonl.gz").read_bytes())
    data[20_000] ^= 1
    (tmp_path / "small.jsonl.gz").write_bytes(data)
    with (
        loader(str(tmp_path / "small.jsonl.gz")) as batches,
        pytest.raises(OSError, match="is damaged"),
    ):
        list(batches)
