"""Drawing sites for planted bugs, and hunting some: the tools of tests/planted."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from programs import run_python

pytestmark = pytest.mark.sliced

ROOT = Path(__file__).resolve().parents[3]
DRAW = ROOT / "script/draw_planted_bugs.py"
CPP = """// A comment.
#include <vector>

namespace easydata {
/* A longer
   comment. */
int One() {
  return 1;  // one
}
const char* kText = R"(int in_text = 1;
int more_text = 2;)";
}  // namespace easydata
"""
PYTHON = '''"""What it is for.

More of it."""
import os

# A comment.
def one():
    """One."""
    return (
        1
    )
'''


def module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {
        "src/easydata/pack/one.cc": CPP,
        "src/easydata/pack/one_test.cc": CPP,
        "src/easydata/pack/test_files.h": CPP,
        "src/tokenizers/generated/unicode_tables.cc": CPP,
        "src/easydata/order/long.cc": "\n".join(f"int number_{n};" for n in range(300)),
        "python/bindings/bind.cc": CPP,
        "python/easydata/one.py": PYTHON,
        "tests/python/test_one.py": PYTHON,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def drawn(repository: Path, seed: int, count: int) -> list[dict[str, Any]]:
    options = ("--seed", seed, "--count", count, "--json", "out.json")
    run_python(DRAW, *options, cwd=repository)
    sites: list[dict[str, Any]] = json.loads((repository / "out.json").read_text())["places"]
    return sites


def test_sites_are_lines_of_code_in_proportion_to_rooms(repository: Path) -> None:
    sites = drawn(repository, 7, 40)
    assert drawn(repository, 7, 40) == sites
    assert drawn(repository, 8, 40) != sites
    assert [site["number"] for site in sites] == list(range(1, 41))
    modules = [site["module"] for site in sites]
    assert {module: modules.count(module) for module in modules} == {
        "bindings": 1,
        "order": 37,
        "pack": 1,
        "python": 1,
    }
    allowed = {
        "src/easydata/pack/one.cc": (7, 8, 10),
        "python/bindings/bind.cc": (7, 8, 10),
        "python/easydata/one.py": (7, 9, 10),
        "src/easydata/order/long.cc": range(1, 301),
    }
    for site in sites:
        assert site["line"] in allowed[site["file"]], site
    assert len({(site["file"], site["line"]) for site in sites}) == 40
    kinds = [site["kind"] for site in sites]
    assert {kinds.count(kind) for kind in kinds} == {5}


UNDER_TEST = """
from planted import planted

def size(rows):
    return planted(1, len(rows) + 1, len(rows))

def first(rows):
    return planted(2, rows[-1], rows[0])

def never(rows):
    return planted(3, 1, 0)

def unseen(rows):
    return planted(4, 1, 0)
"""
TESTS = """
import under_test
import pytest

@pytest.fixture(scope="module")
def made():
    return under_test.first([1, 2])

def test_size():
    assert under_test.size([1, 2]) == 2

def test_made(made):
    pass

def test_made_again(made):
    assert made == 1

def test_unseen():
    under_test.unseen([])

def test_broken():
    under_test.size([])
    assert False
"""
# Stands for a binary of GoogleTest.
BINARY = """#!/usr/bin/env python3
import sys
import under_test

names = ["Rows.Size", "Rows.Never"]
if "--gtest_list_tests" in sys.argv:
    print("Rows.\\n  Size\\n  Never")
    sys.exit(0)
(chosen,) = (a.split("=")[1].split(":") for a in sys.argv if a.startswith("--gtest_filter="))
for name in names:
    if name in chosen:
        print(f"[ RUN      ] {name}", flush=True)
        if name == "Rows.Never" and under_test.never([]):
            import os
            os.abort()
"""


def test_a_hunt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hunt = module(ROOT / "tests/planted/run.py")
    build = tmp_path / "build"
    binary = build / "src/easydata/rows/rows_test"
    binary.parent.mkdir(parents=True)
    binary.write_text(BINARY.replace("/usr/bin/env python3", sys.executable))
    binary.chmod(0o755)
    (tmp_path / "python").mkdir()
    (tmp_path / "under_test.py").write_text(UNDER_TEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q -p no:cacheprovider\n")
    (build / "python").symlink_to(tmp_path)
    (tmp_path / "planted.py").symlink_to(ROOT / "tests/planted/planted.py")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT / 'tests/planted'}")
    # A hunt of the real bugs has one of its own switched on.
    for name in ("EASYDATA_PLANTED", "EASYDATA_PLANTED_REACHED", "EASYDATA_PLANTED_RECORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(hunt, "ROOT", tmp_path)
    monkeypatch.setattr(hunt, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(hunt, "PYTHON", Path(sys.executable))

    hunt.reach(build, ["test_some.py"])
    reached = {test.name: (test.outcome, set(test.sites)) for test in hunt.tests_by_reach()}
    assert reached == {
        "src/easydata/rows/rows_test Rows.Size": ("passed", set()),
        "src/easydata/rows/rows_test Rows.Never": ("passed", {3}),
        "test_some.py::test_size": ("passed", {1}),
        "test_some.py::test_made": ("passed", {2}),
        "test_some.py::test_made_again": ("passed", {2}),
        "test_some.py::test_unseen": ("passed", {4}),
        "test_some.py::test_broken": ("failed", {1}),
    }
    hunt.hunt(build, [1, 2, 3, 4], everything=False)
    found = {n: json.loads((tmp_path / f"results/{n}.json").read_text()) for n in range(1, 5)}
    assert [(found[n]["how"], found[n]["test"]) for n in range(1, 5)] == [
        ("failed", "test_some.py::test_size"),
        ("failed", "test_some.py::test_made_again"),
        ("crashed", "src/easydata/rows/rows_test Rows.Never"),
        ("", ""),
    ]
    assert [found[n]["reaching"] for n in range(1, 5)] == [1, 2, 1, 1]
    hunt.hunt(build, [4], everything=True)
    survivor = json.loads((tmp_path / "results/4.json").read_text())
    assert (survivor["caught"], survivor["whole_suite"]) == (False, True)
