"""Progress of a long job: bars on a terminal, lines elsewhere."""

import logging
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from easydata.core.config_class import is_set
from easydata.core.shown_text import shown

if TYPE_CHECKING:
    from easydata.core.config import ObservabilityConfig

_log = logging.getLogger("easydata")

# Seconds between two lines where there is no terminal.
_LINE_INTERVAL = 5.0


class Progress:
    """Shows rows, tokens, their rate and, where the number of rows is known, the time left.

    Args:
        name: What is worked on.
        kind: "rich", "tqdm", "lines" (a line now and then to standard error) or "none".
        total: Rows there will be, where known.
        log_interval: Each so many updates one is logged as well, at level DEBUG.
    """

    def __init__(
        self, name: str, kind: str, total: int | None = None, log_interval: int = 100
    ) -> None:
        self._name = shown(name)
        self._kind = kind
        self._total = total
        self._log_interval = log_interval
        self._updates = 0
        self._begin = self._last_line = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    @classmethod
    def of(
        cls,
        options: "ObservabilityConfig",
        name: str,
        total: int | None = None,
        *,
        on_terminal: str | None = None,
        elsewhere: str = "none",
    ) -> "Progress":
        """Progress as the options ask for it; bars are drawn on a terminal only.

        Args:
            options: Which of them are set.
            name: Of the job.
            total: Rows there will be, where known.
            on_terminal: What shows it where `progress_type` is not set; None: what that reads as.
            elsewhere: What shows it where there is no terminal.
        """
        kind: str = options.progress_type
        if not is_set(options, "progress_type"):
            kind = on_terminal or kind
        if not sys.stderr.isatty() and kind != "none":
            kind = elsewhere
        shown = kind if options.progress_enabled else "none"
        return cls(name, shown, total, options.log_interval)

    def __enter__(self) -> "Progress":
        if self._kind == "rich":
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rates]}"),
                TimeElapsedColumn(),
                TextColumn("ETA"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task(self._name, total=self._total, rates="")
        elif self._kind == "tqdm":
            from tqdm import tqdm  # type: ignore[import-untyped]

            self._bar = tqdm(total=self._total, desc=self._name, unit=" rows", file=sys.stderr)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._kind == "rich":
            self._bar.stop()
        elif self._kind == "tqdm":
            self._bar.close()

    def update(self, done: Mapping[str, int]) -> None:
        """Tells what is done so far: {"rows": ..., "tokens": ..., "bytes": ..., "shards": ...}."""
        self._updates += 1
        if self._updates % self._log_interval == 0:
            _log.debug("%s: %s", self._name, self._said(done))
        if self._kind == "rich":
            self._bar.update(self._task, completed=done["rows"], rates=self._rates(done))
        elif self._kind == "tqdm":
            self._bar.update(done["rows"] - self._bar.n)
            self._bar.set_postfix_str(self._rates(done), refresh=False)
        elif self._kind == "lines" and time.monotonic() - self._last_line >= _LINE_INTERVAL:
            self._last_line = time.monotonic()
            print(f"{self._name}: {self._said(done)}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Says something once, above the bar where there is one."""
        text = shown(text)
        if self._kind == "rich":
            self._bar.console.print(f"{self._name}: {text}", markup=False, highlight=False)
        elif self._kind == "tqdm":
            self._bar.write(f"{self._name}: {text}", file=sys.stderr)
        elif self._kind == "lines":
            print(f"{self._name}: {text}", file=sys.stderr, flush=True)

    def _rates(self, done: Mapping[str, int]) -> str:
        seconds = max(time.monotonic() - self._begin, 1e-9)
        return f"{done['rows'] / seconds:,.0f} rows/s, {done['tokens'] / seconds:,.0f} tokens/s"

    def _said(self, done: Mapping[str, int]) -> str:
        rows = f"{done['rows']:,} rows" + (f" of {self._total:,}" if self._total else "")
        left = ""
        if self._total and done["rows"]:
            seconds = time.monotonic() - self._begin
            left = f", {seconds * (self._total - done['rows']) / done['rows']:.0f} s left"
        return f"{rows}, {done['tokens']:,} tokens, {self._rates(done)}{left}"
