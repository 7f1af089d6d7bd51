"""Who runs units: what executors have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from easydata.execution.units.job import UnitJob

# How often a unit is tried whose process dies; one that fails on its data is not tried again.
MOST_ATTEMPTS = 3
# Characters of a log that are kept: those at its end.
MOST_LOG = 256 * 1024

# What there is to do for a unit: its number as "unit", and what to read.
Task = dict[str, Any]


@dataclass(frozen=True)
class UnitFailure:
    """Why a unit was not written.

    Attributes:
        error: What went wrong, for people: file and row where it is of the data.
        log: What the process had said while it worked on it.
    """

    error: str
    log: str = ""


class UnitExecutor(Protocol):
    """Runs the units of a job, wherever that is."""

    def run(
        self,
        job: UnitJob,
        tasks: Sequence[Task],
        *,
        done: Callable[[dict[str, Any]], None],
        failed: Callable[[int, UnitFailure], None],
    ) -> None:
        """Writes units in any order, a bounded number of them at once.

        A unit whose process dies is tried again, MOST_ATTEMPTS times in all; one that fails on its
        data has failed. The others continue. Both functions are called in this thread.

        Args:
            job: The job.
            tasks: The units to write.
            done: Called with the record of each unit that is written.
            failed: Called with the number of each unit that is not, and why.

        Raises:
            RuntimeError: No process can take up the job at all.
        """
        ...


def said(error: BaseException) -> str:
    """The message of an error, with what was noted on it."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if not isinstance(error, ValueError | OSError):
        text = f"{type(error).__name__}: {text}"
    return "; ".join([text, *getattr(error, "__notes__", ())])
