"""The packages' faces: made of one table, lazy, and literal for type checkers."""

import ast
import importlib
import tomllib
from pathlib import Path
from typing import Any

import generate_faces
import pytest
from programs import run_python

import easydata

pytestmark = pytest.mark.sliced

ROOT = Path(__file__).resolve().parents[3]
TABLE: dict[str, Any] = tomllib.loads(generate_faces.TABLE.read_text())
FACES = [face if face == "easydata" else f"easydata.{face}" for face in TABLE["faces"]]


def test_every_package_has_one() -> None:
    package = ROOT / "python" / "easydata"
    folders = {path.parent for path in package.rglob("*.py")} - {package}
    assert {".".join(folder.relative_to(package).parts) for folder in folders} == {
        face for face in TABLE["faces"] if face != "easydata"
    }


@pytest.mark.parametrize("face", FACES)
def test_names_come_from_their_homes(face: str) -> None:
    module = importlib.import_module(face)
    for name in getattr(module, "__all__", ()):
        assert name in dir(module)
        assert getattr(module, name) is not None
    if hasattr(module, "__all__"):
        assert "__all__" in dir(module)
        shown: dict[str, Any] = {}
        exec(f"from {face} import *", shown)
        assert shown.keys() - {"__builtins__"} == set(module.__all__)
        with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
            module.no_such_name  # noqa: B018


def test_a_name_stands_once() -> None:
    table = {
        "faces": {"core": "Doc."},
        "names": {"core.a": {"core": ["Thing"]}, "core.b": {"core": ["Thing"]}},
    }
    with pytest.raises(generate_faces.TableError, match=r"Thing stands twice: in core\.a"):
        generate_faces.faces(table)


def test_public_classes_of_a_module_may_all_be_shown() -> None:
    home = "transforms.fields"
    shown = {"a b": "all other classes", "c": ["MapField"]}
    made = generate_faces.faces({"faces": dict.fromkeys("abc", "Doc."), "names": {home: shown}})
    assert " AddField " in made["a"].stub
    assert " DropFields " in made["b"].stub
    assert " MapField " not in made["a"].stub
    assert " MapField " in made["c"].stub


def test_a_face_that_there_is_not_is_named() -> None:
    table = {"faces": {"core": "Doc."}, "names": {"core.a": {"cor": ["Thing"]}}}
    with pytest.raises(generate_faces.TableError, match="no face 'cor'"):
        generate_faces.faces(table)


def test_type_checkers_see_every_name(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    lines, names = [], 0
    for face in FACES:
        module = importlib.import_module(face)
        lines.append(f"import {face}")
        for name in getattr(module, "__all__", ()):
            lines.append(f"reveal_type({face}.{name})")
            names += 1
        if hasattr(module, "__all__"):
            lines.append(f"{face}.no_such_name")
    (tmp_path / "program.py").write_text("\n".join(lines) + "\n")
    done = run_python("-m", "mypy", "--strict", "program.py", status=1, cwd=tmp_path)
    out = done.stdout.splitlines()
    revealed = [line.split('"')[1] for line in out if "Revealed type" in line]
    assert len(revealed) == names
    assert "Any" not in revealed
    errors = [line for line in out if ": error: " in line]
    assert all("no_such_name" in line for line in errors), errors
    assert len(errors) == sum(line.endswith(".no_such_name") for line in lines)


def test_a_face_costs_nothing_until_it_is_used() -> None:
    code = (
        f"import sys\n{chr(10).join(f'import {face}' for face in FACES)}\n"
        "print(sorted(m for m in sys.modules if m.startswith('easydata')))"
    )
    loaded = ast.literal_eval(run_python("-c", code).stdout)
    assert loaded == sorted([*FACES, "easydata.forks", "easydata.lazy_names"])


def test_names_are_found_once() -> None:
    assert easydata.transforms.Transform is easydata.Transform
    assert "Transform" in vars(easydata.transforms)
