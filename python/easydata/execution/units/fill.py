"""Tokens that processes or machines make and keep, before anybody reads them."""

from __future__ import annotations

import dataclasses
import logging
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from easydata import _native
from easydata.core.config import ConfigError, PipelineConfig
from easydata.core.sizes import parse_size
from easydata.execution.context import PipelineContext
from easydata.execution.stages import SourceStage, TokenizeStage
from easydata.execution.units.coordinate import (
    DEFAULT_UNITS,
    Counts,
    executor_of,
    threads_of,
)
from easydata.execution.units.executor import Task, UnitExecutor, UnitFailure
from easydata.execution.units.job import job_of
from easydata.sources.sharded_source import CachedShardedSource, ShardedDataSource

_log = logging.getLogger("easydata")


def token_sources(config: PipelineConfig) -> tuple[dict[str, ShardedDataSource[Any]], Any]:
    """The datasets up to where their tokens are kept, and what their stages share."""
    context = PipelineContext(config=config, seed=config.seed)
    data = SourceStage().process({}, context)
    context.stages.append("source")
    data = TokenizeStage(config.tokenize).process(data, context)
    context.stages.append("tokenize")
    return data, context


def fill_by_units(
    config: PipelineConfig,
    name: str,
    executor: UnitExecutor,
    *,
    packed: bool,
    threads: int,
    progress: Callable[[dict[str, int]], object] | None = None,
) -> None:
    """Makes and keeps the tokens of a dataset by an executor, a unit of its files each.

    Args:
        config: The pipeline's, which says where tokens are kept.
        name: The dataset.
        executor: Who does it.
        packed: Whether documents are kept as a packer takes them.
        threads: Threads of each process.
        progress: Called with what is done so far.

    Raises:
        FailedUnitsError: Some units could not be made; the others are kept.
    """
    config = _in_order_of_files(config)
    sources, context = token_sources(config)
    divided = _native.divided(_stream(sources[name], packed), parse_size(DEFAULT_UNITS))
    tasks: list[Task] = [{"unit": 0, "runs": None}] if divided is None else divided
    told = job_of(context, name, threads, fill_packed=packed)
    counts = Counts(f"tokens of {name}", progress, 0, len(tasks))

    def failed(unit: int, failure: UnitFailure) -> None:
        counts.fail(unit, failure)
        _log.error("%s: unit %d failed: %s\n%s", name, unit, failure.error, failure.log)

    executor.run(told, tasks, done=counts.add, failed=failed)
    counts.raise_failures()


def fill_unit(source: Any, task: Task, packed: bool, threads: int) -> dict[str, Any]:
    """Makes and keeps the tokens of a unit; gives its record."""
    begin = time.monotonic()
    unit = None if task["runs"] is None else task
    shard = {"rows": 0, "tokens": 0, "bytes": 0}
    batches = _native.iterate_batches(_stream(source, packed), unit=unit, num_threads=threads)
    batch: Any
    for batch in batches:
        shard["rows"] += batch.num_rows
        if "input_ids" in batch.schema.names:
            ids = batch.column("input_ids")
            shard["tokens"] += ids.offsets[-1].as_py() - ids.offsets[0].as_py()
    if source._store is not None:
        source._store.native.flush()
    return {
        "unit": task["unit"],
        "shard": shard,
        "seconds": time.monotonic() - begin,
        "host": socket.gethostname(),
    }


def fill_before_loading(context: PipelineContext) -> None:
    """Has Ray make the tokens that a loader is about to read, where they are not kept yet.

    Raises:
        ConfigError: A dataset's tokens are kept nowhere where Ray could put them.
    """
    config = context.config
    sources, _ = token_sources(config)
    packed = "pack" in context.stages
    problems = []
    wanted = []
    for name, source in sources.items():
        if not isinstance(source, CachedShardedSource) or not source._keeping.folder:
            problems.append(
                f"ray.enabled: load() reads tokens that Ray has kept before, and those of {name!r} "
                "are kept in no folder; set its cache_path, or cache=CacheStageConfig(cache_dir="
                "...), on a disk or store that all machines see"
            )
        elif reason := _native.why_nothing_is_kept(source.source._plan):
            problems.append(f"ray.enabled: tokens of {name!r} cannot be kept: {reason}")
        elif not _is_kept(source, packed):
            wanted.append(name)
    if problems:
        raise ConfigError("ray", problems)
    executor = executor_of(config)
    assert executor is not None
    for name in wanted:
        _log.info("Ray makes the tokens of %r", name)
        fill_by_units(config, name, executor, packed=packed, threads=threads_of(config))


def _is_kept(source: CachedShardedSource, packed: bool) -> bool:
    look: Mapping[str, Any] = _native.look_for_kept(
        source.source._plan, source._keeping.open().native, whole_documents=packed
    )
    return bool(look["kept_blocks"] >= look["blocks"])


def _stream(source: ShardedDataSource[Any], packed: bool) -> _native.Stream:
    return source._plan.stream(whole_documents=packed)


def _in_order_of_files(config: PipelineConfig) -> PipelineConfig:
    """The config without orders of rows: what is kept of a block is the same in any."""
    datasets = [
        dataclasses.replace(each, shuffle=None, shuffle_window_bytes=None)
        for each in config.datasets
    ]
    return dataclasses.replace(config, datasets=datasets)
