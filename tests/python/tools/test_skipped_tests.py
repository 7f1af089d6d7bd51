"""The table that ends a run of the tests."""

from collections import Counter
from pathlib import Path

from programs import run_python
from skipped_tests import cpp_wants, table

TESTS = """
import pytest

@pytest.mark.skipif(True, reason="a harbour is not beside this checkout")
def test_one() -> None: ...

def test_two() -> None:
    pytest.importorskip("no_such_module")

@pytest.mark.parametrize("n", range(3))
def test_three(n: int) -> None:
    pytest.skip("a harbour is not beside this checkout")

@pytest.mark.sliced
def test_four() -> None: ...

def test_five() -> None: ...
"""
CTEST = """
1/3 Testing: mix.Recorded
[ RUN      ] By/GrainMixRecordedTest.EqualsRecordedValues/Shared
/work/recorded_values.h:20: Skipped
a harbour is not beside this checkout

[  SKIPPED ] By/GrainMixRecordedTest.EqualsRecordedValues/Shared (0 ms)
2/3 Testing: mix.Other
[       OK ] (0 ms)
3/3 Testing: mix.Third
/work/other_test.cc:7: Skipped
no 512-bit registers on this processor

"""


def test_a_run_ends_with_one_table(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "conftest.py").symlink_to(Path(__file__).parents[1] / "conftest.py")
    (tmp_path / "ctest.log").write_text(CTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = sliced: takes long\n")
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not sliced")
    variables = {"EASYDATA_CTEST_LOG": str(tmp_path / "ctest.log")}
    run = run_python(*command, variables=variables, cwd=tmp_path)
    lines = [" ".join(line.split()) for line in run.stdout.splitlines()]
    start = lines.index("Python C++ skipped for want of")
    assert lines[start + 1 : start + 5] == [
        "4 1 a harbour is not beside this checkout",
        "0 1 no 512-bit registers on this processor",
        "1 0 no_such_module is not installed",
        "1 0 time: they are sliced (script/test --slice)",
    ]


def test_nothing_skipped(tmp_path: Path) -> None:
    assert cpp_wants(tmp_path / "absent.log") == Counter()
    assert table([], Counter(), 0) == ["no test was skipped"]
