"""What a worker of Ray does: rows of parts of a source, a batch at each call."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from easydata.distributed.ray_cluster import own_version, ray_library
from easydata.distributed.sent_objects import received
from easydata.distributed.shard_jobs import Part, Row, ShardJob
from easydata.execution.units.job_place import JobPlace

# The size of a batch.
_BATCH_ROWS = 1000
_BATCH_TOKENS = 500_000


@dataclass(frozen=True)
class SentJob:
    """A job on its way to workers.

    Attributes:
        name: Tells it from others.
        place: Where it was made.
        data: What Ray has of it: in a list, so that it is fetched once by each worker.
    """

    name: str
    place: JobPlace
    data: list[Any]


class ShardWorker:
    """What an actor of Ray does: it makes rows of parts, a batch at each call."""

    def __init__(self) -> None:
        self._job: tuple[str, ShardJob] | None = None
        self._open: dict[int, Iterator[Row]] = {}

    def version(self) -> str:
        """The version of EasyData here."""
        return own_version()

    def begin(self, number: int, job: SentJob, part: Part, skip: int) -> None:
        """Opens a part, under a number; errors come with its first rows."""
        self._open[number] = self._rows(job, part, skip)

    def _rows(self, job: SentJob, part: Part, skip: int) -> Iterator[Row]:
        try:
            job.place.enter()
            if self._job is None or self._job[0] != job.name:
                self._job = (job.name, received(ray_library().get(job.data[0])))
            yield from itertools.islice(self._job[1].rows(part), skip, None)
        except Exception as error:
            error.add_note(f"a Ray worker on {socket.gethostname()} was at {part}")
            raise

    def more(self, number: int) -> list[Row] | None:
        """The next rows of a part; None when there are no more."""
        if number not in self._open:
            return None
        batch: list[Row] = []
        tokens = 0
        try:
            for row in self._open[number]:
                batch.append(row)
                tokens += len(row.get("input_ids") or ())
                if len(batch) >= _BATCH_ROWS or tokens >= _BATCH_TOKENS:
                    return batch
        except Exception as error:
            if not batch:
                raise
            self._open[number] = _raises(error)  # after the rows before it
            return batch
        del self._open[number]
        return batch or None


def _raises(error: Exception) -> Iterator[Row]:
    raise error
    yield
