"""Faults of the Hub and of the host that keeps its large files: the same rows, or one error."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from closed_loaders import check_closing_ends_reading
from faults import Rule
from hub_files import HubFiles
from hub_server import HUB, STORE, HubServer, head
from reading_programs import check_ctrl_c
from served_files import HASTY, again, bounds
from small_files import loader, rows, write_files
from thread_count import settled, threads

pytest.importorskip("huggingface_hub", minversion="2.0")

STALL = float(HASTY["stall_timeout"])
KINDS = ["parquet", "jsonl", "jsonl.gz"]
# Of the Hub what finds files, and what serves the small ones; of the store its files.
API = r"^/api/"
RESOLVE = r"/resolve/.*/(?:rows|lines)\."
PATIENT = r"be more patient \(storage_options: retries, retry_timeout\)"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("local"))


@pytest.fixture
def here(hub_here: HubServer, local: Path) -> HubFiles:
    return HubFiles(hub_here, local)


def test_the_stub_is_read_as_planned(here: HubFiles) -> None:
    """Large files by one resolve and the store, small ones by the Hub; the token at the Hub."""
    for kind in KINDS:
        here.hub.log.clear()
        assert here.read(f"rows.{kind}") == rows()
        assert [each.method for each in here.hub.resolves] == ["HEAD"]
        assert len(here.hub.asked("cdn")) >= 1
        assert all(each.authorized for each in here.hub.asked("hub"))
        assert not any(each.authorized for each in here.hub.asked("cdn"))
    here.hub.log.clear()
    assert here.read("small/lines.jsonl") == rows()
    assert {each.method for each in here.hub.resolves} == {"GET"}
    assert here.hub.asked("cdn") == []


def rule(fault: str, path: str, method: str = "GET|HEAD", times: int = 3, **options: Any) -> Rule:
    return Rule(fault, method=method, path=path, times=times, **options)


# By host: what is asked there, and the file whose reading asks it.
PLACES = {
    "api": (API, "rows.parquet"),
    "tree": (r"^/api/.*/tree/", "rows.parquet"),
    "resolve": (RESOLVE, "rows.jsonl.gz"),
    "small": (RESOLVE, "small/lines.jsonl"),
    "store": (STORE, "rows."),
}

RECOVERABLE: dict[str, dict[str, Any]] = {
    **{f"status {status}": {"status": status} for status in (500, 502, 503, 504, 408, 429)},
    "refuse": {},
    "close": {},
    "reset": {"at": 5000},
    "reset at once": {"at": 0},
    "cut": {"at": 5000},
    "cut at once": {"at": 0},
    "stall_headers": {},
    "stall_body": {"at": 5000},
    "trickle": {"times": 2, "rate": 200},
    "longer": {"at": 100},
    "short": {"at": 5000},
    "short by most": {"at": 10},
    "shifted": {},
    "whole": {"times": 1},
}
# What can be done to an answer that is a few hundred bytes, or none but its headers.
TO_ALL = [name for name in RECOVERABLE if re.match("status|refuse|close|stall_headers", name)]
TO_LISTS = [*TO_ALL, "reset at once", "cut at once", "short by most", "longer"]


def recoverable(name: str, place: str) -> Rule:
    options = dict(RECOVERABLE[name])
    fault = name.split(" ")[0]
    if fault == "refuse":
        return Rule("refuse", times=3)
    return rule(fault, PLACES[place][0], **{"times": 3, **options})


def cases() -> Iterator[Any]:
    for name in RECOVERABLE:
        yield "store", name
        yield "small", name
        if name in TO_ALL:
            yield "resolve", name
        if name in TO_LISTS:
            yield "api", name
        if name in TO_LISTS and name != "refuse":
            yield "tree", name


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("place", "name"), list(cases()))
def test_what_goes_by_itself_changes_nothing(place: str, name: str, here: HubFiles) -> None:
    fault = recoverable(name, place)
    file = PLACES[place][1]
    kind = "parquet" if place != "store" else KINDS[len(name) % 3]
    here.hub.rules = [fault]
    begin = time.monotonic()
    assert here.read(file + kind if file.endswith("rows.") else file) == rows()
    assert time.monotonic() - begin < 4 + 2 * STALL * fault.times
    assert len(here.faults) == fault.times


def test_the_digest_is_that_of_the_files_here(here: HubFiles, local: Path) -> None:
    """Under all faults at once, at both hosts; and the same of a small file."""
    mixed = [
        # A HEAD that tells another length is of another file; an answer to GET has the range, too.
        rule(each, HUB + "|" + STORE, method, times=1 << 30, probability=0.1, at=3000)
        for each, method in [
            *((fault, "GET|HEAD") for fault in ("status", "reset", "cut", "shifted", "close")),
            ("short", "GET"),
        ]
    ]
    for kind in [*KINDS, "small"]:
        name = "small/lines.jsonl" if kind == "small" else f"rows.{kind}"
        here_name = "rows.jsonl" if kind == "small" else name
        with loader(str(local / here_name), identity="size") as batches:
            expected = [list(batch["text"]) for batch in batches]
            digest = batches.digest()
        here.hub.rules = mixed
        options = {**here.options, "retries": 1000}
        with loader(here.address(name), identity="size", storage_options=options) as batches:
            assert [list(batch["text"]) for batch in batches] == expected
            assert batches.digest() == digest


@pytest.mark.parametrize("fault", ["reset", "cut", "short", "stall_body"])
@pytest.mark.parametrize("place", ["store", "small"])
def test_reading_goes_on_at_the_byte_reached(place: str, fault: str, here: HubFiles) -> None:
    # The answer that fails is one of a range that is long enough.
    here.hub.rules = [rule(fault, PLACES[place][0], "GET", times=1, at=70_000)]
    assert here.read("rows.jsonl" if place == "store" else "small/lines.jsonl") == rows()
    (failed,) = here.faults
    assert bounds(again(failed, here.hub.log))[0] == bounds(failed)[0] + 70_000


@pytest.mark.one_in(2)
@pytest.mark.parametrize("place", ["api", "resolve", "small", "store"])
def test_nobody_is_asked_sooner_than_he_says(place: str, here: HubFiles) -> None:
    path, file = PLACES[place]
    limit = {"RateLimit": '"resolvers";r=0;t=1'}
    headers = limit if place in ("api", "resolve") else {"Retry-After": "1"}
    here.hub.rules = [rule("status", path, status=429, headers=headers, times=1)]
    assert here.read(f"{file}jsonl" if file.endswith("rows.") else file) == rows()
    (failed,) = here.faults
    later = here.hub.log[here.hub.log.index(failed) + 1 :]
    after = next(each for each in later if each.path == failed.path)
    assert after.time - failed.time >= 0.99


def test_the_hubs_own_limits_are_obeyed(here: HubFiles) -> None:
    """Windows of the Hub, which say how long they last, at lists and at resolves."""
    here.hub.limit("api", requests=2, seconds=1)
    here.hub.limit("resolvers", requests=1, seconds=1)
    assert here.read("rows.parquet") + here.read("rows.jsonl") == rows() * 2
    refused = [each for each in here.hub.asked("hub") if each.status == 429]
    assert 1 <= len(refused) <= 6


# The place, what happens there, the error, its words, and seconds that it may take.
FINAL: dict[str, tuple[str, dict[str, Any], type[Exception], str, float]] = {
    "list 503": (
        "api",
        {"status": 503},
        OSError,
        rf"cannot list {{root}}: the Hub answers with status 503 to .*, after \d+ att.*{PATIENT}",
        3,
    ),
    "list 418": ("api", {"status": 418}, OSError, r"answers with status 418 to http", 1),
    "list closed": ("api", {"fault": "close"}, OSError, rf"cannot list .*{PATIENT}", 3),
    "list stalled": (
        "api",
        {"fault": "stall_headers"},
        OSError,
        rf"cannot list .* did not answer \(.*; with HF_HUB_OFF.*, after \d+ att.* in .*{PATIENT}",
        3,
    ),
    "tree stalled": (
        "tree",
        {"fault": "stall_headers"},
        OSError,
        rf"cannot list .* did not answer \(ReadTimeout.*, after \d+ att.* in .*{PATIENT}",
        3,
    ),
    "list trickles": (
        "api",
        {"fault": "trickle", "rate": 20},
        OSError,
        rf"cannot list .*did not answer \(no answer in 1 s\), after 1 attempt .*{PATIENT}",
        3,
    ),
    "list short": ("api", {"fault": "short", "at": 5}, OSError, r"answers with what is no list", 3),
    "asked to come later": (
        "api",
        {"status": 429, "headers": {"RateLimit": '"api";r=0;t=600'}},
        OSError,
        r"status 429 to http\S+, after 1 attempt in 0\.\d s",
        1,
    ),
    "resolve 404": (
        "resolve",
        {"status": 404},
        FileNotFoundError,
        r"cannot find where {file} is: status 404; see what there is at http\S+/org/name",
        1,
    ),
    "resolve 401": (
        "resolve",
        {"status": 401},
        PermissionError,
        r"status 401; http\S+/datasets/org/name is private, or is not there.*HF_TOKEN",
        1,
    ),
    "resolve gated": (
        "resolve",
        {"status": 403, "headers": {"X-Error-Code": "GatedRepo"}},
        PermissionError,
        r"status 403; its owner grants access.*: open http\S+/datasets/org/name and request",
        1,
    ),
    "resolve 503": (
        "resolve",
        {"status": 503},
        OSError,
        rf"cannot find where {{file}} is: status 503, .*after \d+ attempts in .*{PATIENT}",
        3,
    ),
    "resolve stalled": (
        "resolve",
        {"fault": "stall_headers"},
        OSError,
        rf"cannot find where {{file}} is: nothing came for 0\.5 s, after .*{PATIENT}",
        3,
    ),
    "resolve elsewhere": (
        "resolve",
        {"fault": "redirect", "location": "ftp://x/y"},
        OSError,
        r"the Hub leads to ftp://x/y, which is no address of a file",
        1,
    ),
    "resolve in circles": (
        "resolve",
        {"fault": "redirect", "location": "/datasets/org/name/resolve/x/rows.jsonl.gz"},
        OSError,
        r"{file} at byte 0: status 307, after 1 attempt",
        2,
    ),
    "store 403": (
        "store",
        {"status": 403},
        PermissionError,
        r"cannot read {file} at byte \d+: status 403, after 1 attempt in",
        1,
    ),
    "store 404": (
        "store",
        {"status": 404, "method": "GET"},
        FileNotFoundError,
        r"cannot read {file} at byte \d+: status 404, after 1 attempt in",
        1,
    ),
    "store replaced": (
        "store",
        {"fault": "replaced", "body": b"another"},
        OSError,
        r"{file} is not the file any more that was listed: it had \d+ bytes.*start anew",
        1,
    ),
    "store encoded": ("store", {"fault": "encoded"}, OSError, r"{file}.*Content-Encoding", 1),
    "store closed": (
        "store",
        {"fault": "close"},
        OSError,
        rf"cannot read {{file}} at byte \d+: .*, after \d+ attempts in .*{PATIENT}",
        3,
    ),
    "store trickles": (
        "store",
        {"fault": "trickle", "rate": 200},
        OSError,
        r"cannot read {file} at byte \d+: .*less than a kilobyte a second came for 0\.5 s",
        4,
    ),
    "store shifted": ("store", {"fault": "shifted"}, OSError, r"{file}.*to a request for bytes", 3),
    "small 404": (
        "small",
        {"status": 404, "method": "GET"},
        FileNotFoundError,
        r"cannot read {file} at byte 0: status 404",
        1,
    ),
    "small 403": ("small", {"status": 403}, PermissionError, r"{file} at byte 0: status 403", 1),
    "small replaced": (
        "small",
        {"fault": "replaced", "body": b"another"},
        OSError,
        r"{file} is not the file any more that was listed",
        1,
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", FINAL)
def test_what_stays_is_one_error_in_time(name: str, here: HubFiles) -> None:
    place, what, kind, words, seconds = FINAL[name]
    path, file = PLACES[place]
    file = file + "jsonl" if file.endswith("rows.") else file
    root = f"hf://datasets/org/name@{head(here.repo)}/"
    if place in ("api", "tree"):
        root = "hf://datasets/org/name/"
    before = threads()
    here.hub.rules = [rule(**{"fault": "status", "path": path, "times": 1 << 30, **what})]
    begin = time.monotonic()
    with pytest.raises(kind) as raised:
        here.read(file, retries=1000, retry_timeout=1)
    assert time.monotonic() - begin < seconds + 0.5
    text = str(raised.value)
    words = words.replace("{root}", re.escape(root)).replace("{file}", re.escape(root + file))
    assert re.search(words, text, re.S), text
    here.check_secrets(raised.value, raised.value.__cause__, raised.value.__context__)
    if name != "list trickles":  # where a thread of Python's waits for the end of the answer
        assert settled(threads, before) <= before


WAITING: dict[str, tuple[str, dict[str, Any]]] = {
    "list stalled": ("api", {"fault": "stall_headers"}),
    "list unavailable": ("api", {"status": 503}),
    "list asked to wait": ("api", {"status": 429, "headers": {"RateLimit": '"api";r=0;t=60'}}),
    "resolve stalled": ("resolve", {"fault": "stall_headers"}),
    "resolve asked to wait": ("resolve", {"status": 503, "headers": {"Retry-After": "60"}}),
    "store stalled": ("store", {"fault": "stall_body", "at": 10, "method": "GET"}),
    "store unavailable": ("store", {"status": 503}),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", WAITING)
def test_closing_ends_it_within_a_second(name: str, here: HubFiles) -> None:
    place, what = WAITING[name]
    path, _ = PLACES[place]
    options = {**here.options, "stall_timeout": 30, "retry_timeout": 300, "retry_delay": 5}
    fault = rule(**{"fault": "status", "path": path, "times": 1 << 30, **what})
    if place == "api":
        # It lists when it is made.
        here.hub.rules = [fault]
        check_ctrl_c(1.5, here.address("rows.jsonl"), options)
        return
    batches = loader(here.address("rows.jsonl"), storage_options=options)
    here.hub.rules = [fault]
    check_closing_ends_reading(batches)
