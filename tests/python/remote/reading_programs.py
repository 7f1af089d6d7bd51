"""Programs that read from other machines: started, forked, interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping

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


def started(
    code: str, address: str, options: Mapping[str, object] | None = None
) -> subprocess.Popen[str]:
    """A program that may read() the file of DATA at an address."""
    command = [sys.executable, "-c", READ + code, address, json.dumps(options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_forks(address: str, options: Mapping[str, object] | None = None) -> None:
    """Forked processes read by themselves, while one more thread of their parent reads."""
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
    process = started(code, address, options)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (0, "done\n", "")


def check_ctrl_c(within: float, address: str, options: Mapping[str, object] | None = None) -> None:
    """Ctrl-C ends a program that waits for a server within so many seconds."""
    code = """
if sys.argv[1].startswith("hf://"):
    import huggingface_hub  # takes its time, in which nobody waits for a server
print("begun", flush=True)
try:
    read()
except KeyboardInterrupt:
    print("interrupted")
"""
    process = started(code, address, options)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert time.monotonic() - begin < within
    assert (out, process.returncode) == ("interrupted\n", 0), error
