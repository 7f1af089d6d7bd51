"""Outputs on an object store that processes write."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow.fs as fs
import pytest
from easydata.cli.command import main
from stores import KEY, REGION, SECRET, S3Store
from test_processes import is_there, start, wait_for, with_transform
from unit_functions import config_of, shards, write_inputs

from easydata import Pipeline

STORE = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION}


@pytest.fixture
def bucket(moto: S3Store, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket that processes find their way to by the environment."""
    for name, value in {**STORE, "AWS_ENDPOINT_URL": moto.url}.items():
        monkeypatch.setenv(name, value)
    return moto.bucket("units")


def contents(store: S3Store, bucket: str) -> dict[str, bytes]:
    """What is in a bucket, by key."""
    system = fs.S3FileSystem(
        access_key=KEY, secret_key=SECRET, region=REGION, endpoint_override=store.url
    )
    found = system.get_file_info(fs.FileSelector(bucket, recursive=True))
    return {
        item.path.removeprefix(f"{bucket}/"): system.open_input_stream(item.path).read()
        for item in found
        if item.is_file
    }


def test_a_job_on_a_store_that_was_killed_goes_on(
    folder: Path,
    moto: S3Store,
    bucket: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_inputs(folder, 500, 500, 500, 500)
    plain = config_of(folder, units="30KB", output_dir="one")
    Pipeline.from_config(plain).source().tokenize().save()
    output = f"s3://{bucket}/out"
    config = with_transform(
        config_of(folder, units="30KB", processes=2, output_dir=output), "unit_functions:waits"
    )
    job = start(folder, config)
    worker = int(wait_for(folder / "waiting"))
    deadline = time.monotonic() + 30
    while "out/.easydata/unit-00003.json" not in contents(moto, bucket):  # the others go on
        assert job.poll() is None
        assert time.monotonic() < deadline
    assert status(capsys, output)["state"] == "running"
    os.kill(job.pid, signal.SIGKILL)
    _, said = job.communicate()
    found = status(capsys, output)
    assert found["state"] == "stopped"
    assert (found["units"], found["running"][0]["pid"]) == (4, worker)
    assert found["units_done"] >= 2
    kept = contents(moto, bucket)
    assert not any(SECRET.encode() in content for content in kept.values())
    assert SECRET not in said
    Path("go").touch()
    job = start(folder, config)
    said, _ = job.communicate(timeout=60)
    assert job.returncode == 0, said
    result = json.loads(said)["datasets"]["rows"]
    assert (result["rows"], result["kept_shards"] >= 2) == (2000, True)
    assert not is_there(worker)
    made = contents(moto, bucket)
    assert sorted(made) == ["out/.metadata.json", *(f"out/{shard}" for shard in shards("one"))]
    assert {key.removeprefix("out/"): made[key] for key in made if "shard" in key} == shards("one")
    assert status(capsys, output)["state"] == "finished"


def status(capsys: pytest.CaptureFixture[str], output: str) -> Any:
    capsys.readouterr()
    assert main(["status", output, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["outputs"][output]
