"""Pipelines out of all stages and options give the same rows, whatever is kept of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batches import END, difference
from build_pipeline import Data, loader_of
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from pipeline_runs import QUICK, Run, run
from pipeline_specs import PLAIN, PipelineSpec, RunSpec, pipelines, runs

EVENTS = 40

# What thousands of rows that are left out on purpose would tell, and what cannot be kept.
pytestmark = pytest.mark.usefixtures("quiet")


def test_what_is_kept_changes_no_batch(
    data: Data, tmp_path_factory: pytest.TempPathFactory
) -> None:
    counts = {"files": 0}

    @settings(QUICK, max_examples=25)
    @given(spec=pipelines(), draw=st.data())
    def some(spec: PipelineSpec, draw: Any) -> None:
        counts["files"] += check_kept(spec, data, tmp_path_factory.mktemp("kept"), draw)

    some()
    assert counts["files"] > 12


@pytest.mark.sliced
def test_what_is_kept_changes_no_batch_of_many(
    data: Data, tmp_path_factory: pytest.TempPathFactory
) -> None:
    @settings(QUICK, max_examples=400, derandomize=False, print_blob=True)
    @given(spec=pipelines(), draw=st.data())
    def many(spec: PipelineSpec, draw: Any) -> None:
        check_kept(spec, data, tmp_path_factory.mktemp("kept"), draw)

    many()


def check_kept(spec: PipelineSpec, data: Data, folder: Path, draw: Any) -> int:
    """Runs a pipeline with nothing, all and some of it kept; states go from one to another."""
    try:
        whole = ran(spec, data, PLAIN)
    except (ValueError, NotImplementedError, TypeError):
        assume(False)
        raise
    for part in ("nothing", "all", "half"):
        if part == "half":
            for file in sorted(folder.glob("*.tokens"))[::2]:
                file.unlink()
        kept = replace(draw.draw(runs), cache=str(folder))
        done = ran(spec, data, kept)
        same(done, whole, 0, f"{part} is kept")
        step = draw.draw(st.integers(0, len(whole.states) - 1), label="step")
        goes_on(spec, data, kept, whole.states[step], whole, step, f"{part} is kept from {step} on")
        goes_on(spec, data, PLAIN, done.states[step], whole, step, f"{part} was kept up to {step}")
        goes_on(spec, data, kept, done.states[step], whole, step, f"{part} is kept on from {step}")
    event(f"files: {bool(list(folder.glob('*.tokens')))}")
    return len(list(folder.glob("*.tokens")))


def ran(spec: PipelineSpec, data: Data, how: RunSpec) -> Run:
    """What a loader gives, which is gone then: its store has written all that it has."""
    with loader_of(spec, data, how) as loader:
        return run(loader, EVENTS)


def goes_on(
    spec: PipelineSpec, data: Data, how: RunSpec, state: Any, whole: Run, step: int, where: str
) -> None:
    with loader_of(spec, data, how) as loader:
        loader.load_state_dict(json.loads(json.dumps(state)))
        rest = run(loader, len(whole.events) - step, 2 - whole.events[:step].count(END))
    same(rest, whole, step, where)


def same(done: Run, whole: Run, step: int, where: str) -> None:
    problem = difference(done.events, whole.events[step:])
    assert problem is None, f"{where}: {problem}"
    digests = [(each - done.digests[0]) % 2**64 for each in done.digests]
    wanted = [(each - whole.digests[step]) % 2**64 for each in whole.digests[step:]]
    assert digests == wanted, where
