"""Every release gives the batches that were recorded, and goes on from positions saved before."""

import json
from pathlib import Path
from typing import Any

import pytest
from golden_pipelines import GOLDEN, PIPELINES, digests, rest, write_data

from easydata import __version__

RELEASES = sorted(path.stem for path in GOLDEN.glob("*.json"))


def recorded(release: str) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((GOLDEN / f"{release}.json").read_text(encoding="utf-8"))
    return known


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_data()


def test_this_release_is_recorded() -> None:
    assert __version__ in RELEASES
    assert set(recorded(__version__)) == set(PIPELINES)


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("release", RELEASES)
def test_batches_and_positions_are_those_recorded(release: str) -> None:
    for name, known in recorded(release).items():
        made = digests(name)
        assert made["whole"] == known["whole"], f"{name}: other batches than in {release}"
        assert made["rest"] == known["rest"], f"{name}: other batches behind a restart"
        # What that release saved: it may look otherwise, but it leads to the same batches.
        assert rest(name, known["state"]) == known["rest"], f"{name}: saved by {release}"
