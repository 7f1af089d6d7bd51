"""Which tests a run has, and which of them share a process.

`@pytest.mark.sliced(seconds)` is for a test that is not in every run; `seconds` is what one case of
it takes on two idle cores. `--slice K/N` runs the K-th of N parts of the tests: they are dealt out
by their seconds, as script/slice.py deals out the checks that are not tests of Python.

With `--dist loadgroup`, the tests of a file stay together, and files that start the same server or
import the same large library go to the same process, which does so once.
"""

from collections.abc import Sequence

import pytest

# Fixtures that start a server, and modules that take seconds to import.
SERVERS = ("seaweed", "moto", "gcs", "nginx", "nginx_tls", "ftp")
LIBRARIES = ("trl", "torch", "jax", "grain")
USUAL_SECONDS = 0.1  # of a test that is in every run


def deal(seconds: Sequence[float], parts: int) -> list[list[int]]:
    """Deals indices out: the longest first, each to the part that has the fewest seconds."""
    dealt: list[list[int]] = [[] for _ in range(parts)]
    loads = [0.0] * parts
    for index in sorted(range(len(seconds)), key=lambda index: (-seconds[index], index)):
        least = loads.index(min(loads))
        dealt[least].append(index)
        loads[least] += seconds[index]
    return dealt


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slice", default=None, help="run part K of N of the tests")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "sliced(seconds): takes long; runs in one of the slices of script/test --slice"
    )


def _take_slice(config: pytest.Config, items: list[pytest.Item], text: str) -> None:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise pytest.UsageError(f"--slice={text}: write K/N with 1 <= K <= N, such as 3/12")
    marks = [item.get_closest_marker("sliced") for item in items]
    seconds = [mark.args[0] if mark else USUAL_SECONDS for mark in marks]
    chosen = set(deal(seconds, int(parts))[int(part) - 1])
    config.hook.pytest_deselected(items=[x for k, x in enumerate(items) if k not in chosen])
    items[:] = [x for k, x in enumerate(items) if k in chosen]


def _group(item: pytest.Item) -> str:
    fixtures = getattr(item, "fixturenames", ())
    for server in SERVERS:
        if server in fixtures:
            return server
    module = getattr(item, "module", None)
    path = item.nodeid.partition("::")[0]
    names = vars(module) if module else {}
    return next((library for library in LIBRARIES if library in names), path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    text = config.getoption("--slice")
    if text is not None:
        _take_slice(config, items, str(text))
    for item in items:
        if text is not None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid))
        elif item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(_group(item)))
