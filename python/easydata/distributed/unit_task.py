"""What a task of Ray does: it writes a unit, and tells how that went."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from easydata.distributed.ray_cluster import own_version, ray_library
from easydata.execution.units.executor import MOST_LOG, Task, said
from easydata.execution.units.job import UnitJob
from easydata.execution.units.job_place import JobPlace
from easydata.execution.units.worker import UnitWriter


@dataclass(frozen=True)
class SentUnits:
    """A job of units on its way to workers.

    Attributes:
        digest: Tells it from others.
        version: Of EasyData, where it was made.
        data: What Ray has of its JSON: in a list, so that it is fetched once by each worker.
    """

    digest: str
    version: str
    data: list[Any]


@dataclass
class _Kept:
    """The job that this process is at: it is made once, for all its units."""

    digest: str = ""
    writer: UnitWriter | None = None


_kept = _Kept()


def write_unit(job: SentUnits, task: Task) -> dict[str, Any]:
    """Writes a unit, on any machine of a cluster.

    Returns:
        {"done": its record}, {"failed": why, "log": what was said}, or {"refused": why}: the job
        cannot be taken up here.
    """
    with _log_of_unit() as log:
        try:
            writer = _writer_of(job)
        except Exception as error:
            return {"refused": said(error)}
        try:
            return {"done": writer.write(task)}
        except Exception as error:
            log.write(traceback.format_exc())
            return {"failed": said(error), "log": log.getvalue()[-MOST_LOG:]}


def _writer_of(job: SentUnits) -> UnitWriter:
    if _kept.writer is None or _kept.digest != job.digest:
        if job.version != own_version():
            raise RuntimeError(
                f"this machine has EasyData {own_version()}, and that of the job {job.version}: "
                "install the same version on all machines"
            )
        _kept.writer = None
        told = UnitJob.from_json(ray_library().get(job.data[0]))
        JobPlace(told.folder, told.paths).enter()
        _kept.digest, _kept.writer = job.digest, UnitWriter(told)
    return _kept.writer


class _Copied(io.StringIO):
    """Keeps what is written to it, and passes it on."""

    def __init__(self, log: io.StringIO, stream: Any) -> None:
        super().__init__()
        self._log, self._stream = log, stream

    def write(self, text: str, /) -> int:
        self._log.write(text)
        return int(self._stream.write(text))

    def flush(self) -> None:
        self._stream.flush()


@contextlib.contextmanager
def _log_of_unit() -> Iterator[io.StringIO]:
    """Keeps what functions print and loggers say; Ray has it, too."""
    log = io.StringIO()
    out, err = _Copied(log, sys.stdout), _Copied(log, sys.stderr)
    handler = logging.StreamHandler(err)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield log
    finally:
        root.removeHandler(handler)
