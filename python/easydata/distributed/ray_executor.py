"""Units written by tasks of Ray."""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from easydata.core.config import RayConfig
from easydata.core.config_class import check
from easydata.distributed.ray_cluster import Cluster, own_version, ray_library
from easydata.distributed.unit_task import SentUnits, write_unit
from easydata.execution.units.executor import MOST_ATTEMPTS, Task, UnitFailure
from easydata.execution.units.job import UnitJob

_log = logging.getLogger("easydata")

# Seconds until a first unit is done after which it is said what the cluster has.
_PATIENCE = 60.0
# Seconds that tasks have to leave what they are at before their processes are ended.
_FAREWELL = 0.6


class RayExecutor:
    """Runs units as tasks of Ray, each of which reads its part and writes its shard by itself.

    It connects to the cluster with its first units, and leaves it when it is dropped.

    Args:
        config: The cluster, how many tasks may be there at once, and what each takes.

    Raises:
        ImportError: Ray is not installed.
        ConfigError: The config cannot be meant.
    """

    def __init__(self, config: RayConfig) -> None:
        ray_library()
        check(config)
        self._config = config
        self._cluster: Cluster | None = None

    def run(
        self,
        job: UnitJob,
        tasks: Sequence[Task],
        *,
        done: Callable[[dict[str, Any]], None],
        failed: Callable[[int, UnitFailure], None],
    ) -> None:
        """Writes units; see UnitExecutor."""
        if self._cluster is None:
            self._cluster = Cluster(self._config)
            weakref.finalize(self, self._cluster.leave)
        run = _Run(self._cluster, job, tasks, done, failed)
        try:
            run.until_all_is_done(self._config.num_workers)
        finally:
            run.end()


class _Run:
    """The units of a job, and the tasks that are at some of them."""

    def __init__(
        self,
        cluster: Cluster,
        job: UnitJob,
        tasks: Sequence[Task],
        done: Callable[[dict[str, Any]], None],
        failed: Callable[[int, UnitFailure], None],
    ) -> None:
        self._cluster, self._ray = cluster, cluster.ray
        self._done, self._failed = done, failed
        self._waiting = deque(tasks)
        self._at_work: dict[Any, Task] = {}
        self._job = SentUnits(job.digest, own_version(), [self._ray.put(job.to_json())])
        # Ray tries again what a process or a machine took along that died, and nothing else.
        options = {"max_retries": MOST_ATTEMPTS - 1, "retry_exceptions": False}
        self._write = self._ray.remote(**cluster.needs.options(), **options)(write_unit)

    def until_all_is_done(self, count: int) -> None:
        is_told = False
        while self._waiting or self._at_work:
            while self._waiting and len(self._at_work) < count:
                task = self._waiting.popleft()
                self._at_work[self._write.remote(self._job, task)] = task
            ready, _ = self._ray.wait(list(self._at_work), timeout=_PATIENCE)
            for each in ready:
                self._heed(self._at_work.pop(each), each)
            if not ready and not is_told:
                _log.info(
                    "no unit is done yet; a task takes %s, and free are %s",
                    self._cluster.needs,
                    self._cluster.room(),
                )
            is_told = True

    def _heed(self, task: Task, result: Any) -> None:
        """Hands on what came of a unit."""
        errors = self._ray.exceptions
        try:
            message = self._ray.get(result)
        except errors.RayTaskError as error:
            # What a machine of the cluster says where it cannot even start a task.
            cause = getattr(error, "cause", None) or error
            said = f"{type(cause).__name__}: {cause}"
            raise RuntimeError(f"the cluster cannot take up the job: {said}") from error
        except errors.RayError as error:
            said = str(error).strip()
            first = said.partition("\n")[0]
            why = f"its Ray worker died, {MOST_ATTEMPTS} times; the last time: {first}"
            self._failed(task["unit"], UnitFailure(why, said))
            return
        if "refused" in message:
            raise RuntimeError(f"the cluster cannot take up the job: {message['refused']}")
        if "failed" in message:
            self._failed(task["unit"], UnitFailure(message["failed"], message["log"]))
        else:
            self._done(message["done"])

    def end(self) -> None:
        """Ends the tasks that are at work, whatever they are at."""
        if not self._at_work or not self._ray.is_initialized():
            return
        left = list(self._at_work)
        for each in left:
            self._ray.cancel(each, force=False)
        _, left = self._ray.wait(left, num_returns=len(left), timeout=_FAREWELL)
        for each in left:
            self._ray.cancel(each, force=True)
        self._at_work.clear()
