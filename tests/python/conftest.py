"""Fixtures that every test may use."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from data_folders import OWN, ROOTS, SHARED, WITHOUT_SHARED
from hub_libraries import hub, hub_here
from skipped_tests import cpp_wants, table
from small_tokenizer import small_tokenizer
from stores import certificates, ftp, gcs, moto, nginx, nginx_tls, seaweed

pytest_plugins = ["parts"]

# Servers run once, for whichever tests ask for them.
__all__ = [
    "certificates",
    "ftp",
    "gcs",
    "hub",
    "hub_here",
    "moto",
    "nginx",
    "nginx_tls",
    "seaweed",
]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs the tests in the background has Ctrl-C ignored; tests of Ctrl-C need it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Ends with one table of what was skipped; script/test names the log of the C++ tests."""
    stats = terminalreporter.stats
    reasons = [report.longrepr[2] for report in stats.get("skipped", ())]
    cpp = cpp_wants(Path(os.environ.get("EASYDATA_CTEST_LOG", "")))
    sliced = sum("sliced" in item.keywords for item in stats.get("deselected", ()))
    terminalreporter.section("skipped tests")
    for line in table(reasons, cpp, sliced):
        terminalreporter.write_line(line)


@pytest.fixture(scope="module", autouse=True)
def cleared_caches(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drops what a file's tests cached for each other: tokenizers alone are a gigabyte."""
    yield
    for each in vars(request.module).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of test data beside the checkout; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(WITHOUT_SHARED)
    return SHARED


@pytest.fixture(scope="session")
def own_tokenizers() -> Path:
    """The folder of our own tokenizers: one of each family."""
    return OWN / "tokenizers"


@pytest.fixture(scope="session")
def gpt2() -> str:
    """A folder with a tokenizer of GPT-2's form, for tests that need one, whichever it is."""
    return str(OWN / "tokenizers" / "byte-level")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tokenizer of our own with a chat template (see small_tokenizer.py)."""
    return small_tokenizer(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the test runs in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=ROOTS)
def golden(request: pytest.FixtureRequest) -> Path:
    """Recorded values: our own, and those of ../shared."""
    root: Path = request.param
    return root / "golden"
