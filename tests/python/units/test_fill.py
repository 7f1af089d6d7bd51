"""Caches that processes fill, a unit each."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from easydata.cli.command import main
from easydata.core.config import ConfigError
from easydata.execution.units import fill as fill_units
from unit_functions import config_of, write_inputs

from easydata import Pipeline


def cached(folder: Path, **dataset: Any) -> dict[str, Any]:
    config = config_of(folder)
    del config["save"]
    config["datasets"][0] |= dataset
    return {**config, "cache": {"cache_dir": str(folder / "cache")}, "load": {"batch_size": 50}}


def fill(config: dict[str, Any], output: pytest.CaptureFixture[str], *flags: str) -> Any:
    Path("c.json").write_text(json.dumps(config))
    output.readouterr()
    status = main(["cache", "fill", "c.json", *flags, "--json"])
    said = json.loads(output.readouterr().out)
    return said["datasets"]["rows"] if status == 0 else said


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shuffle", [None, "rows"])
def test_processes_fill_a_cache(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    packed: bool,
    shuffle: str | None,
) -> None:
    monkeypatch.setattr(fill_units, "DEFAULT_UNITS", "1KB")
    write_inputs(folder, 50, 400, 20)
    caplog.set_level(logging.INFO, logger="easydata")
    config = cached(folder, shuffle=shuffle)
    flags = ["--packed"] if packed else []
    found = fill(config, capsys, "--processes", "2", *flags)
    assert found["blocks"] == found["kept_blocks"] == found["made_blocks"] == 3
    told = {message.partition(" rows")[0] for message in caplog.messages}
    assert told >= {"unit 0: 50", "unit 1: 400", "unit 2: 20"}
    caplog.clear()
    again = fill(config, capsys, "--processes", "2", *flags)
    assert (again["made_blocks"], again["kept_blocks"]) == (0, 3)
    assert not any("unit 0" in message for message in caplog.messages)
    rows = list(Pipeline.from_config(config).source().tokenize().build())
    del config["cache"]
    assert rows == list(Pipeline.from_config(config).source().tokenize().build())


def test_what_one_process_keeps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Processes make the blocks that one makes."""
    write_inputs(folder, 300, 300)
    found = []
    for name, flags in (("one", []), ("two", ["--processes", "2"])):
        config = cached(folder) | {"cache": {"cache_dir": str(folder / name)}}
        said = fill(config, capsys, *flags)
        found.append({what: said[what] for what in ("blocks", "kept_blocks", "made_blocks")})
    assert found[0] == found[1]


def test_rows_with_a_limit_are_filled_as_one_unit(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_inputs(folder, 300, 300)
    found = fill(cached(folder, num_rows=100), capsys, "--processes", "2")
    assert found["kept_blocks"] > 0


def test_a_unit_that_fails_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_inputs(folder, 300)
    with Path("in/0.jsonl").open("a") as file:
        file.write("{broken\n")
    said = fill(cached(folder), capsys, "--processes", "2")
    assert said["status"] == 1
    assert said["errors"][0].startswith("tokens of rows: 1 of 1 units failed")
    assert "in/0.jsonl" in said["errors"][0]


@pytest.mark.parametrize("cache", [None, {"cache_type": "memory"}])
def test_a_loader_with_ray_needs_a_cache(folder: Path, cache: Any) -> None:
    write_inputs(folder, 30)
    config = cached(folder)
    del config["cache"]
    config["ray"] = {"enabled": True}
    if cache:
        config["cache"] = cache
    pipeline = Pipeline.from_config(config).source().tokenize()
    with pytest.raises(ConfigError, match="set its cache_path, or cache=CacheStageConfig"):
        pipeline.load()
