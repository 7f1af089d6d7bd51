#!/usr/bin/env python3
"""Prints how long each step of script/test took, and which ones grew.

    script/step_times.py build/steps.tsv

docs/developing/ci.md has a table of the minutes that each step takes. A machine may be faster or
slower as a whole: a step grew when it took much longer than the others did, measured by theirs.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "docs/developing/ci.md"
# Shorter steps vary by more than they take.
NOTABLE_SECONDS = 30
GREW = 1.3


def recorded_minutes(page: str) -> dict[str, float]:
    """Reads the table of the page: a step's name and its minutes are the first two columns."""
    minutes = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) > 2 and cells[1].replace(".", "", 1).isdigit():
            minutes[cells[0]] = float(cells[1])
    return minutes


def taken_seconds(record: str) -> dict[str, int]:
    """Reads a line for each step: its name, a tab, its seconds."""
    pairs = (line.split("\t") for line in record.splitlines())
    return {name: int(seconds) for name, seconds in pairs}


def report(taken: dict[str, int], recorded: dict[str, float]) -> list[str]:
    """Returns the lines of the table, and a last one that says what grew."""
    ratios = {
        name: seconds / (60 * recorded[name])
        for name, seconds in taken.items()
        if recorded.get(name)
    }
    pace = statistics.median(ratios.values()) if ratios else 1.0
    grew = [
        name
        for name, ratio in ratios.items()
        if ratio > GREW * pace and taken[name] - 60 * recorded[name] * pace > NOTABLE_SECONDS
    ]
    lines = [f"{'step':24} {'minutes':>8} {'recorded':>9}"]
    for name, seconds in taken.items():
        known = f"{recorded[name]:9.1f}" if name in recorded else f"{'new':>9}"
        lines.append(f"{name:24} {seconds / 60:8.1f} {known}{'  grew' if name in grew else ''}")
    total = sum(recorded.get(name, 0.0) for name in taken)
    lines.append(f"{'all':24} {sum(taken.values()) / 60:8.1f} {total:9.1f}")
    said = ", ".join(grew) if grew else "no step"
    lines.append(f"Grew, beside the others (this machine at {pace:.2f} of the recorded): {said}.")
    return lines


def main() -> int:
    """Prints the report of a record."""
    taken = taken_seconds(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if taken:
        page = TABLE.read_text(encoding="utf-8") if TABLE.is_file() else ""
        print("\n" + "\n".join(report(taken, recorded_minutes(page))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
