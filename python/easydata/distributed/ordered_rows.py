"""Rows that workers of Ray make of the parts of a source, in the order of the parts."""

from __future__ import annotations

import itertools
import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from easydata.distributed.ray_cluster import Cluster, own_version
from easydata.distributed.shard_jobs import Part, Row
from easydata.distributed.shard_worker import SentJob, ShardWorker
from easydata.execution.units.executor import MOST_ATTEMPTS
from easydata.execution.units.job_place import JobPlace

_log = logging.getLogger("easydata")

# Parts that a worker has in hand: the next one waits there when one is done.
_PARTS_EACH = 2
# Batches of a part that are made before they are asked for.
_BATCHES_AHEAD = 16
# Seconds without a worker after which it is said what is waited for.
_PATIENCE = 10.0


@dataclass(eq=False)
class _Worker:
    """An actor, and how many parts it has in hand."""

    actor: Any
    started: Any
    is_ready: bool = False
    parts: int = 0


@dataclass(eq=False)
class _Work:
    """A part, and the worker that has it; None: it has died."""

    part: Part
    worker: _Worker | None = None
    number: int = 0
    batches: deque[Any] = field(default_factory=deque)
    rows: int = 0  # that were handed on
    attempts: int = 0


class ShardWorkers:
    """Workers of a cluster, which are started as they are needed and kept for the next job.

    Args:
        cluster: The cluster.
        count: Workers of a job at once, at most.
    """

    def __init__(self, cluster: Cluster, count: int) -> None:
        self._cluster, self._count = cluster, count
        self._idle: list[_Worker] = []
        self._runs: list[_Run] = []
        self._jobs = itertools.count()

    def rows(self, data: bytes, parts: Iterator[Part]) -> Iterator[Row]:
        """The rows that a job makes of parts, in their order; `data`: what sent() made of it."""
        name = f"{id(self)}-{next(self._jobs)}"
        job = SentJob(name, JobPlace.here(), [self._cluster.ray.put(data)])
        run = _Run(self._cluster, self._count, job, parts, self._idle)
        self._idle = []
        self._runs.append(run)
        try:
            yield from run.rows()
            self._idle += run.workers_at_rest()
        finally:
            run.end()
            self._runs.remove(run)

    def end(self) -> None:
        """Ends all workers, whatever they are at."""
        for run in self._runs:
            run.end()
        for worker in self._idle:
            self._cluster.ray.kill(worker.actor)
        self._idle = []


class _Run:
    """A job, the workers that are at it, and the parts that they have in hand, in order."""

    def __init__(
        self,
        cluster: Cluster,
        count: int,
        job: SentJob,
        parts: Iterator[Part],
        workers: list[_Worker],
    ) -> None:
        self._cluster, self._ray, self._count, self._job = cluster, cluster.ray, count, job
        self._parts = parts
        self._next_part = next(parts, None)
        self._workers = workers
        self._in_hand: deque[_Work] = deque()
        self._numbers = itertools.count()
        self._stillborn = 0  # workers in a row that died as they started

    def rows(self) -> Iterator[Row]:
        """The rows of all parts, of which a bounded number is in hand at a time."""
        while self._hand_out():
            work = self._in_hand[0]
            batch = self._next_batch(work)
            if batch is not None:
                work.rows += len(batch)
                yield from batch
                continue
            self._in_hand.popleft()
            if work.worker is not None:
                work.worker.parts -= 1

    def workers_at_rest(self) -> list[_Worker]:
        """Takes the workers of a run that is over."""
        ready = [worker for worker in self._workers if worker.is_ready]
        self._workers = [worker for worker in self._workers if not worker.is_ready]
        return ready

    def end(self) -> None:
        """Ends the workers."""
        for worker in self._workers:
            if self._ray.is_initialized():
                self._ray.kill(worker.actor)
        self._workers = []

    def _hand_out(self) -> bool:
        """Gives parts to workers that have room; False when all is done."""
        while self._next_part is not None and len(self._in_hand) < self._count * _PARTS_EACH:
            self._grow()
            worker = self._least_busy() if self._in_hand else self._some_worker()
            if worker is None or worker.parts >= _PARTS_EACH:
                break
            work = _Work(self._next_part)
            self._next_part = next(self._parts, None)
            self._in_hand.append(work)
            self._begin(work, worker)
        return bool(self._in_hand)

    def _begin(self, work: _Work, worker: _Worker) -> None:
        work.worker, work.number = worker, next(self._numbers)
        worker.parts += 1
        worker.actor.begin.remote(work.number, self._job, work.part, work.rows)
        more = worker.actor.more
        work.batches = deque(more.remote(work.number) for _ in range(_BATCHES_AHEAD))

    def _next_batch(self, work: _Work) -> list[Row] | None:
        """The next rows of the first part in hand; None when there are no more."""
        errors = self._ray.exceptions
        while True:
            if work.worker is None:
                # Any worker will do: none waits for another one's rows to be taken.
                self._begin(work, self._some_worker())
            assert work.worker is not None
            try:
                batch: list[Row] | None = self._ray.get(work.batches.popleft())
            except errors.RayTaskError as error:
                raise (error.cause if isinstance(error.cause, Exception) else error) from None
            except errors.RayError as error:
                self._bury(work, work.worker, error)
                continue
            if batch is not None:
                work.batches.append(work.worker.actor.more.remote(work.number))
            return batch

    def _bury(self, work: _Work, worker: _Worker, error: Exception) -> None:
        """Leaves the parts of a worker that has died to others, each when its turn comes.

        By then it is alone the first in hand, so that what kills workers is told from what was
        beside it.
        """
        self._workers.remove(worker)
        self._ray.kill(worker.actor)
        for each in self._in_hand:
            if each.worker is worker:
                each.worker = None
                each.batches.clear()
        work.attempts += 1
        said = _first_line(error)
        if work.attempts >= MOST_ATTEMPTS:
            raise RuntimeError(
                f"{work.part}: the Ray worker that was at it died, {MOST_ATTEMPTS} times; the "
                f"last time: {said}"
            ) from error
        _log.warning("%s: its Ray worker died, and another one continues: %s", work.part, said)

    def _grow(self) -> None:
        """Starts a worker where all have something to do."""
        if len(self._workers) < self._count and all(each.parts for each in self._workers):
            made = self._ray.remote(ShardWorker).options(**self._cluster.needs.options())
            actor = made.remote()
            self._workers.append(_Worker(actor, actor.version.remote()))

    def _some_worker(self) -> _Worker:
        """A worker that has started, which is waited for."""
        while True:
            worker = self._least_busy()
            if worker is not None:
                return worker
            self._grow()
            starting = [each.started for each in self._workers]
            if not self._ray.wait(starting, num_returns=1, timeout=_PATIENCE)[0]:
                _log.warning(
                    "waiting for Ray to start a worker; a worker takes %s, and free are %s",
                    self._cluster.needs,
                    self._cluster.room(),
                )

    def _least_busy(self) -> _Worker | None:
        """The worker with the least to do, of those that have started."""
        for worker in [each for each in self._workers if not each.is_ready]:
            if self._ray.wait([worker.started], timeout=0)[0]:
                self._welcome(worker)
        ready = (worker for worker in self._workers if worker.is_ready)
        return min(ready, key=lambda worker: worker.parts, default=None)

    def _welcome(self, worker: _Worker) -> None:
        try:
            version = self._ray.get(worker.started)
        except self._ray.exceptions.RayError as error:
            self._workers.remove(worker)
            self._stillborn += 1
            if self._stillborn >= MOST_ATTEMPTS:
                raise RuntimeError(
                    f"Ray cannot start workers of EasyData: {error}; install the same version of "
                    "easydata on all machines of the cluster"
                ) from error
            return
        if version != own_version():
            raise RuntimeError(
                f"a machine of the cluster has EasyData {version}, and this one {own_version()}: "
                "install the same version on all"
            )
        worker.is_ready = True
        self._stillborn = 0


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
