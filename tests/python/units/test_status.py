"""`easydata status`: how far a job is, from its output alone."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from easydata.cli.command import main
from easydata.cli.report import Report
from easydata.cli.status import status as tell
from easydata.cli.status import summary
from test_processes import run, start, wait_for, with_transform
from unit_functions import config_of, write_inputs


class Status:
    """`easydata status`, in this process."""

    def __init__(self, output: pytest.CaptureFixture[str]) -> None:
        self._output = output

    def _run(self, *arguments: str) -> str:
        self._output.readouterr()
        assert main(["status", *arguments]) == 0
        return self._output.readouterr().out

    def of(self, path: str) -> Any:
        return json.loads(self._run(path, "--json"))["outputs"]

    def lines(self, path: str) -> list[str]:
        return self._run(path).splitlines()


@pytest.fixture
def status(capsys: pytest.CaptureFixture[str]) -> Status:
    return Status(capsys)


@pytest.mark.parametrize("processes", [2, None], ids=["processes", "single"])
def test_status_of_a_job_that_runs_is_killed_and_is_finished(
    folder: Path, status: Status, processes: int | None
) -> None:
    write_inputs(folder, 500, 500, 500)
    config = with_transform(
        config_of(folder, units="30KB", processes=processes), "unit_functions:waits"
    )
    job = start(folder, config)
    worker = int(wait_for(folder / "waiting"))
    end = time.monotonic() + 60
    # With two workers, unit 1 may begin to wait before another unit is done.
    while status.of("out")["out"]["units_done"] == 0 and time.monotonic() < end:
        time.sleep(0.05)
    found = status.of("out")["out"]
    lines = status.lines("out")
    assert found["state"] == "running"
    assert (found["units"], found["coordinator"]["pid"]) == (3, job.pid)
    at_work = {unit["unit"]: unit for unit in found["running"]}
    assert at_work[1]["pid"] == worker
    assert at_work[1]["alive"] is True
    assert lines[0].startswith("out: running: ")
    assert f"process {job.pid} on " in lines[1]
    assert any(f"unit 1: process {worker} on " in line for line in lines)
    os.kill(job.pid, signal.SIGKILL)
    job.communicate()
    found = status.of("out")["out"]
    assert found["state"] == "stopped"
    assert found["units_done"] >= 1
    lines = status.lines("out")
    # A worker may end its unit before it sees that nobody waits for it.
    most = status.of("out")["out"]["units_done"]
    told = [f"out: stopped: {done} of 3 units " for done in range(found["units_done"], most + 1)]
    assert lines[0].startswith(tuple(told))
    assert "run the same job again to resume" in lines[1]
    Path("go").touch()
    job = start(folder, config)
    job.communicate(timeout=60)
    (line,) = status.lines("out")
    assert line.startswith("out: finished at 20")
    assert line.endswith(": 3 shards, 1,500 rows, " + line.rpartition(", ")[2])


def test_status_names_units_that_failed(folder: Path, status: Status) -> None:
    write_inputs(folder, 500, 500, 500)
    config = with_transform(
        config_of(folder, units="30KB", processes=2), "unit_functions:fails_at_a_row"
    )
    with pytest.raises(RuntimeError, match="1 of 3 units failed"):
        run(config, "tokenize")
    found = status.of("out")["out"]
    assert (found["state"], found["units_done"]) == ("stopped", 2)
    (failed,) = found["failed"]
    assert failed["unit"] == 1
    assert "this row is bad" in failed["error"]
    assert Path(failed["log"]).is_file()
    assert any(line.startswith("  unit 1 failed: ") for line in status.lines("out"))


def test_status_of_folders_of_outputs_and_of_none(folder: Path, status: Status) -> None:
    write_inputs(folder, 30)
    for name in ("a", "b"):
        run(config_of(folder, output_dir=f"outs/{name}"), "tokenize")
    assert list(status.of("outs")) == ["outs/a", "outs/b"]
    with pytest.raises(FileNotFoundError, match="there is no output of EasyData, finished or"):
        tell(["in"], Report())


def test_what_a_report_means_at_a_time() -> None:
    began = 1_000_000.0
    written = [
        {"unit": n, "rows": 10, "tokens": 1000, "bytes": 1, "ended": began + 10 * (n + 1)}
        for n in range(4)
    ]
    found = {
        "state": "unfinished",
        "units": 12,
        "rows": 40,
        "tokens": 4000,
        "bytes": 4,
        "shards": 4,
        "written": written,
        "running": [
            {
                "unit": 4,
                "host": "far",
                "pid": 5,
                "started": 0,
                "updated": began + 48.0,
                "rows": 1,
                "tokens": 500,
            }
        ],
        "failed": [],
        "began": began,
        "finished": None,
        "coordinator": {"host": "far", "pid": 4, "since": "1970-01-12T13:46:40Z", "alive": None},
    }
    at_work = summary(found, began + 50)
    assert at_work["state"] == "running"
    assert at_work["tokens_per_second"] == 4500 / 50
    assert at_work["seconds_left"] == 8 * 50 / 4
    assert at_work["running"][0]["seconds_since_update"] == 2.0
    assert summary(found, began + 500)["state"] == "unknown"
    resumed = {**found, "coordinator": {**found["coordinator"], "since": "1970-01-12T13:47:10Z"}}
    assert summary(resumed, began + 50)["tokens_per_second"] == (2 * 1000 + 500) / 20
