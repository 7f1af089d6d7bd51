"""Files on web servers: the same rows, addresses and positions as of files here, whatever fails."""

from __future__ import annotations

import functools
import http.server
import json
import random
import shutil
import ssl
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer, Rule
from small_files import FORMATS, ROWS, loader, rows, write_files

from easydata import DatasetConfig, create_source


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("http"))


def served(folder: Path, *rules: Rule, **options: Any) -> FaultServer:
    contents = {f"/{path.name}": path.read_bytes() for path in folder.iterdir()}
    return FaultServer(contents, rules, **options)


def read(data_files: Any, **options: Any) -> list[Any]:
    return list(create_source(DatasetConfig(data_files=data_files, **options)))


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_are_those_of_local_files(files: Path, kind: str) -> None:
    with served(files) as server:
        assert read(f"{server.url}/rows.{kind}") == read(str(files / f"rows.{kind}"))


def test_files_are_named_in_lists_and_braces(files: Path) -> None:
    part = files.joinpath("rows.jsonl").read_bytes()
    lines = part.splitlines(keepends=True)
    parts = {f"/part-{i:03}.jsonl": b"".join(lines[i::12]) for i in range(12)}
    expected = [json.loads(line) for name in sorted(parts) for line in parts[name].splitlines()]
    with FaultServer(parts) as server:
        assert read(server.url + "/part-{000..011}.jsonl") == expected
        assert read([server.url + name for name in parts]) == expected
        some = read(server.url + "/part-{003,007}.jsonl")
    assert some == [json.loads(line) for i in (3, 7) for line in lines[i::12]]


def test_an_empty_file_has_no_rows(files: Path) -> None:
    with served(files) as server:
        assert read([server.url + "/empty.jsonl", server.url + "/rows.jsonl"]) == rows()


def test_a_file_is_listed_once_and_known_by_its_tag(files: Path) -> None:
    with served(files) as server:
        source = create_source(DatasetConfig(data_files=server.url + "/rows.jsonl"))
        assert len(list(source)) == ROWS
        assert len(list(source)) == ROWS
        assert len(server.asked("HEAD")) == 1
        assert {each.if_match for each in server.asked()} == {server.asked()[0].if_match}
        assert server.asked()[0].if_match is not None


def test_a_pass_goes_on_where_it_was(files: Path) -> None:
    with served(files) as server:
        with loader(server.url + "/rows.jsonl") as whole:
            batches = [batch["text"] for batch in whole]
        with loader(server.url + "/rows.jsonl") as first:
            some = iter(first)
            for _ in range(100):
                next(some)
            state = first.state_dict()
        with loader(server.url + "/rows.jsonl") as rest:
            rest.load_state_dict(state)
            assert [list(batch["text"]) for batch in rest] == [list(b) for b in batches[100:]]
        server.files["/rows.jsonl"] = server.files["/rows.jsonl"].replace(b"0", b"1")
        with (
            loader(server.url + "/rows.jsonl") as other,
            pytest.raises(ValueError, match=r"rows\.jsonl"),
        ):
            other.load_state_dict(state)


# What goes by itself, and how often it may come in a row.
RECOVERABLE = {
    "unavailable": Rule("status", status=503, times=2),
    "internal error": Rule("status", status=500, times=2),
    "too many requests": Rule("status", status=429, times=2),
    "request timeout": Rule("status", status=408, times=2),
    "closed without an answer": Rule("close", times=2),
    "cut": Rule("cut", at=70_000, times=2),
    "cut at once": Rule("cut", at=0, times=3),
    "reset": Rule("reset", at=70_000, times=2),
    "short body": Rule("short", at=70_000, times=3),
    "shifted range": Rule("shifted", times=2),
    "whole file": Rule("whole", times=2),
}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", RECOVERABLE)
def test_what_fails_now_and_then_is_asked_again(files: Path, name: str, kind: str) -> None:
    rule = RECOVERABLE[name]
    with served(files, rule) as server:
        assert read(f"{server.url}/rows.{kind}") == read(str(files / f"rows.{kind}"))
        assert sum(each.fault is not None for each in server.log) == rule.times


@pytest.mark.parametrize("fault", ["cut", "reset", "short"])
def test_reading_goes_on_at_the_byte_reached(files: Path, fault: str) -> None:
    with served(files, Rule(fault, at=70_000, times=1, skip=1)) as server:
        read(f"{server.url}/rows.jsonl")
        failed = next(i for i, each in enumerate(server.asked()) if each.fault)
        before, after = server.asked()[failed : failed + 2]
        begin = int(before.range.removeprefix("bytes=").split("-")[0])  # type: ignore[union-attr]
        end = before.range.split("-")[1]  # type: ignore[union-attr]
        assert after.range == f"bytes={begin + 70_000}-{end}"
        assert after.if_match == before.if_match is not None


def test_a_server_is_not_asked_sooner_than_it_says(files: Path) -> None:
    rule = Rule("status", status=429, headers={"Retry-After": "2"}, times=1)
    with served(files, rule) as server:
        begin = time.monotonic()
        assert len(read(server.url + "/rows.jsonl")) == ROWS
        assert time.monotonic() - begin >= 2
    rule = Rule("status", status=429, headers={"RateLimit": '"api";r=0;t=2'}, times=1)
    with served(files, rule) as server:
        begin = time.monotonic()
        assert len(read(server.url + "/rows.jsonl")) == ROWS
        assert time.monotonic() - begin >= 2


def test_redirects_are_followed(files: Path) -> None:
    with served(files) as other:
        moved = [
            Rule("redirect", location=other.url + "/rows.jsonl", method=method)
            for method in ("GET", "HEAD")
        ]
        with served(files, *moved) as server:
            assert read(server.url + "/rows.jsonl") == rows()


@pytest.mark.parametrize("method", ["headless", "status"])
def test_servers_without_head_are_asked_for_a_byte(files: Path, method: str) -> None:
    with served(files, Rule(method, status=403, method="HEAD")) as server:
        assert read(server.url + "/rows.jsonl") == rows()


STORM = ("status", "close", "cut", "reset", "short", "shifted", "whole")


@pytest.mark.parametrize("seed", range(3))
def test_a_storm_of_faults_changes_nothing(files: Path, seed: int) -> None:
    rng = random.Random(seed)
    storm = [
        Rule(fault, at=rng.randrange(100_000), probability=0.05, method=method)
        for fault in STORM
        for method in ("GET", "HEAD")
        if method == "GET" or fault in ("status", "close")
    ]
    with served(files, *storm, seed=seed) as server:
        for kind in FORMATS:
            assert read(f"{server.url}/rows.{kind}") == read(str(files / f"rows.{kind}"))
        assert sum(each.fault is not None for each in server.log) > 0


# What stays: the error's type and words.
FINAL: dict[str, tuple[Rule, type[Exception], str]] = {
    "gone": (Rule("status", status=404), FileNotFoundError, "rows.jsonl.*status 404"),
    "forbidden": (
        Rule("status", status=403, headers={"x-amz-request-id": "A17"}),
        PermissionError,
        "byte 0: status 403, request id A17, after 1 attempt in .*; the server wants credentials",
    ),
    "unauthorized": (Rule("status", status=401), PermissionError, "status 401"),
    "encoded": (
        Rule("encoded"),
        OSError,
        "kept or sent with Content-Encoding: gzip.*Content-Encoding: identity",
    ),
    "teapot": (Rule("status", status=418), OSError, "status 418, after 1 attempt in"),
}


@pytest.mark.parametrize("name", FINAL)
def test_what_stays_is_one_error(files: Path, name: str) -> None:
    rule, error, said = FINAL[name]
    with served(files, rule) as server, pytest.raises(error, match=said):
        read(server.url + "/rows.jsonl")


def test_a_file_that_is_replaced_is_refused_by_name(files: Path) -> None:
    other = files.joinpath("rows.jsonl").read_bytes().replace(b"ferry", b"train")
    for skip in (0, 1):
        with (
            served(files, Rule("replaced", body=other, skip=skip, times=1)) as server,
            pytest.raises(OSError, match=r"rows.jsonl is not the file any more that was listed"),
        ):
            read(server.url + "/rows.jsonl")


def test_a_server_may_be_away_for_a_while(files: Path) -> None:
    with FaultServer({}) as server:
        address = server.url
    found: list[Any] = []
    reading = threading.Thread(target=lambda: found.extend(read(address + "/rows.jsonl")))
    reading.start()
    time.sleep(1)
    assert reading.is_alive()
    port = int(address.rsplit(":", 1)[1])
    with served(files, port=port):
        reading.join(30)
    assert found == rows()


def test_a_server_that_nobody_vouches_for_is_refused(files: Path, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    if shutil.which("openssl") is None:
        pytest.skip("the program openssl, to make a certificate")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
    ]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    begin = time.monotonic()
    with served(files, context=context) as server:
        assert server.url.startswith("https://")
        with pytest.raises(OSError, match=r"the server's certificate is not trusted here"):
            read(server.url + "/rows.jsonl")
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    ("address", "error", "said"),
    [
        ("http://127.0.0.1/*.jsonl", ValueError, "has no index to look patterns up in"),
        ("http:///x.jsonl", ValueError, "names no host"),
        ("http://127.0.0.1/{1..}.jsonl", ValueError, "no range of numbers"),
        ("http://127.0.0.1/{1..3.jsonl", ValueError, "each { needs its }"),
    ],
)
def test_addresses_that_cannot_be_read_are_refused(
    address: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said) as raised:
        read(address)
    assert "hush" not in str(raised.value)


def test_closing_a_loader_ends_reading(files: Path) -> None:
    ended: list[Exception] = []

    def take_all(batches: Any) -> None:
        try:
            list(iter(batches))
        except ValueError as error:
            ended.append(error)

    with served(files, Rule("stall_body", at=10, seconds=30, skip=1)) as server:
        batches = loader(server.url + "/rows.jsonl")
        reading = threading.Thread(target=take_all, args=(batches,), daemon=True)
        reading.start()
        time.sleep(0.5)
        begin = time.monotonic()
        batches.close()
        assert time.monotonic() - begin < 1
        reading.join(2)
        assert not reading.is_alive()
    assert [str(error) for error in ended] == ["the loader is closed; make a new one"]


def test_https_of_a_port_without_tls_is_said_at_once(files: Path) -> None:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(files))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}/rows.jsonl"
        assert read(f"http://{address}") == rows()
        begin = time.monotonic()
        with pytest.raises(OSError, match=r"does not speak TLS: see that port and scheme belong"):
            read(f"https://{address}")
        assert time.monotonic() - begin < 5
        server.shutdown()
