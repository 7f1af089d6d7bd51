"""What processes that write units are told, and what is refused."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import unit_functions
from easydata.core.config import ConfigError
from easydata.execution.units import UnitJob
from easydata.execution.units.job import job_of
from unit_functions import config_of, write_inputs

from easydata import (
    BaseStage,
    HFDatasetShardedSource,
    JsonShardedSource,
    MapTransform,
    Pipeline,
    SaveStageConfig,
    Tokenizer,
    save_dataset,
)

SECRET = "hunter2-is-secret"


def job(config: dict[str, Any], *stages: str) -> UnitJob:
    pipeline = Pipeline.from_config(config).source()
    for stage in stages:
        getattr(pipeline, stage)()
    return job_of(pipeline.get_context(), "rows", 2)


def refused(config: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        job(config)
    (problem,) = caught.value.problems
    return problem


def test_a_job_is_one_line_of_json(folder: Path) -> None:
    write_inputs(folder, 10, 10)
    config = config_of(folder, processes=4)
    config["datasets"][0]["transform"] = MapTransform(unit_functions.marked, version="7")
    made = job(config, "tokenize", "pack")
    text = made.to_json()
    assert "\n" not in text
    again = UnitJob.from_json(text)
    assert again == made
    assert (again.stages, again.dataset, again.threads) == (
        ("source", "tokenize", "pack"),
        "rows",
        2,
    )
    assert again.config["datasets"][0]["transform"] == {
        "$transform": "MapTransform",
        "function": "unit_functions:marked",
        "version": "7",
    }
    assert "processes" not in again.config["save"]
    (dataset,) = again.config_of().datasets
    assert dataset.transform.version == "7"
    assert again.folder == str(folder)
    with pytest.raises(ValueError, match="another version of EasyData"):
        UnitJob.from_json(json.dumps({**json.loads(text), "version": 99}))


def _local() -> Callable[[Any], Any]:
    def inner(row: Any) -> Any:
        return row

    return inner


class _Mark:
    def __call__(self, row: Any) -> Any:
        return row


@pytest.mark.parametrize("option", ["transform", "format_callback"])
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda row: row, "is a lambda (<lambda>), which other processes cannot import: put it"),
        (_local(), "is a function within a function (_local.<locals>.inner), which other"),
        (_Mark(), "is an object (_Mark), which cannot be sent to other processes: make it in a"),
    ],
    ids=["lambda", "closure", "object"],
)
def test_code_that_has_no_name_is_refused(
    folder: Path, option: str, function: Any, said: str
) -> None:
    write_inputs(folder, 5)
    config = config_of(folder)
    config["datasets"][0][option] = function
    assert refused(config).startswith(f"datasets[0].{option} {said}")


def test_functions_of_the_script_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def row_of_script(row: Any) -> Any:
        return row

    row_of_script.__qualname__, row_of_script.__module__ = "row_of_script", "__main__"
    monkeypatch.setattr(sys.modules["__main__"], "row_of_script", row_of_script, raising=False)
    write_inputs(folder, 5)
    config = config_of(folder)
    for given in (row_of_script, MapTransform(row_of_script, version="1")):
        config["datasets"][0]["transform"] = given
        said = refused(config)
        assert "is a function of the script that runs (row_of_script)" in said
        assert "put it into a module beside the script" in said


def test_what_is_in_memory_is_refused(folder: Path) -> None:
    config = config_of(folder)
    config["datasets"][0]["data_files"] = [{"text": "a"}]
    assert refused(config).startswith("datasets[0].data_files holds rows or a source of this")
    config["datasets"][0]["data_files"] = HFDatasetShardedSource([{"text": "a"}])
    assert "save_dataset" in refused(config)
    write_inputs(folder, 5)
    config = config_of(folder)
    config["datasets"][0]["tokenizer"] = Tokenizer("tok")
    assert refused(config).startswith("datasets[0].tokenizer is an object (Tokenizer), which")


def test_a_stage_of_ones_own_is_refused(folder: Path) -> None:
    class Own(BaseStage):
        name = "own"

        def process(self, data: Any, context: Any) -> Any:
            return data

    write_inputs(folder, 5)
    pipeline = Pipeline.from_config(config_of(folder)).source().apply(Own())
    with pytest.raises(ConfigError, match=r"'own' is a stage of your own \(apply\(\)\)"):
        pipeline.save(SaveStageConfig(output_dir="out", processes=2))
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("place", "options"),
    [
        ("datasets[0].storage_options.key", {"key": SECRET, "secret": SECRET}),
        ("save.storage_options.aws_secret_access_key", {"aws_secret_access_key": SECRET}),
        ("source.dask_storage_options.headers", {"headers": {"Authorization": SECRET}}),
        ("save.storage_options.client_kwargs.token", {"client_kwargs": {"token": SECRET}}),
        ("save.storage_options.fsspec", {"fsspec": {"account_key": SECRET}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_secrets_are_refused_by_name(folder: Path, place: str, options: dict[str, Any]) -> None:
    write_inputs(folder, 5)
    pipeline = Pipeline.from_config(config_of(folder, processes=2)).source().tokenize()
    context = pipeline.get_context()
    if place.startswith("datasets"):
        context.config.datasets[0].storage_options = options
    elif place.startswith("save"):
        context.config.save.storage_options = options
    else:
        context.config.source.dask_storage_options = options
    with pytest.raises(ConfigError) as caught:
        job_of(context, "rows", 1)
    first = caught.value.problems[0]
    assert first.startswith(f"{place} is a secret, or may be one, and is not handed to other")
    assert SECRET not in str(caught.value)


def test_a_secret_in_an_address_is_refused(folder: Path) -> None:
    write_inputs(folder, 5)
    context = Pipeline.from_config(config_of(folder)).source().get_context()
    context.config.datasets[0].data_files = f"https://me:{SECRET}@host/a.jsonl"
    with pytest.raises(ConfigError, match="an address with a secret in it") as caught:
        job_of(context, "rows", 1)
    assert SECRET not in str(caught.value)


def test_what_stores_need_beside_secrets_is_told(folder: Path) -> None:
    write_inputs(folder, 5)
    options = {"endpoint_url": "http://127.0.0.1:9", "profile": "work", "region": "eu"}
    config = config_of(folder, storage_options=options, output_dir="s3://bucket/out")
    assert job(config).config["save"]["storage_options"] == options


def test_tokens_of_the_hub_stay_here(folder: Path) -> None:
    write_inputs(folder, 5)
    config = config_of(folder, push_to_hub=True, hub_repo_id="me/rows", hub_token=SECRET)
    made = job(config)
    assert SECRET not in made.to_json()
    assert "push_to_hub" not in made.config["save"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"save": {"processes": 0}}, "save.processes must be at least 1"),
        ({"save": {"processes": 2}, "ray": {"enabled": True}}, "save.processes is for the cores"),
        (
            {"save": {"processes": 2, "num_shards": 3}},
            "save.num_shards has no meaning beside save.processes",
        ),
        ({"save": {"processes": 2, "max_shard_rows": 3}}, "save.max_shard_rows"),
        ({"save": {"units": "1MB", "num_shards": 3}}, "save.num_shards has no meaning beside"),
        (
            {"save": {"units": "1MB", "max_shard_size": "1MB"}},
            "save.max_shard_size has no meaning beside save.units",
        ),
        ({"save": {"processes": 2, "max_shard_size": 9}}, "save.max_shard_size has no meaning"),
        ({"ray": {"enabled": True}, "save": {"shard_column": "id"}}, "save.shard_column has no"),
    ],
)
def test_options_that_cannot_be_meant(folder: Path, options: dict[str, Any], said: str) -> None:
    write_inputs(folder, 5)
    with pytest.raises(ConfigError) as caught:
        Pipeline.from_config(
            {"datasets": [{"data_files": "in/0.jsonl"}], **options}
        ).source().save()
    assert any(problem.startswith(said) for problem in caught.value.problems), str(caught.value)


@pytest.mark.parametrize(
    "option", [{"max_shard_size": "1MB"}, {"num_shards": 2}, {"max_shard_rows": 5}]
)
def test_sizes_of_shards_beside_units_are_refused(folder: Path, option: dict[str, Any]) -> None:
    write_inputs(folder, 5)
    source = JsonShardedSource("in/0.jsonl")
    with pytest.raises(ValueError, match=rf"{next(iter(option))}: has no meaning beside units"):
        save_dataset(source, "out", units="1MB", **option)
    assert not Path("out").exists()


def test_rows_that_are_read_here_do_without_ray(folder: Path) -> None:
    write_inputs(folder, 5)
    config = {**config_of(folder), "ray": {"enabled": True}}
    config.pop("save")
    with pytest.raises(ConfigError, match=r"ray.enabled"):
        Pipeline.from_config(config).source().build()
