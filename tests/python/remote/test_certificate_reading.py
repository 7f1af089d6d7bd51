"""Faults that go by themselves: the rows are the same, and no request is made that must not be."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

import pytest
from cases_in_turn import cases_in_turn
from faults import Rule
from served_files import HASTY, again, bounds, identity, put, served_files
from small_files import ROWS, loader, rows, write_files

SERVERS = ["seaweed", "nginx", "gcs"]
STALL = float(HASTY["stall_timeout"])
OBJECTS = r"rows\."  # of the path: not lists


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("certificate"))


def rule(fault: str, method: str = "GET", times: int = 3, **options: object) -> Rule:
    return Rule(fault, method=method, path=OBJECTS, times=times, **options)  # type: ignore[arg-type]


# What is done to the first requests of a pass.
RECOVERABLE: dict[str, Rule] = {
    **{
        f"status {status}": rule("status", "GET|HEAD", status=status)
        for status in (500, 502, 503, 504, 408, 429)
    },
    "refused": Rule("refuse", times=3),
    "closed": rule("close", "GET|HEAD"),
    "reset": rule("reset", at=5000),
    "reset at once": rule("reset", at=0),
    "cut": rule("cut", at=5000),
    "cut at once": rule("cut", at=0),
    "stalled before headers": rule("stall_headers", "GET|HEAD"),
    "stalled in the body": rule("stall_body", at=5000),
    "trickle": rule("trickle", times=2, rate=200),
    "length too long": rule("longer", at=100),
    "short body": rule("short", at=5000),
    "shifted range": rule("shifted"),
    "whole file": rule("whole", times=1),
}


@pytest.mark.parametrize(
    ("name", "where", "kind"), cases_in_turn(RECOVERABLE, SERVERS, ["jsonl", "parquet"])
)
def test_what_goes_by_itself_changes_nothing(
    name: str, where: str, kind: str, files: Path, request: pytest.FixtureRequest
) -> None:
    fault = RECOVERABLE[name]
    with served_files(request, where, files, [fault]) as here:
        begin = time.monotonic()
        assert here.read(f"rows.{kind}") == rows()
        assert time.monotonic() - begin < 4 + 2 * STALL * fault.times
        assert len(here.faults) == fault.times


@pytest.mark.parametrize("where", SERVERS)
def test_the_digest_is_that_of_the_files_here(
    where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    """All of it at once, by a loader."""
    kinds = ["jsonl", "jsonl.gz", "parquet", "csv", "arrow"]
    for kind in kinds:
        with loader(str(files / f"rows.{kind}"), identity="size") as local:
            expected = [list(batch["text"]) for batch in local]
            digest = local.digest()
        mixed = [
            rule(each, times=1 << 30, probability=0.1, at=3000)
            for each in ("status", "reset", "cut", "short", "shifted", "close")
        ]
        with served_files(request, where, files, mixed) as here:
            options = {**here.options, **HASTY}
            address = here.address(f"rows.{kind}")
            with loader(address, identity="size", storage_options=options) as there:
                assert [list(batch["text"]) for batch in there] == expected
                assert there.digest() == digest


@pytest.mark.parametrize(
    ("fault", "where"), cases_in_turn(["reset", "cut", "short", "stall_body", "trickle"], SERVERS)
)
def test_reading_goes_on_at_the_byte_reached(
    fault: str, where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    with served_files(
        request, where, files, [rule(fault, times=1, skip=1, at=70_000, rate=500)]
    ) as here:
        assert here.read("rows.jsonl") == rows()
        (failed,) = here.faults
        after = again(failed, here.proxy.log)
        if fault == "trickle":
            # What came within two looks at the clock, and the buffers between.
            assert 0 < bounds(after)[0] - bounds(failed)[0] < 500 * (STALL + 1)
        else:
            assert bounds(after)[0] == bounds(failed)[0] + 70_000
        assert identity(after) == identity(failed) is not None


WAITS: dict[str, tuple[int, Callable[[], dict[str, str]], float]] = {
    "seconds": (429, lambda: {"Retry-After": "1"}, 1),
    "seconds of 503": (503, lambda: {"Retry-After": "1"}, 1),
    # Dates have whole seconds, and this one is made a while before it is sent.
    "date": (429, lambda: {"Retry-After": formatdate(time.time() + 3, usegmt=True)}, 1),
    "rate limit": (429, lambda: {"RateLimit": '"api";r=0;t=1'}, 1),
}


@pytest.mark.parametrize(("name", "where"), cases_in_turn(WAITS, ["seaweed", "nginx"]))
def test_a_server_is_never_asked_sooner_than_it_says(
    name: str, where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    status, headers, least = WAITS[name]
    times = 1 if name == "date" else 2
    throttled = rule("status", status=status, headers=headers(), times=times, skip=1)
    with served_files(request, where, files, [throttled]) as here:
        assert here.read("rows.jsonl") == rows()
        assert len(here.faults) == times
        for failed in here.faults:
            assert again(failed, here.proxy.log).time - failed.time >= least - 0.01


def test_a_date_that_is_past_is_no_wait(files: Path, request: pytest.FixtureRequest) -> None:
    for text in (formatdate(0, usegmt=True), "0", "-5", "soon", ""):
        odd = rule("status", status=429, headers={"Retry-After": text}, times=2)
        with served_files(request, "nginx", files, [odd]) as here:
            begin = time.monotonic()
            assert here.read("rows.txt") == [{"text": row["text"]} for row in rows()]
            assert time.monotonic() - begin < 5


KEYS = 1100
LIST = "list-type=2|maxResults="
LIST_FAULTS = {
    "status": {"status": 503},
    "cut": {"at": 20_000},
    "reset": {"at": 20_000},
    "short": {"at": 20_000},
    "longer": {"at": 10},
    "stall_headers": {},
    "stall_body": {"at": 20_000},
    "trickle": {"rate": 200.0},
    "close": {},
}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    for i in range(KEYS):
        (folder / f"a {i:05}.jsonl").write_text(json.dumps({"id": i}) + "\n")
    return folder


@pytest.mark.parametrize(("fault", "where"), cases_in_turn(LIST_FAULTS, ["seaweed", "gcs"]))
def test_lists_of_many_pages_come_whole(
    fault: str, where: str, many: Path, request: pytest.FixtureRequest
) -> None:
    options = LIST_FAULTS[fault]
    # The first page; then the second, which a rule sees after the first's second attempt.
    failing = [Rule(fault, query=LIST, skip=skip, times=1, **options) for skip in (0, 1)]  # type: ignore[arg-type]
    if fault in ("cut", "reset", "short", "stall_body"):
        failing = failing[:1]  # the second page is smaller than that
    with served_files(request, where, many, failing) as here:
        source = here.source("a*.jsonl")
        assert [each.fault for each in here.faults] == [fault] * len(failing)
        names = [name.rsplit("/", 1)[1] for name in source.shard_names]
        assert names == [f"a {i:05}.jsonl" for i in range(KEYS)]


ODD = ["a b+c=d%.jsonl", "%20.jsonl", "#?&;:@$!',().jsonl", "ünïcödé/日本.jsonl", '<x>&"~.jsonl']


@pytest.mark.parametrize("where", ["seaweed", "gcs"])
def test_odd_keys_are_asked_for_again_as_they_were(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "plain.jsonl").write_text('{"key": "plain.jsonl"}\n')
    failing = [Rule(each, method="GET|HEAD", probability=0.25, at=3) for each in ("status", "cut")]
    with served_files(request, where, tmp_path, failing) as here:
        for key in ODD:
            put(here.server, here.folder, key, json.dumps({"key": key}).encode())
        given = here.read(ODD, retries=100)
        assert sorted(row["key"] for row in given) == sorted(ODD)
        listed = here.read("", retries=100)
        assert sorted(row["key"] for row in listed) == sorted([*ODD, "plain.jsonl"])
        assert here.faults


@pytest.mark.parametrize("where", ["seaweed", "gcs"])
def test_a_list_that_lost_a_file_takes_none_from_the_plan(
    where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    with served_files(request, where, files) as here:
        source = here.source("rows.json*")
        key = here.address("rows.jsonl").split("/", 3)[3]
        here.proxy.rules = [Rule("drop_key", query=LIST, key=key)]
        assert len(list(source)) == 2 * ROWS
        assert len(here.source("rows.json*").shard_names) == 1  # what a new list would say


@pytest.mark.parametrize("where", ["seaweed", "gcs"])
def test_folders_that_are_objects_are_no_files(
    where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    with served_files(request, where, files) as here:
        put(here.server, here.folder, "deep/", b"")
        put(here.server, here.folder, "deep/b c+d=%.jsonl", b'{"a": 1}\n')
        for fault in (Rule("status", times=1), rule("reset", at=3, times=1)):
            here.proxy.rules = [fault]
            assert here.read("deep") == [{"a": 1}]
