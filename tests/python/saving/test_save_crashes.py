"""A command that writes is killed before one call after the other, and run again (E4).

src/easydata/sink/crash_points_test.cc does so with the writer alone, and faster.
"""

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fault_log import logged_calls
from programs import run_python
from small_data import jsonl

ROWS = 2000
SLABS = 32
"""So many calls may a run have fewer than another one: allocations of worker threads."""


def run(folder: Path, plan: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the job of `folder`, with a plan of faults."""
    command = ("-m", "easydata.cli", "pack", "--config", "p.json", "--json")
    plans = {"EASYDATA_FAULT_PLAN": plan}
    return run_python(*command, variables=plans, status=None, cwd=folder)


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    datasets: dict[str, Any] = json.loads(done.stdout)["datasets"]
    return datasets


def shards(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("shard-*")}


def configure(folder: Path, inputs: Path, seq_length: int, *, overwrite: bool = False) -> None:
    config = {
        "datasets": [{"data_files": str(inputs / f"{name}.jsonl"), "name": name} for name in "ab"],
        "pack": {"seq_length": seq_length, "eos_token_id": 1},
        "save": {
            "output_dir": "out",
            "max_shard_size": "200KB",
            "format": "jsonl",
            "overwrite": overwrite,
        },
    }
    (folder / "p.json").write_text(json.dumps(config))


def check(tmp_path: Path, stride: int, *, overwrite: bool) -> None:
    """Kills the job before every `stride`-th call; the next run does the rest each time."""
    inputs, prepared, folder = (tmp_path / name for name in ("in", "prepared", "run"))
    for name, first in (("a", 10), ("b", 100)):
        rows = [{"input_ids": [first + i % 50] * (20 + i % 70)} for i in range(ROWS)]
        jsonl(str(inputs / f"{name}.jsonl"), rows)
    prepared.mkdir()
    if overwrite:
        configure(prepared, inputs, 64)
        result(run(prepared))
    old = shards(prepared)
    configure(prepared, inputs, 128, overwrite=overwrite)
    shutil.copytree(prepared, folder)
    log = tmp_path / "log"
    written = result(run(folder, f"log={log}"))
    calls = logged_calls(log)
    assert all(dataset["shards"] > 2 for dataset in written.values())
    whole = shards(folder)
    for call in range(1, len(calls) + 1, stride):
        shutil.rmtree(folder)
        shutil.copytree(prepared, folder)
        log.unlink()
        done = run(folder, f"log={log};kill@{call}")
        if done.returncode == 0:
            # Threads take a slab more or less from run to run: this run had ended before the call.
            assert call - SLABS <= len(log.read_text().splitlines()) < call
            break
        assert done.returncode == -signal.SIGKILL, call
        for name, data in shards(folder / "out").items():
            if ".easydata" not in name:
                assert data in (old.get(f"out/{name}"), whole.get(f"out/{name}")), (call, name)
        finished = sorted(path.parent.name for path in folder.glob("out/*/.metadata.json"))
        again = run(folder)
        if not overwrite and finished == ["a", "b"] and again.returncode == 1:
            assert "finished output" in again.stdout, call
        else:
            datasets = result(again)
            assert [datasets[name]["rows"] for name in "ab"] == [
                written[name]["rows"] for name in "ab"
            ]
            if finished == ["a"] and not overwrite:
                assert datasets["a"]["kept_shards"] == datasets["a"]["shards"], call
        assert shards(folder) == whole, call
    for name in "ab":
        lines = b"".join(data for path, data in whole.items() if path.startswith(f"out/{name}/"))
        assert lines.count(b"\n") == written[name]["rows"]


@pytest.mark.parametrize("overwrite", [pytest.param(False, marks=pytest.mark.sliced), True])
def test_killed_before_some_calls(tmp_path: Path, overwrite: bool) -> None:  # E4
    check(tmp_path, 43, overwrite=overwrite)


@pytest.mark.sliced
@pytest.mark.parametrize("overwrite", [False, True])
def test_killed_before_every_call(tmp_path: Path, overwrite: bool) -> None:  # E4
    check(tmp_path, 1, overwrite=overwrite)


WRITE = """
import sys
import pyarrow.parquet as pq
from easydata import JsonShardedSource, save_dataset

try:
    stats = save_dataset(JsonShardedSource(sys.argv[1]), sys.argv[2], num_shards=3)
except OSError as error:
    print("refused", error)
else:
    print("rows", [pq.read_metadata(path).num_rows for path in stats.output_paths])
"""


def test_every_failing_write_of_shards_without_rows(tmp_path: Path) -> None:
    """More shards than rows: some files have a schema alone, and are whole, too."""
    jsonl(str(tmp_path / "a.jsonl"), [{"n": 7}])

    def write(out: str, plan: str) -> str:
        plans = {"EASYDATA_FAULT_PLAN": plan}
        files = (tmp_path / "a.jsonl", tmp_path / out)
        return run_python("-c", WRITE, *files, variables=plans).stdout.strip()

    log = tmp_path / "log"
    assert write("whole", f"log={log}") == "rows [1, 0, 0]"
    writes = sum(line.startswith("write ") for line in logged_calls(log))
    assert writes > 6
    for number in range(1, writes + 1):
        said = write(f"out-{number}", f"fail:write@{number}=28")
        assert said.startswith("refused [Errno 28] cannot write"), (number, said)
        assert write(f"out-{number}", "") == "rows [1, 0, 0]"
