"""A user's program has types for pyright, too; mypy checks it with the package (pyproject.toml)."""

import json
import sys
from pathlib import Path

import pytest
from programs import run_python

pytest.importorskip("basedpyright")

PROGRAM = Path(__file__).with_name("user_script.py")


def errors(folder: Path, program: str) -> list[str]:
    """What pyright, as strict as it is, says of a program."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    settings = {
        "typeCheckingMode": "strict",
        "include": ["program.py"],
        "extraPaths": [path for path in sys.path if path],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    found = run_python(
        *("-m", "basedpyright", "--outputjson", "-p", folder, "--pythonpath", sys.executable),
        status=None,
    )
    diagnostics = json.loads(found.stdout)["generalDiagnostics"]
    return [f"{each['range']['start']['line'] + 1}: {each['message']}" for each in diagnostics]


def test_pyright_knows_all_types_of_a_program(tmp_path: Path) -> None:
    program = PROGRAM.read_text(encoding="utf-8")
    assert errors(tmp_path, program) == []
    wrong = program.replace("assert_type(loader, ed.AsyncDataLoader)", "assert_type(loader, int)")
    assert len(errors(tmp_path, wrong)) == 1
