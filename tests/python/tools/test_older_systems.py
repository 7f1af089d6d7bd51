"""What wheels define anew for older systems does what the newer names do, and needs nothing new."""

import platform
import re
import subprocess
from pathlib import Path

import pytest
import wheels
from programs import run_python

ROOT = Path(__file__).resolve().parents[3]
DEFINED = ROOT / "python/older_systems/older_systems.cc"
PROGRAM = ROOT / "tests/cpp/older_systems.cc"
CMAKE = (ROOT / "python/CMakeLists.txt").read_text(encoding="utf-8")


X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="wheels are for x86-64")


def compiled(folder: Path, *sources: Path | str) -> Path:
    """A library of these sources, linked as a wheel's module is."""
    library = folder / "library.so"
    options = ["-std=c++20", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"]
    command = ["g++", *options, "-Wl,--gc-sections,--exclude-libs,ALL", "-o", library, *sources]
    subprocess.run(command, check=True, cwd=folder)
    return library


@X86
def test_names_of_newer_systems_are_defined_by_older_ones(tmp_path: Path) -> None:
    found = subprocess.run(
        ["g++", "-print-file-name=libstdc++.a"], check=True, capture_output=True, text=True
    )
    (named,) = re.findall(r"set\(_parts (.+)\)", CMAKE)
    parts = named.split()
    subprocess.run(["ar", "x", found.stdout.strip(), *parts], check=True, cwd=tmp_path)
    subprocess.run(["ar", "rcs", "parts.a", *parts], check=True, cwd=tmp_path)
    whole = "-Wl,--whole-archive,parts.a,--no-whole-archive"
    library = compiled(tmp_path, whole, PROGRAM, DEFINED)
    (tmp_path / "files").mkdir()
    files = str(tmp_path / "files").encode()
    call = f"import ctypes; ctypes.CDLL({str(library)!r}).try_older_systems({files!r})"
    assert run_python("-c", call, cwd=tmp_path).stdout == ""
    assert list(wheels.problems(library)) == []


@X86
def test_without_them_newer_names_are_needed(tmp_path: Path) -> None:
    needed = "\n".join(wheels.problems(compiled(tmp_path, PROGRAM)))
    assert "needs stat@GLIBC_2.33; manylinux_2_28 ends at GLIBC_2.28" in needed
    for name in ("dlopen", "pthread_once", "pthread_cond_clockwait", "condition_variable4wait"):
        assert name in needed
