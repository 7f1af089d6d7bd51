"""Reading from a store and what happens to the process: forks, fifty ends, Ctrl-C, other names."""

from __future__ import annotations

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
from reading_programs import DATA, check_ctrl_c, check_forks, started
from served_files import HASTY
from stores import S3Store


@pytest.fixture(scope="module")
def address(seaweed: S3Store) -> str:
    name = seaweed.bucket("process")
    seaweed.put(name, "rows.jsonl", DATA)
    return f"s3://{name}/rows.jsonl"


def test_a_forked_process_reads_by_itself(seaweed: S3Store, address: str) -> None:
    check_forks(address, seaweed.storage_options)


# How a program ends while others of its threads read, and its status then.
ENDS = {
    "pass": 0,
    "sys.exit(3)": 3,
    "raise ValueError": 1,
    "os.fork()": 0,
    "child = os.fork(); child and os.waitpid(child, 0)": 0,
    "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)": -signal.SIGTERM,
}


def test_fifty_programs_end_while_they_read(seaweed: S3Store, address: str) -> None:
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
            process = started(f"{code}\ntime.sleep({wait})\n{how}\n", address, options)
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
def test_ctrl_c_ends_reading(rule: Rule, seaweed: S3Store, address: str) -> None:
    with FaultProxy(seaweed.url, [rule]) as proxy:
        check_ctrl_c(1.5, address, seaweed.options_at(proxy.url))


def test_names_may_not_be_found_for_a_while(tmp_path: Path) -> None:
    """In a mount namespace of its own, where the file that names are looked up in is ours."""
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
