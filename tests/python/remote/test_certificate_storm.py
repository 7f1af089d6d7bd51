"""Ten thousand requests of which every third fails somehow: the digest is the same, all is counted.

And how many requests are made at once: never more than allowed, fewer where a server has enough.
"""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer
from faults import Rule
from served_files import ServedFiles, served_files
from small_files import loader

from easydata import expand_data_files

FILES, LOADERS = 100, 12
# What one in three requests meets, how often in a thousand, and what is said of it.
STORM = [
    (Rule("refuse"), 15, "broken off"),
    (Rule("close"), 30, "broken off"),
    (Rule("reset", at=100), 30, "broken off"),
    (Rule("cut", at=100), 30, "broken off"),
    (Rule("cut", at=0), 15, "broken off"),
    (Rule("stall_headers"), 8, "stalled"),
    (Rule("stall_body", at=100), 8, "stalled"),
    (Rule("trickle", rate=200), 8, "stalled"),
    (Rule("short", at=100), 25, "wrong answer"),
    (Rule("longer", at=100), 20, "wrong answer"),
    (Rule("shifted"), 20, "wrong answer"),
    (Rule("whole"), 10, ""),  # what is wanted is cut out of it
    (Rule("status", status=500), 20, "status 500"),
    (Rule("status", status=502), 10, "status 502"),
    (Rule("status", status=503), 20, "status 503"),
    (Rule("status", status=504), 10, "status 504"),
    (Rule("status", status=408), 10, "status 408"),
    (Rule("status", status=429), 11, "status 429"),
]
PATIENCE = {"stall_timeout": 0.3, "retry_delay": 0.002, "retries": 1_000_000, "retry_timeout": 60}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("storm")
    rng = random.Random(5)
    for i in range(FILES):
        rows = [{"id": i * 20 + k, "text": f"{rng.getrandbits(400):0100x}"} for k in range(20)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"part-{i:03}.jsonl").write_text(text)
    return folder


def storm() -> list[Rule]:
    """The rules, each by a chance that makes up for those before it."""
    rules, left = [], 1.0
    for fault, often, _ in STORM:
        given = {"path": r"\.jsonl", "probability": often / 1000 / left}
        rules.append(Rule(**{**vars(fault), **given}))
        if fault.fault != "refuse":
            left -= often / 1000
    return rules


def causes(here: ServedFiles) -> Counter[str]:
    """What should have been counted, by the proxy's log."""
    said: dict[tuple[str, int | None], str] = {
        (each.fault, each.status if each.fault == "status" else None): cause
        for each, _, cause in STORM
    }
    log = [each for each in here.proxy.log if each.fault is not None]
    keys = ((each.fault or "", each.status if each.fault == "status" else None) for each in log)
    found = Counter(said[key] for key in keys)
    del found[""]
    return found


def passes(batches: Any) -> Iterator[str]:
    """The digest after each pass."""
    begin = batches.state_dict()
    while True:
        for _ in batches:
            pass
        yield batches.digest()
        batches.load_state_dict(begin)


def read_in_storm(here: ServedFiles, requests: int) -> tuple[list[list[str]], Counter[str]]:
    """The digests of passes through a storm, and the causes of retries that loaders counted."""
    options = {**here.options, **PATIENCE}
    names = here.address("part-{000..%03d}.jsonl" % (FILES - 1))  # noqa: UP031
    loaders = [loader(names, identity="size", storage_options=options) for _ in range(LOADERS)]
    here.proxy.rules = storm()
    digests: list[list[str]] = [[] for _ in loaders]
    counted: Counter[str] = Counter()
    failed: list[Exception] = []

    def go(number: int) -> None:
        try:
            with loaders[number] as batches:
                for digest in passes(batches):
                    digests[number].append(digest)
                    if len(here.proxy.log) >= requests:
                        break
                counted.update(batches.stats()["io"]["retries"])
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=go, args=(number,)) for number in range(LOADERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    # A reset may come while the connection is still being made.
    counted["broken off"] += counted.pop("unreachable", 0)
    return digests, counted


@pytest.mark.parametrize("where", ["seaweed", "nginx"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.sliced) for seed in (1, 2, 3))]
)
def test_a_storm_changes_nothing_and_is_counted(
    seed: int, where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    with loader(str(files / "*.jsonl"), identity="size") as local:
        expected = list(itertools.islice(passes(local), 30))
    requests = 10_000 if seed > 0 else 2_000
    with served_files(request, where, files, seed=seed) as here:
        begin = time.monotonic()
        digests, counted = read_in_storm(here, requests)
        assert time.monotonic() - begin < 120
        assert all(each == expected[: len(each)] for each in digests)
        met = causes(here)
        failed = [each.fault is not None for each in here.proxy.log if each.method != "HEAD"]
        assert 0.25 < sum(failed) / len(failed) < 0.35
        # A machine that has other things to do stalls by itself, sometimes in a rule's place.
        by_itself = Counter({"stalled": counted["stalled"] - met["stalled"]})
        assert 0 <= by_itself.total() <= 0.01 * len(failed)
        assert counted - met == +by_itself
        # What a loader has asked for ahead when it is left fails unseen.
        assert (met - counted).total() <= by_itself.total() + LOADERS


def at_once(count: int, ask: Callable[[], Any]) -> list[threading.Thread]:
    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.parametrize(("most", "least"), [(64, 40), (7, 7)])
def test_no_more_requests_than_allowed_are_made_at_once(most: int, least: int) -> None:
    slow = Rule("latency", method="", seconds=0.3)
    with FaultServer({"/a.jsonl": b"{}\n"}, [slow]) as server:
        address, options = server.url + "/a.jsonl", {"max_in_flight": most}
        for thread in at_once(100, lambda: expand_data_files(address, options)):
            thread.join()
        assert least <= server.in_flight.most <= most


def test_a_server_that_has_enough_is_asked_less_and_then_more_again() -> None:
    slow = Rule("latency", method="", seconds=0.02)
    throttled = Rule("status", status=503, method="", times=400)
    with FaultServer({"/a.jsonl": b"{}\n"}, [slow]) as server:
        ends = threading.Event()
        options = {"retry_delay": 0.01, "retries": 1000}

        def ask() -> None:
            while not ends.is_set():
                expand_data_files(server.url + "/a.jsonl", options)

        def most_within(seconds: float) -> int:
            server.in_flight.most = 0
            time.sleep(seconds)
            return server.in_flight.most

        threads = at_once(80, ask)
        try:
            time.sleep(0.3)
            before = most_within(0.5)
            server.rules = [slow, throttled]
            while server.rules and sum(each.fault is not None for each in server.log) < 400:
                time.sleep(0.02)
            low = most_within(0.1)
            after = most_within(4)
        finally:
            ends.set()
            for thread in threads:
                thread.join()
        assert before >= 20
        assert low <= before / 2
        assert after >= 2 * low
        assert after <= 64
