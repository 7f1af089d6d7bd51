"""What is linked into the module is nobody else's: libarrow has a simdjson of another version."""

import shutil
import subprocess

import pytest
import wheels

from easydata import _native


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm of binutils")
def test_no_name_of_a_library_inside_is_seen_outside() -> None:
    dynamic = subprocess.run(
        ["nm", "-DC", _native.__file__], check=True, capture_output=True, text=True
    ).stdout
    assert "PyInit__native" in dynamic
    assert [line for line in dynamic.splitlines() if wheels.FOREIGN.search(line)] == []
