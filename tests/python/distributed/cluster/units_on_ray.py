"""Outputs that tasks of Ray write, a unit each."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from easydata.cli.command import main
from easydata.execution.units import FailedUnitsError
from programs import environment
from unit_functions import BAD, config_of, shards, text_rows, write_inputs

from easydata import DatasetConfig, JsonShardedSource, Pipeline

TASK = "ray::write_unit"
UNITS = Path(__file__).parents[2] / "units"


@pytest.fixture(autouse=True)
def _tokenizer(_in_a_folder: None, tiny: str) -> None:
    shutil.copytree(tiny, "tok")


def run(config: dict[str, Any], *stages: str) -> Any:
    pipeline = Pipeline.from_config(config).source()
    for stage in stages:
        getattr(pipeline, stage)()
    return pipeline.save().build()["rows"]


def on_ray(config: dict[str, Any], transform: str = "", **options: Any) -> dict[str, Any]:
    """The same config, by Ray; to another folder."""
    (dataset,) = config["datasets"]
    if transform:
        dataset = {**dataset, "transform": f"unit_functions:{transform}"}
    given = {"enabled": True, "num_workers": 2, **options}
    save = {**config["save"], "output_dir": "out"}
    return {**config, "datasets": [dataset], "ray": given, "save": save}


def processes(name: str) -> set[int]:
    return {
        process.info["pid"]
        for process in psutil.process_iter(["pid", "cmdline", "status"])
        if " ".join(process.info["cmdline"] or ()).startswith(name)
        and process.info["status"] != "zombie"
    }


def wait_until(condition: Any, what: str, seconds: float = 150) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def local(*sizes: int, **options: Any) -> dict[str, Any]:
    """A config of files of so many rows, whose output by this process is in "one"."""
    write_inputs(Path.cwd(), *sizes)
    config = config_of(Path.cwd(), **{"output_dir": "one", "units": "30KB", **options})
    run(config, "tokenize")
    return config


def test_tasks_write_what_one_process_writes() -> None:
    write_inputs(Path.cwd(), 50, 300, 20, 6000, 5)
    config = config_of(Path.cwd(), output_dir="one", compression="zstd")
    config["pack"] = {"seq_length": 64}
    one = run(config, "tokenize", "pack")
    told = on_ray(config, resources_per_worker={"CPU": 2})
    two = run(told, "tokenize", "pack")
    assert len(shards("one")) > 2
    assert shards("out") == shards("one")
    assert (two.num_examples, two.dropped) == (one.num_examples, one.dropped)
    assert ray.is_initialized()


def test_no_more_tasks_are_there_than_workers_were_asked_for() -> None:
    config = local(*[300] * 6)
    seen = []
    pipeline = Pipeline.from_config(on_ray(config, "naps", num_workers=2)).source().tokenize()
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(0.03):
            seen.append(4 - ray.available_resources().get("CPU", 0))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        pipeline.save()
    finally:
        is_over.set()
        watcher.join()
    assert max(seen) == 2
    assert shards("out") == shards("one")


def test_functions_go_by_their_import_paths() -> None:
    config = local(40, 60)
    plain = on_ray(config, "MARKED")
    one = {**plain, "ray": {}, "save": {**plain["save"], "output_dir": "marked"}}
    run(one, "tokenize")
    run(plain, "tokenize")
    assert shards("out") == shards("marked") != shards("one")


def test_a_worker_that_is_killed_in_a_unit_is_replaced() -> None:
    config = local(500, 500, 500)
    assert run(on_ray(config, "dies_once"), "tokenize").num_examples == 1500
    assert Path("died").exists()
    assert shards("out") == shards("one")


def test_a_unit_whose_workers_always_die_is_named() -> None:
    config = local(500, 500, 500)
    with pytest.raises(FailedUnitsError, match=r"1 of 3 units failed") as caught:
        run(on_ray(config, "dies_always"), "tokenize")
    (failure,) = caught.value.failures.values()
    assert failure.error.startswith("its Ray worker died, 3 times; the last time: ")
    assert list(shards("out")) == ["shard-00000.parquet", "shard-00002.parquet"]


def test_units_that_fail_on_data_are_named_and_alone_written_again() -> None:
    config = on_ray(local(500, 500, 500), "fails_at_a_row")
    with pytest.raises(FailedUnitsError, match=r"1 of 3 units failed") as caught:
        run(config, "tokenize")
    assert caught.value.failures.keys() == {1}
    assert f"in/1.jsonl row {BAD - 500}" in str(caught.value)
    log = Path("out/.easydata/unit-00001.log").read_text()
    assert "what a function prints" in log
    assert "fails_at_a_row" in log
    kept = {path.name: path.stat().st_mtime_ns for path in Path("out").glob("shard-*")}
    assert sorted(kept) == ["shard-00000.parquet", "shard-00002.parquet"]
    Path("mended").touch()
    assert run(config, "tokenize").kept_shards == 2
    now = {path.name: path.stat().st_mtime_ns for path in Path("out").glob("shard-*")}
    assert {name: now[name] for name in kept} == kept
    assert shards("out") == shards("one")


def start(config: dict[str, Any]) -> subprocess.Popen[str]:
    """`easydata tokenize` as a driver of its own, on the cluster that runs."""
    Path("p.json").write_text(json.dumps(config))
    return subprocess.Popen(
        [sys.executable, "-m", "easydata.cli", "tokenize", "--config", "p.json", "--json"],
        env=environment([UNITS]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_stopped_is_run_again(sign: signal.Signals) -> None:
    config = on_ray(local(500, 500, 500, 500), "waits", num_workers=1)
    job = start(config)
    try:
        wait_until(Path("waiting").exists, "no worker came to the row")
        worker = int(Path("waiting").read_text())
        status = main(["status", "out", "--json"])
        assert status == 0
        begin = time.monotonic()
        job.send_signal(sign)
        _, err = job.communicate(timeout=150)
        took = time.monotonic() - begin
    finally:
        job.kill()
    assert job.returncode == (-sign if sign == signal.SIGKILL else 130), err
    assert took < 20, "it takes about two seconds where nothing else is to do"
    wait_until(lambda: not psutil.pid_exists(worker), "the worker goes on")
    kept = {path.name: path.stat().st_mtime_ns for path in Path("out").glob("shard-*")}
    assert list(kept) == ["shard-00000.parquet"]
    Path("go").touch()
    assert run(config, "tokenize").kept_shards == 1
    assert Path("out/shard-00000.parquet").stat().st_mtime_ns == kept["shard-00000.parquet"]
    assert shards("out") == shards("one")


def nodes() -> set[str]:
    return {node["NodeID"] for node in ray.nodes() if node["Alive"]}


@contextmanager
def another_node() -> Iterator[subprocess.Popen[str]]:
    """A node that joins the cluster, and alone has what is far."""
    for _ in range(4):  # on a busy machine Ray gives some up as they start
        known = nodes()
        node = start_node()
        try:
            wait_until(lambda known=known: nodes() - known, "no node joined", 40)
        except AssertionError:
            _end(node)
            continue
        try:
            yield node
        finally:
            _end(node)
        return
    raise AssertionError("no node joined")


def start_node() -> subprocess.Popen[str]:
    address = ray.get_runtime_context().gcs_address
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block"),
            *(f"--address={address}", "--num-cpus=2", '--resources={"far": 4}'),
            "--object-store-memory=100000000",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _end(node: subprocess.Popen[str]) -> None:
    """Ends all processes of a node at once, as a power cut does."""
    for child in psutil.Process(node.pid).children(recursive=True) if node.poll() is None else ():
        child.kill()
    node.kill()
    node.wait()


def test_what_a_dead_machine_was_at_another_one_does() -> None:
    config = on_ray(local(500, 500, 500), "waits", resources_per_worker={"CPU": 1, "far": 1})
    errors: list[BaseException] = []

    def write() -> None:
        try:
            run(config, "tokenize")
        except BaseException as error:
            errors.append(error)

    job = threading.Thread(target=write)
    with another_node() as node:
        job.start()
        wait_until(Path("waiting").exists, "no worker came to the row")
        there = nodes()
        _end(node)
        Path("go").touch()
        wait_until(lambda: nodes() < there, "the cluster does not see that a node is dead")
        with another_node():
            job.join(150)
    assert not job.is_alive()
    assert errors == []
    assert shards("out") == shards("one")


def test_a_job_that_no_machine_can_take_up(monkeypatch: pytest.MonkeyPatch) -> None:
    config = local(20)
    module = Path("vanishing.py")
    module.write_text("def row(row):\n    return row\n")
    monkeypatch.syspath_prepend(os.getcwd())
    told = on_ray(config)
    told["datasets"][0]["transform"] = "vanishing:row"
    pipeline = Pipeline.from_config(told).source().tokenize()
    module.unlink()
    for left in Path().glob("__pycache__/vanishing*"):
        left.unlink()
    with pytest.raises(RuntimeError, match=r"cluster cannot take up the job: .*'vanishing:row'"):
        pipeline.save()


def test_a_cache_is_filled_before_batches_are_made() -> None:
    write_inputs(Path.cwd(), 300, 300)
    config = on_ray(config_of(Path.cwd()))
    del config["save"]
    config |= {"cache": {"cache_dir": "cache"}, "load": {"batch_size": 50}}

    def batches(given: dict[str, Any]) -> list[Any]:
        loader = Pipeline.from_config(given).source().tokenize().load().build()
        with loader:
            return [batch["input_ids"].tolist() for batch in loader]

    got = batches(config)
    assert list(Path("cache").rglob("*"))
    del config["cache"], config["ray"]
    assert got == batches(config)


def test_the_block_of_the_manual() -> None:
    """A config as the manual prints it, over files that are there."""
    from easydata import PipelineConfig, RayConfig, SaveStageConfig

    write_inputs(Path.cwd(), 100, 100)
    config = PipelineConfig(
        datasets=[DatasetConfig("in/*.jsonl", tokenizer="tok")],
        ray=RayConfig(enabled=True, num_workers=8, resources_per_worker={"CPU": 2}),
        save=SaveStageConfig(enabled=True, output_dir="out", format="jsonl"),
    )
    Pipeline.from_config(config).source().tokenize().save().build()
    rows = list(JsonShardedSource("out/*.jsonl"))
    ids = [list(row["text"].encode()) for row in [*text_rows(100), *text_rows(100, 100)]]
    assert [row["input_ids"] for row in rows] == ids
