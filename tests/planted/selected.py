#!/usr/bin/env python3
"""Checks that a run of .ci/run has a test for each planted bug that tests have caught.

docs/developing/reliability.md has tables of the bugs, with the tests that caught them in their last
column. Each bug needs one of these among the tests that script/test selects in every run.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/developing/reliability.md"
ROW = re.compile(r"^\| (\d+) \|.*\| ([^|]+) \|$", re.MULTILINE)
PYTHON_TEST = re.compile(r"\btest_\w+\.py(?:::\w+(?:\[[^\]|]*\])?)?")
CPP_TEST = re.compile(r"\b(\w+)\.(\w+)")
CPP_MACRO = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)")
DOCS_PAGE = re.compile(r"\bdocs/[\w/]+\.md\b")


def caught_bugs(page: str) -> Iterator[tuple[int, str]]:
    """Yields the number of each bug that was caught, and the text that says by what."""
    for number, text in ROW.findall(page):
        if "**not caught**" not in text:
            yield int(number), text


def cpp_tests() -> set[str]:
    """Returns the names, "Suite.Test", of all C++ tests: the sanitizers run each of them."""
    folders = (ROOT / "src", ROOT / "tests/cpp")
    sources = (path for folder in folders for path in folder.rglob("*.cc"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    return {f"{suite}.{test}" for suite, test in CPP_MACRO.findall(text)}


def python_tests() -> set[str]:
    """Returns what pytest selects in every run: "file", "file::test", "file::test[case]", pages."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-o",
        "addopts=",
        "-m",
        "not sliced",
    ]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    selected = set()
    for line in listed.splitlines():
        path, _, test = line.partition("::")
        name = Path(path).name
        selected |= {name, f"{name}::{test}", f"{name}::{test.split('[')[0]}"}
        selected |= set(DOCS_PAGE.findall(line))
    return selected


def has_test(text: str, python: set[str], cpp: set[str]) -> bool:
    """Says whether one of the tests that a table's cell names is selected."""
    if text == "nothing can be imported":
        return True
    if set(PYTHON_TEST.findall(text)) & python or set(DOCS_PAGE.findall(text)) & python:
        return True
    return any(f"{suite}.{test}" in cpp for suite, test in CPP_TEST.findall(text))


def main() -> int:
    """Prints the bugs that no test of a run is for."""
    bugs = list(caught_bugs(PAGE.read_text(encoding="utf-8")))
    python, cpp = python_tests(), cpp_tests()
    lost = [(number, text) for number, text in bugs if not has_test(text, python, cpp)]
    for number, text in lost:
        print(f"bug {number}: none of its tests is in every run: {text}")
    print(f"{len(bugs) - len(lost)} of {len(bugs)} caught bugs have their test in every run")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
