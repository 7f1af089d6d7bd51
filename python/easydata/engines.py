"""Loads the engine that was built for the libarrow that is installed.

An installed package has an engine for each minor version of pyarrow that it supports, in a folder
of its own: `_pa2500/_native.*.so` is linked with pyarrow 25.0's libarrow.so.2500. A build tree has
one beside this file instead, which Python finds before `_native.py`.
"""

import importlib
import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_HERE = Path(__file__).parent


def load(name: str) -> None:
    """Puts the engine for the installed pyarrow into sys.modules as `name`.

    Raises:
        ImportError: When pyarrow is not installed, or is of a version without an engine.
    """
    version, folder = _libarrow()
    engine = next(_HERE.glob(f"_pa{version}/_native.*.so"), None)
    if engine is None:
        raise ImportError(_no_engine(version))
    if folder != _HERE.parent / "pyarrow":
        # The engine looks for libarrow beside the package alone; else it has to be there already.
        importlib.import_module("pyarrow")
    spec = importlib.util.spec_from_file_location(name, engine)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _libarrow() -> tuple[int, Path | None]:
    """The version of the libarrow that `import pyarrow` brings, such as 2500, and its folder."""
    found = PathFinder.find_spec("pyarrow") if "pyarrow" not in sys.modules else None
    pyarrow = sys.modules.get("pyarrow")
    folders = found.submodule_search_locations if found else getattr(pyarrow, "__path__", None)
    if folders is None:
        raise ImportError(f"easydata needs pyarrow: pip install '{_newest()}'")
    for folder in map(Path, folders):
        for file in folder.glob("libarrow.so.*"):
            if file.suffix[1:].isdigit():
                return int(file.suffix[1:]), folder
    # A build whose libraries lie elsewhere, as conda's do.
    major, minor = importlib.import_module("pyarrow").__version__.split(".")[:2]
    return int(major) * 100 + int(minor), None


def _engines() -> list[int]:
    """The versions of libarrow that there are engines for."""
    return sorted(int(folder.name[3:]) for folder in _HERE.glob("_pa[0-9]*"))


def _shown(version: int) -> str:
    return f"{version // 100}.{version % 100}"


def _newest() -> str:
    engines = _engines()
    return f"pyarrow=={_shown(engines[-1])}.*" if engines else "pyarrow"


def _no_engine(version: int) -> str:
    known = ", ".join(map(_shown, _engines()))
    return (
        f"easydata has no engine for pyarrow {_shown(version)}, which is installed; it has those "
        f"for pyarrow {known}: pip install '{_newest()}'"
        if known
        else f"easydata has no engine at all in {_HERE}: it was not installed whole; install it "
        "anew, or build it (script/build)"
    )
