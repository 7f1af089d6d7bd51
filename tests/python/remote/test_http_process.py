"""Reading from web servers and what happens to the process: forks, the end, Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from fault_server import FaultServer, Rule

DATA = b"".join(b'{"text": "row %d"}\n' % i for i in range(20_000))

READ = """
import os, sys, threading, time
from easydata import DatasetConfig, create_source

def read(address=sys.argv[1]):
    return sum(1 for _ in create_source(DatasetConfig(data_files=address)))

"""


def started(code: str, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", READ + code, address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_forked_process_reads_by_itself() -> None:
    code = """
assert read() == 20_000
children = []
for _ in range(5):
    # One more thread reads while the process forks.
    busy = threading.Thread(target=read)
    busy.start()
    child = os.fork()
    if child == 0:
        os._exit(0 if read() == 20_000 else 1)
    children.append(child)
    busy.join()
for child in children:
    assert os.waitpid(child, 0)[1] == 0
assert read() == 20_000
print("done")
"""
    with FaultServer({"/rows.jsonl": DATA}) as server:
        process = started(code, server.url + "/rows.jsonl")
        out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (0, "done\n", "")


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "raise ValueError", "os.fork()"])
def test_a_process_ends_while_it_reads(end: str) -> None:
    code = f"""
threading.Thread(target=read, daemon=True).start()
time.sleep(0.5)
{end}
"""
    stall = Rule("stall_body", at=20, seconds=60, skip=1)
    with FaultServer({"/rows.jsonl": DATA}, [stall]) as server:
        begin = time.monotonic()
        process = started(code, server.url + "/rows.jsonl")
        _, error = process.communicate(timeout=60)
        assert time.monotonic() - begin < 20
    expected = {"sys.exit(3)": 3, "raise ValueError": 1}.get(end, 0)
    assert process.returncode == expected, error


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_ctrl_c_ends_reading(method: str) -> None:
    code = """
print("begun", flush=True)
try:
    read()
except KeyboardInterrupt:
    print("interrupted")
"""
    stall = Rule("stall_headers", seconds=60, method=method)
    with FaultServer({"/rows.jsonl": DATA}, [stall]) as server:
        process = started(code, server.url + "/rows.jsonl")
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        assert time.monotonic() - begin < 2
    assert (out, process.returncode) == ("interrupted\n", 0), error


def test_libraries_of_tls_keep_out_of_each_others_way() -> None:
    """A library of pyarrow's exports functions of OpenSSL that the system's own must not find."""
    code = """
assert read() == 20_000
import hashlib, ssl
for name in sorted(hashlib.algorithms_available):
    hashlib.new(name)
assert len(ssl.create_default_context().get_ciphers()) > 0
assert read() == 20_000
print("done")
"""
    with FaultServer({"/rows.jsonl": DATA}) as server:
        process = started(code, server.url + "/rows.jsonl")
        out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "done\n"), error
