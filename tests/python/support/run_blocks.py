"""Runs the blocks of a page, one after the other, as a reader would.

    python run_blocks.py RESULTS < steps.json

Steps are `{"kind": "python" | "console" | "file" | "new page", "text": ..., "name": ...}`. RESULTS
gets `[[what was printed, status, seconds], ...]`: standard output and error together, as on a
terminal. All Python of a page shares one namespace; a file is written under its name.
"""

import contextlib
import io
import json
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any


def run_python(text: str, name: str, names: dict[str, Any]) -> tuple[str, int]:
    """Executes a block; what it raises is printed, as Python does."""
    printed = io.StringIO()
    status = 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(text, name, "exec"), names)
        except Exception:
            status = 1
            traceback.print_exc()
    return printed.getvalue(), status


def run_command(text: str) -> tuple[str, int]:
    """Runs a line of shell."""
    done = subprocess.run(
        ["bash", "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.stdout, done.returncode


def main() -> None:
    """Runs the steps."""
    results: list[tuple[str, int, float]] = []
    names: dict[str, Any] = {}
    for step in json.load(sys.stdin):
        kind, text = step["kind"], step["text"]
        begin = time.monotonic()
        done = ("", 0)
        if kind == "new page":
            names = {"__name__": "__main__"}
        elif kind == "python":
            done = run_python(text, step["name"], names)
        elif kind == "file":
            Path(step["name"]).write_text(text + "\n", encoding="utf-8")
        else:
            done = run_command(text)
        results.append((*done, time.monotonic() - begin))
    Path(sys.argv[1]).write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
