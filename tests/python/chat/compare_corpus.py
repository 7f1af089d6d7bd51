r"""Gives what the fuzzer of templates found to Jinja2, too: compare_corpus.py <folder> [seconds].

    script/fuzz 600 template_fuzz
    PYTHONPATH=tests/python/support .venv/bin/python tests/python/chat/compare_corpus.py \
        build/asan/corpus/template_fuzz

A file is a template; behind a NUL, where there is one, follow its variables as JSON. Both engines
must agree as compare.py says. Jinja2 may compute one of these for hours, or for all of the memory:
files are rendered in processes with limits, and those that go beyond are counted and passed over.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any

import chats
from compare import compare, shrink
from programs import environment

_SECONDS_EACH = 5
_MEMORY = 4 << 30
_MOST_SHOWN = 5


@dataclass
class Report:
    """What came of a corpus.

    Attributes:
        counts: those of compare(), "files" and "too much": what went beyond the limits.
        differences: the least templates that differ, each as text with its file.
    """

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def read_case(content: bytes) -> tuple[str, dict[str, Any]] | None:
    """The template and the variables of a file; None where Python has no such text."""
    source, _, given = content.partition(b"\0")
    try:
        variables = json.loads(given)
    except ValueError:
        variables = None
    if not isinstance(variables, dict):
        variables = {"messages": chats.CHATS["tools"], "tools": None, "n": 3, "s": "Text", "x": 5}
        variables |= {"d": {"a": 1, "b": {"c": [1.5, None]}}, "words": ["b", "A", "a"], "y": -2.5}
    try:
        # Not as Path.read_text() would: line ends are the template's.
        return source.decode(), variables
    except UnicodeDecodeError:
        return None


def _work() -> None:
    """Compares the files whose paths come in, and writes what came of each as a line of JSON."""
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which reserves terabytes
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    print("ready", flush=True)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        counts: Counter[str] = Counter()
        shown = None
        case = read_case(Path(line.rstrip("\n")).read_bytes())
        if case is not None:
            difference = compare(*case, counts)
            shown = None if difference is None else str(shrink(difference))
        print(json.dumps([dict(counts), shown]), flush=True)


class _Worker:
    """A process that compares files, one at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def compare(self, path: Path) -> tuple[dict[str, int], str | None] | None:
        """What came of a file; None where it took too much, and the process is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = Timer(_SECONDS_EACH, self._process.kill)
        timer.start()
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        timer.cancel()
        if not line:
            self.close()
            return None
        counts, shown = json.loads(line)
        return counts, shown

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def compare_corpus(folder: Path, seconds: float = float("inf")) -> Report:
    """Compares the files of a folder until all are done or the time is over."""
    report = Report()
    until = time.monotonic() + seconds
    worker = _Worker()
    for path in sorted(folder.iterdir()):
        if time.monotonic() > until or len(report.differences) == _MOST_SHOWN:
            break
        report.counts["files"] += 1
        came = worker.compare(path)
        if came is None:
            report.counts["too much"] += 1
            worker = _Worker()
            continue
        counts, shown = came
        report.counts.update(counts)
        if shown is not None:
            report.differences.append(f"{path}\n{shown}")
    worker.close()
    return report


def main() -> None:
    """Prints what differs; ends with 1 where something does."""
    report = compare_corpus(Path(sys.argv[1]), float((*sys.argv[2:], "inf")[0]))
    kinds = ("files", "renders", "text", "error", "outside", "too much")
    print({kind: report.counts[kind] for kind in kinds})
    for difference in report.differences:
        print(difference, end="\n\n")
    sys.exit(1 if report.differences else 0)


if __name__ == "__main__":
    _work() if sys.argv[1:] == ["--work"] else main()
