"""Files that cannot be read to their end: an error, or counted, said and listed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from fault_server import FaultServer, Rule
from small_files import loader

from easydata import DatasetConfig, create_source

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
    # The footer is read; then nothing more.
    with FaultServer(data, [Rule("status", status=500, path="/part-1", skip=1)]) as server:
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
        assert len(asked) == 2  # an attempt, and one more
        source = create_source(DatasetConfig(address, **options))
        assert list(iter(source)) == table.to_pylist()
        lost = create_source(DatasetConfig(server.url + "/part-1.parquet", **options))
        with (
            loader(server.url + "/part-1.parquet", **options) as batches,
            pytest.raises(OSError, match="status 500"),
        ):
            next(iter(batches))
        assert list(iter(lost)) == []
