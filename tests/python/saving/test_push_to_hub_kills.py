"""Pushes that are killed: readers see the old rows, and a push that is run again ends the same."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer
from programs import environment
from pushed import files, rows, save, writer

import easydata

pytest.importorskip("datasets")

# A push in a process of its own for each line, which begins by saying who it is.
PUSHER = """
import os, sys
import datasets, huggingface_hub.hf_api
import easydata
from easydata.execution.push import hub_push
hub_push.FILES_A_COMMIT = 2
for line in sys.stdin:
    folder, name = line.split()
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        status = 1
        try:
            easydata.push_to_hub(folder, name)
            status = 0
        finally:
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
CARD = b"""---
license: mit  # as agreed
---
# Ours

Text.
"""
THEIRS = {"notes.txt": b"not of a push", "default/notes.txt": b"nor this"}


class Pusher:
    """Pushes in other processes, which die at a request that writes."""

    def __init__(self, hub: HubServer, process: subprocess.Popen[str]) -> None:
        self._hub, self._process = hub, process
        self._child = 0

    def _line(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def push(self, folder: Path, name: str, when: str = "", at: int = 0) -> int:
        """Pushes, and is killed "before" or "after" so many requests; its exit status."""
        self._child = 0

        def kill(count: int, call: Any) -> None:
            if count != at:
                return
            while self._child == 0:
                time.sleep(0.001)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)

        self._hub.log.clear()
        self._hub.before_write = kill if when == "before" else None
        self._hub.after_write = kill if when == "after" else None
        assert self._process.stdin is not None
        print(folder, name, file=self._process.stdin, flush=True)
        self._child = self._line()
        return self._line()


@pytest.fixture
def pusher(hub_here: HubServer, tmp_path: Path) -> Iterator[Pusher]:
    variables = hub_here.environment(tmp_path / "hf", writer(hub_here))
    with subprocess.Popen(
        [sys.executable, "-c", PUSHER],
        env=environment(**variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Pusher(hub_here, process)
        assert process.stdin is not None
        process.stdin.close()


def seen(all_files: dict[str, bytes]) -> dict[str, bytes]:
    """What readers look at."""
    return {path: data for path, data in all_files.items() if not path.startswith(".easydata/")}


def check_kills(
    hub: HubServer, pusher: Pusher, tmp_path: Path, *, pushed_before: bool, chosen: int | None
) -> None:
    before = {"README.md": CARD, **THEIRS}
    if pushed_before:
        hub.repo("datasets", "org/before", before)
        save(rows(6), tmp_path / "old", max_shard_rows=1)
        easydata.push_to_hub(tmp_path / "old", "org/before", token=writer(hub))
        before = files(hub, "org/before")
    save(rows(5, first=100), tmp_path / "new", max_shard_rows=1)
    hub.repo("datasets", "org/undisturbed", before)
    assert pusher.push(tmp_path / "new", "org/undisturbed") == 0
    writings = len(hub.writings)
    after = files(hub, "org/undisturbed")
    assert THEIRS.items() <= after.items()
    assert b"license: mit  # as agreed\n" in after["README.md"]
    assert after["README.md"].count(b"Text.\n") == 1
    points = [(when, at) for at in range(1, writings + 1) for when in ("before", "after")]
    if chosen is not None:
        points = [points[len(points) * (2 * i + 1) // (2 * chosen)] for i in range(chosen - 1)]
        points = [*points, ("after", writings)] if pushed_before else points
        shift = random.Random().randrange(3)
        points = [(when, max(1, at - shift)) for when, at in points]
    print(points, "of", writings)
    for when, at in points:
        name = f"org/{when}{at}"
        hub.repo("datasets", name, before)
        status = pusher.push(tmp_path / "new", name, when, at)
        assert status in (0, -signal.SIGKILL), "it may have been done when it was killed"
        left = files(hub, name)
        assert seen(left) in (seen(before), after), (when, at)
        assert pusher.push(tmp_path / "new", name) == 0
        assert files(hub, name) == after, (when, at)
        sent = {path.rpartition("/")[2] for path in uploaded(hub)}
        assert not sent & {blob_name(data) for data in left.values()}, "nothing is sent again"


def uploaded(hub: HubServer) -> list[str]:
    return [each.path for each in hub.asked("cdn", "PUT")]


def blob_name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_killed_pushes_are_gone_on_with(
    hub_here: HubServer, pusher: Pusher, tmp_path: Path
) -> None:
    check_kills(hub_here, pusher, tmp_path, pushed_before=True, chosen=10)


@pytest.mark.sliced
@pytest.mark.parametrize("pushed_before", [True, False])
def test_killed_at_any_request_a_push_is_gone_on_with(
    hub_here: HubServer, pusher: Pusher, tmp_path: Path, pushed_before: bool
) -> None:
    check_kills(hub_here, pusher, tmp_path, pushed_before=pushed_before, chosen=None)
