"""What CI runs: its steps and their minutes, and the slices of what is not in every run."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import step_times
from programs import run_python
from slice import deal

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/developing/ci.md").read_text(encoding="utf-8")
TESTS = """
import pytest

@pytest.mark.parametrize("n", range(4))
def test_some(n: int) -> None: ...

@pytest.mark.sliced
def test_long() -> None: ...
"""


def names(folder: Path, *options: str) -> set[str]:
    """The tests that a run of pytest with these options has."""
    command = ("-m", "pytest", "--collect-only", "-q", "-o", "addopts=", *options)
    run = run_python(*command, cwd=folder, status=None)
    assert run.returncode in (0, 5), run.stdout + run.stderr
    return {line for line in run.stdout.splitlines() if "::" in line}


def listed_slice(part: int) -> list[tuple[float, str]]:
    command = [sys.executable, "script/slice.py", "--list", f"{part}/16"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = [re.fullmatch(r" *([\d.]+) min  (.+)", line) for line in out.splitlines()]
    return [(float(each[1]), each[2]) for each in found if each]


def test_the_page_has_the_steps_of_the_script() -> None:
    script = (ROOT / "script/test").read_text(encoding="utf-8")
    steps = set(re.findall(r'^ *step "([^"]+)"$', script, re.MULTILINE))
    assert set(step_times.recorded_minutes(PAGE)) == steps


def test_what_grew_is_told_from_a_slow_machine() -> None:
    recorded = {"build": 5.0, "tests": 10.0, "fuzzing": 1.0}
    slow = {"build": 600, "tests": 1200, "fuzzing": 120}
    assert step_times.report(slow, recorded)[-1].endswith("at 2.00 of the recorded): no step.")
    grown = step_times.report({**slow, "tests": 1800}, recorded)
    assert grown[-1].endswith(": tests.")
    assert [line for line in grown if line.endswith("grew")] == [
        "tests                        30.0      10.0  grew"
    ]


def test_every_check_is_in_one_slice() -> None:
    slices = [listed_slice(part) for part in range(1, 17)]
    checks = Counter(name for each in slices for _, name in each)
    table = (ROOT / "script/slices.toml").read_text(encoding="utf-8")
    assert set(checks) == set(re.findall(r'^name = "(.+)"$', table, re.MULTILINE))
    assert set(checks.values()) == {1}
    # Two run at a time.
    assert max(sum(minutes for minutes, _ in each) for each in slices) <= 2 * 8.5


@pytest.mark.parametrize("text", ["", "0/16", "17/16", "3", "a/b"])
def test_a_slice_that_is_none_is_refused(text: str) -> None:
    command = [sys.executable, "script/slice.py", text]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "usage: script/slice.py" in run.stderr


def test_parts_get_about_as_much() -> None:
    sizes = {"a": 4, "b": 3, "c": 2, "d": 1}
    assert deal(sizes, 2) == [["a", "d"], ["b", "c"]]


def test_each_test_is_in_one_part(tmp_path: Path) -> None:
    for name in ("test_one.py", "test_two.py", "test_three.py"):
        (tmp_path / name).write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = sliced: takes long\n")
    options = ("-p", "parts", "-m", "not sliced")
    parts = [names(tmp_path, *options, "--part", f"{part}/2") for part in (1, 2)]
    assert parts[0] | parts[1] == names(tmp_path, *options)
    assert sorted(map(len, parts)) == [4, 8]


@pytest.mark.sliced
def test_the_options_of_script_test_are_understood() -> None:
    call = re.search(
        r"^  python_tests (--part.*)$", (ROOT / "script/test").read_text(), re.MULTILINE
    )
    assert call
    # With a space, the part would be a path, since the option is declared by a conftest.py.
    part = call[1].replace('"$python"', "1/2")
    assert names(ROOT, "-m", "not sliced and not alone", *shlex.split(part))


@pytest.mark.sliced
def test_every_sliced_test_is_in_one_check() -> None:
    table = tomllib.loads((ROOT / "script/slices.toml").read_text(encoding="utf-8"))
    prefix = "python -m pytest -m sliced "
    commands = [command for check in table["check"] for command in check["run"].split(" && ")]
    runs = [command for command in commands if command.startswith(prefix)]
    found = Counter(
        name
        for run in runs
        for name in names(ROOT, "-m", "sliced", *shlex.split(run.removeprefix(prefix)))
    )
    assert {name for name, count in found.items() if count > 1} == set()
    assert set(found) == names(ROOT, "-m", "sliced")


@pytest.mark.sliced
def test_every_caught_bug_has_its_test_in_every_run() -> None:
    """tests/planted/selected.py, of the bugs in docs/developing/reliability.md."""
    command = [sys.executable, "tests/planted/selected.py"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
