"""One table of the tests that were skipped, by what they were in want of."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

_MISSING_MODULE = re.compile(r"could not import '([\w.]+)'.*", re.DOTALL)
_CPP_SKIP = re.compile(r"^\S+:\d+: Skipped\n(.*)$", re.MULTILINE)


def want(reason: str) -> str:
    """What a reason for skipping says is missing."""
    reason = reason.removeprefix("Skipped: ").strip()
    module = _MISSING_MODULE.fullmatch(reason)
    return f"{module[1]} is not installed" if module else reason


def cpp_wants(log: Path) -> Counter[str]:
    """What skipped C++ tests were in want of, by ctest's Testing/Temporary/LastTest.log."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    return Counter(want(reason) for reason in _CPP_SKIP.findall(text))


def table(python: Iterable[str], cpp: Counter[str], sliced: int) -> list[str]:
    """The lines: how many tests of each kind, and for want of what; the commonest first."""
    wants = Counter(map(want, python))
    rows = [(wants[each], cpp[each], each) for each in wants | cpp]
    rows.sort(key=lambda row: (-row[0] - row[1], row[2]))
    if sliced:
        rows.append((sliced, 0, "time: they are sliced (script/test --slice)"))
    if not rows:
        return ["no test was skipped"]
    lines = [f"{'Python':>8} {'C++':>6}  skipped for want of"]
    return lines + [f"{ours:8,} {theirs:6,}  {each}" for ours, theirs, each in rows]
