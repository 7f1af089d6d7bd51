"""Progress of a long job: bars on a terminal and in notebooks, lines elsewhere."""

import importlib.util
import logging
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from easydata.core.config_class import is_set
from easydata.core.shown_text import rounded, shown

if TYPE_CHECKING:
    from easydata.core.config import ObservabilityConfig

_log = logging.getLogger("easydata")

# Seconds between two lines where there is no terminal: at first, and at most. In between, a
# quarter of the time that the job has taken, so that long jobs do not fill a log.
_FIRST_LINES, _LAST_LINES = 5.0, 60.0
# A narrower terminal has no room for two rates.
_WIDE = 110
# Of a bar.
_STEPS = 1000


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, whose output is shown beside the code."""
    return "ipykernel" in sys.modules and "IPython" in sys.modules


def clock_time(seconds: float) -> str:
    """Seconds as a clock shows them: 0:00:08, 1:02:03, 2 d 3:00:00."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return (f"{days} d " if days else "") + f"{hour}:{minute:02}:{second:02}"


class Progress:
    """Shows rows, tokens, their rate, how much of the data is done and the time left.

    Args:
        name: What is worked on.
        kind: "rich", "tqdm", "lines" (a line now and then to standard error) or "none".
        total: Rows there will be, where known.
        log_interval: Each so many updates one is logged as well, at level DEBUG.
        clock: Tells the seconds.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        total: int | None = None,
        log_interval: int = 100,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = shown(name)
        self._kind = kind
        self._total = total
        self._log_interval = log_interval
        self._clock = clock
        self._updates = 0
        self._begin = self._began_at = self._last_line = clock()
        self._first: dict[str, int] | None = None  # what was told first
        # What was done when the job began: an earlier run's part says nothing of this one's pace.
        self._before: Mapping[str, int] = {}
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
    ) -> "Progress":
        """Progress as the options ask for it: bars on a terminal and in notebooks, lines elsewhere.

        Args:
            options: Which of them are set.
            name: Of the job.
            total: Rows there will be, where known.
            on_terminal: What shows it on a terminal where `progress_type` is not set; None: what
                that reads as.

        Raises:
            ImportError: `progress_type` names tqdm, which is not installed.
        """
        kind: str = options.progress_type
        if not is_set(options, "progress_type"):
            kind = on_terminal if on_terminal is not None and not in_notebook() else kind
            if kind == "tqdm" and importlib.util.find_spec("tqdm") is None:
                kind = "rich"
        if not options.progress_enabled:
            kind = "none"
        if kind != "none" and not sys.stderr.isatty() and not in_notebook():
            kind = "lines"
        if kind == "tqdm" and importlib.util.find_spec("tqdm") is None:
            raise ImportError(
                "observability.progress_type is tqdm, which is not installed; pip install tqdm, "
                "or set it to rich"
            )
        return cls(name, kind, total, options.log_interval)

    def __enter__(self) -> "Progress":
        if self._kind == "rich":
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[said]}", markup=False),
                console=Console(stderr=True),
                expand=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(self._name, total=None, said="")
        return self

    def __exit__(self, *error: object) -> None:
        if self._kind == "rich":
            self._bar.stop()
        elif self._bar is not None:
            self._bar.close()

    def update(self, done: Mapping[str, int]) -> None:
        """Tells what is done so far.

        Args:
            done: `{"rows", "tokens", ...}`, and where it is known how much there is, what of it is
                read: `{"input_bytes", "total_input_bytes"}`, or "..._parts" of what is in no files.
        """
        self._updates += 1
        if self._first is None:
            self._first = dict(done)
            if done.get("kept_shards"):
                self._before, self._began_at = self._first, self._clock()
        if self._updates % self._log_interval == 0:
            _log.debug("%s: %s", self._name, self.text(done))
        if self._kind == "rich":
            share = self._share(done)
            wide = self._bar.console.width >= _WIDE
            self._bar.update(
                self._task,
                total=None if share is None else 1.0,
                completed=share or 0.0,
                said=self.text(done, both_rates=wide, short=True),
            )
        elif self._kind == "tqdm":
            self._update_tqdm(done)
        elif self._kind == "lines":
            now = self._clock()
            pause = min(max((now - self._begin) / 4, _FIRST_LINES), _LAST_LINES)
            if now - self._last_line >= pause:
                self._last_line = now
                print(f"{self._name}: {self.text(done)}", file=sys.stderr, flush=True)

    def _update_tqdm(self, done: Mapping[str, int]) -> None:
        share = self._share(done)
        if self._bar is None:
            if share is None and dict(done) == self._first:
                return  # nothing is read yet
            # Only now is it known whether there is a total, which widgets cannot be given later.
            from tqdm.auto import tqdm  # type: ignore[import-untyped]

            total = None if share is None else _STEPS
            self._bar = tqdm(total=total, desc=self._name, file=sys.stderr)
        has_bar = self._bar.total is not None
        said = self.text(done, both_rates=False, short=True).replace("{", "{{")
        self._bar.bar_format = (
            "{desc}: " + ("|{bar}| " if has_bar else "") + said.replace("}", "}}")
        )
        if share is not None and has_bar:
            self._bar.n = round(share * _STEPS)
        self._bar.refresh()

    def note(self, text: str) -> None:
        """Says something once, above the bar where there is one."""
        text = shown(text)
        if self._kind == "rich":
            self._bar.console.print(f"{self._name}: {text}", markup=False, highlight=False)
        elif self._kind == "tqdm" and self._bar is not None:
            self._bar.write(f"{self._name}: {text}", file=sys.stderr)
        elif self._kind != "none":
            print(f"{self._name}: {text}", file=sys.stderr, flush=True)

    def _share(self, done: Mapping[str, int]) -> float | None:
        """How much is done, from 0 to 1, where that is known."""
        for unit in ("bytes", "parts"):
            if done.get(f"total_input_{unit}"):
                return min(done[f"input_{unit}"] / done[f"total_input_{unit}"], 1.0)
        return min(done["rows"] / self._total, 1.0) if self._total else None

    def seconds_left(self, done: Mapping[str, int]) -> float | None:
        """Seconds until all is done, at the pace of this run."""
        share = self._share(done)
        before = (self._share(self._before) if self._before else None) or 0.0
        if share is None or share <= before:
            return None
        return (1 - share) * (self._clock() - self._began_at) / (share - before)

    def _rate(self, done: Mapping[str, int], what: str) -> str:
        seconds = max(self._clock() - self._began_at, 1e-9)
        count = done.get(what, 0) - self._before.get(what, 0)
        return f"{rounded(round(count / seconds))} {what}/s"

    def text(self, done: Mapping[str, int], *, both_rates: bool = True, short: bool = False) -> str:
        """What is done, in a line.

        Args:
            done: As for update().
            both_rates: Rows a second stand beside tokens a second.
            short: Leave out what a bar shows, or has no room for.
        """
        share = self._share(done)
        parts = []
        if share is not None:
            of = done.get("total_input_bytes")
            parts.append(f"{100 * share:.0f} %" + (f" of {rounded(of)}B" if of else ""))
        rows = rounded(done["rows"]) if short else f"{done['rows']:,}"
        of_rows = f" of {self._total:,}" if self._total and not short else ""
        parts.append(f"{rows}{of_rows} rows")
        tokens = done.get("tokens")
        if tokens and not short:
            parts.append(f"{tokens:,} tokens")
        if not tokens or both_rates:
            parts.append(self._rate(done, "rows"))
        if tokens:
            parts.append(self._rate(done, "tokens"))
        left = self.seconds_left(done)
        if left is not None:
            parts.append(f"ETA {clock_time(left)}")
        return ", ".join(parts)
