"""The bench itself: the proxy hands on, fails and logs by its rules, as a raw client sees it."""

from __future__ import annotations

import random
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from certificates import Certificates
from fault_proxy import FaultProxy
from fault_server import FaultServer
from faults import FAULTS, Rule
from raw_client import Got, ask

DATA = random.Random(1).randbytes(300_000)
RANGE = {"Range": "bytes=100-299099"}
PART = DATA[100:299_100]


@pytest.fixture(scope="module")
def upstream() -> Iterator[FaultServer]:
    with FaultServer({"/f": DATA, "/g": b"other"}) as server:
        yield server


@pytest.fixture
def proxy(upstream: FaultServer) -> Iterator[FaultProxy]:
    with FaultProxy(upstream.url) as proxy:
        yield proxy


def ask_part(proxy: FaultProxy, *rules: Rule, **options: Any) -> Got:
    proxy.rules = rules
    return ask(proxy.url, "/f", headers=RANGE, **options)


def test_nothing_is_changed_without_a_rule(proxy: FaultProxy, upstream: FaultServer) -> None:
    straight, through = (ask(url, "/f", headers=RANGE) for url in (upstream.url, proxy.url))
    assert (through.status, through.body, through.error) == (206, PART, None)
    assert through.headers == straight.headers
    assert ask(proxy.url, "/f", "HEAD").headers["content-length"] == str(len(DATA))
    assert ask(proxy.url, "/none").status == 404


# What the client sees: a status (None: no answer), a body, an error, and headers.
SEEN: dict[str, tuple[Rule, int | None, bytes, str | None, dict[str, str]]] = {
    "close": (Rule("close"), None, b"", "RemoteDisconnected", {}),
    "status": (
        Rule("status", status=429, headers={"Retry-After": "3"}, body=b"slow down"),
        429,
        b"slow down",
        None,
        {"retry-after": "3", "content-length": "9"},
    ),
    "redirect": (
        Rule("redirect", location="http://elsewhere.example/f"),
        307,
        b"",
        None,
        {"location": "http://elsewhere.example/f"},
    ),
    "cut": (Rule("cut", at=70_000), 206, PART[:70_000], "short", {"content-length": "299000"}),
    "reset": (Rule("reset", at=70_000), 206, PART[:70_000], "ConnectionResetError", {}),
    "longer": (Rule("longer", at=7), 206, PART, "short", {"content-length": "299007"}),
    "short": (
        Rule("short", at=7),
        206,
        PART[:7],
        None,
        {"content-range": "bytes 100-299099/300000"},
    ),
    "shifted": (
        Rule("shifted"),
        206,
        PART[1:] + b"\0",
        None,
        {"content-range": "bytes 101-299100/300000"},
    ),
    "whole": (
        Rule("whole"),
        200,
        bytes(100) + PART + bytes(900),
        None,
        {"content-length": "300000"},
    ),
    "encoded": (Rule("encoded"), 206, PART, None, {"content-encoding": "gzip"}),
    "flip": (
        Rule("flip", at=299_000 - 1),
        206,
        PART[:-1] + bytes([PART[-1] ^ 1]),
        None,
        {"content-length": "299000"},
    ),
    "lost": (Rule("lost"), None, b"", "RemoteDisconnected", {}),
}


@pytest.mark.parametrize("fault", SEEN)
def test_a_client_sees_the_fault(proxy: FaultProxy, fault: str) -> None:
    rule, status, body, error, headers = SEEN[fault]
    got = ask_part(proxy, rule)
    assert (got.status, got.body == body, got.error) == (status, True, error)
    assert headers.items() <= got.headers.items()
    assert proxy.log[-1].fault == fault
    assert proxy.log[-1].status == status
    proxy.rules = []
    assert ask(proxy.url, "/f").body == DATA


def test_all_faults_are_tested() -> None:
    elsewhere = {"expired", "headless", "stall_headers", "stall_body", "drop_key", "replaced"}
    elsewhere |= {"refuse", "trickle", "cut_request", "latency", "bandwidth"}
    assert set(SEEN) | elsewhere == set(FAULTS)


def test_connections_are_refused(proxy: FaultProxy) -> None:
    got = ask_part(proxy, Rule("refuse", times=1))
    assert (got.status, got.error) in ((None, "ConnectionResetError"), (None, "BrokenPipeError"))
    assert [each.fault for each in proxy.log] == ["refuse"]
    assert ask(proxy.url, "/f").body == DATA


def test_expired_credentials_are_told_as_the_store_would(proxy: FaultProxy) -> None:
    got = ask_part(proxy, Rule("expired"))
    assert got.status == 403
    assert b"<Code>ExpiredToken</Code>" in got.body
    got = ask(proxy.url, "/storage/v1/b/x/o/y?alt=media")
    assert got.status == 401
    assert got.headers["content-type"] == "application/json"


def test_a_server_may_lack_head(proxy: FaultProxy) -> None:
    proxy.rules = [Rule("headless", method="HEAD")]
    assert ask(proxy.url, "/f", "HEAD").status == 405
    assert ask(proxy.url, "/f").status == 200


def test_stalls_last_until_the_client_goes(proxy: FaultProxy) -> None:
    got = ask_part(proxy, Rule("stall_headers"), timeout=0.2)
    assert (got.status, got.error) == (None, "TimeoutError")
    got = ask_part(proxy, Rule("stall_body", at=500), timeout=0.2)
    assert (got.status, got.body, got.error) == (206, PART[:500], "TimeoutError")
    time.sleep(0.1)
    assert (proxy.in_flight.now, proxy.connections.now) == (0, 0)


def test_a_slow_line_harms_nothing(proxy: FaultProxy) -> None:
    latency = Rule("latency", seconds=0.3, method="")
    got = ask_part(proxy, latency)
    assert got.body == PART
    assert 0.3 <= got.first_byte < 1
    assert (proxy.log[-1].fault, proxy.log[-1].slowed) == (None, ("latency",))
    got = ask_part(proxy, Rule("bandwidth", rate=1_000_000))
    assert got.body == PART
    assert 0.25 <= got.seconds < 1.5
    got = ask_part(proxy, Rule("trickle", rate=600_000))
    assert got.body == PART
    assert 0.45 <= got.seconds < 2
    got = ask_part(proxy, latency, Rule("short", at=10))
    assert (got.body, got.first_byte >= 0.3) == (PART[:10], True)
    assert (proxy.log[-1].fault, proxy.log[-1].slowed) == ("short", ("latency",))


def test_a_line_is_shared(proxy: FaultProxy) -> None:
    proxy.rules = [Rule("bandwidth", rate=1_000_000, method="GET|PUT")]
    begin = time.monotonic()
    asked: list[dict[str, Any]] = [{"method": "PUT", "body": DATA}, {"method": "GET"}]
    threads = [threading.Thread(target=ask, args=(proxy.url, "/f"), kwargs=each) for each in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begin >= 0.75  # 300 kB there, twice 300 kB back
    assert proxy.in_flight.most == 2


def test_another_file_takes_the_place(proxy: FaultProxy) -> None:
    old = ask_part(proxy, Rule("replaced", body=b"new", skip=1, times=1)).headers["etag"]
    assert ask(proxy.url, "/f", headers={"If-Match": old}).status == 412
    got = ask(proxy.url, "/f")
    assert (got.status, got.body) == (200, b"new")
    assert got.headers["etag"] != old
    assert ask(proxy.url, "/g").body == b"other"


def test_rules_say_what_they_match(proxy: FaultProxy) -> None:
    proxy.rules = [
        Rule("status", status=500, path=r"^/f$", query=r"part=\d", method="GET|HEAD"),
        Rule("status", status=501, header="X-Odd", method=""),
        Rule("status", status=502, path="^/g", skip=1, times=2),
    ]
    asked = [("/f", "GET"), ("/f?part=1", "GET"), ("/f?part=1", "HEAD"), ("/f?part=1", "PUT")]
    assert [ask(proxy.url, *each).status for each in asked] == [200, 500, 500, 404]
    assert ask(proxy.url, "/f", "DELETE", {"x-odd": ""}).status == 501
    assert [ask(proxy.url, "/g").status for _ in range(4)] == [200, 502, 502, 200]


def test_the_log_tells_what_was_sent(proxy: FaultProxy) -> None:
    begin = time.monotonic()
    given = {
        "Range": "bytes=0-9",
        "If-Match": '"no"',
        "If-None-Match": "*",
        "Authorization": "AWS4-HMAC-SHA256 hush",
        "X-Amz-Security-Token": "hush",
        "Host": "bucket.example",
    }
    ask(proxy.url, "/f?a=1&b", headers=given)
    ask(proxy.url, "/f?a=1&b", headers=given)
    ask(proxy.url, "/g")
    first, again, other = proxy.log
    assert (first.method, first.path, first.query, first.range) == (
        "GET",
        "/f",
        "a=1&b",
        "bytes=0-9",
    )
    assert (first.if_match, first.if_none_match, first.host) == ('"no"', "*", "bucket.example")
    assert (first.authorized, first.token, first.fault) == (True, True, None)
    assert (other.authorized, other.token, other.range) == (False, False, None)
    assert [each.attempt for each in proxy.log] == [1, 2, 1]
    assert [each.status for each in proxy.log] == [404, 404, 200]
    assert begin <= first.time <= again.time <= other.time <= time.monotonic()
    assert "hush" not in repr(proxy.log)


def test_connections_are_counted(proxy: FaultProxy) -> None:
    proxy.rules = [Rule("latency", seconds=0.3)]
    threads = [threading.Thread(target=ask, args=(proxy.url, "/g")) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (proxy.connections.most, proxy.in_flight.most) == (5, 5)


def storm(upstream: FaultServer, seed: int, backwards: bool = False) -> dict[str, list[str | None]]:
    """The faults that each target met, asked one after the other."""
    rules = [Rule(fault, probability=0.1) for fault in ("status", "close", "cut", "flip")]
    targets = [f"/g?{i % 40}" for i in range(120)]
    with FaultProxy(upstream.url, rules, seed) as proxy:
        for target in reversed(targets) if backwards else targets:
            ask(proxy.url, target)
        found: dict[str, list[str | None]] = {}
        for each in proxy.log:
            found.setdefault(each.query, []).append(each.fault)
    return found


def test_a_seed_gives_the_same_faults_in_any_order(upstream: FaultServer) -> None:
    first = storm(upstream, 1)
    assert storm(upstream, 1, backwards=True) == first
    assert storm(upstream, 2) != first
    harmed = sum(each is not None for found in first.values() for each in found)
    assert 20 <= harmed <= 70  # 41 of 120 are to be expected


def exchange(proxy: FaultProxy, *parts: bytes) -> list[bytes]:
    """Sends parts by one connection and returns what came after each."""
    port = int(proxy.url.rsplit(":", 1)[1])
    found = []
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        for part in parts:
            connection.sendall(part)
            found.append(connection.recv(1 << 16))
    return found


@pytest.fixture
def bodies() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server of one connection that keeps what bytes it gets, and answers 201."""
    kept: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(5)
                got = b""
                while not re.search(rb"(?:\r\n0\r\n(?:[^\r]+\r\n)*\r\n|\r\n\r\nhello)$", got):
                    data = connection.recv(1 << 16)
                    if not data:
                        break
                    got += data
                kept.append(got)
                connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", kept
        thread.join(5)


def test_who_expects_it_is_told_to_go_on(bodies: tuple[str, list[bytes]]) -> None:
    address, kept = bodies
    head = b"PUT /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
    with FaultProxy(address) as proxy:
        told = exchange(proxy, head, b"hello")
    assert told[0] == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert told[1].startswith(b"HTTP/1.1 201 ")
    assert kept == [b"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"]


def test_chunked_bodies_go_on_as_they_are(bodies: tuple[str, list[bytes]]) -> None:
    address, kept = bodies
    head = b"PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nx-checksum: z\r\n\r\n"
    with FaultProxy(address) as proxy:
        (told,) = exchange(proxy, head + body)
    assert told.startswith(b"HTTP/1.1 201 ")
    assert kept == [head + body]


def test_an_upload_is_cut(bodies: tuple[str, list[bytes]]) -> None:
    address, kept = bodies
    with FaultProxy(address, [Rule("cut_request", at=50_000, method="PUT")]) as proxy:
        got = ask(proxy.url, "/x", "PUT", body=DATA)
        assert got.status is None
        assert got.error in ("ConnectionResetError", "BrokenPipeError")
        assert proxy.log[0].fault == "cut_request"
    _, body = kept[0].split(b"\r\n\r\n", 1) if kept else (b"", b"")
    assert len(body) < 50_000


def test_a_server_that_is_away_answers_nothing() -> None:
    with FaultProxy("127.0.0.1:9") as proxy:
        assert ask(proxy.url, "/f").error == "RemoteDisconnected"
        assert ask(proxy.url, "/f", "PUT", body=DATA).status is None


def test_clients_may_come_by_tls(upstream: FaultServer, certificates: Certificates) -> None:
    trusting = ssl.create_default_context(cafile=str(certificates.ca_file))
    for name in ("good", "expired", "other_host", "unknown"):
        context = getattr(certificates, name).context()
        with FaultProxy(upstream.url, [Rule("reset", at=5, skip=1)], context=context) as proxy:
            got = ask(proxy.url, "/f", context=trusting)
            if name == "good":
                assert (got.body, got.error) == (DATA, None)
                assert ask(proxy.url, "/f", context=trusting).error is not None
            else:
                assert got.error == "SSLCertVerificationError"
