"""What a command prints: lines and tables for people, or one JSON object."""

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from easydata.core.shown_text import rounded, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from easydata.core.config import ObservabilityConfig
    from easydata.execution.progress import Progress


def count_text(count: int, plus_minus: int | None) -> str:
    """A count: 1,234, or 12.3 M ± 0.2 M where it is estimated; ± ? where nobody knows how well."""
    if plus_minus == 0:
        return f"{count:,}"
    return f"{rounded(count)} ± " + ("?" if plus_minus is None else rounded(plus_minus))


def size_text(count: float) -> str:
    """Bytes with a unit: 950 bytes, 12.3 KB, 4.56 MB (of 1024 KB)."""
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,.0f} bytes"


class InterruptedJobError(Exception):
    """A job was interrupted; `notes` say how to resume."""

    def __init__(self, notes: Sequence[str]) -> None:
        self.notes = list(notes)
        super().__init__("interrupted")


class Report:
    """Prints what a command found."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._console: Console | None = None

    @property
    def console(self) -> "Console":
        """Standard output; in colour on a terminal."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(highlight=False, soft_wrap=True)
        return self._console

    def line(self, text: "str | Text") -> None:
        """Prints a line, for people, as shown() has it."""
        if not self.as_json:
            self.console.print(self._shown(text))

    def _shown(self, text: "str | Text") -> "Text":
        """The text, each part in its style, with nothing in it that the terminal would obey."""
        from rich.text import Text

        if isinstance(text, str):
            return Text(shown(text))
        if shown(text.plain) == text.plain:
            return text
        out = Text()
        for part in text.render(self.console):
            out.append(shown(part.text), part.style)
        return out

    def note(self, text: str) -> None:
        """Prints a line about how it goes to standard error."""
        if not self.as_json:
            print(shown(text), file=sys.stderr, flush=True)

    def progress(self, options: "ObservabilityConfig", name: str, total: int | None) -> "Progress":
        """What shows how far a job is; nothing where JSON is printed."""
        # lazy: help and completion do without
        from easydata.execution.progress import Progress

        if self.as_json:
            options = dataclasses.replace(options, progress_enabled=False)
        return Progress.of(options, name, total, on_terminal="rich")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Prints a table, for people."""
        if self.as_json:
            return
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD)
        for position, column in enumerate(columns):
            table.add_column(column, justify="right" if position else "left")
        for row in rows:
            table.add_row(*(self._shown(cell) for cell in row))
        self.console.print(table)

    def result(self, values: Mapping[str, Any]) -> None:
        """Prints the result as JSON, where that was asked for."""
        if self.as_json:
            print(json.dumps(values))
