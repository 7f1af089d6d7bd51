"""Units written by processes of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import IO, Any

from easydata.execution.units.executor import MOST_ATTEMPTS, MOST_LOG, Task, UnitFailure
from easydata.execution.units.job import UnitJob

_WORKER = "easydata.execution.units.worker"
# Seconds that a worker has to end what it is at, such as an upload, before it is killed.
_PATIENCE = 0.6


class LocalProcesses:
    """Runs units in processes of this machine, each with a job that it keeps.

    Args:
        count: Processes at once, at most.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"processes: must be at least 1, not {count}")
        self._count = count

    def run(
        self,
        job: UnitJob,
        tasks: Sequence[Task],
        *,
        done: Callable[[dict[str, Any]], None],
        failed: Callable[[int, UnitFailure], None],
    ) -> None:
        """Writes units; see UnitExecutor."""
        with contextlib.closing(_Run(job, tasks, done, failed)) as run:
            run.until_all_is_done(self._count)


class _Run:
    """The units of one job, and the processes that write them."""

    def __init__(
        self,
        job: UnitJob,
        tasks: Sequence[Task],
        done: Callable[[dict[str, Any]], None],
        failed: Callable[[int, UnitFailure], None],
    ) -> None:
        self._job, self._done, self._failed = job, done, failed
        self._waiting = deque(tasks)
        self._attempts: Counter[int] = Counter()
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        self._stillborn = 0  # workers in a row that ended before they had taken up the job

    def until_all_is_done(self, count: int) -> None:
        while self._waiting or any(worker.task is not None for worker in self._workers):
            self._hand_out(count)
            for key, _ in self._selector.select():
                worker: _Worker = key.data
                message = worker.read()
                if message is None:
                    self._bury(worker)
                else:
                    self._heed(worker, message)

    def _hand_out(self, count: int) -> None:
        for worker in self._workers:
            if self._waiting and worker.task is None:
                worker.give(self._waiting.popleft())
        while self._waiting and len(self._workers) < count:
            worker = _Worker(self._job)
            self._workers.append(worker)
            self._selector.register(worker.output, selectors.EVENT_READ, worker)
            worker.give(self._waiting.popleft())

    def _heed(self, worker: _Worker, message: dict[str, Any]) -> None:
        if "ready" in message:
            worker.is_ready, self._stillborn = True, 0
        elif "refused" in message:
            raise RuntimeError(f"the processes cannot take up the job: {message['refused']}")
        else:
            task, worker.task = worker.task, None
            assert task is not None
            if "done" in message:
                self._done(message["done"])
            else:
                self._failed(task["unit"], UnitFailure(message["failed"], worker.log()))

    def _bury(self, worker: _Worker) -> None:
        """Tries again what a worker was at that died."""
        self._selector.unregister(worker.output)
        self._workers.remove(worker)
        how, log = worker.how_it_ended(), worker.log()
        worker.end()
        task = worker.task
        if not worker.is_ready:
            self._stillborn += 1
            if self._stillborn >= MOST_ATTEMPTS:
                last = log.strip().rpartition("\n")[2]
                raise RuntimeError(
                    f"the processes cannot take up the job: each {how}"
                    + (f": {last}" if last else "")
                )
        if task is None:
            return
        unit = task["unit"]
        self._attempts[unit] += 1
        if self._attempts[unit] < MOST_ATTEMPTS:
            self._waiting.appendleft(task)
            return
        error = f"its process {how}, {MOST_ATTEMPTS} times"
        self._failed(unit, UnitFailure(error, log))

    def close(self) -> None:
        """Ends the workers, whatever they are at."""
        for worker in self._workers:
            worker.ask_to_end()
        deadline = time.monotonic() + _PATIENCE
        for worker in self._workers:
            worker.end(deadline)
        self._selector.close()


class _Worker:
    """A process that writes one unit after the other."""

    def __init__(self, job: UnitJob) -> None:
        # Appended to, since both ends of it have one position.
        self._log: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115
        self._log_begin = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(job.paths)},
            cwd=job.folder or None,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self.output: IO[bytes] = self._process.stdout
        self.task: Task | None = None
        self.is_ready = False  # it has taken up the job
        self._send(job.to_json())

    def give(self, task: Task) -> None:
        """Hands it a unit to write."""
        self.task = task
        self._log_begin = self._log.seek(0, os.SEEK_END)
        self._send(json.dumps(task))

    def _send(self, line: str) -> None:
        data = memoryview(f"{line}\n".encode())
        # A process that has just died is noticed where its answers end.
        with contextlib.suppress(BrokenPipeError):
            while data:
                data = data[self._input.write(data) :]

    def read(self) -> dict[str, Any] | None:
        """The message that has come; None where the process has ended, even within one."""
        line = self.output.readline()
        message: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
        return message

    def log(self) -> str:
        """What it has said since it was handed its unit."""
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(self._log_begin, end - MOST_LOG))
        return self._log.read().decode(errors="replace")

    def how_it_ended(self) -> str:
        """How it ended, for people."""
        status = self._process.wait()
        if status >= 0:
            return f"ended with status {status}"
        name = signal.Signals(-status).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"was killed by {name}{hint}"

    def ask_to_end(self) -> None:
        """Asks it to leave what it is at."""
        if self._process.poll() is None:
            self._process.terminate()

    def end(self, deadline: float = 0) -> None:
        """Ends it at a time at the latest, and frees what it had."""
        try:
            self._process.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for file in (self._input, self.output, self._log):
            with contextlib.suppress(BrokenPipeError):
                file.close()
