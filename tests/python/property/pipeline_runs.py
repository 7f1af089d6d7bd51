"""Running a loader: what came, in order, with the positions in between."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from easydata import AsyncDataLoader

Batch = dict[str, Any]
END = "end of a pass"


@dataclass
class Run:
    """Batches, ends of passes (END) and at most one error (as text) at the end, in order.

    `states[i]` is the position after i of them.
    """

    events: list[Batch | str] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)
    stats: list[Any] = field(default_factory=list)

    @property
    def failed(self) -> str | None:
        last = self.events[-1] if self.events else END
        return last if isinstance(last, str) and last != END else None

    def passes(self) -> list[list[Batch]]:
        """The batches of the passes that came to their end."""
        made: list[list[Batch]] = [[]]
        for event in self.events:
            if isinstance(event, str):
                made.append([])
            else:
                made[-1].append(event)
        return made[:-1] if self.failed is None else made[:-2]

    @property
    def batches(self) -> list[Batch]:
        return [event for event in self.events if not isinstance(event, str)]


def saved(loader: AsyncDataLoader) -> Any:
    return json.loads(json.dumps(loader.state_dict()))


def run(loader: AsyncDataLoader, events: int, passes: int = 2) -> Run:
    """Takes what comes, up to so many events and so many ends of passes."""
    done = Run(states=[saved(loader)], stats=[loader.stats()])
    iterator = iter(loader)
    while len(done.events) < events and done.events.count(END) < passes:
        try:
            batch = next(iterator, None)
        except (ValueError, NotImplementedError, TypeError, KeyError) as error:
            done.events.append(f"{type(error).__name__}: {error}")
            break
        if batch is None:
            iterator = iter(loader)
        done.events.append(END if batch is None else batch)
        done.states.append(saved(loader))
        done.stats.append(loader.stats())
    return done


def difference(left: list[Batch | str], right: list[Batch | str]) -> str | None:
    """Where two lists of events are not the same, to the bit."""
    if len(left) != len(right):
        return f"{len(left)} events, and {len(right)}"
    for place, (one, other) in enumerate(zip(left, right, strict=True)):
        if isinstance(one, str) or isinstance(other, str):
            if one is not other and one != other:
                return f"event {place}: {one!r}, and {other!r}"
            continue
        if one.keys() != other.keys():
            return f"event {place}: columns {list(one)}, and {list(other)}"
        for name in one:
            if not same_column(one[name], other[name]):
                return f"event {place}, column {name!r}:\n{one[name]!r}\n{other[name]!r}"
    return None


def same_column(one: Any, other: Any) -> bool:
    if isinstance(one, list) or isinstance(other, list):
        return bool(type(one) is type(other) and one == other)
    return bool(one.dtype == other.dtype and np.array_equal(one, other))


def rows_in(batch: Batch) -> int:
    return len(next(iter(batch.values())))


def joined(parts: list[Batch]) -> Batch:
    """The ranks' shares of a step as one batch."""
    made: Batch = {}
    for name, first in parts[0].items():
        columns = [part[name] for part in parts]
        made[name] = (
            [value for column in columns for value in column]
            if isinstance(first, list)
            else np.concatenate(columns)
        )
    return made


def first_rows(batch: Batch, count: int) -> Batch:
    return {name: column[:count] for name, column in batch.items()}
