"""All that a run says and keeps: for tests that secrets are not among it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_files import loader

import easydata
from easydata import create_source


class Outputs:
    """Everything that a run says and keeps."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.stream = io.StringIO()

    def add(self, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value, default=repr)
        self.texts.append(text)
        self.texts.append(repr(value))

    def everything(self) -> str:
        return "\n".join([*self.texts, self.stream.getvalue()])


def run_all(outputs: Outputs, tmp_path: Path, data_files: str, options: Any) -> None:
    """Reads, saves, fails, explains: what each says goes to the outputs."""
    dataset = {
        "data_files": data_files,
        "storage_options": options,
        "on_error": "quarantine",
        "on_missing": "quarantine",
        "quarantine_path": str(tmp_path / "bad.jsonl"),
    }
    config = easydata.PipelineConfig.from_dict({"datasets": [dataset]})
    outputs.add(config)
    outputs.add(str(config.datasets[0]))
    outputs.add(easydata.Pipeline(config).freeze())
    batches = loader(**dataset)
    with batches:
        for number, _ in enumerate(batches):
            if number == 20:
                break
        outputs.add(batches.state_dict())
        outputs.add(batches.stats())
        outputs.add(batches.explain())
        outputs.add(batches)
        outputs.add(next(iter(batches)))
    source = create_source(config.datasets[0])
    outputs.add(source)
    outputs.add(source.shard_names)
    outputs.add([source.get_shard_info(name) for name in source.shard_names])
    save = {"output_dir": str(tmp_path / "out"), "overwrite": True}
    easydata.Pipeline.from_config({"datasets": [dataset], "save": save}).source().save().build()
    for path in [*tmp_path.rglob("*.json"), *tmp_path.rglob("*.jsonl*")]:
        outputs.add(path.read_text(errors="replace"))


@pytest.fixture
def outputs() -> Iterator[Outputs]:
    found = Outputs()
    handler = logging.StreamHandler(found.stream)
    logger = logging.getLogger("easydata")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel("DEBUG")
    yield found
    logger.removeHandler(handler)
    logger.setLevel(before)
