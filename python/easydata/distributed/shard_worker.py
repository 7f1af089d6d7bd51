"""What a worker of Ray does: rows of parts of a source, a batch at each call."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from typing import Any

import easydata
from easydata.distributed.ray_cluster import ray_library
from easydata.distributed.sent_objects import received
from easydata.distributed.shard_jobs import Part, Row, ShardJob

# The size of a batch.
_BATCH_ROWS = 1000
_BATCH_TOKENS = 500_000


class ShardWorker:
    """What an actor of Ray does: it makes rows of parts, a batch at each call."""

    def __init__(self) -> None:
        self._job: tuple[str, ShardJob] | None = None
        self._open: dict[int, Iterator[Row]] = {}

    def version(self) -> str:
        """The version of EasyData here."""
        return easydata.__version__

    def begin(self, number: int, job: tuple[str, list[Any]], part: Part, skip: int) -> None:
        """Opens a part, under a number; errors come with its first rows."""
        self._open[number] = self._rows(job, part, skip)

    def _rows(self, job: tuple[str, list[Any]], part: Part, skip: int) -> Iterator[Row]:
        name, data = job
        try:
            if self._job is None or self._job[0] != name:
                self._job = (name, received(ray_library().get(data[0])))
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
