"""Which tests share a process, and parts of all tests.

With `--dist loadgroup`, the tests of a file stay together, and files that start the same server or
import the same large library go to the same process, which does so once.

`--part K/N` runs the K-th of N parts of the tests: whole groups, about as many tests in each part.

`@pytest.mark.one_in(5)`: of a test's cases, which run the same code, every fifth is in every run,
from the first on; the others are `sliced`. Cases that are `sliced` anyway are not counted.
"""

from collections import Counter
from collections.abc import Iterable

import pytest
from slice import deal, read_part

# Fixtures that start a server, and modules that take seconds to import.
SERVERS = ("seaweed", "moto", "gcs", "nginx", "nginx_tls", "ftp")
LIBRARIES = ("trl", "torch", "jax", "grain")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", default=None, help="run the K-th of N parts of the tests, as K/N")


def group_of(item: pytest.Item) -> str:
    """What the tests that share a process with this one have in common."""
    fixtures = getattr(item, "fixturenames", ())
    for server in SERVERS:
        if server in fixtures:
            return server
    if "request" in fixtures and item.path.parent.name == "remote":
        return SERVERS[0]  # asked for by name, where the test runs
    module = getattr(item, "module", None)
    names = vars(module) if module else {}
    path = item.nodeid.partition("::")[0]
    return next((library for library in LIBRARIES if library in names), path)


def slice_cases(items: Iterable[pytest.Item]) -> None:
    """Marks the cases that `one_in` leaves to the slices."""
    seen: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker("one_in")
        if marker is None or item.get_closest_marker("sliced") is not None:
            continue
        test = item.nodeid.partition("[")[0]
        if seen[test] % marker.args[0] != 0:
            item.add_marker(pytest.mark.sliced)
        seen[test] += 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    slice_cases(items)
    groups = [group_of(item) for item in items]
    text = config.getoption("--part")
    if text is not None:
        try:
            part, parts = read_part(str(text))
        except ValueError as error:
            raise pytest.UsageError(f"--part: {error}") from None
        chosen_groups = set(deal(Counter(groups), parts)[part - 1])
        chosen = [group in chosen_groups for group in groups]
        pairs = list(zip(items, chosen, strict=True))
        config.hook.pytest_deselected(items=[item for item, is_chosen in pairs if not is_chosen])
        items[:] = [item for item, is_chosen in pairs if is_chosen]
        groups = [group for group, is_chosen in zip(groups, chosen, strict=True) if is_chosen]
    for item, group in zip(items, groups, strict=True):
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))
