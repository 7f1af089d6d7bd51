"""Running a loader: what came, in order, with the positions in between."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from batches import END, Batch
from hypothesis import HealthCheck, settings

from easydata import AsyncDataLoader

QUICK = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Run:
    """Batches, ends of passes (END) and at most one error (as text) at the end, in order.

    `states[i]` is the position after i of them, `stats[i]` and `digests[i]` are those of so many.
    """

    events: list[Batch | str] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)
    stats: list[Any] = field(default_factory=list)
    digests: list[int] = field(default_factory=list)

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


def _note(done: Run, loader: AsyncDataLoader) -> None:
    done.states.append(saved(loader))
    done.stats.append(loader.stats())
    done.digests.append(int(loader.digest(), 16))


def run(loader: AsyncDataLoader, events: int, passes: int = 2) -> Run:
    """Takes what comes, up to so many events and so many ends of passes."""
    done = Run()
    _note(done, loader)
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
        _note(done, loader)
    return done
