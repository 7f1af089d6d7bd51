"""Files that cannot be read to their end: an error, or counted, said and listed."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from fault_server import FaultServer, Rule
from small_files import loader

from easydata import DatasetConfig, JsonShardedSource, _native, create_source, save_dataset

ROWS = 20_000
IMPATIENT = {"retries": 1, "retry_delay": 0.01}


def parts(count: int = 4) -> dict[str, list[dict[str, Any]]]:
    """Rows of some files, each of more than one chunk of lines."""
    return {
        f"/part-{part}.jsonl": [{"text": f"row {part}-{i} " + "x" * 150} for i in range(ROWS)]
        for part in range(count)
    }


def served(rows: dict[str, list[dict[str, Any]]], *rules: Rule) -> FaultServer:
    data = {
        name: "".join(json.dumps(row) + "\n" for row in some).encode()
        for name, some in rows.items()
    }
    return FaultServer(data, rules)


def read(server: FaultServer, **options: Any) -> list[Any]:
    address = server.url + "/part-{0..3}.jsonl"
    config = DatasetConfig(address, storage_options=IMPATIENT, **options)
    return list(iter(create_source(config)))


@pytest.mark.parametrize("byte", [0, 1_500_000])
def test_the_rest_of_a_file_is_left_out(byte: int, tmp_path: Path) -> None:
    """From its begin, or from a chunk on: the rows before it come, and all of the other files."""
    rows = parts()
    broken = Rule("status", status=500, path="/part-1", skip=1 if byte else 0)
    with served(rows, broken) as server:
        with pytest.raises(OSError, match=r"part-1\.jsonl.*status 500"):
            read(server)
        server.rules = [broken]
        found = read(server, on_missing="quarantine", quarantine_path=str(tmp_path / "bad.jsonl"))
    names = sorted(rows)
    others = [row for name in names if name != "/part-1.jsonl" for row in rows[name]]
    kept = [row for row in found if row["text"].startswith("row 1-")]
    assert [row for row in found if not row["text"].startswith("row 1-")] == others
    assert kept == rows["/part-1.jsonl"][: len(kept)]
    lost = [json.loads(line) for line in (tmp_path / "bad.shards.jsonl").read_text().splitlines()]
    assert [(each["shard"], each["row"]) for each in lost] == [
        (f"{server.url}/part-1.jsonl", len(kept))
    ]
    assert "status 500" in lost[0]["error"]
    assert not (tmp_path / "bad.jsonl").exists()


def test_lost_files_are_counted(tmp_path: Path) -> None:
    with served(parts(), Rule("status", status=403, path="/part-2", method="GET")) as server:
        address = server.url + "/part-{0..3}.jsonl"
        options = {"storage_options": IMPATIENT, "on_missing": "skip"}
        with loader(address, **options) as batches:
            taken = sum(len(batch["text"]) for batch in batches)
            counts = batches.stats()["sources"]["dataset_0"]
    assert taken == 3 * ROWS // 16 * 16
    assert counts["dropped"] == {"shard, rows unknown": 1}
    (address,) = counts["dropped_at"]["shard, rows unknown"]
    assert "part-2.jsonl" in address


def test_rows_of_a_lost_parquet_file_are_counted(tmp_path: Path) -> None:
    for part in range(3):
        table = pa.table({"text": [f"row {part}-{i}" for i in range(5000)]})
        pa.parquet.write_table(table, tmp_path / f"part-{part}.parquet", row_group_size=1000)
    data = {f"/{path.name}": path.read_bytes() for path in tmp_path.glob("*.parquet")}
    # The footer is read, for the columns and in its turn; then nothing more.
    with FaultServer(data, [Rule("status", status=500, path="/part-1", skip=2)]) as server:
        address = server.url + "/part-{0..2}.parquet"
        options = {"storage_options": IMPATIENT, "on_missing": "skip"}
        with loader(address, **options) as batches:
            taken = sum(len(batch["text"]) for batch in batches)
            counts = batches.stats()["sources"]["dataset_0"]
    dropped = counts["dropped"]["shard"]
    assert 0 < dropped <= 5000
    assert taken == (15_000 - dropped) // 16 * 16


def test_files_of_this_machine_may_be_lost_too(tmp_path: Path) -> None:
    for part in range(3):
        (tmp_path / f"{part}.jsonl").write_text(json.dumps({"part": part}) + "\n")
    source = create_source(DatasetConfig(str(tmp_path / "*.jsonl"), on_missing="skip"))
    os.remove(tmp_path / "1.jsonl")
    assert list(source) == [{"part": 0}, {"part": 2}]
    strict = create_source(DatasetConfig(str(tmp_path / "*.jsonl")))
    os.remove(tmp_path / "2.jsonl")
    with pytest.raises(FileNotFoundError, match=r"2\.jsonl"):
        list(strict)


def test_a_quarantine_needs_its_file(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").touch()
    with pytest.raises(ValueError, match=r"quarantine_path:? is required with on_missing"):
        create_source(DatasetConfig(str(tmp_path / "x.jsonl"), on_missing="quarantine"))


def test_a_file_that_does_not_open_is_asked_for_once(tmp_path: Path) -> None:
    """Its rows are not counted by asking a server that does not give it all over again."""
    table = pa.table({"text": [f"row {i}" for i in range(160)]})
    pa.parquet.write_table(table, tmp_path / "rows.parquet")
    data = (tmp_path / "rows.parquet").read_bytes()
    files = {"/part-0.parquet": data, "/part-1.parquet": data}
    with FaultServer(files, [Rule("status", status=500, path="/part-1")]) as server:
        address = server.url + "/part-{0,1}.parquet"
        options = {"storage_options": IMPATIENT, "on_missing": "skip"}
        with loader(address, **options) as batches:
            assert sum(len(batch["text"]) for batch in batches) == 160
        asked = [each for each in server.asked() if each.path == "/part-1.parquet"]
        assert len(asked) == 4  # for its columns and in its turn, an attempt and one more
        source = create_source(DatasetConfig(address, **options))
        assert list(iter(source)) == table.to_pylist()
        lost = create_source(DatasetConfig(server.url + "/part-1.parquet", **options))
        with (
            loader(server.url + "/part-1.parquet", **options) as batches,
            pytest.raises(OSError, match="status 500"),
        ):
            next(iter(batches))
        with pytest.raises(OSError, match="status 500"):
            list(lost)


def bad_files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """By the name of a file: what is not as it should be in it, and the rows before that."""
    lines = b"".join(b'{"text": "of %d"}\n' % n for n in range(5000))
    table = pa.table({"text": [f"of {n}" for n in range(5000)]})
    pa.parquet.write_table(table, folder / "whole", row_group_size=1000, compression="zstd")
    parquet = (folder / "whole").read_bytes()
    group = pa.parquet.read_metadata(folder / "whole").row_group(2).column(0)
    page = bytearray(parquet)
    for at in range(group.dictionary_page_offset, group.data_page_offset):
        page[at] ^= 0xFF
    (folder / "whole").unlink()
    packed = gzip.compress(lines)
    array = b"[" + b",".join(lines.splitlines()) + b"]"
    return {
        "a.jsonl.gz": (packed[: len(packed) // 2], -1),
        "b.jsonl.gz": (b"<html>not found</html>", 0),
        "c.json": (array[:-5000], -1),
        "d.csv": (b'text\nof 0\nof 1\n"open\n' + b"of 3\n" * 10, 2),
        "e.csv": (b"text,text\n1,2\n", 0),
        "f.parquet": (bytes(page), 2000),
        "g.parquet": (b"<html>not found</html>", 0),
        "h.parquet": (parquet[:-200], 0),
        "i.arrow": (b"ARROW1\0\0" + bytes(500), 0),
    }


@pytest.mark.parametrize("name", list("abcdefghi"))
def test_damaged_files_are_left_out(name: str, tmp_path: Path) -> None:
    """Cut, damaged, of another kind: one of three, wherever it stands, in whichever order."""
    ((suffix, content, before),) = [
        (found[1:], content, before)
        for found, (content, before) in bad_files(tmp_path).items()
        if found[0] == name
    ]
    rows = [{"text": f"row {n}"} for n in range(3000)]
    for place in range(3):
        folder = tmp_path / str(place)
        folder.mkdir()
        for part in range(3):
            path = folder / f"{part}{suffix}"
            path.write_bytes(content if part == place else good_file(suffix, rows))

        def source(folder: Path = folder, **options: Any) -> Any:
            return create_source(DatasetConfig(f"{folder}/*", **options))

        with pytest.raises((OSError, ValueError), match=f"{place}{suffix}"):
            list(source())
        aside = folder / "bad.jsonl"
        kept = list(source(on_missing="quarantine", quarantine_path=str(aside)))
        assert [row for row in kept if row["text"].startswith("row")] == rows * 2
        left = [row["text"] for row in kept if row["text"].startswith("of")]
        assert left == [f"of {n}" for n in range(len(left))]
        assert before < 0 or len(left) == before
        (lost,) = [json.loads(x) for x in (folder / "bad.shards.jsonl").read_text().splitlines()]
        assert (lost["shard"], lost["row"]) == (f"{folder}/{place}{suffix}", len(left))
        aside.with_name("bad.shards.jsonl").unlink()
        for order in ("blocks", "rows"):
            found = Counter(row["text"] for row in source(shuffle=order, on_missing="skip"))
            expected = Counter([row["text"] for row in rows * 2] + left)
            assert not expected - found
            # Blocks behind a damaged one are read by themselves.
            assert all(text.startswith("of ") for text in found - expected)
        with loader(f"{folder}/*", on_missing="skip") as batches:
            taken = [text for batch in batches for text in batch["text"]]
            counts = batches.stats()["sources"]["dataset_0"]["dropped"]
        assert taken == [row["text"] for row in kept][: len(taken)]
        assert len(kept) - len(taken) < 16
        assert set(counts) <= {"shard", "shard, rows unknown", "drop_last"}
        save_dataset(source(on_missing="skip"), folder / "out", "jsonl")
        assert list(create_source(DatasetConfig(str(folder / "out")))) == kept
    with pytest.raises((OSError, ValueError)):  # all that there is
        list(create_source(DatasetConfig(str(tmp_path / "0" / f"0{suffix}"))))


def good_file(suffix: str, rows: list[dict[str, Any]]) -> bytes:
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if suffix.endswith(".gz"):
        return gzip.compress(lines, 1)
    if suffix == ".csv":
        return ("text\n" + "".join(row["text"] + "\n" for row in rows)).encode()
    sink = pa.BufferOutputStream()
    if suffix == ".parquet":
        pa.parquet.write_table(pa.Table.from_pylist(rows), sink)
    elif suffix == ".arrow":
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        return json.dumps(rows).encode()
    return bytes(sink.getvalue())


def test_files_of_a_list_that_are_not_there(tmp_path: Path, caplog: Any) -> None:
    """They are named, so they are lost; a pattern that finds nothing is a mistake."""
    for part in range(2):
        (tmp_path / f"{part}.jsonl").write_text(json.dumps({"part": part}) + "\n")
    names = [str(tmp_path / name) for name in ("0.jsonl", "0a.jsonl", "1.jsonl")]
    with pytest.raises(FileNotFoundError, match=r"0a\.jsonl"):
        create_source(DatasetConfig(names))
    for data in (names, str(tmp_path / "{0,0a,1}.jsonl")):
        caplog.clear()
        aside = str(tmp_path / "bad.jsonl")
        config = DatasetConfig(data, on_missing="quarantine", quarantine_path=aside)
        assert list(create_source(config)) == [{"part": 0}, {"part": 1}]
        assert "0a.jsonl" in caplog.text
        (lost,) = (tmp_path / "bad.shards.jsonl").read_text().splitlines()
        assert json.loads(lost)["shard"] == names[1]
        (tmp_path / "bad.shards.jsonl").unlink()
    source = JsonShardedSource(names, on_missing="skip")
    assert len(source) == 2
    assert [row["part"] for row in source] == [0, 1]
    with pytest.raises(FileNotFoundError, match="no data files match"):
        create_source(DatasetConfig([*names, str(tmp_path / "x*.jsonl")], on_missing="skip"))
    with pytest.raises(FileNotFoundError, match=r"0a\.jsonl"):
        create_source(DatasetConfig(names[1], on_missing="skip"))


def test_files_of_a_list_that_a_server_has_not(tmp_path: Path) -> None:
    rows = parts(3)
    with served({name: some for name, some in rows.items() if "1" not in name}) as server:
        names = [server.url + name for name in sorted(rows)]
        config = DatasetConfig(names, storage_options=IMPATIENT, on_missing="skip")
        found = list(create_source(config))
    assert found == rows["/part-0.jsonl"] + rows["/part-2.jsonl"]


def test_what_is_asked_for_and_not_there_is_no_lost_file(tmp_path: Path) -> None:
    """A column that a file lacks, or of another type: on_missing says nothing of these."""
    pa.parquet.write_table(pa.table({"text": ["a"]}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"other": ["b"]}), tmp_path / "1.parquet")
    source = create_source(DatasetConfig(str(tmp_path / "*.parquet"), on_missing="skip"))
    with pytest.raises(KeyError, match='no column "text"'):
        list(_native.iterate_rows(source._stream({"text": "text"})))
