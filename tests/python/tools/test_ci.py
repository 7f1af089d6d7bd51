"""What CI runs: its steps and their minutes, and the slices of what is not in every run."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import step_times
from slices import deal

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/developing/ci.md").read_text(encoding="utf-8")
TESTS = """
import pytest

@pytest.mark.parametrize("n", range(4))
@pytest.mark.sliced(30)
def test_long(n: int) -> None: ...

@pytest.mark.parametrize("n", range(6))
@pytest.mark.sliced(5)
def test_shorter(n: int) -> None: ...

def test_in_every_run() -> None: ...
"""


def names(folder: Path, *options: str) -> list[str]:
    """The tests that a run of pytest with these options would have."""
    command = [sys.executable, "-m", "pytest", "-p", "slices", "--collect-only", "-q", *options]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return [line for line in run.stdout.splitlines() if "::" in line]


def listed_slice(part: int) -> list[tuple[float, str]]:
    command = [sys.executable, "script/slice.py", "--list", f"{part}/12"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = [re.fullmatch(r" *([\d.]+) min  (.+)", line) for line in out.splitlines()]
    return [(float(each[1]), each[2]) for each in found if each]


def test_the_page_has_the_steps_of_the_script() -> None:
    script = (ROOT / "script/test").read_text(encoding="utf-8")
    steps = dict.fromkeys(re.findall(r'^ *step "([^"]+)"$', script, re.MULTILINE))
    for preset in ("asan", "tsan"):
        steps |= {name.replace("$preset", preset): None for name in steps if "$preset" in name}
    steps = {name: None for name in steps if "$" not in name}
    assert set(step_times.recorded_minutes(PAGE)) == set(steps)


def test_what_grew_is_told_from_a_slow_machine() -> None:
    recorded = {"build": 5.0, "tests": 10.0, "fuzzing": 1.0}
    slow = {"build": 600, "tests": 1200, "fuzzing": 120}
    assert step_times.report(slow, recorded)[-1].endswith("at 2.00 of the recorded): no step.")
    grown = step_times.report({**slow, "tests": 1800}, recorded)
    assert grown[-1].endswith(": tests.")
    assert [line for line in grown if line.endswith("grew")] == [
        "tests                        30.0      10.0  grew"
    ]


def test_every_check_is_in_one_slice_of_six_minutes() -> None:
    slices = [listed_slice(part) for part in range(1, 13)]
    checks = Counter(name for each in slices for _, name in each)
    table = (ROOT / "script/slices.toml").read_text(encoding="utf-8")
    assert set(checks) == set(re.findall(r'^name = "(.+)"$', table, re.MULTILINE))
    assert set(checks.values()) == {1}
    assert max(sum(minutes for minutes, _ in each) for each in slices) <= 6


@pytest.mark.parametrize("text", ["", "0/12", "13/12", "3", "a/b"])
def test_a_slice_that_is_none_is_refused(text: str) -> None:
    command = [sys.executable, "script/slice.py", text]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "usage: script/slice.py" in run.stderr


def test_dealing_gives_each_part_about_as_much() -> None:
    parts = deal([30, 30, 30, 30, 5, 5, 5, 5, 5, 5, 1], 3)
    assert sorted(index for part in parts for index in part) == list(range(11))
    assert parts == [[0, 3], [1, 4, 6, 8, 10], [2, 5, 7, 9]]


def test_pytest_runs_each_test_in_one_slice(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    parts = [names(tmp_path, "-m", "sliced", "--slice", f"{part}/3") for part in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(
        names(tmp_path, "-m", "sliced")
    )
    assert names(tmp_path, "-m", "not sliced") == ["test_some.py::test_in_every_run"]
    assert [sum("long" in name for name in part) for part in parts] == [2, 1, 1]


@pytest.mark.sliced(30)
def test_every_caught_bug_has_its_test_in_every_run() -> None:
    """tests/planted/selected.py, of the bugs in docs/developing/reliability.md."""
    command = [sys.executable, "tests/planted/selected.py"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
