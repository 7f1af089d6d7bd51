"""What is checked in under tests/data is what its scripts make, byte by byte."""

import subprocess
import sys

import pytest
from data_folders import OWN


@pytest.mark.parametrize(
    ("script", "library"),
    [
        ("make_tokenizers.py", "tokenizers"),
        ("record_tokenizers.py", "tokenizers"),
        ("record_mixture.py", "numpy"),
        ("record_grain.py", "grain"),
    ],
)
def test_scripts_make_what_is_checked_in(script: str, library: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    run = subprocess.run(
        [sys.executable, OWN / script, "--check"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
