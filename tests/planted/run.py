#!/usr/bin/env python3
"""Hunts planted bugs: which tests reach each, and does one of them fail? See README.md."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".venv/bin/python"
RESULTS = ROOT / "build/planted"
MAP_BYTES = 256
AT_A_TIME = 150  # tests of one process
# Of binaries of C++, below the build folder.
TEST_FOLDERS = (
    "src/easydata/*",
    "src/easydata/stores/*",
    "src/tokenizers",
    "tests/cpp/reference_tokenizer",
)


@dataclass(frozen=True)
class Test:
    """A test: a pytest id, or "BINARY NAME" of a C++ one."""

    name: str
    outcome: str
    seconds: float
    sites: frozenset[int]

    @property
    def binary(self) -> str | None:
        """Where it is, when it is one of C++."""
        return self.name.split(" ")[0] if self.name.startswith(("src/", "tests/cpp/")) else None


def environment(build: Path, **more: object) -> dict[str, str]:
    found = {**os.environ, "PYTHONPATH": f"{build / 'python'}:{HERE}"}
    return {**found, **{name: str(value) for name, value in more.items()}}


def run(command: list[str], seconds: float, environ: dict[str, str]) -> tuple[str, str]:
    """How a command ended ("passed", "failed", "crashed", "hung"), and what it printed."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, _ = process.communicate()
        return "hung", out
    if process.returncode == 0:
        return "passed", out
    return ("crashed" if process.returncode < 0 else "failed"), out


# Pass 1: who reaches what


def cpp_tests(build: Path) -> Iterator[tuple[str, str]]:
    """Binaries, below the build folder, and names of tests."""
    for path in sorted(path for folder in TEST_FOLDERS for path in build.glob(f"{folder}/*_test")):
        listed = subprocess.run(
            [path, "--gtest_list_tests"], check=True, capture_output=True, text=True
        ).stdout
        suite = ""
        for line in listed.splitlines():
            name = line.split("#")[0].strip()
            if line.startswith(" "):
                yield str(path.relative_to(build)), suite + name
            elif name.endswith("."):
                suite = name


def reach_of_cpp(build: Path, binary: str, name: str) -> Test:
    with tempfile.NamedTemporaryFile() as reached:
        reached.write(bytes(MAP_BYTES))
        reached.flush()
        begin = time.monotonic()
        outcome, _ = run(
            [str(build / binary), f"--gtest_filter={name}"],
            600,
            environment(build, EASYDATA_PLANTED_REACHED=reached.name),
        )
        seconds = time.monotonic() - begin
        marks = Path(reached.name).read_bytes()
    found = frozenset(number for number, byte in enumerate(marks) if byte)
    return Test(f"{binary} {name}", outcome, round(seconds, 3), found)


def reach(build: Path, tests: list[str]) -> None:
    """Runs every test once, without a bug, and writes down what each reached."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    record = RESULTS / "python.jsonl"
    record.unlink(missing_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        cpp = list(pool.map(lambda test: reach_of_cpp(build, *test), cpp_tests(build)))
    reached = RESULTS / "reached.map"
    reached.write_bytes(bytes(MAP_BYTES))
    environ = environment(build, EASYDATA_PLANTED_REACHED=reached, EASYDATA_PLANTED_RECORD=record)
    command = [str(PYTHON), "-m", "pytest", "-p", "reach", "-m", "not sliced", *tests]
    outcome, out = run(command, 7200, environ)
    print(out[-2000:])
    python = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    everyone = next((set(sites) for name, _, _, sites in python if name == ""), set())
    found = [*cpp]
    for name, ended, seconds, sites in python:
        if name:
            found.append(Test(name, ended, seconds, frozenset({*sites, *everyone})))
    rows = [[test.name, test.outcome, test.seconds, sorted(test.sites)] for test in found]
    (RESULTS / "reach.json").write_text(json.dumps(rows, indent=0), encoding="utf-8")
    failing = [test.name for test in found if test.outcome != "passed"]
    print(f"{len(found)} tests ({outcome}); without a bug {len(failing)} fail: {failing[:10]}")


def tests_by_reach() -> list[Test]:
    rows = json.loads((RESULTS / "reach.json").read_text(encoding="utf-8"))
    return [Test(name, outcome, seconds, frozenset(p)) for name, outcome, seconds, p in rows]


# Pass 2: who notices


def commands(build: Path, tests: list[Test]) -> Iterator[tuple[list[str], list[Test]]]:
    """Command lines that run the tests until one fails, quick ones first."""
    binaries: dict[str, list[Test]] = {}
    for test in tests:
        if test.binary:
            binaries.setdefault(test.binary, []).append(test)
    for binary, members in sorted(
        binaries.items(), key=lambda each: sum(test.seconds for test in each[1])
    ):
        for some in cut(sorted(members, key=lambda test: test.seconds)):
            names = ":".join(test.name.split(" ", 1)[1] for test in some)
            yield [str(build / binary), f"--gtest_filter={names}", "--gtest_fail_fast"], some
    python = sorted((test for test in tests if not test.binary), key=lambda test: test.seconds)
    for some in cut(python):
        # In order of files, so that fixtures are made once.
        some.sort(key=lambda test: test.name)
        yield [str(PYTHON), "-m", "pytest", "-x", "-rfE", *(test.name for test in some)], some


def cut(tests: list[Test]) -> Iterator[list[Test]]:
    for start in range(0, len(tests), AT_A_TIME):
        yield tests[start : start + AT_A_TIME]


def first_failure(build: Path, number: int, tests: list[Test]) -> tuple[str, str] | None:
    """How bug `number` shows, and in which test; None where all of these pass."""
    for command, members in commands(build, tests):
        patience = 60 + 4 * sum(test.seconds for test in members)
        outcome, out = run(command, patience, environment(build, EASYDATA_PLANTED=number))
        if outcome == "passed":
            continue
        (RESULTS / f"{number}.log").write_text(out, encoding="utf-8")
        name = failing_test(out, members)
        suspects = [test for test in members if test.name == name] or members
        ((again, _),) = commands(build, suspects)
        if run(again, patience, environment(build))[0] == "passed":
            return outcome, name
        # It fails without the bug, too: it tells nothing, and the others go on without it.
        members = [test for test in members if test.name != name]
        if name and members:
            found = first_failure(build, number, members)
            if found:
                return found
    return None


def failing_test(out: str, tests: list[Test]) -> str:
    """The test that the output names as failed, or that ran last."""
    lines = out.splitlines()
    for line in lines:
        if line.startswith(("FAILED ", "ERROR ")):
            said = line.split(" ", 1)[1] + " - "
            return next((t.name for t in tests if said.startswith(f"{t.name} - ")), "")
        if line.startswith("[  FAILED  ] "):
            name = line.removeprefix("[  FAILED  ] ").split(" (")[0].split(",")[0]
            return next((t.name for t in tests if t.name.endswith(f" {name}")), "")
    started = [line for line in lines if line.startswith("[ RUN      ] ")]
    name = started[-1].removeprefix("[ RUN      ] ") if started else ""
    return next((t.name for t in tests if name and t.name.endswith(f" {name}")), "")


def hunt(build: Path, numbers: Iterable[int], everything: bool) -> None:
    """Runs for each bug the tests that reach it, or all, until one fails; keeps what came."""
    tests = [test for test in tests_by_reach() if test.outcome == "passed"]
    for number in numbers:
        file = RESULTS / f"{number}.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        if known and (known["caught"] or not everything):
            continue
        reaching = [test for test in tests if everything or number in test.sites]
        begin = time.monotonic()
        found = first_failure(build, number, reaching)
        result: dict[str, Any] = {
            "number": number,
            "reaching": sum(number in test.sites for test in tests),
            "caught": found is not None,
            "how": found[0] if found else "",
            "test": found[1] if found else "",
            "seconds": round(time.monotonic() - begin, 1),
            "whole_suite": everything,
        }
        file.write_text(json.dumps(result, indent=1), encoding="utf-8")
        print(f"{number:3}  {result['how'] or 'NOT CAUGHT':10}  {result['test']}", flush=True)


def table(drawn: Path) -> None:
    """Prints what came of all, in Markdown."""
    drawn_sites = json.loads(drawn.read_text(encoding="utf-8"))
    results = {}
    for site in drawn_sites["places"]:
        file = RESULTS / f"{site['number']}.json"
        if file.exists():
            results[site["number"]] = json.loads(file.read_text())
    caught = sum(result["caught"] for result in results.values())
    print(f"Seed {drawn_sites['seed']}, commit {drawn_sites['commit'][:12]}: ", end="")
    print(f"{caught} of {len(drawn_sites['places'])} caught, {len(results)} hunted.\n")
    print("| # | kind | site | tests that reach it | caught by |\n|---|---|---|---|---|")
    for site in drawn_sites["places"]:
        result = results.get(site["number"])
        if result is None:
            said = ("", "not hunted")
        elif result["caught"]:
            said = (result["reaching"], f"`{result['test']}` ({result['how']})")
        else:
            said = (result["reaching"], "**nothing**")
        where = f"`{site['file']}:{site['line']}`"
        print(f"| {site['number']} | {site['kind']} | {where} | {said[0]} | {said[1]} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--drawn", type=Path, default=HERE / "drawn.json")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("reach").add_argument("tests", nargs="*", help="of Python; all by default")
    verbs.add_parser("hunt").add_argument("numbers", nargs="*", type=int)
    verbs.add_parser("all").add_argument("numbers", nargs="+", type=int)
    verbs.add_parser("table")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    match arguments.verb:
        case "reach":
            reach(build, arguments.tests)
        case "hunt":
            drawn = range(1, 61)
            if not arguments.numbers and arguments.drawn.exists():
                sites = json.loads(arguments.drawn.read_text(encoding="utf-8"))["places"]
                drawn = range(1, len(sites) + 1)
            hunt(build, arguments.numbers or drawn, everything=False)
        case "all":
            hunt(build, arguments.numbers, everything=True)
        case "table":
            table(arguments.drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
