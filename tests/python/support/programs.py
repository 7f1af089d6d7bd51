"""Programs that tests start with this Python, apart from what runs the tests."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
# Where pytest finds shared modules (see pyproject.toml), programs find them, too.
_SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
MODULES = [str(ROOT / folder) for folder in _SETTINGS["ini_options"]["pythonpath"]]


def environment(modules: Sequence[Path] = (), **variables: str) -> dict[str, str]:
    """This process's environment, for a program that imports shared test modules.

    `modules` are further folders of modules.
    """
    known = os.environ.get("PYTHONPATH")
    folders = [*map(str, modules), *MODULES, *([known] if known else [])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders), **variables}


def run_python(
    *arguments: object,
    modules: Sequence[Path] = (),
    variables: Mapping[str, str] | None = None,
    status: int | None = 0,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Runs Python ("-c", a program; a script; "-m", a module) and expects an exit status, or any.

    Results are read from stdout alone: libraries say on stderr whatever they want to say.
    """
    options.setdefault("env", environment(modules, **(variables or {})))
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    if status is not None:
        assert done.returncode == status, (done.stdout + done.stderr)[-4000:]
    return done
