"""Outputs that processes of this machine write, a unit each."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.execution.units import FailedUnitsError
from programs import environment, run_python
from unit_functions import BAD, DEADLY, config_of, shards, text_rows, write_inputs

from easydata import Pipeline

HERE = Path(__file__).parent


def run(config: dict[str, Any], *stages: str) -> Any:
    pipeline = Pipeline.from_config(config).source()
    for stage in stages:
        getattr(pipeline, stage)()
    return pipeline.save().build()


def with_transform(config: dict[str, Any], transform: Any) -> dict[str, Any]:
    (dataset,) = config["datasets"]
    return {**config, "datasets": [{**dataset, "transform": transform}]}


def start(folder: Path, config: dict[str, Any], **options: Any) -> subprocess.Popen[str]:
    """`easydata tokenize` as a process of its own."""
    (folder / "p.json").write_text(json.dumps(config))
    return subprocess.Popen(
        [sys.executable, "-m", "easydata.cli", "tokenize", "--config", "p.json", "--json"],
        env=environment([HERE]),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + 30
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.01)
    return path.read_text()


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 5
    while is_there(pid):
        assert time.monotonic() < deadline, f"process {pid} goes on"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("inputs", "stages", "save"),
    [
        ("jsonl", ["tokenize"], {"format": "parquet"}),
        ("parquet", ["tokenize", "pack"], {"format": "arrow", "units": "60KB"}),
        ("text", ["tokenize", "pack"], {"format": "parquet", "compression": "zstd"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_processes_write_what_one_process_writes(
    folder: Path, inputs: str, stages: list[str], save: dict[str, Any]
) -> None:
    sizes = (50, 300, 20, 6000, 5)
    write_inputs(folder, *sizes)
    for number, count in enumerate(sizes):
        rows = text_rows(count, number)
        if inputs == "parquet":
            table = pa.Table.from_pylist(rows)
            pq.write_table(table, folder / "in" / f"{number}.parquet", row_group_size=500)
        if inputs == "text":
            text = "".join(f"{row['text']}\n" for row in rows)
            (folder / "in" / f"{number}.txt").write_text(text)
    config = config_of(folder, **save)
    ending = {"text": "txt"}.get(inputs, inputs)
    config["datasets"][0]["data_files"] = f"in/*.{ending}"
    config["pack"] = {"seq_length": 64}
    one = run({**config, "save": {**config["save"], "output_dir": "one"}}, *stages)["rows"]
    two = run({**config, "save": {**config["save"], "processes": 2}}, *stages)["rows"]
    assert len(shards("one")) > 2
    assert shards("out") == shards("one")
    paths = [Path(path).name for path in two.output_paths]
    assert paths == list(shards("out"))
    assert (two.num_examples, two.num_shards, two.dropped) == (
        one.num_examples,
        one.num_shards,
        one.dropped,
    )
    metadata = [json.loads(Path(name, ".metadata.json").read_text()) for name in ("one", "out")]
    for each in metadata:  # who wrote is no part of what was written
        each["config"]["save"].pop("output_dir")
        each.pop("time")
    assert metadata[0] == metadata[1]


def test_units_are_set_by_processes(folder: Path) -> None:
    write_inputs(folder, 30, 30)
    config = config_of(folder, processes=2)
    del config["save"]["units"]
    assert run(config, "tokenize")["rows"].num_shards == 1
    metadata = json.loads(Path("out/.metadata.json").read_text())
    assert metadata["config"]["save"]["units"] == "512MB"


@pytest.mark.parametrize("transform", ["unit_functions:MARKED", "function", "version", "filter"])
def test_functions_go_by_their_import_paths(folder: Path, transform: str) -> None:
    import unit_functions

    from easydata import FilterTransform, MapTransform

    given = {
        "function": unit_functions.marked,
        "version": MapTransform(unit_functions.marked, version=3),
        "filter": FilterTransform(unit_functions.is_even, version="a"),
    }.get(transform, transform)
    write_inputs(folder, 40, 60)
    config = with_transform(config_of(folder, units="1KB"), given)
    one = run({**config, "save": {**config["save"], "output_dir": "one"}}, "tokenize")["rows"]
    two = run({**config, "save": {**config["save"], "processes": 1}}, "tokenize")["rows"]
    assert shards("out") == shards("one")
    assert one.dropped == two.dropped
    assert bool(two.dropped) == (transform == "filter")


def test_a_worker_that_is_killed_is_replaced(folder: Path) -> None:
    write_inputs(folder, 500, 500, 500)
    plain = config_of(folder, output_dir="one", units="30KB")
    run(plain, "tokenize")
    config = with_transform(plain, "unit_functions:dies_once")
    config["save"] = {**plain["save"], "output_dir": "out", "processes": 2}
    stats = run(config, "tokenize")["rows"]
    assert Path("died").exists()
    assert stats.num_examples == 1500
    assert shards("out") == shards("one")


def test_a_unit_whose_workers_always_die_is_named(folder: Path) -> None:
    write_inputs(folder, 500, 500, 500)
    config = with_transform(
        config_of(folder, units="30KB", processes=2), "unit_functions:dies_always"
    )
    with pytest.raises(FailedUnitsError, match=r"1 of 3 units failed") as caught:
        run(config, "tokenize")
    (failure,) = caught.value.failures.values()
    assert failure.error == "its process was killed by SIGKILL (out of memory?), 3 times"
    assert list(shards("out")) == ["shard-00000.parquet", "shard-00002.parquet"]


def test_units_that_fail_on_data_are_named_and_alone_written_again(folder: Path) -> None:
    write_inputs(folder, 500, 500, 500)
    config = with_transform(
        config_of(folder, units="30KB", processes=2), "unit_functions:fails_at_a_row"
    )
    job = start(folder, config)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 1, err
    (said,) = json.loads(out)["errors"]
    assert said.startswith("out: 1 of 3 units failed; run again to write this one alone; unit 1: ")
    assert "this row is bad" in said
    assert f"in/1.jsonl row {BAD - 500}" in said
    assert "out/.easydata/unit-00001.log" in said
    log = Path("out/.easydata/unit-00001.log").read_text()
    assert "what a function prints" in log
    assert "fails_at_a_row" in log
    kept = {path.name: path.stat().st_mtime_ns for path in Path("out").glob("shard-*")}
    assert sorted(kept) == ["shard-00000.parquet", "shard-00002.parquet"]
    Path("mended").touch()
    job = start(folder, config)
    out, err = job.communicate(timeout=60)
    assert (job.returncode, err) == (0, "")
    result = json.loads(out)["datasets"]["rows"]
    assert (result["rows"], result["kept_shards"]) == (1500, 2)
    now = {path.name: path.stat().st_mtime_ns for path in Path("out").glob("shard-*")}
    assert {name: now[name] for name in kept} == kept
    assert not Path("out/.easydata").exists()


def test_a_coordinator_that_is_killed_takes_its_workers_along(folder: Path) -> None:
    write_inputs(folder, 500, 500, 500, 500)
    plain = config_of(folder, output_dir="one", units="30KB")
    run(plain, "tokenize")
    config = with_transform(plain, "unit_functions:kills_parent_once")
    config["save"] = {**plain["save"], "output_dir": "out", "processes": 1}
    job = start(folder, config)
    job.communicate(timeout=60)
    assert job.returncode == -signal.SIGKILL
    wait_for_end(int(wait_for(folder / "worker")))
    kept = {path.name: path.stat().st_mtime_ns for path in Path("out").glob("shard-*")}
    assert list(kept) == ["shard-00000.parquet"]
    job = start(folder, config)
    out, err = job.communicate(timeout=60)
    assert (job.returncode, err) == (0, "")
    assert json.loads(out)["datasets"]["rows"]["kept_shards"] == 1
    assert Path("out/shard-00000.parquet").stat().st_mtime_ns == kept["shard-00000.parquet"]
    assert shards("out") == shards("one")


@pytest.mark.alone
@pytest.mark.alone
def test_interrupted_jobs_end_at_once_and_go_on(folder: Path) -> None:
    write_inputs(folder, 500, 500, 500)
    config = with_transform(config_of(folder, units="30KB", processes=2), "unit_functions:waits")
    job = start(folder, config, start_new_session=True)
    worker = int(wait_for(folder / "waiting"))
    begin = time.monotonic()
    os.killpg(job.pid, signal.SIGINT)  # as Ctrl-C does: the workers get it, too
    out, err = job.communicate(timeout=60)
    took = time.monotonic() - begin
    assert (job.returncode, err) == (130, "")
    assert took < 2, "it should be one second, on a machine with nothing else to do"
    assert not is_there(worker)
    assert json.loads(out)["errors"][0] == "interrupted"
    Path("go").touch()
    job = start(folder, config)
    out, _ = job.communicate(timeout=60)
    assert json.loads(out)["datasets"]["rows"]["rows"] == 1500


def test_a_job_that_no_process_can_take_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_inputs(folder, 20)
    module = folder / "vanishing.py"
    module.write_text("def row(row):\n    return row\n")
    monkeypatch.syspath_prepend(str(folder))
    config = with_transform(config_of(folder, processes=2), "vanishing:row")
    pipeline = Pipeline.from_config(config).source().tokenize()
    module.unlink()
    for left in folder.glob("__pycache__/vanishing*"):
        left.unlink()
    with pytest.raises(RuntimeError, match=r"cannot take up the job: .*'vanishing:row'"):
        pipeline.save()


def test_files_that_changed_meanwhile_are_refused(folder: Path) -> None:
    write_inputs(folder, 500, 500)
    pipeline = Pipeline.from_config(config_of(folder, units="30KB", processes=1)).source()
    write_inputs(folder, 500, 499)
    with pytest.raises((ValueError, OSError, RuntimeError), match="changed"):
        pipeline.tokenize().save()


def test_workers_read_the_files_that_the_job_found(folder: Path) -> None:
    write_inputs(folder, 50, 50)
    pipeline = Pipeline.from_config(config_of(folder, processes=1)).source()
    (folder / "later").mkdir()
    write_inputs(folder / "later", 10)
    (folder / "later/in/0.jsonl").rename("in/9.jsonl")
    assert pipeline.tokenize().save().build()["rows"].num_examples == 100


def test_workers_start_fast(folder: Path) -> None:
    """They import neither torch nor jax, nor anything else that takes its time."""
    program = (
        "import sys; import easydata.execution.units.worker; "
        "print([name for name in ('torch', 'jax', 'ray', 'datasets', 'transformers', 'pandas') "
        "if name in sys.modules])"
    )
    assert run_python("-c", program).stdout == "[]\n"
    assert DEADLY < BAD
