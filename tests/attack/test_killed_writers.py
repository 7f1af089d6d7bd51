"""Writers killed at any time: run again, they leave the files of an undisturbed run."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import easydata

SCRIPT = Path(__file__).with_name("write_output.py")
KINDS = ("parquet", "arrow", "jsonl", "jsonl.gz", "num_shards", "overwrite", "datasets")
KILLS = 1  # of each kind, times --rounds


def command(kind: str, data: Path, out: Path) -> list[str]:
    return [sys.executable, str(SCRIPT), kind, str(data), str(out)]


def content(folder: Path) -> dict[str, bytes]:
    """The shards of an output, by name; no metadata, which has the time."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("shard-*"))
        if ".easydata" not in path.parts
    }


def check_after_kill(out: Path, whole: dict[str, bytes], old: dict[str, bytes]) -> None:
    """What lies under a final name is whole: of the new output, or of the old one."""
    for name, data in content(out).items():
        assert data in (whole.get(name), old.get(name)), name
    for metadata in out.rglob(".metadata.json"):
        for shard in json.loads(metadata.read_text())["shards"]:
            path = metadata.parent / shard["name"]
            assert path.stat().st_size == shard["bytes"], path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    draw = random.Random(3)
    for name in "ab":
        with (folder / f"{name}.jsonl").open("w") as file:
            for row in range(30_000):
                text = " ".join(str(draw.randrange(10**6)) for _ in range(draw.randrange(20)))
                print(json.dumps({"row": row, "text": text}), file=file)
    return folder


@pytest.mark.alone
@pytest.mark.parametrize("kind", KINDS)
def test_killed_writer(kind: str, data: Path, tmp_path: Path, rounds: int) -> None:
    def prepare(out: Path) -> dict[str, bytes]:
        if kind != "overwrite":
            return {}
        easydata.save_iterator([{"old": i} for i in range(3000)], out, max_shard_size="1KB")
        return content(out)

    prepare(tmp_path / "whole")
    begin = time.perf_counter()
    subprocess.run(command(kind, data, tmp_path / "whole"), check=True)
    seconds = time.perf_counter() - begin
    whole = content(tmp_path / "whole")
    assert len(whole) > 3
    draw = random.Random(kind)
    killed = 0
    for number in range(KILLS * rounds):
        out = tmp_path / f"out-{number}"
        old = prepare(out)
        for _ in range(draw.choice((1, 1, 2))):
            process = subprocess.Popen(command(kind, data, out))
            time.sleep(draw.uniform(0.1, 1.0) * seconds)
            process.send_signal(signal.SIGKILL)
            killed += process.wait() == -signal.SIGKILL
            if out.exists():
                check_after_kill(out, whole, old)
        subprocess.run([*command(kind, data, out), "again"], check=True)
        assert content(out) == whole
        assert not list(out.rglob("*.tmp"))
        assert not list(out.rglob(".easydata/*"))
        assert easydata.verify(out).ok
    print(f"\n{kind}: {killed} of {KILLS * rounds} or more runs were killed before their end")


def test_the_script_is_not_what_fails(data: Path, tmp_path: Path) -> None:
    """A second run over a finished output is refused, unless it may overwrite."""
    subprocess.run(command("jsonl", data, tmp_path / "out"), check=True)
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    again = subprocess.run(
        command("jsonl", data, tmp_path / "out"), env=environment, capture_output=True, text=True
    )
    assert again.returncode != 0
    assert "finished output" in again.stderr
