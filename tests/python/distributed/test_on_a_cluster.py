"""Tests that need a cluster of Ray: those of the folder cluster, by another pytest, once."""

import re
from pathlib import Path
from xml.etree import ElementTree

import namespaces
import pytest

HERE = Path(__file__).parent
FILES = sorted(path for path in HERE.glob("cluster/*.py") if path.name != "conftest.py")
TESTS = [
    f"{path.stem}::{name}"
    for path in FILES
    for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.fixture(scope="session")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[tuple[str, str]]]:
    """(what was wrong, or why it was skipped) of each case of the tests that were chosen."""
    pytest.importorskip("ray")
    if why := namespaces.why_not():
        pytest.skip(why)
    prefix = f"{test_a_cluster_does.__name__}["
    chosen = [item.name for item in request.session.items if item.name.startswith(prefix)]
    names = [name.removeprefix(prefix).removesuffix("]").split("::") for name in chosen]
    report = tmp_path_factory.mktemp("cluster") / "report.xml"
    done = namespaces.run_apart(
        [
            *("-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "--durations=20"),
            *("-c", str(HERE.parents[2] / "pyproject.toml"), f"--junitxml={report}"),
            *(f"{HERE}/cluster/{file}.py::{name}" for file, name in names),
        ],
        [HERE, HERE.parent / "units"],
    )
    print(done.stdout[-3000:])
    found: dict[str, list[tuple[str, str]]] = {}
    said = (done.stdout + done.stderr)[-6000:]
    assert report.is_file(), said
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.attrib["name"].partition("[")[0]
        file = case.attrib["classname"].rpartition(".")[2]
        wrong = [(each.tag, each.text or "") for each in case if each.tag in OUTCOMES]
        found.setdefault(f"{file}::{name}", []).extend(wrong or [("passed", "")])
    return found


OUTCOMES = ("failure", "error", "skipped")


@pytest.mark.sliced
@pytest.mark.parametrize("name", TESTS)
def test_a_cluster_does(name: str, outcomes: dict[str, list[tuple[str, str]]]) -> None:
    cases = outcomes.get(name)
    assert cases, f"{name} was not run"
    wrong = "\n".join(text for kind, text in cases if kind in ("failure", "error"))
    assert not wrong, wrong
    if all(kind == "skipped" for kind, _ in cases):
        pytest.skip(cases[0][1])
