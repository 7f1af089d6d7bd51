"""One output of many units: what is left to write, who writes it, and how it ends."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from easydata.core.config import ConfigError, PipelineConfig
from easydata.core.config_class import imported
from easydata.execution.units.executor import UnitExecutor, UnitFailure
from easydata.execution.units.job import UnitJob
from easydata.execution.units.processes import LocalProcesses

if TYPE_CHECKING:
    from easydata.execution.writers import WriteJob, WriteStats

_log = logging.getLogger("easydata")

# Bytes of input of a unit, where processes or machines write and nobody says.
DEFAULT_UNITS = "512MB"
_MOST_TOLD = 10

_Progress = Callable[[dict[str, int]], object]


class FailedUnitsError(RuntimeError):
    """Some units of a job were not written; the others are, and are kept.

    Attributes:
        path: The output.
        failures: Why, by number of the unit.
    """

    def __init__(
        self,
        path: str,
        units: int,
        failures: Mapping[int, UnitFailure],
        logs: Mapping[int, str] | None = None,
    ) -> None:
        self.path = path
        self.failures = dict(sorted(failures.items()))
        count = len(failures)
        lines = [
            f"{path}: {count} of {units} units failed; run again to write "
            + ("these alone" if count > 1 else "this one alone")
        ]
        for unit, failure in list(self.failures.items())[:_MOST_TOLD]:
            log = (logs or {}).get(unit)
            lines.append(f"unit {unit}: {failure.error}" + (f" (log: {log})" if log else ""))
        if count > _MOST_TOLD:
            where = "" if logs is None else f": easydata status {path}"
            lines.append(f"and {count - _MOST_TOLD:,} units more{where}")
        super().__init__("; ".join(lines))


def by_units(config: PipelineConfig) -> PipelineConfig:
    """The config, with the size of units that processes and machines need."""
    save = config.save
    if not is_shared_out(config) or save.units is not None:
        return config
    return dataclasses.replace(config, save=dataclasses.replace(save, units=DEFAULT_UNITS))


def is_shared_out(config: PipelineConfig) -> bool:
    """Whether others than this process write the outputs of a pipeline."""
    return bool(config.save.processes or config.ray.enabled)


def executor_of(config: PipelineConfig) -> UnitExecutor | None:
    """Who writes the units of a pipeline's outputs; None: this process does.

    Raises:
        ConfigError: Ray is asked for, and is not installed.
    """
    if config.ray.enabled:
        try:
            # What is on many machines stands above, and needs Ray.
            made: UnitExecutor = imported("easydata.distributed.ray_executor:RayExecutor")(
                config.ray
            )
        except (ImportError, ValueError) as error:
            raise ConfigError("ray", [f"ray.enabled: {error}"]) from error
        return made
    if config.save.processes:
        return LocalProcesses(config.save.processes)
    return None


def threads_of(config: PipelineConfig) -> int:
    """The threads of each of the processes that write units."""
    if config.save.num_threads:
        return int(config.save.num_threads)
    if config.ray.enabled:
        wanted = (config.ray.resources_per_worker or {}).get("CPU", 1)
        return max(1, int(wanted))
    return max(1, _cores() // (config.save.processes or 1))


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def write_by_units(
    job: WriteJob,
    told: UnitJob,
    executor: UnitExecutor,
    *,
    keep_finished: bool,
    notice: Callable[[str], object],
) -> WriteStats:
    """Writes an output by an executor, but what an earlier run had written.

    Raises:
        FailedUnitsError: Some units could not be written.
    """
    native = job.native
    opened = native.open_units(keep_finished)
    if opened["notice"]:
        notice(opened["notice"])
    if opened["finished"]:
        return job.stats_of(native.finish_units())
    counts = Counts(job.path, job.progress, opened["kept_shards"], opened["units"])

    def done(record: dict[str, Any]) -> None:
        native.add_unit(record)
        counts.add(record)

    def failed(unit: int, failure: UnitFailure) -> None:
        counts.fail(unit, failure, native.fail_unit(unit, failure.error, failure.log))
        notice(f"unit {unit} failed: {failure.error}")

    try:
        counts.tell()
        if opened["left"]:
            executor.run(told, opened["left"], done=done, failed=failed)
        counts.raise_failures()
        return job.stats_of(native.finish_units())
    finally:
        native.close_units()


class Counts:
    """What is written so far, for those who show it, and what could not be."""

    def __init__(self, path: str, progress: _Progress | None, kept: int, units: int) -> None:
        self._path, self._progress, self._units = path, progress, units
        self._totals = {"rows": 0, "tokens": 0, "bytes": 0, "shards": kept, "kept_shards": kept}
        self._totals |= {"input_parts": kept, "total_input_parts": units}
        self._failures: dict[int, UnitFailure] = {}
        self._logs: dict[int, str] = {}

    def fail(self, unit: int, failure: UnitFailure, log: str | None = None) -> None:
        """Notes a unit that could not be written, and where its log is kept."""
        self._failures[unit] = failure
        if log is not None:
            self._logs[unit] = log

    def raise_failures(self) -> None:
        """Raises FailedUnitsError where some units could not be written."""
        if self._failures:
            raise FailedUnitsError(self._path, self._units, self._failures, self._logs or None)

    def add(self, record: Mapping[str, Any]) -> None:
        """Counts a unit that is done."""
        shard = record["shard"]
        for name in ("shards", "input_parts"):
            self._totals[name] += 1
        for name in ("rows", "tokens", "bytes"):
            self._totals[name] += shard[name]
        _log.info(
            "unit %d: %s rows, %.0f tokens/s, on %s",
            record["unit"],
            f"{shard['rows']:,}",
            shard["tokens"] / max(record["seconds"], 1e-9),
            record["host"],
        )
        self.tell()

    def tell(self) -> None:
        """Tells the counts."""
        if self._progress is not None:
            self._progress(dict(self._totals))
