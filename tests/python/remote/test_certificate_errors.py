"""Faults that stay: one error, in time, that says where, how often, what came, and what to do."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from cases_in_turn import cases_in_turn
from closed_loaders import check_closing_ends_reading
from faults import Rule
from served_files import HASTY, ServedFiles, served_files
from server_process import free_ports
from small_files import ROWS, loader, rows, write_files
from thread_count import settled, threads

from easydata import DatasetConfig, create_source

SERVERS = ["seaweed", "nginx", "gcs"]
OBJECTS = r"rows\."
ID = {"x-amz-request-id": "A17"}
CHANGED = r"is not the file any more that was listed: it had \d+ bytes.*now it has .*start anew"
PATIENT = r"be more patient \(storage_options: retries, retry_timeout\)"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("errors"))


def rule(fault: str, method: str = "GET", **options: Any) -> Rule:
    return Rule(fault, method=method, path=OBJECTS, **options)


def answer(**headers: str) -> Rule:
    """An answer to a range that a server should not give."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return rule("status", status=206, headers={**given, **ID}, body=b"0123456789")


def used_up(outcome: str) -> str:
    return rf"at byte 0: {outcome}, after \d+ attempts in \d\.\d s; .*{PATIENT}"


# The rule, the error, its words, seconds that it may take.
FINAL: dict[str, tuple[Rule, type[Exception], str, float]] = {
    "401": (
        rule("status", status=401, headers=ID),
        PermissionError,
        "at byte 0: status 401, request id A17, after 1 attempt in .*wants credentials",
        1,
    ),
    "403": (
        rule("status", status=403, headers=ID),
        PermissionError,
        "at byte 0: status 403, request id A17, after 1 attempt in .*wants credentials",
        1,
    ),
    "expired for ever": (rule("expired"), PermissionError, r"at byte 0: status 40[13] \(.+\)", 1),
    "404": (
        rule("status", "GET|HEAD", status=404, headers=ID, skip=1),
        FileNotFoundError,
        "at byte 0: status 404, request id A17, after 1 attempt in .*see that the address is right",
        1,
    ),
    "teapot": (
        rule("status", status=418, headers=ID),
        OSError,
        "at byte 0: status 418, request id A17, after 1 attempt in .*does not give it",
        1,
    ),
    "redirected for ever": (
        rule("redirect", location="/files/rows.x"),
        OSError,
        "at byte 0: status 307, after 1 attempt in ",
        2,
    ),
    "replaced": (rule("replaced", body=b"another"), OSError, CHANGED, 1),
    "412": (rule("status", status=412), OSError, CHANGED, 1),
    "other tag": (
        answer(ETag='"other"', x_goog_generation="1", Content_Range="bytes 0-9/10"),
        OSError,
        CHANGED,
        1,
    ),
    "other length": (answer(Content_Range="bytes 0-9/10"), OSError, CHANGED, 1),
    "no range": (answer(), OSError, "the server answers with an answer without Content-Range", 3),
    "odd range": (answer(Content_Range="lines 1-9/10"), OSError, "Content-Range: lines 1-9", 3),
    "encoded": (rule("encoded"), OSError, "Content-Encoding: gzip.*have it served as it is", 1),
    "unavailable": (
        rule("status", status=503, headers=ID),
        OSError,
        used_up("status 503, request id A17"),
        3,
    ),
    "asked to wait for long": (
        rule("status", status=429, headers={"Retry-After": "600"}),
        OSError,
        r"at byte 0: status 429, after 1 attempt in 0\.\d s",
        1,
    ),
    "closed": (rule("close"), OSError, used_up(".+"), 3),
    "cut at once": (rule("cut", at=0), OSError, used_up("status 206, .+"), 3),
    "reset at once": (rule("reset", at=0), OSError, used_up(".+"), 3),
    "stalled before headers": (
        rule("stall_headers"),
        OSError,
        used_up(r"nothing came for 0\.5 s"),
        3,
    ),
    "stalled in the body": (
        rule("stall_body", at=10),
        OSError,
        r"at byte \d+: status 206.*, nothing came for 0\.5 s, after \d+ attempts in",
        3,
    ),
    "trickle": (
        rule("trickle", rate=200),
        OSError,
        r"at byte \d+: status 206.*, less than a kilobyte a second came for 0\.5 s, after \d+ att",
        4,
    ),
    "length too long": (rule("longer"), OSError, "more bytes than its Content-Range says", 3),
    "nothing of it": (rule("short", at=0), OSError, r"at byte 0: .*after \d+ attempts in", 3),
    "shifted": (rule("shifted"), OSError, r"bytes 1-\d+ to a request for bytes 0-\d+", 3),
}


def check(error: Exception, here: ServedFiles, words: str) -> None:
    """Whether an error says what it should, and nothing that it should not."""
    import re

    text = str(error)
    assert re.search(words, text, re.S), text
    assert here.address("rows.jsonl") in text
    for each in (error, error.__cause__, error.__context__):
        assert not any(secret in repr(each) for secret in here.secrets)


@pytest.mark.parametrize(("name", "where"), cases_in_turn(FINAL, SERVERS))
def test_what_stays_is_one_error_in_time(
    name: str, where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    fault, kind, words, seconds = FINAL[name]
    with served_files(request, where, files) as here:
        assert here.read("rows.jsonl") == rows()
        before = threads()
        here.proxy.rules = [fault]
        begin = time.monotonic()
        with pytest.raises(kind) as raised:
            here.read("rows.jsonl", retries=1000, retry_timeout=1)
        assert time.monotonic() - begin < seconds + 0.5
        check(raised.value, here, words)
        assert threads() <= before


def test_the_number_of_attempts_is_the_one_that_was_asked_for(
    files: Path, request: pytest.FixtureRequest
) -> None:
    for retries in (0, 1, 4):
        with served_files(request, "seaweed", files, [rule("status", status=503)]) as here:
            with pytest.raises(OSError, match=f"after {retries + 1} attempt"):
                here.read("rows.jsonl", retries=retries)
            assert len(here.faults) == retries + 1


@pytest.mark.parametrize("where", ["seaweed", "nginx"])
def test_an_object_that_is_exchanged_in_mid_run_is_refused(
    where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    """What was read before is whole, and nothing of the other one is."""
    other = files.joinpath("rows.jsonl").read_bytes().replace(b"ferry", b"train")
    with served_files(request, where, files, [rule("cut", at=300_000, times=1)]) as here:
        got: list[Any] = []
        source = here.source("rows.jsonl")
        here.proxy.rules = [
            rule("cut", at=300_000, times=1),
            rule("replaced", body=other, times=1),
        ]
        with pytest.raises(OSError, match=CHANGED) as raised:
            got.extend(source)
        check(raised.value, here, CHANGED)
        assert got == rows()[: len(got)]


def test_a_host_that_has_no_address_is_said() -> None:
    begin = time.monotonic()
    address = "http://no-such-host.invalid/rows.jsonl"
    options = {"retry_timeout": 1, "connect_timeout": 2, **HASTY}
    with pytest.raises(OSError, match=rf"{address}: .*esolv.*after \d+ attempts? in"):
        list(create_source(DatasetConfig(address, storage_options=options)))
    assert time.monotonic() - begin < 5


def test_a_server_that_is_not_there_is_said() -> None:
    address = f"http://127.0.0.1:{free_ports(1)[0]}/rows.jsonl"
    begin = time.monotonic()
    with pytest.raises(
        OSError, match=rf"{address}: .*onnect.*after \d+ attempts in .*host and port"
    ):
        list(create_source(DatasetConfig(address, storage_options={**HASTY, "retry_timeout": 1})))
    assert time.monotonic() - begin < 3


WAITING: dict[str, Rule] = {
    "stalled before headers": rule("stall_headers"),
    "stalled in the body": rule("stall_body", at=10),
    "trickle": rule("trickle", rate=2000),
    "asked to wait": rule("status", status=503, headers={"Retry-After": "60"}),
    "unavailable": rule("status", status=503),
}


@pytest.mark.parametrize(("name", "where"), cases_in_turn(WAITING, ["seaweed", "nginx"]))
def test_closing_ends_it_within_a_second(
    name: str, where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    with served_files(request, where, files) as here:
        options = {**here.options, "stall_timeout": 30, "retry_timeout": 300, "retry_delay": 5}
        address = here.address("rows.jsonl")
        with loader(address, storage_options=options) as batches:
            assert sum(len(batch["text"]) for batch in batches) == ROWS
        before = threads()
        batches = loader(address, storage_options=options)
        here.proxy.rules = [WAITING[name]]
        check_closing_ends_reading(batches)
        assert settled(threads, before) <= before
