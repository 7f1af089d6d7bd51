"""Much data over a bad link, and many machines over many files."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import FaultProxy
from fault_server import Rule
from stores import S3Store, WebServer

import easydata

pytestmark = pytest.mark.sliced

RANK = Path(__file__).with_name("long_haul_rank.py")
MEGABYTE = 1 << 20
STEPS = 8000  # of 256 rows, a kilobyte each: nearly all of the data


def write_lines(path: Path, megabytes: int, mark: str) -> None:
    block = "".join(f"{mark}{i:08} " + "x" * 980 + "\n" for i in range(1000))
    data = block.encode()
    with path.open("wb") as out:
        for _ in range(megabytes * MEGABYTE // len(data)):
            out.write(data)


def started(address: str, rank: int, state: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(RANK), address, str(rank), "2", "--steps", str(STEPS)]
    command += ["--state", str(state), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(out)
    return found


def test_two_gigabytes_over_a_bad_link(nginx: WebServer, tmp_path: Path) -> None:
    """20 ms to the first byte, 4 % of errors; a rank is killed on the way and replaced."""
    names = [f"haul-{i}.txt" for i in range(4)]
    for name, mark in zip(names, "abcd", strict=True):
        write_lines(nginx.folder / name, 512, mark)
    try:
        local = str(nginx.folder / "haul-{0..3}.txt")
        expected = [
            finished(started(local, rank, tmp_path / f"local-{rank}.json"))["sums"]
            for rank in range(2)
        ]
        rules = [
            Rule("latency", seconds=0.02, method=""),
            Rule("status", status=503, probability=0.02),
            Rule("reset", at=300_000, probability=0.02),
        ]
        with FaultProxy(nginx.url, rules, seed=3) as proxy:
            address = proxy.url + "/haul-{0..3}.txt"
            states = [tmp_path / f"far-{rank}.json" for rank in range(2)]
            first = started(address, 0, states[0])
            killed = started(address, 1, states[1], "--stop-at", "1500")
            killed.communicate(timeout=600)
            assert killed.returncode < 0
            second = started(address, 1, states[1])
            found = [finished(first), finished(second)]
            faults = [each for each in proxy.log if each.fault is not None]
        assert [each["sums"] for each in found] == expected
        assert faults
        for each in found:
            assert each["io"]["retries"]
            # What is fetched ahead is bounded; nothing grows.
            memory = each["memory"]
            assert max(memory) - min(memory[1:]) < 96 * MEGABYTE
            assert max(memory) < 700 * MEGABYTE
    finally:
        for name in names:
            (nginx.folder / name).unlink()


def test_many_machines_and_many_files(moto: S3Store) -> None:
    """48 nodes read 10,000 shards: one listing for all, one reading of each shard."""
    nodes, shards = 48, 10_000
    bucket = moto.bucket("nodes")
    client = moto.own_client

    def put(number: int) -> None:
        body = f"{number:08}\n".encode()
        client.put_object(Bucket=bucket, Key=f"data/{number:05}.txt", Body=body)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(shards)))
    with FaultProxy(moto.url) as proxy:
        datasets = [
            {
                "data_files": f"s3://{bucket}/data/*.txt",
                "storage_options": moto.options_at(proxy.url),
            }
        ]
        listing = easydata.create_pipeline(datasets).freeze()
        assert len(proxy.log) == shards // 1000

        def node(rank: int) -> list[str]:
            load = {
                "batch_size": nodes * 4,
                "rank": rank,
                "world_size": nodes,
                "lanes": nodes,
                "shuffle_buffer_size": None,
                "steps": shards // nodes // 4,
                "num_threads": 1,
            }
            pipeline = easydata.create_pipeline(datasets, load=load)
            pipeline.freeze(listing)
            with pipeline.source().load().build() as batches:
                return [text for batch in batches for text in batch["text"]]

        with ThreadPoolExecutor(4) as pool:
            rows = [text for some in pool.map(node, range(nodes)) for text in some]
        asked = [each for each in proxy.log if "list-type" not in each.query]
        assert len(proxy.log) - len(asked) == shards // 1000
        assert {each.method for each in asked} == {"GET"}
        most = max(proxy.in_flight.most, 1)
    assert len(rows) == len(set(rows)) == shards // nodes // 4 * 4 * nodes
    assert most <= 4 * 64
    # Each shard is asked for once: it is small, and comes whole with its first bytes.
    assert len(asked) <= shards * 1.05
