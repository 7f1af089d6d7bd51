"""A plugin of pytest that records which sites of planted bugs each test reaches.

    EASYDATA_PLANTED_REACHED=MAP EASYDATA_PLANTED_RECORD=FILE pytest -p reach

FILE gets a line of JSON for each test: its id, how it ended, its seconds, the sites. What a
fixture reached when it was set up counts for every test that uses it; what was reached while tests
were collected is in a line of its own, with the id "".
"""

import json
import mmap
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Reach:
    """The sites reached since it was last asked."""

    def __init__(self) -> None:
        with open(os.environ["EASYDATA_PLANTED_REACHED"], "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 256)
        self._record = Path(os.environ["EASYDATA_PLANTED_RECORD"])
        self._fixtures: dict[Any, set[int]] = {}
        self._setups: list[set[int]] = []
        self._failed: set[str] = set()
        self.take()

    def take(self) -> set[int]:
        """What was reached, and begins anew."""
        sites = {number for number in range(256) if self._map[number]}
        self._map[:] = bytes(256)
        return sites

    def write(self, name: str, outcome: str, seconds: float, sites: set[int]) -> None:
        line = json.dumps([name, outcome, round(seconds, 3), sorted(sites)])
        with self._record.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def pytest_collection_finish(self) -> None:
        self.write("", "passed", 0, self.take())

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before = self.take()
        try:
            return (yield)
        finally:
            sites = self.take()
            self._fixtures.setdefault(fixturedef, set()).update(sites)
            # A fixture that another one asks for is part of what that one reached.
            for site in before | sites:
                self._map[site] = 1

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.take()
        begin = time.monotonic()
        try:
            return (yield)
        finally:
            sites = self.take()
            for definitions in item._fixtureinfo.name2fixturedefs.values():
                for definition in definitions:
                    sites |= self._fixtures.get(definition, set())
            outcome = "failed" if item.nodeid in self._failed else "passed"
            self.write(item.nodeid, outcome, time.monotonic() - begin, sites)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._failed.add(report.nodeid)


def pytest_configure(config: Any) -> None:
    if "EASYDATA_PLANTED_RECORD" in os.environ:
        config.pluginmanager.register(Reach())
