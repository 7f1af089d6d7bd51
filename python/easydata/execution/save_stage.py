"""The stage that writes."""

import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from easydata import _native
from easydata.core.config import ConfigError, PipelineConfig, SaveStageConfig
from easydata.core.config_class import is_set, options_of, plain, without_secrets
from easydata.execution.context import PipelineContext, Sources
from easydata.execution.idle_options import judge
from easydata.execution.output_paths import path_in
from easydata.execution.progress import Progress
from easydata.execution.push.hub_push import HubPush
from easydata.execution.push.outputs import DEFAULT_CONFIG
from easydata.execution.stage import BaseStage
from easydata.execution.units.coordinate import (
    FailedUnitsError,
    by_units,
    executor_of,
    threads_of,
    write_by_units,
)
from easydata.execution.units.job import job_of
from easydata.execution.writers import DatasetWriter, WriteJob, WriteStats, create_writer
from easydata.sources.rows_in_shards import counts_steps, rows_known
from easydata.sources.schedule_ramps import tell_blurred
from easydata.sources.sharded_source import ShardedDataSource


class SaveStage(BaseStage):
    """Writes rows to files."""

    name = "save"

    def __init__(self, config: SaveStageConfig | None = None) -> None:
        super().__init__(config)
        self._config = config or SaveStageConfig()

    def process(self, data: Sources, context: PipelineContext) -> Sources:
        """Writes each source, and gives the sources on as they are.

        Of several sources, those that an earlier run of the same job had finished are kept, unless
        it had finished them all. With `push_to_hub` all are pushed at the end, also those that were
        kept.
        """
        whole = by_units(dataclasses.replace(context.config, save=self._config))
        if whole.save is not self._config:
            self._config, context.config = whole.save, whole
        executor = executor_of(whole)
        jobs = self.planned(data, context)
        push = self._checked_push(jobs)
        run: dict[str, Callable[..., WriteStats]] = {name: job.run for name, job in jobs.items()}
        if executor is not None:
            threads = threads_of(whole)
            for name, job in jobs.items():
                told = job_of(context, name, threads, job.template_date)
                run[name] = functools.partial(write_by_units, job, told, executor)
        failures: list[FailedUnitsError] = []
        finished = [name for name, job in jobs.items() if job.native.is_finished()]
        kept = finished if len(finished) < len(jobs) else []
        if push is not None or context.keeps_finished:
            kept = kept or [name for name in finished if jobs[name].keeps_finished]
        for number, (name, job) in enumerate(jobs.items(), 1):
            of = f" ({number} of {len(jobs)})" if len(jobs) > 1 else ""
            try:
                progress = self._progress(name, context, rows_known(data[name]), of)
                with job.told_of_pushing(), progress:
                    stats = _run(name, job, run[name], progress, keep=name in kept)
            except FailedUnitsError as error:
                failures.append(error)  # the other datasets are written
                continue
            except KeyboardInterrupt as interrupt:
                done = sum(stats.num_shards for stats in context.written.values())
                job.say_what_is_kept(interrupt, done)
                raise
            context.written[name] = stats
            context.record_metric("save", name, stats)
        if failures:
            first, *others = failures
            for later in others:
                first.add_note(str(later))
            raise first
        if push is not None:
            url = push.push({_config_name(name, jobs): job.output() for name, job in jobs.items()})
            for name in jobs:
                context.written[name].hub_url = url
        return data

    def planned(self, data: Sources, context: PipelineContext) -> dict[str, WriteJob]:
        """The outputs that process() would write, checked; nothing is written."""
        config = _described(context.config, context.stages)
        writers = {name: self.writer(name, data, context) for name in data}
        _check_folders({name: writer.output_path for name, writer in writers.items()})
        jobs = {name: writers[name]._job(source, config) for name, source in data.items()}
        judge(context, data, {name: job.stream for name, job in jobs.items()}, "save")
        # Before anything is written: what one deletes, another may be about to read.
        for job in jobs.values():
            for other in jobs.values():
                job.native.check_inputs(other.stream)
        return jobs

    def _checked_push(self, jobs: Mapping[str, WriteJob]) -> HubPush | None:
        """The push that is asked for, when all of it can be done."""
        config = self._config
        if not config.push_to_hub:
            return None
        push = HubPush(config.hub_repo_id, private=config.hub_private, token=config.hub_token)
        push.check({_config_name(name, jobs): job.plan for name, job in jobs.items()})
        for job in jobs.values():
            job.push = push
        return push

    def _give_steps(
        self, source: ShardedDataSource[Any], writer: DatasetWriter, context: PipelineContext
    ) -> None:
        """Gives the steps of a schedule to a writer, which makes none of its own.

        Raises:
            ConfigError: Nobody said how many rows a step has.
        """
        load = context.config.load
        if not is_set(load, "batch_size"):
            raise ConfigError(
                "save",
                [
                    "mix.weight_schedule counts the steps of a loader (schedule_unit: steps), and "
                    "what is saved has none; set load.batch_size, the rows of a step, as for the "
                    "loader that is to read it, or mix.schedule_unit: examples"
                ],
            )
        writer._take_steps(load.batch_size, load.batch_rampup)
        tell_blurred(source, {"batch_size": load.batch_size})

    def _progress(self, name: str, context: PipelineContext, rows: int | None, of: str) -> Progress:
        dataset = self._get_dataset_config(name, context)
        limit = dataset.num_rows if dataset is not None else None
        total = min((n for n in (rows, limit) if n is not None), default=None)
        if context.progress is not None:
            return context.progress(name + of, total)
        return Progress.of(context.config.observability, name + of, total)

    def writer(
        self, name: str, data: Sources, context: PipelineContext, threads: int | None = None
    ) -> DatasetWriter:
        """What writes the dataset `name`, and where."""
        config = self._config
        dataset = self._get_dataset_config(name, context)
        if dataset is not None and dataset.save_path:
            path = _folder(dataset.save_path)
        elif len(data) == 1:
            path = _folder(config.output_dir)
        else:
            path = _folder(config.output_dir, _folder_name(name))
        options = options_of(config, "WriteOptions")
        options["storage_options"] = config.storage_options
        if dataset is not None:
            options["format"] = dataset.save_format or config.format
            options["num_shards"] = dataset.num_shards or config.num_shards
            options["shard_column"] = dataset.shard_column or config.shard_column
        if threads is not None:
            options["num_threads"] = threads
        writer = create_writer(path, columns=config.columns, **options)
        if counts_steps(data[name]):
            self._give_steps(data[name], writer, context)
        return writer


def _run(
    name: str, job: WriteJob, run: Callable[..., WriteStats], progress: Progress, *, keep: bool
) -> WriteStats:
    """Writes an output, and shows how far it is."""

    def tell(text: str) -> None:
        job.log(text)
        progress.note(text)

    job.progress = progress.update
    if keep:
        tell(f"dataset {name!r} is finished and kept")
    return run(keep_finished=keep, notice=tell)


def _described(config: PipelineConfig, stages: Sequence[str]) -> dict[str, Any]:
    """The config as an output's metadata has it: what was written, not who wrote it.

    Whether packing and saving are `enabled` says what ran, whatever the config said of it.
    """
    values: dict[str, Any] = without_secrets(plain(config, for_engine=True))
    values.pop("ray", None)
    values.get("save", {}).pop("processes", None)
    for stage, runs in (("pack", "pack" in stages), ("save", True)):
        section = values.setdefault(stage, {})
        section.pop("enabled", None)
        if runs:
            section["enabled"] = True
    return values


def _config_name(name: str, datasets: Mapping[str, Any]) -> str:
    """What the Hub calls one of the datasets that are saved."""
    return DEFAULT_CONFIG if len(datasets) == 1 else name


def _folder(path: str, *names: str) -> str:
    """The path of a folder, without "./" and its like where it is one of this machine."""
    path = _native.user_path(path)
    return path_in(path if "://" in path else os.fspath(Path(path)), *names)


def _folder_name(name: str) -> str:
    """The name of a dataset's own folder.

    Raises:
        ConfigError: When it would lead to another folder.
    """
    if name in ("", ".", "..", ".easydata") or "/" in name or "\0" in name:
        raise ConfigError(
            "PipelineConfig",
            [
                "datasets: each is written into a folder of its name, which must be a plain one "
                f"without '/'; set another name, or its save_path; the name is {name!r}"
            ],
        )
    return name


def _real_path(folder: str) -> PurePath:
    """A folder without links; keys of an object store have none."""
    return PurePath(folder if "://" in folder else os.path.realpath(folder))


def _check_folders(folders: Mapping[str, str]) -> None:
    """Raises ConfigError when two datasets are written to one folder, or one into another."""
    paths = {name: _real_path(folder) for name, folder in folders.items()}
    for (name, path), (other, outer) in itertools.permutations(paths.items(), 2):
        if path.is_relative_to(outer):
            raise ConfigError(
                "PipelineConfig",
                [
                    f"datasets: {other!r} and {name!r} are written to one place; give each a "
                    f"save_path of its own, outside the other's: {folders[other]} and "
                    f"{folders[name]}"
                ],
            )
