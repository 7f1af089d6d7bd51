"""Which engine an installed package loads: that of the pyarrow that is there."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
import wheels
from programs import run_python

import easydata
from easydata import _native

PACKAGE = Path(easydata.__file__).parent
MINOR = ".".join(pa.__version__.split(".")[:2])
VERSION = int(MINOR.split(".")[0]) * 100 + int(MINOR.split(".")[1])
# The engines of a build tree, and of an installed wheel.
LEFT_OUT = shutil.ignore_patterns("*.so", "_pa[0-9]*", "__pycache__")
READ = (
    "import easydata._native, sys; print('pyarrow' in sys.modules);"
    "rows = easydata.DatasetConfig(data_files=[{'text': 'It works.'}]);"
    "print(list(easydata.create_source(rows)))"
)


def install(folder: Path, *versions: int) -> Path:
    """Lays the package out as a wheel does, with engines by these names."""
    package = folder / "easydata"
    shutil.copytree(PACKAGE, package, ignore=LEFT_OUT)
    for version in versions:
        (package / f"_pa{version}").mkdir()
        shutil.copy(_native.__file__, package / f"_pa{version}")
    return folder


def run(folder: Path, *others: str, program: str = READ, status: int = 0) -> list[str]:
    """Runs a program that sees this installation first."""
    path = f"import sys; sys.path[:0] = {[str(folder), *others]!r};"
    done = run_python("-I", "-c", path + program, status=status)
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def test_the_engine_of_the_installed_pyarrow_is_loaded(tmp_path: Path) -> None:
    site = install(tmp_path, VERSION, VERSION + 100)
    where = "import easydata._native as n; print(n.__name__, n.__file__)"
    (loaded,) = run(site, program=where)
    assert loaded == f"easydata._native {site}/easydata/_pa{VERSION}/{Path(_native.__file__).name}"
    assert run(site)[1] == "[{'text': 'It works.'}]"


def test_another_pyarrow_is_refused_at_the_first_use_of_the_engine(tmp_path: Path) -> None:
    older = [VERSION - 200, VERSION - 100]
    site = install(tmp_path, *older)
    assert run(site, program="import easydata; print(easydata.__version__)")
    *_, error = run(site, status=1)
    first, second = (f"{version // 100}.{version % 100}" for version in older)
    assert error == (
        f"ImportError: easydata has no engine for pyarrow {MINOR}, which is installed; it has "
        f"those for pyarrow {first}, {second}: pip install 'pyarrow=={second}.*'"
    )


def test_a_package_without_engines_says_so(tmp_path: Path) -> None:
    *_, error = run(install(tmp_path), status=1)
    assert error.startswith("ImportError: easydata has no engine at all in")


def test_without_pyarrow_the_error_names_the_one_to_install(tmp_path: Path) -> None:
    site = install(tmp_path, 2400, 2500)
    program = (
        "sys.path[:] = [p for p in sys.path if 'site-packages' not in p];"
        "import easydata; easydata._native.Cancelled"
    )
    *_, error = run(site, program=program, status=1)
    assert error == "ImportError: easydata needs pyarrow: pip install 'pyarrow==25.0.*'"


def test_libraries_that_lie_elsewhere_are_found_through_pyarrow(tmp_path: Path) -> None:
    """As conda's: pyarrow is there, its libraries are not in its folder."""
    site = install(tmp_path, VERSION)
    stand_in = tmp_path / "elsewhere"
    (stand_in / "pyarrow").mkdir(parents=True)
    real = Path(pa.__file__).parent
    (stand_in / "pyarrow" / "__init__.py").write_text(
        f"__path__ = [{str(real)!r}]\n__file__ = {str(real / '__init__.py')!r}\n"
        "exec(compile(open(__file__).read(), __file__, 'exec'))\n"
    )
    loaded, rows = run(site, str(stand_in))
    assert (loaded, rows) == ("True", "[{'text': 'It works.'}]")


@pytest.mark.parametrize("first", ["pyarrow", "pandas", "polars", "datasets"])
def test_libraries_that_have_an_arrow_of_their_own_are_no_matter(
    first: str, tmp_path: Path
) -> None:
    pytest.importorskip(first)
    site = install(tmp_path, VERSION)
    after = f"import {first}; " + READ
    assert run(site, program=after)[-1] == "[{'text': 'It works.'}]"


@pytest.mark.parametrize("page", ["README.md", "docs/install.md"])
def test_pages_name_the_versions_that_wheels_have_engines_for(page: str) -> None:
    majors = [version.split(".")[0] for version in wheels.settings()["engines"]]
    text = (wheels.ROOT / page).read_text(encoding="utf-8")
    assert f"pyarrow {', '.join(majors[:-1])} or {majors[-1]}" in " ".join(text.split())
