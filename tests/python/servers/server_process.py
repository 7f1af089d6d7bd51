"""Servers of others as processes on free ports of 127.0.0.1, which end with the test session."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

# Below the ports that the system gives to connections, so that none takes one before its server.
PORTS = range(10_000, 32_000)


def missing(reason: str) -> NoReturn:
    """Skips the test, or fails it where EASYDATA_REQUIRE_STORES=1 says that all is installed."""
    if os.environ.get("EASYDATA_REQUIRE_STORES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on."""
    found: list[int] = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise OSError("no port of 127.0.0.1 is free")


@contextlib.contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """A folder with a short path (sockets lie in it), which goes at the end."""
    with tempfile.TemporaryDirectory(
        prefix=f"easydata-{name}-", ignore_cleanup_errors=True
    ) as path:
        yield Path(path)


@contextlib.contextmanager
def running(
    command: Sequence[str], folder: Path, is_ready: Callable[[], bool], seconds: float = 60
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a server in a process group of its own from when it is ready; then kills the group.

    It also dies with the thread that started it, where the system has `setpriv`.
    """
    if shutil.which("setpriv"):
        command = ["setpriv", "--pdeathsig", "KILL", *command]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + seconds
        while not is_ready():
            ended = process.poll() is not None
            if ended or time.monotonic() > deadline:
                how = f"ended with status {process.returncode}" if ended else "does not get ready"
                said = log.read_text(errors="replace")[-2000:]
                raise OSError(f"the server {command[0]} {how}:\n{said}")
            time.sleep(0.05)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def answers(port: int) -> bool:
    """Whether something takes connections at a port."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
