"""Starts the processes of a job and waits for them."""

import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from programs import environment

TIMEOUT = 300


def start_ranks(
    script: Path, world_size: int, options: Mapping[str, object]
) -> list[subprocess.Popen[str]]:
    """Starts a script in `world_size` processes.

    The script gets `--rank`, `--world-size` and `--<option> <value>` for each option.
    """
    arguments = [f"--{name}={value}" for name, value in options.items()]
    return [
        subprocess.Popen(
            [
                sys.executable,
                str(script),
                f"--rank={rank}",
                f"--world-size={world_size}",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(OMP_NUM_THREADS="1", JAX_PLATFORMS="cpu"),
        )
        for rank in range(world_size)
    ]


def run_ranks(script: Path, world_size: int, options: Mapping[str, object]) -> None:
    """Runs a script as start_ranks() does; fails with what any of its processes says."""
    ranks = start_ranks(script, world_size, options)
    said = []
    try:
        for process in ranks:
            said.append(process.communicate(timeout=TIMEOUT)[0])
    finally:
        end_ranks(ranks)
    for rank, (process, text) in enumerate(zip(ranks, said, strict=True)):
        if process.returncode != 0:
            pytest.fail(f"rank {rank} of {world_size}: exit {process.returncode}\n{text}")


def end_ranks(ranks: list[subprocess.Popen[str]]) -> None:
    """Kills what is left of processes."""
    for process in ranks:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
