"""Which tests share a process, and parts of all tests.

With `--dist loadgroup`, the tests of a file stay together, and files that start the same server or
import the same large library go to the same process, which does so once.

`--part K/N` runs the K-th of N parts of the tests: whole groups, about as many tests in each part.
"""

from collections import Counter

import pytest

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


def parts_of(sizes: dict[str, int], number: int) -> dict[str, int]:
    """Deals groups out to parts: the largest first, each to the part that has the fewest tests."""
    loads = [0] * number
    part_of = {}
    for group, size in sorted(sizes.items(), key=lambda each: (-each[1], each[0])):
        part_of[group] = loads.index(min(loads))
        loads[part_of[group]] += size
    return part_of


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    groups = [group_of(item) for item in items]
    text = config.getoption("--part")
    if text is not None:
        part, _, number = str(text).partition("/")
        if not (part.isdecimal() and number.isdecimal() and 1 <= int(part) <= int(number)):
            raise pytest.UsageError(f"--part={text}: write K/N with 1 <= K <= N, such as 1/2")
        part_of = parts_of(Counter(groups), int(number))
        chosen = [part_of[group] == int(part) - 1 for group in groups]
        pairs = list(zip(items, chosen, strict=True))
        config.hook.pytest_deselected(items=[item for item, is_chosen in pairs if not is_chosen])
        items[:] = [item for item, is_chosen in pairs if is_chosen]
        groups = [group for group, is_chosen in zip(groups, chosen, strict=True) if is_chosen]
    for item, group in zip(items, groups, strict=True):
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))
