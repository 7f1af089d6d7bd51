"""One run of a benchmark in a process of its own, which prints its result as a line of JSON."""

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PEERS = Path(__file__).resolve().parent / "peers"


class PeerFailed(SystemExit):
    """A run that gave no result; uncaught, it ends the benchmarks with what the run said last."""

    def __init__(self, what: str, said: str) -> None:
        super().__init__(f"{what} failed:\n{said[-4000:]}")
        self.said = said


def run_peer(
    what: str, command: Sequence[str | Path], files: Iterable[Path] = (), **environment: str
) -> dict[str, Any]:
    """Runs a command and returns the last line that it prints.

    Args:
        what: The run's name, for the error where there is no result.
        command: A program and its arguments.
        files: What it reads: brought into the page cache, so that nobody waits for the disk.
        **environment: Variables beside those of this process.
    """
    for path in files:
        with path.open("rb") as file:
            while file.read(1 << 20):
                pass
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        raise PeerFailed(what, done.stderr.strip() or f"exit status {done.returncode}")
    result: dict[str, Any] = json.loads(lines[-1])
    return result
