"""Damaged files: the rows that the reference reader gives, or an error; no crash, no other row."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from read_damaged import FORMATS

SCRIPT = Path(__file__).with_name("read_damaged.py")
CASES = 60  # times --rounds

# Where EasyData takes what the reference reader refuses, and why that is right.
TAKEN = {
    # Zero bytes behind a member are padding (of tapes and disks); so says gzip(1).
    "gzip": "padding",
}


def attack(name: str, first: int, count: int) -> tuple[list[tuple[int, str, str]], list[str]]:
    """The verdicts of the cases, and what ended the process or hung."""
    verdicts: list[tuple[int, str, str]] = []
    crashes = []
    end = first + count
    while first < end:
        command = [sys.executable, str(SCRIPT), name, str(first), str(end - first)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=60 + count, check=False
            )
            output, how, said = done.stdout, f"exit status {done.returncode}", done.stderr
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode()
            how, said = "a hang", ""
        lines = output.splitlines()
        verdicts += [tuple(json.loads(x.removeprefix("result "))) for x in lines if x[0] == "r"]
        if how == "exit status 0":
            break
        case, _, step = lines[-1].partition(" ") if lines else (str(first), "", "start")
        if step == "reference":
            verdicts.append((int(case), "the reference reader crashed", ""))
        else:
            crashes.append(f"case {case} ({step}): {how} {said[-500:]}")
            if len(crashes) > 20:
                break
        first = int(case) + 1
    return verdicts, crashes


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files(name: str, rounds: int) -> None:
    verdicts, crashes = attack(name, 0, CASES * rounds)
    counts = Counter(verdict.split(":")[0] for _, verdict, _ in verdicts)
    print(f"\n{name}: {dict(counts)}, {len(crashes)} crashes")
    assert crashes == []
    wrong = [case for case in verdicts if case[1].startswith("wrong")]
    assert wrong == []
    laxer = [case for case in verdicts if case[1].startswith("laxer")]
    assert laxer == []
    assert len(verdicts) == CASES * rounds
    # The damages did something.
    assert counts["refused"] > CASES * rounds // 4
