"""What is meant as it is written runs without an error, and without a warning."""

import logging
from pathlib import Path

import pytest
from sound_configs import Case, sound_configs

from easydata import Pipeline, PipelineConfig

CASES = sound_configs()


def run(case: Case) -> int:
    """How many batches, rows or files a case makes."""
    case.write()
    config = PipelineConfig.from_dict(case.config)
    assert not config.validate()
    pipeline = Pipeline(config)
    for stage in case.chain.split():
        pipeline = getattr(pipeline, stage)()
    made = pipeline.build()
    if case.chain.endswith("save"):
        return sum(len(stats.output_paths) for stats in made.values())
    count = 0
    for batch in made:
        assert batch
        count += 1
    return count


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_sound_configs_are_silent(
    case: Case, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "easydata"):
        assert run(case) > 0
    told = [record.getMessage() for record in caplog.records if record.name.startswith("easydata")]
    assert not told


def test_there_are_many() -> None:
    assert len(CASES) >= 200
    assert len({case.name for case in CASES}) == len(CASES)
