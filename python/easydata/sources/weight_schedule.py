"""Weights that change over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from easydata import _native


class _Point(Protocol):
    """Anything with a step and the weights that hold there, such as a WeightSchedulePoint."""

    step: int
    weights: Mapping[str, float]


class WeightScheduler:
    """Mixing weights as a function of the step.

    Before the first point its weights hold, from the last one on those of the last; in between
    they are held ("step"), drawn as a line ("linear") or as half a cosine wave ("cosine").

    Args:
        schedule: The points, in any order; each names the same sources.
        interpolation: "step", "linear" or "cosine".

    Raises:
        ValueError: For an empty schedule, points that name different sources, two points of one
            step, or weights that are negative or all zero.
    """

    def __init__(
        self,
        schedule: Sequence[_Point],
        interpolation: Literal["step", "linear", "cosine"] = "step",
    ) -> None:
        points = sorted(schedule, key=lambda point: point.step)
        if not points:
            raise ValueError("a weight schedule needs at least one point")
        names = list(points[0].weights)
        for point in points:
            if set(point.weights) != set(names):
                raise ValueError(
                    "every point of a weight schedule must name the same sources; step "
                    f"{points[0].step} names {sorted(names)}, "
                    f"step {point.step} names {sorted(point.weights)}"
                )
        self.schedule = points
        self.interpolation = interpolation
        self._points = [(point.step, [point.weights[name] for name in names]) for point in points]
        self._names = names
        self._native = _native.WeightSchedule(names, self._points, interpolation)

    @property
    def dataset_names(self) -> list[str]:
        """Names of the sources that the schedule weighs."""
        return list(self._names)

    def get_weights(self, step: int) -> dict[str, float]:
        """The weights at a step, by name; their sum is 1."""
        return dict(zip(self._names, self._native.at(step), strict=True))

    def __repr__(self) -> str:
        steps = [step for step, _ in self._points]
        return f"WeightScheduler({self._names}, steps={steps}, {self.interpolation!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return WeightScheduler, (self.schedule, self.interpolation)

    def _in_order(self, names: list[str]) -> _native.WeightSchedule:
        """The schedule with its weights in the order of `names`."""
        indices = [self._names.index(name) for name in names]
        points = [(step, [weights[index] for index in indices]) for step, weights in self._points]
        return _native.WeightSchedule(names, points, self.interpolation)
