#!/usr/bin/env python3
"""Names source files that take too long to compile.

    script/compile_times.py build/dev [--most 25] [--shown 10]

What took so long on the clock, by ninja's log, is compiled once more, alone and past the cache, and
its processor's seconds count: a busy machine makes no file slow. Files that are compiled several as
one, and those that came out of the cache, are not told apart: take a build of the preset dev, made
with CCACHE_DISABLE=1.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def logged_seconds(build: Path) -> dict[str, float]:
    """The seconds of each step that a build took last, by its output."""
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines():
        if line.startswith("#"):
            continue
        start, end, _, output, _ = line.split("\t")
        seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def compile_seconds(command: str, folder: str) -> float:
    """The processor's seconds of a compilation whose object is thrown away."""
    words = shlex.split(command)
    words[words.index("-o") + 1] = os.devnull
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=folder, env=os.environ | {"CCACHE_DISABLE": "1"}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def main() -> int:
    """Prints the slowest files, and says whether one is too slow."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("build", type=Path, help="the folder of a build that is not of unity files")
    parser.add_argument("--most", type=float, default=25, help="seconds that a file may take")
    parser.add_argument("--shown", type=int, default=10, help="how many of the slowest are shown")
    args = parser.parse_args()

    build = args.build.resolve()
    logged = logged_seconds(build)
    compiled = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        output = os.path.relpath(os.path.join(entry["directory"], entry["output"]), build)
        if output in logged:
            compiled.append((logged[output], entry))
    compiled.sort(key=lambda each: -each[0])
    total = sum(seconds for seconds, _ in compiled)
    print(f"{len(compiled)} files, {total:.0f} s by ninja's log; the slowest:")
    for seconds, entry in compiled[: args.shown]:
        print(f"{seconds:8.1f} s  {os.path.relpath(entry['file'], ROOT)}")

    slow = []
    for seconds, entry in compiled:
        if seconds <= args.most:
            break
        alone = compile_seconds(entry["command"], entry["directory"])
        name = os.path.relpath(entry["file"], ROOT)
        print(f"{alone:8.1f} s  {name}, of the processor, compiled alone")
        if alone > args.most:
            slow.append(name)
    for name in slow:
        print(f"{name} takes more than {args.most:g} s to compile: divide it", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
