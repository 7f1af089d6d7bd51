"""ArrayRecord files: those of array_record's own writer, whole and damaged."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from array_record_files import some, write
from easydata.sources import ArrayRecordDataSource, ArrayRecordShardedSource

from easydata import DatasetConfig, ParquetShardedSource, create_source


def bytes_of(path: Path | str, **options: Any) -> list[bytes]:
    source = ArrayRecordShardedSource(str(path), decode="bytes", **options)
    return [row["record"] for row in iter(source)]


OPTIONS = [
    "",
    "group_size:1,uncompressed",
    "group_size:16",
    "group_size:65536",
    "group_size:7,zstd:19",
    "group_size:16,brotli:9",
    "group_size:16,snappy",
    "group_size:5,uncompressed,pad_to_block_boundary:true",
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("count", [0, 1, 17, 200])
def test_files_of_array_record(tmp_path: Path, options: str, count: int) -> None:
    records = some(count)
    path = write(tmp_path / "a.arecord", records, options)
    assert bytes_of(path) == records
    source = ArrayRecordShardedSource(str(path), decode="bytes")
    assert len(source) == count
    for row in {0, count // 2, max(count - 1, 0), count}:
        rest = [each["record"] for each in source.open_shard_at_row(str(path), row)]
        assert rest == records[row:]


def test_what_records_are_decoded_as(tmp_path: Path) -> None:
    texts = ["one", "", "zwei ü", "three\n3"]
    path = write(tmp_path / "text.arecord", [text.encode() for text in texts])
    assert [row["text"] for row in create_source(DatasetConfig(str(path)))] == texts
    config = DatasetConfig(str(path), content_field="story", type="array_record")
    assert [row["story"] for row in create_source(config)] == texts
    tokens = [[1, 2, 3], [], [-1, 2**31 - 1]]
    path = write(tmp_path / "ids.arecord", [struct.pack(f"<{len(t)}i", *t) for t in tokens])
    assert [
        row["input_ids"] for row in ArrayRecordShardedSource(str(path), decode="int32")
    ] == tokens
    rows = [{"a": 1, "b": [1, "x"]}, {"a": None}]
    path = write(tmp_path / "rows.arecord", [json.dumps(row).encode() for row in rows])
    assert list(ArrayRecordShardedSource(str(path), decode="json")) == rows
    with pytest.raises(ValueError, match='decode="json" makes columns of the fields'):
        list(ArrayRecordShardedSource(str(path), column="x", decode="json"))
    with pytest.raises(ValueError, match="unknown way to decode records"):
        list(ArrayRecordShardedSource(str(path), decode="utf8"))  # type: ignore[arg-type]
    bad = write(tmp_path / "bad.arecord", [b"good", b"\xff\xfe", b"too"])
    with pytest.raises(ValueError, match=r"bad\.arecord row 1.*UTF-8"):
        list(ArrayRecordShardedSource(str(bad)))
    kept = ArrayRecordShardedSource(str(bad), on_error="skip")
    assert [row["text"] for row in iter(kept)] == ["good", "too"]


def test_transposed_files_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arecord", [b"x"] * 20, "group_size:4,transpose:true")
    with pytest.raises(NotImplementedError, match='write them again with "transpose:false"'):
        bytes_of(path)
    # They are not bad rows.
    with pytest.raises(NotImplementedError, match=r"a\.arecord"):
        bytes_of(path, on_error="skip")


@pytest.mark.parametrize("size", [0, 10, 65536, 131072])
def test_other_files_are_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.arecord"
    path.write_bytes(b"x" * size)
    with pytest.raises(OSError, match=r"a\.arecord is not a whole ArrayRecord file"):
        bytes_of(path)


# By number.


@pytest.mark.parametrize("options", OPTIONS)
def test_records_by_their_numbers(tmp_path: Path, options: str) -> None:
    records = some(150)
    for number, begin in enumerate(range(0, 150, 50)):
        write(tmp_path / f"part-{number}.arecord", records[begin : begin + 50], options)
    source = ArrayRecordDataSource(str(tmp_path))
    assert len(source) == 150
    assert [source[i] for i in range(150)] == records
    assert source[-1] == records[-1]
    wanted = [149, 0, 51, 51, 7, 100, 99, -150]
    assert source.__getitems__(wanted) == [records[i] for i in wanted]
    assert source.__getitems__([]) == []
    assert pickle.loads(pickle.dumps(source)).__getitems__(wanted) == source.__getitems__(wanted)
    for wrong in (150, -151):
        with pytest.raises(IndexError, match=f"there is no record {wrong}: there are 150"):
            source[wrong]
        with pytest.raises(IndexError, match=f"there is no record {wrong}"):
            source.__getitems__([0, wrong])


def test_damage_by_number(tmp_path: Path) -> None:
    # The last one lies in a part of the file that no other does.
    records = [b"a" * 100, b"b" * 100, b"c" * 100, b"d" * 600_000]
    path = write(tmp_path / "a.arecord", records, "group_size:1,uncompressed")
    data = bytearray(path.read_bytes())
    data[data.index(b"bbbb")] ^= 1
    path.write_bytes(data)
    source = ArrayRecordDataSource(str(path))
    assert (source[0], source[2]) == (records[0], records[2])
    for read in (lambda: source[1], lambda: source.__getitems__([0, 1])):
        with pytest.raises(OSError, match=r"a\.arecord: chunk 1 at byte \d+ \(record 1\)"):
            read()
    path.write_bytes(data[:-65536])
    with pytest.raises(OSError, match="is not the file any more that was listed"):
        source[3]
    assert source[0] == records[0]  # it was in memory, as it was
    with pytest.raises(OSError, match="is not a whole ArrayRecord file"):
        ArrayRecordDataSource(str(path))


# Recorded ones.


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    folder = shared / "data" / "golden" / "grain" / "arrayrecord"
    if not folder.is_dir():
        pytest.skip("the recorded files are not there")
    return folder


def hash_of(records: list[bytes]) -> str:
    return hashlib.sha256(b"".join(struct.pack("<Q", len(r)) + r for r in records)).hexdigest()


def test_recorded_files(golden: Path) -> None:
    seen = set()
    for known in json.loads((golden / "index.json").read_text())["files"]:
        path = golden / known["file"]
        if "transpose:true" in known["writer_options_string"]:
            with pytest.raises(NotImplementedError, match="transposed"):
                bytes_of(path)
            continue
        records = bytes_of(path)
        assert len(records) == known["num_records"]
        assert hash_of(records) == known["all_records_sha256"], path
        seen.add(known["file"])
    assert len(seen) >= 17


def damaged(golden: Path, case: dict[str, Any], path: Path) -> Path:
    data = bytearray((golden / case["base"]).read_bytes())
    if case["op"] == "xor":
        data[case["at"]] ^= case["xor"]
    elif case["op"] == "truncate":
        del data[case["at"] :]
    else:
        data += bytes(1 if "one byte" in case["what"] else 65536)
    path.write_bytes(data)
    return path


def test_recorded_damages(golden: Path, tmp_path: Path) -> None:
    """An error when the file is opened, or of exactly the records that array_record loses."""
    cases = json.loads((golden / "corruptions.json").read_text())["cases"]
    outcomes = {"refused": 0, "records": 0}
    for number, case in enumerate(cases):
        path = damaged(golden, case, tmp_path / f"{number}.arecord")
        whole = bytes_of(golden / case["base"])
        lost = case["array_record 0.8.6"]["read_by_index"]["failing_records"]
        if not lost:  # array_record says nothing, or that there are no records
            with pytest.raises(OSError, match=r"\.arecord is not a whole ArrayRecord file"):
                bytes_of(path, on_error="skip")
            outcomes["refused"] += 1
            continue
        found = bytes_of(path, on_error="skip")
        assert found == [record for i, record in enumerate(whole) if i not in lost]
        with pytest.raises(OSError, match=r"chunk \d+ at byte \d+ \(record") as raised:
            bytes_of(path)
        assert str(path) in str(raised.value)
        outcomes["records"] += 1
    assert outcomes == {"refused": 48, "records": 21}
    assert len(cases) == 69


def test_decode_is_refused_where_it_has_no_say(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"decode: .* the files are of format parquet; leave it"):
        create_source(DatasetConfig(str(tmp_path / "a.parquet"), decode="json"))
    for data in ([{"text": "a"}], ParquetShardedSource(str(tmp_path / "a.parquet"))):
        with pytest.raises(ValueError, match=r"decode: .* the data are in memory; leave it out"):
            create_source(DatasetConfig(data, decode="text"))
    with pytest.raises(ValueError, match=r"decode: .* a dataset of the Hub is none of these"):
        create_source(DatasetConfig("some/name", type="hf", decode="text"))
