"""Limits of the system, strange files, hostile configurations: a named error in a bounded time."""

import os
import random
import re
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

LEAST_ROOM = 96 << 20  # bytes of address space, beyond what Python with all modules takes
ENDS_OF_LIBRARIES = "thread-local data|TLS destructor: out of memory|std::bad_alloc|St9bad_alloc"

# Runs under limits: reads, shuffles, packs and writes; says how it ended.
JOB = """
import resource, sys, os
from pathlib import Path
limit, amount, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
import easydata, numpy
from easydata import AsyncDataLoader, PackedShardedSource, save_dataset
from easydata.sources import JsonShardedSource
source = lambda: JsonShardedSource(str(folder / "*.jsonl"))
len(list(source().shard_names))
if limit == "AS":
    for line in open("/proc/self/status"):
        if line.startswith("VmSize"):
            amount += int(line.split()[1]) * 1024
if limit == "NOFILE":
    amount += len(os.listdir("/proc/self/fd"))
resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (amount, amount))
try:
    packed = PackedShardedSource(source().shuffle("rows", window_bytes=200_000), 128, 1)
    with AsyncDataLoader(packed, 8, epochs=1, num_threads=3) as loader:
        rows = sum(len(batch["input_ids"]) for batch in loader)
    written = save_dataset(source(), folder / f"out{os.getpid()}", "jsonl", num_threads=2)
    print("done", rows, written.num_examples)
except (OSError, ValueError, MemoryError, RuntimeError) as error:
    print("error", type(error).__name__, str(error)[:300] or repr(error))
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name in range(6):
        with (folder / f"{name}.jsonl").open("w") as file:
            for row in range(3000):
                file.write(f'{{"input_ids": {[row % 1000] * (row % 100)}}}\n')
    return folder


def run(limit: str, amount: int, data: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(JOB), limit, str(amount), str(data)],
        # Address space is memory then: arenas of malloc reserve 64 MB each.
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = done.stdout.strip()
    # Where Python itself cannot even print, it says so on its own.
    own = "MemoryError" in done.stderr and done.returncode == 1
    # With next to nothing left the C and C++ libraries end a process themselves: a thread has no
    # room for its own variables, an error none for its text.
    if limit == "AS" and amount < LEAST_ROOM and done.returncode in (127, -6):
        assert re.search(ENDS_OF_LIBRARIES, done.stderr), done.stderr
        return "error MemoryError"
    assert done.returncode == 0 or own, (limit, amount, done.returncode, done.stderr[-2000:])
    assert "terminate called" not in done.stderr
    return said or "error MemoryError"


def test_address_space(data: Path, rounds: int) -> None:
    draw = random.Random(7)
    ends = set()
    for _ in range(6 * rounds):
        said = run("AS", draw.randrange(0, 160) << 20, data)
        ends.add(said.split()[0])
        assert re.match(
            r"done \d+ 18000$|error (MemoryError|RuntimeError|OSError|BlockingIOError .* thread)",
            said,
        ), said
    assert ends == {"done", "error"} or rounds == 1


def test_open_files(data: Path, rounds: int) -> None:
    for amount in range(0, 3 * rounds):
        said = run("NOFILE", amount, data)
        assert re.match(r"done \d+ 18000$|error (OSError|RuntimeError) ", said), said


def test_size_of_files(data: Path, rounds: int) -> None:
    draw = random.Random(8)
    for _ in range(2 * rounds):
        said = run("FSIZE", draw.randrange(1, 3_000_000), data)
        assert re.match(r"done|error OSError .*(File too large|shard)", said), said


READ = """
import sys
from easydata import DatasetConfig
from easydata.sources import create_source
try:
    print(sum(1 for _ in create_source(DatasetConfig(sys.argv[1], type=sys.argv[2]))), "rows")
except (OSError, ValueError) as error:
    print("refused", error)
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["parquet", "arrow", "json", "csv", "txt"])
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(os.mkfifo, id="fifo"),
        pytest.param(lambda path: os.symlink("/dev/zero", path), id="device"),
        pytest.param(lambda path: os.symlink(path, path), id="loop"),
        pytest.param(lambda path: os.symlink("nowhere", path), id="dangling"),
        pytest.param(os.mkdir, id="folder"),
        pytest.param(lambda path: Path(path).write_bytes(b""), id="empty"),
    ],
)
def test_what_is_no_file_of_data(kind: str, make: object, tmp_path: Path) -> None:
    path = tmp_path / f"a.{kind}"
    make(path)  # type: ignore[operator]
    for data in (path, f"{tmp_path}/*", tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", READ, str(data), kind],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert re.match(r"refused .*(a\.|no data files|empty)|0 rows", done.stdout), done.stdout


def _bombs() -> dict[str, str]:
    anchors = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    anchors += [f"{b}: &{b} [{', '.join(['*' + a] * 10)}]" for a, b in pairwise("abcdefghi")]
    return {
        "aliases": "\n".join(anchors) + "\ndatasets: *i\n",
        "recursion": "datasets: &d\n  - *d\n",
        "recursive mapping": "&a datasets: {x: 1}\npack: &b {y: *b}\n",
        "merge keys": "a: &a {x: 1}\ndatasets:\n  - <<: [" + ", ".join(["*a"] * 1000) + "]\n",
        "depth": "datasets: " + "[" * 5000 + "]" * 5000 + "\n",
        "not a number": "pack: {seq_length: .nan}\ndatasets: [{data_files: x}]\n",
        "infinite": "mix: {block_size: .inf}\ndatasets: [{data_files: x}]\n",
        "twice": "seed: 1\nseed: 2\ndatasets: [{data_files: x}]\n",
        "python": "datasets: !!python/object/apply:os.system ['touch pwned']\n",
        "binary": "datasets: !!binary aGVsbG8=\n",
        "surrogate": 'datasets: [{data_files: "\\ud800"}]\n',
        "nul": 'datasets: [{data_files: "a\\0b"}]\n',
        "huge number": f"seed: {'9' * 5000}\ndatasets: [{{data_files: x}}]\n",
        "tab": "datasets:\n\t- x\n",
    }


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", _bombs())
def test_hostile_configurations(name: str, tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(_bombs()[name])
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "easydata.cli",
            "pack",
            "--config",
            "pipeline.yaml",
            "--output-dir",
            "o",
        ],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2, (done.returncode, done.stderr[-2000:])
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("easydata: ")
    assert os.listdir(tmp_path) == ["pipeline.yaml"]
