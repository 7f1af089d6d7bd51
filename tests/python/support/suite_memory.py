"""What all tests leave behind in the process that ran them: script/suite_memory loads this plugin.

After each file of tests memory is given back, and how much there is goes into the table at the end,
with the files behind which there was more than before. The begin is behind the collection, which
imports all modules of tests, and the imports of what tests import when they run.
"""

import gc
import importlib
import itertools
import time
from typing import NamedTuple

import pytest
from engine_parts import num_threads
from resident_memory import give_back, resident

# More than these bytes, or a thread of the engine's, is a failure.
MOST = 1 << 30
# What tests import when they run, as far as it is large.
LIBRARIES = ("datasets", "grain", "jax", "pandas", "polars", "torch", "torchdata", "trl")
SHOWN = 20
# Threads that serve the whole process end two seconds after their last work.
PATIENCE = 10


class Look(NamedTuple):
    """What there was behind a file of tests."""

    file: str
    bytes: int
    threads: int  # of the engine's


LOOKS: list[Look] = []


def look(file: str) -> None:
    gc.collect()
    give_back()
    LOOKS.append(Look(file, resident(), num_threads()))


def pytest_collection_finish(session: pytest.Session) -> None:
    for library in LIBRARIES:
        try:
            importlib.import_module(library)
        except ImportError:
            continue
    look("the begin")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    done = yield
    if nextitem is None or nextitem.path != item.path:
        look(item.nodeid.partition("::")[0])
    return done


def pytest_sessionfinish(session: pytest.Session) -> None:
    deadline = time.monotonic() + PATIENCE
    look("the end")
    while LOOKS[-1].threads and time.monotonic() < deadline:
        time.sleep(0.2)
        look("the end")
    if LOOKS[-1].threads or LOOKS[-1].bytes - LOOKS[0].bytes > MOST:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("memory of all tests")
    begin, end = LOOKS[0], LOOKS[-1]
    for now in (begin, end):
        terminalreporter.write_line(
            f"{now.bytes >> 20:6} MB  {now.file}, {now.threads} threads of the engine's"
        )
    grown = [
        (now.bytes - before.bytes, now)
        for before, now in itertools.pairwise(LOOKS)
        if now.bytes > before.bytes
    ]
    for growth, now in sorted(grown, key=lambda each: -each[0])[:SHOWN]:
        terminalreporter.write_line(f"{growth >> 20:+6} MB  {now.file}")
