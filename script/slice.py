#!/usr/bin/env python3
"""Runs one part of what is not in every run of script/test.

    script/slice.py K/N           the K-th of N parts, K from 1 on
    script/slice.py --list K/N    says what that part has, and runs nothing

script/slices.toml has the checks, each with the minutes that it keeps a core busy, and a command.
They are dealt out by their minutes, so that parts take about as long as each other; the same table
gives the same parts. Two checks run at a time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AT_A_TIME = 2


@dataclass(frozen=True)
class Check:
    """A check of script/slices.toml."""

    name: str
    minutes: float
    run: str


def read_checks(text: str) -> list[Check]:
    """Reads the table of checks; a name stands for one check only."""
    checks = [Check(**each) for each in tomllib.loads(text)["check"]]
    if len({check.name for check in checks}) != len(checks):
        raise ValueError("script/slices.toml: two checks have the same name")
    return checks


def read_part(text: str) -> tuple[int, int]:
    """Reads "K/N", the K-th of N parts; ValueError where it is none."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"{text!r} is no part: write K/N with 1 <= K <= N, such as 3/12")
    return int(part), int(parts)


def deal(sizes: Mapping[str, float], parts: int) -> list[list[str]]:
    """Deals names out: the largest first, each to the part whose sizes have the least sum."""
    dealt: list[list[str]] = [[] for _ in range(parts)]
    loads = [0.0] * parts
    for name, size in sorted(sizes.items(), key=lambda each: (-each[1], each[0])):
        least = loads.index(min(loads))
        dealt[least].append(name)
        loads[least] += size
    return dealt


def run(check: Check) -> bool:
    """Runs a check, prints what it printed, and says whether it passed."""
    environ = {**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"}
    # All cases of those that run the same code, of which script/test tries some.
    environ.pop("EASYDATA_CASES", None)
    begin = time.monotonic()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", check.run],
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    took = (time.monotonic() - begin) / 60
    ended = "passed" if done.returncode == 0 else f"failed ({done.returncode})"
    print(f"-- {check.name}: {ended}, {took:.1f} minutes ({check.minutes} in the table)")
    print("\n".join(done.stdout.splitlines()[-200 if done.returncode else -3 :]), flush=True)
    return done.returncode == 0


def main() -> int:
    """Runs, or lists, the part that the arguments name."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--list"]
    try:
        part, parts = read_part("".join(arguments))
    except ValueError as error:
        print(f"usage: script/slice.py [--list] K/N; {error}", file=sys.stderr)
        return 2
    known = {
        check.name: check for check in read_checks((ROOT / "script/slices.toml").read_text("utf-8"))
    }
    dealt = deal({name: check.minutes for name, check in known.items()}, parts)
    checks = [known[name] for name in dealt[part - 1]]
    if "--list" in sys.argv:
        print("\n".join(f"{check.minutes:5} min  {check.name}" for check in checks))
        return 0
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        passed = list(pool.map(run, checks))
    failed = [check.name for check, is_passed in zip(checks, passed, strict=True) if not is_passed]
    if failed:
        print(f"slice {part}/{parts}: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
