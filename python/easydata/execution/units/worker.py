"""A process that writes units: `python -m easydata.execution.units.worker`.

Its standard input is the job, a line of JSON, and after it the units, a line each; it answers on
standard output, a line of JSON each. Standard error is its log. It ends when its parent does.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from easydata.execution.chain import Pipeline
from easydata.execution.save_stage import SaveStage
from easydata.execution.units.executor import Task, said
from easydata.execution.units.fill import fill_unit
from easydata.execution.units.job import UnitJob
from easydata.execution.writers import WriteJob

# Seconds between two looks at whether the parent is there, and those to end in when it is not.
_LOOK = 1.0
_PATIENCE = 0.8


class UnitWriter:
    """Writes units of one job, or keeps the tokens of them, in any process.

    Raises:
        ConfigError, ImportError, ValueError, OSError: The job cannot be taken up here.
    """

    def __init__(self, job: UnitJob) -> None:
        pipeline = Pipeline(job.config_of())
        pipeline.freeze(job.listing)
        for stage in job.stages:
            getattr(pipeline, stage)()
        data, context = pipeline.get_data(), pipeline.get_context()
        self._told, self._source = job, data[job.dataset]
        self._job: WriteJob | None = None
        if job.fill_packed is None:
            saving = SaveStage(context.config.save)
            writer = saving.writer(job.dataset, data, context, job.threads)
            self._job = writer._job(self._source, template_date=job.template_date)

    def write(
        self, task: Task, progress: Callable[[dict[str, int]], object] | None = None
    ) -> dict[str, Any]:
        """Writes a unit, one of the tasks that an executor was given.

        Returns:
            Its record, for WriteJob.add_unit() of the process that coordinates.
        """
        if self._job is not None:
            record: dict[str, Any] = self._job.native.write_unit(task, progress)
            return record
        return fill_unit(self._source, task, bool(self._told.fill_packed), self._told.threads)


def main() -> int:
    """Writes units until there are no more."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what libraries print is of the log
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells when it is over
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    try:
        _serve(answers.write)
    except KeyboardInterrupt:
        return 130
    return 0


def _serve(answer: Callable[[bytes], object]) -> None:
    def tell(message: dict[str, Any]) -> None:
        answer(json.dumps(message).encode() + b"\n")

    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
    lines = sys.stdin.buffer
    try:
        writer = UnitWriter(UnitJob.from_json(lines.readline()))
    except Exception as error:
        traceback.print_exc()
        tell({"refused": said(error)})
        return
    tell({"ready": True})
    for line in lines:
        try:
            tell({"done": writer.write(json.loads(line))})
        except Exception as error:
            traceback.print_exc()
            tell({"failed": said(error)})


def _end_with_parent(parent: int) -> None:
    """Waits for the end of the parent, who may have been killed, and ends this process, too."""
    poll = select.poll()
    poll.register(0, 0)  # nothing but that it is closed at the other end
    while os.getppid() == parent and not poll.poll(_LOOK * 1000):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
