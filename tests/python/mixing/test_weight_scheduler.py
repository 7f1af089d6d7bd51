"""WeightScheduler against EasyDeL's recorded values and the manual's."""

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from easydata import WeightScheduler


@dataclass
class Point:
    step: int
    weights: dict[str, float]


def points(*pairs: tuple[int, dict[str, float]]) -> list[Point]:
    return [Point(step, weights) for step, weights in pairs]


def test_recorded_values_of_easydel(shared: Path) -> None:
    path = shared / "data/golden/easydel/weight_scheduler.json"
    cases: list[dict[str, Any]] = json.loads(path.read_text())["cases"]
    assert len(cases) == 15
    for case in cases:
        scheduler = WeightScheduler(points(*case["schedule"]), case["interpolation"])
        for step, weights in case["values"]:
            assert scheduler.get_weights(step) == pytest.approx(weights, abs=1e-12), case


def test_values_of_the_manual() -> None:
    schedule = points(
        (0, {"code": 0.2, "text": 0.8}),
        (10000, {"code": 0.5, "text": 0.5}),
        (50000, {"code": 0.8, "text": 0.2}),
    )
    scheduler = WeightScheduler(schedule, "linear")
    assert scheduler.dataset_names == ["code", "text"]
    assert scheduler.get_weights(0) == {"code": 0.2, "text": 0.8}
    assert scheduler.get_weights(5000) == pytest.approx({"code": 0.35, "text": 0.65})
    assert scheduler.get_weights(10000) == {"code": 0.5, "text": 0.5}
    assert scheduler.get_weights(30000) == pytest.approx({"code": 0.65, "text": 0.35})


def test_pickles() -> None:
    scheduler = WeightScheduler(points((0, {"a": 1.0}), (5, {"a": 1.0})), "cosine")
    assert pickle.loads(pickle.dumps(scheduler)).get_weights(3) == {"a": 1.0}


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([], "at least one point"),
        ([(0, {"a": 1.0}), (1, {"b": 1.0})], "must name the same sources"),
        ([(0, {"a": 1.0}), (0, {"a": 1.0})], "two points have this step"),
        ([(7, {"a": 2.0, "b": -1.0})], 'step 7: the weight of "b" is negative'),
        ([(0, {"a": 0.0})], "positive sum"),
        ([(0, {"a": float("nan")})], "not a finite number"),
    ],
)
def test_bad_schedules_are_refused(schedule: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WeightScheduler(points(*schedule))


def test_unknown_interpolation_is_refused() -> None:
    with pytest.raises(ValueError, match="interpolation: must be one of"):
        WeightScheduler(points((0, {"a": 1.0})), "spline")  # type: ignore[arg-type]
