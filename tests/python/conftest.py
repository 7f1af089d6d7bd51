"""Fixtures that every test may use."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs the tests in the background has Ctrl-C ignored; tests of Ctrl-C need it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of test data beside the checkout; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the test data folder ../shared is not beside this checkout")
    return SHARED


@pytest.fixture
def one_io_thread() -> Iterator[None]:
    """Arrow reads files with threads of its own, which come as they are needed, and stay."""
    before = pa.io_thread_count()
    pa.set_io_thread_count(1)
    yield
    pa.set_io_thread_count(before)
