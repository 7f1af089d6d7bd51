"""How files are asked for: few requests, large ones, ahead of their use; and what is counted."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from fault_server import FaultServer, Rule
from small_files import loader

from easydata import DatasetConfig, create_source

MEGABYTE = 1 << 20


def lines(megabytes: int) -> bytes:
    line = json.dumps({"text": "x" * 1000}) + "\n"
    return (line * (megabytes * MEGABYTE // len(line))).encode()


def count(server: FaultServer, name: str, **options: Any) -> int:
    return sum(1 for _ in create_source(DatasetConfig(server.url + name, **options)))


def covered(server: FaultServer) -> int:
    """Bytes asked for, all ranges together."""
    sizes = []
    for each in server.asked():
        if each.range is not None:
            first, _, last = each.range.removeprefix("bytes=").partition("-")
            sizes.append(int(last) - int(first) + 1)
    return sum(sizes)


def test_text_is_read_in_large_ranges() -> None:
    data = lines(40)
    with FaultServer({"/rows.jsonl": data}) as server:
        assert count(server, "/rows.jsonl") == data.count(b"\n")
        # Ranges of 8 MB, and the first 64 kB by themselves.
        assert len(server.asked()) <= 8
        assert covered(server) < len(data) + MEGABYTE
        assert len(server.asked("HEAD")) == 1


def test_compressed_text_is_read_in_large_ranges() -> None:
    rows = [json.dumps({"id": i, "text": str(hash((i, 1)))}) for i in range(600_000)]
    data = gzip.compress("\n".join(rows).encode(), 1)
    with FaultServer({"/rows.jsonl.gz": data}) as server:
        assert count(server, "/rows.jsonl.gz") == len(rows)
        # Small ranges first, then of 8 MB.
        assert len(server.asked()) <= 6 + len(data) // (8 * MEGABYTE)
        assert covered(server) < len(data) + MEGABYTE


def test_column_chunks_are_read_together(tmp_path: Path) -> None:
    table = pa.table({f"c{i}": [f"{i}-{j}" for j in range(20_000)] for i in range(8)})
    pa.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=5000)
    data = (tmp_path / "rows.parquet").read_bytes()
    with FaultServer({"/rows.parquet": data}) as server:
        assert count(server, "/rows.parquet") == 20_000
        # The footer, and each of four row groups: not each of their 32 column chunks.
        assert len(server.asked()) <= 6
        server.log.clear()
        assert count(server, "/rows.parquet", columns=["c0"]) == 20_000
        assert covered(server) < len(data) // 2


@pytest.mark.alone
def test_latency_is_hidden_by_reading_ahead() -> None:
    data = lines(64)
    with FaultServer({"/rows.jsonl": data}, [Rule("latency", seconds=0.1)]) as server:
        begin = time.monotonic()
        assert count(server, "/rows.jsonl") == data.count(b"\n")
        passed = time.monotonic() - begin
    # One after the other, 64 chunks would take 6.4 s of waiting.
    assert passed < 5.5


def test_what_a_mix_reads_is_not_fetched_for_nothing() -> None:
    """A look at the first rows takes little of a large file."""
    data = lines(40)
    with FaultServer({"/rows.jsonl": data}) as server:
        rows = iter(create_source(DatasetConfig(server.url + "/rows.jsonl")))
        next(rows)
        del rows
        time.sleep(0.3)
        assert covered(server) <= 33 * MEGABYTE


def test_a_loader_counts_what_it_took() -> None:
    data = lines(4)
    faults = [
        Rule("status", status=503, times=2),
        Rule("cut", at=100_000, times=1, skip=1),
        Rule("status", status=429, headers={"Retry-After": "1"}, times=1, skip=1),
    ]
    with FaultServer({"/rows.jsonl": data}, faults) as server:
        with loader(server.url + "/rows.jsonl") as batches:
            rows = sum(len(batch["text"]) for batch in batches)
            stats, explained = batches.stats(), batches.explain()
        counts = stats["io"]
        assert rows == data.count(b"\n") // 16 * 16
        assert counts["requests"] <= len(server.log)
        assert counts["requests"] >= len(server.asked())
    assert counts["retries"] == {"status 503": 2, "broken off": 1, "status 429": 1}
    assert len(data) <= counts["bytes"] <= len(data) + MEGABYTE
    assert counts["throttled_seconds"] >= 1
    assert counts["wait_seconds"] >= counts["throttled_seconds"]
    assert "4 were made again" in explained["sentence"]
    assert "status 503: 2" in explained["sentence"]


def test_files_of_this_machine_take_no_requests(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(lines(1))
    with loader(str(tmp_path / "rows.jsonl")) as batches:
        assert sum(1 for _ in batches) > 0
        assert batches.stats()["io"] == {
            "requests": 0,
            "retries": {},
            "bytes": 0,
            "bytes_read_twice": 0,
            "wait_seconds": 0,
            "throttled_seconds": 0,
        }


@pytest.mark.parametrize("order", ["blocks", "rows"])
def test_shuffled_blocks_are_asked_for_once(order: str) -> None:
    data = lines(12)
    with FaultServer({"/rows.jsonl": data}) as server:
        assert count(server, "/rows.jsonl", shuffle=order) == data.count(b"\n")
        assert covered(server) < 1.3 * len(data)
