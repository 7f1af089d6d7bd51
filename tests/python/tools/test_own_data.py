"""What is checked in under tests/data is what its scripts make, byte by byte."""

import pytest
from data_folders import OWN
from programs import run_python

pytestmark = pytest.mark.sliced


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
    run_python(OWN / script, "--check")
