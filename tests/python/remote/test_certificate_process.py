"""Reading from a store and what happens to the process: forks, fifty ends, Ctrl-C, other names."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fault_proxy import FaultProxy
from fault_server import FaultServer
from faults import Rule
from places import HASTY
from stores import S3Store

DATA = b"".join(b'{"text": "row %d"}\n' % i for i in range(20_000))

READ = """
import json, os, signal, sys, threading, time
from easydata import DatasetConfig, create_source

def read():
    config = DatasetConfig(sys.argv[1], storage_options=json.loads(sys.argv[2]))
    return sum(1 for _ in create_source(config))

def read_for_ever():
    while True:
        read()

"""


@pytest.fixture(scope="module")
def bucket(seaweed: S3Store) -> str:
    name = seaweed.bucket("process")
    seaweed.put(name, "rows.jsonl", DATA)
    return name


def started(code: str, bucket: str, options: dict[str, object]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", READ + code, f"s3://{bucket}/rows.jsonl", json.dumps(options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_forked_process_reads_by_itself(seaweed: S3Store, bucket: str) -> None:
    code = """
assert read() == 20_000
children = []
for _ in range(5):
    busy = threading.Thread(target=read)
    busy.start()
    child = os.fork()
    if child == 0:
        os._exit(0 if read() == 20_000 else 1)
    children.append(child)
    busy.join()
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
assert read() == 20_000
print("done")
"""
    process = started(code, bucket, seaweed.storage_options)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (0, "done\n", "")


# How a program ends while others of its threads read, and its status then.
ENDS = {
    "pass": 0,
    "sys.exit(3)": 3,
    "raise ValueError": 1,
    "os.fork()": 0,
    "child = os.fork(); child and os.waitpid(child, 0)": 0,
    "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)": -signal.SIGTERM,
}


def test_fifty_programs_end_while_they_read(seaweed: S3Store, bucket: str) -> None:
    """No crash and no hang, whenever it is."""
    rng = random.Random(1)
    faults = [
        Rule(fault, method="", probability=0.1, at=1000, seconds=5)
        for fault in ("status", "cut", "stall_body", "stall_headers")
    ]
    with FaultProxy(seaweed.url, faults) as proxy:
        options = {**seaweed.options_at(proxy.url), **HASTY, "stall_timeout": 5, "retries": 1000}

        def end(number: int) -> tuple[str, int, str]:
            how = list(ENDS)[number % len(ENDS)]
            wait = rng.choice([0.0, 0.01, 0.05, 0.2, 0.4])
            code = "for _ in range(3): threading.Thread(target=read_for_ever, daemon=True).start()"
            process = started(f"{code}\ntime.sleep({wait})\n{how}\n", bucket, options)
            _, error = process.communicate(timeout=30)
            return how, process.returncode, error

        begin = time.monotonic()
        with ThreadPoolExecutor(8) as several:
            ended = list(several.map(end, range(50)))
        assert time.monotonic() - begin < 60
    for how, status, error in ended:
        assert status == ENDS[how], (how, error)
        assert "ValueError" in error if "ValueError" in how else error == "", (how, error)


@pytest.mark.parametrize("rule", [Rule("stall_headers", method="HEAD"), Rule("stall_body", at=10)])
def test_ctrl_c_ends_reading(rule: Rule, seaweed: S3Store, bucket: str) -> None:
    code = """
print("begun", flush=True)
try:
    read()
except KeyboardInterrupt:
    print("interrupted")
"""
    with FaultProxy(seaweed.url, [rule]) as proxy:
        process = started(code, bucket, seaweed.options_at(proxy.url))
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        assert time.monotonic() - begin < 1.5
    assert (out, process.returncode) == ("interrupted\n", 0), error


def test_names_may_not_be_found_for_a_while(tmp_path: Path) -> None:
    """In a place of its own, where the file that names are looked up in is ours."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n")
    alone = ["unshare", "-m", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        pytest.skip("the right to mount, to stand in for the look-up of names")
    code = """
import sys
from easydata import DatasetConfig, create_source
print("begun", flush=True)
options = {"retry_delay": 0.05, "retries": 1000, "retry_timeout": 30}
print(sum(1 for _ in create_source(DatasetConfig(sys.argv[1], storage_options=options))))
"""
    with FaultServer({"/rows.jsonl": DATA}) as server:
        address = server.url.replace("127.0.0.1", "away.test") + "/rows.jsonl"
        command = [*alone, sys.executable, "-c", code, address]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(1)
        assert server.log == []
        with hosts.open("a") as more:
            more.write("127.0.0.1 away.test\n")
        out, error = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "20000\n"), error
