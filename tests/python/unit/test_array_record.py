"""ArrayRecord files: those of array_record's own writer, whole and damaged."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from easydata.sources import ArrayRecordShardedSource

from easydata import DatasetConfig, create_source

writer_module = pytest.importorskip("array_record.python.array_record_module")


def write(path: Path, records: list[bytes], options: str = "") -> Path:
    writer = writer_module.ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    return path


def bytes_of(path: Path | str, **options: Any) -> list[bytes]:
    source = ArrayRecordShardedSource(str(path), decode="bytes", **options)
    return [row["record"] for row in iter(source)]


def some(count: int) -> list[bytes]:
    sizes = [0, 1, 5, 17, 100, 255, 4000, 70_000, 65_536, 65_472, 24, 3]
    return [bytes((131 * i + j) & 255 for j in range(sizes[i % len(sizes)])) for i in range(count)]


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
    (config,) = [DatasetConfig(str(path), content_field="story", type="array_record")]
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


@pytest.mark.parametrize("size", [0, 10, 65536, 131072])
def test_other_files_are_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.arecord"
    path.write_bytes(b"x" * size)
    with pytest.raises(OSError, match=r"a\.arecord is not a whole ArrayRecord file"):
        bytes_of(path)


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
        skipping = ArrayRecordShardedSource(str(path), decode="bytes", on_error="skip")
        try:
            found = [row["record"] for row in iter(skipping)]
        except OSError as error:
            assert f"{number}.arecord is not a whole ArrayRecord file" in str(error)
            assert not lost, case["what"]
            outcomes["refused"] += 1
            continue
        assert lost, case["what"]  # a damage that nobody notices
        assert found == [record for i, record in enumerate(whole) if i not in lost]
        with pytest.raises(OSError, match=r"chunk \d+ at byte \d+ \(record") as raised:
            bytes_of(path)
        assert str(path) in str(raised.value)
        outcomes["records"] += 1
    assert outcomes == {"refused": 48, "records": 21}
    assert len(cases) == 69
