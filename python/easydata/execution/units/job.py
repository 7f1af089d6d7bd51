"""What a process that writes units is told: plain JSON, which names code and holds no secret."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from easydata import _native
from easydata.core.config import ConfigError, DatasetConfig, PipelineConfig, SaveStageConfig
from easydata.core.config_class import import_path, imported, plain
from easydata.execution.context import PipelineContext
from easydata.execution.frozen_listing import freeze_listings
from easydata.execution.units.job_place import JobPlace
from easydata.sources.create import names_data
from easydata.transforms.base import MapTransform, RowFunction
from easydata.transforms.filters import FilterTransform

_VERSION = 1

# The stages that another process can put one after the other.
_STAGES = ("source", "tokenize", "cache", "mix", "pack")
# How an output is written that is no part of what is written, and what the job's own process does.
_NOT_TOLD = ("processes", "push_to_hub", "hub_repo_id", "hub_private", "hub_token")
# Options of stores that are no secrets, as others spell them, too.
_OPEN = frozenset(
    (
        *("anonymous", "anon", "profile", "aws_profile", "region", "region_name", "aws_region"),
        *("endpoint_url", "endpoint", "aws_endpoint", "aws_endpoint_url", "addressing_style"),
        *("requester_pays", "retries", "retry_delay", "retry_timeout", "connect_timeout"),
        *("stall_timeout", "max_in_flight", "ca_file", "cache_dir", "client_kwargs"),
        *("aws_allow_http", "allow_http"),
    )
)
# Transforms that are nothing but a function, which goes by its name.
_OF_FUNCTIONS: dict[str, Any] = {
    kind.__name__: kind for kind in (MapTransform, FilterTransform, RowFunction)
}


@dataclasses.dataclass(frozen=True)
class UnitJob:
    """One output that is written by units: all that a process needs to write any of them.

    Attributes:
        config: The pipeline's config as dicts, lists and scalars.
        stages: The stages before save(), in order.
        dataset: The name of what is saved.
        listing: What Pipeline.freeze() listed.
        threads: Threads of a process that writes.
        template_date: The date that chat templates are told; "": none asks for it.
        folder: The working directory, which relative paths are meant from.
        paths: Where modules are imported from.
        fill_packed: Where tokens are kept and no output is written: whether as a packer takes them.
    """

    config: Mapping[str, Any]
    stages: tuple[str, ...]
    dataset: str
    listing: str
    threads: int
    template_date: str = ""
    folder: str = ""
    paths: tuple[str, ...] = ()
    fill_packed: bool | None = None

    def to_json(self) -> str:
        """The job as one line of JSON."""
        return json.dumps({"version": _VERSION, **dataclasses.asdict(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> UnitJob:
        """The job that to_json() was called on.

        Raises:
            ValueError: It is one of another version of EasyData.
        """
        values = json.loads(text)
        version = values.pop("version", None)
        if version != _VERSION:
            raise ValueError(
                f"the job is of another version of EasyData ({version!r}, not {_VERSION}): "
                "install the same one on all machines"
            )
        for name in ("stages", "paths"):
            values[name] = tuple(values[name])
        return cls(**values)

    @property
    def digest(self) -> str:
        """Tells this job from others."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def config_of(self) -> PipelineConfig:
        """The config, with what it names imported."""
        values = dict(self.config)
        values["datasets"] = [_with_functions(each) for each in values["datasets"]]
        return PipelineConfig.from_dict(values)


def job_of(
    context: PipelineContext,
    dataset: str,
    threads: int,
    template_date: str = "",
    *,
    fill_packed: bool | None = None,
) -> UnitJob:
    """The job of writing, or keeping, what the stages of a pipeline have made of a dataset.

    Raises:
        ConfigError: With each part of the pipeline that other processes cannot be told.
    """
    config = context.config
    if fill_packed is not None:  # nothing is written but what is kept
        config = dataclasses.replace(config, save=SaveStageConfig())
    problems = [*_stages_of_others(context), *_secrets(config)]
    told = dataclasses.replace(config)
    told.datasets = []
    for number, each in enumerate(config.datasets):
        told.datasets.append(_told_dataset(each, f"datasets[{number}]", problems))
    values = plain(told)
    problems += _untold(values, "")
    if problems:
        raise ConfigError("units that other processes write", problems)
    values.pop("ray", None)
    values["save"] = {
        name: value for name, value in values["save"].items() if name not in _NOT_TOLD
    }
    if context.listing is None:
        context.listing = freeze_listings(config, None)[1]
    place = JobPlace.here()
    return UnitJob(
        values,
        tuple(context.stages),
        dataset,
        context.listing,
        threads,
        template_date,
        place.folder,
        tuple(place.paths),
        fill_packed,
    )


def _stages_of_others(context: PipelineContext) -> Iterator[str]:
    for name in context.stages:
        if name not in _STAGES or name in context.applied:
            yield (
                f"{name!r} is a stage of your own (apply()), which cannot be sent to other "
                "processes: save what comes before it by units and continue from there, or "
                "leave out save.processes and ray.enabled"
            )


def _told_dataset(dataset: DatasetConfig, path: str, problems: list[str]) -> DatasetConfig:
    """A dataset with its functions by name; `problems` gets what of it cannot be told."""
    told = dataclasses.replace(dataset)
    if not names_data(dataset.data_files):
        problems.append(
            f"{path}.data_files holds rows or a source of this process: write them to files first "
            "(save_dataset), and name those"
        )
        told.data_files = ""
    for option in ("format_callback", "transform"):
        value = getattr(dataset, option)
        if value is None or isinstance(value, str | Mapping):
            continue
        setattr(told, option, None)
        try:
            setattr(told, option, _named(value))
        except ValueError as error:
            problems.append(f"{path}.{option} {error}")
    return told


def _named(value: Any) -> Any:
    """A function by its import path, or a transform of one by that and its version.

    Raises:
        ValueError: What it is that no other process can import, and the cure.
    """
    kind = type(value).__name__
    if type(value) is _OF_FUNCTIONS.get(kind):
        (function,) = value._calls()
        return {
            "$transform": kind,
            "function": _named(function),
            "version": getattr(value, "version", None),
        }
    path = import_path(value) if hasattr(value, "__qualname__") else None
    shown = getattr(value, "__qualname__", kind)
    if path is None and hasattr(value, "__qualname__"):
        what = "a lambda" if "<lambda>" in shown else "a function within a function"
        raise ValueError(
            f"is {what} ({shown}), which other processes cannot import: put it into a module as a "
            'function of its own, and give that, or its import path "module:name"'
        )
    if path is None:
        raise ValueError(
            f"is an object ({kind}), which cannot be sent to other processes: make it in a module, "
            'and give its import path "module:name"'
        )
    if path.startswith("__main__:"):
        raise ValueError(
            f"is a function of the script that runs ({shown}), which other processes cannot "
            "import: put it into a module beside the script, and import it from there"
        )
    try:
        found = imported(path)
    except ValueError:
        found = None
    if found is not value:
        raise ValueError(
            f"is not what its import path names ({path}): give other processes a function that "
            "can be imported by its name"
        )
    return path


def _with_functions(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a dataset, with the transform of a function made again."""
    values = dict(dataset)
    transform = values.get("transform")
    if isinstance(transform, Mapping) and "$transform" in transform:
        kind = _OF_FUNCTIONS[transform["$transform"]]
        values["transform"] = kind(imported(transform["function"]), version=transform["version"])
    return values


def _secrets(config: PipelineConfig) -> Iterator[str]:
    """Says which options hold secrets, which no process is told."""
    given = [
        *((f"datasets[{i}].", each.storage_options) for i, each in enumerate(config.datasets)),
        ("source.dask_", config.source.dask_storage_options),
        ("save.", config.save.storage_options),
    ]
    for path, options in given:
        yield from secret_options(options or {}, f"{path}storage_options")
    for number, dataset in enumerate(config.datasets):
        data: Any = dataset.data_files
        for each in data if isinstance(data, list | tuple) else [data]:
            if not isinstance(each, str | os.PathLike) or "://" not in os.fspath(each):
                continue
            shown = _native.shown_address(os.fspath(each))
            if shown != os.fspath(each):
                yield (
                    f"datasets[{number}].data_files has an address with a secret in it, which is "
                    "not handed to other processes: give them credentials of their own "
                    f"(docs/guide/stores.md); the address is {shown}"
                )


def secret_options(options: Mapping[str, Any], path: str) -> Iterator[str]:
    """Says which options of a store, under `path`, are secrets, or may be: none is told others."""
    for name, value in options.items():
        if name == "client_kwargs" and isinstance(value, Mapping):
            yield from secret_options(value, f"{path}.client_kwargs")
        elif name not in _OPEN and value is not None:
            yield (
                f"{path}.{name} is a secret, or may be one, and is not handed to other processes: "
                "leave it out, and let each machine find its own (a profile, environment "
                "variables, the role of the machine: docs/guide/stores.md)"
            )


def _untold(value: Any, path: str) -> Iterator[str]:
    """Says what of plain values is still an object."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _untold(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _untold(item, f"{path}[{number}]")
    elif value is not None and not isinstance(value, bool | int | float | str):
        yield (
            f"{path} is an object ({type(value).__name__}), which other processes cannot be told: "
            "give the name, folder or options that it was made of"
        )
