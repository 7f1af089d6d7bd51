"""Servers that answer what none should: a named error comes of it, or the right rows."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from easydata import DatasetConfig, create_source

DATA = b"".join(b'{"id": %d}\n' % i for i in range(30))
ROWS = [{"id": i} for i in range(30)]
QUICK = {"retries": 1, "retry_delay": 0.01, "stall_timeout": 2}

Answer = Callable[[BaseHTTPRequestHandler], None]


def send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str | int
) -> None:
    handler.send_response(status)
    for name, value in {"Content_Length": len(body), **headers}.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()
    handler.wfile.write(body)


def send_range(handler: BaseHTTPRequestHandler) -> None:
    """What a good server says to GET."""
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers["Range"] or "")
    if asked is None:
        return send(handler, 200, DATA)
    first, last = int(asked[1]), min(int(asked[2]), len(DATA) - 1)
    part = DATA[first : last + 1]
    return send(handler, 206, part, Content_Range=f"bytes {first}-{last}/{len(DATA)}")


@contextmanager
def serving(get: Answer, head: Answer | None = None) -> Iterator[str]:
    """The address of a server that answers so."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            get(self)

        def do_HEAD(self) -> None:
            (head or get)(self)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def read(data_files: str, **options: Any) -> list[Any]:
    config = DatasetConfig(data_files=data_files, storage_options={**QUICK, **options})
    return list(create_source(config))


@pytest.mark.parametrize("status", [200, 405, 501])
def test_a_head_that_says_nothing_empties_no_file(status: int) -> None:  # X7
    with serving(send_range, lambda handler: send(handler, status)) as url:
        assert read(url + "/f.jsonl") == ROWS


def test_a_range_that_is_refused_tells_the_size() -> None:  # X7
    def get(handler: BaseHTTPRequestHandler) -> None:
        if handler.headers["Range"] == "bytes=0-0":
            return send(handler, 416, Content_Range=f"bytes */{len(DATA)}")
        return send_range(handler)

    with serving(get, lambda handler: send(handler, 405)) as url:
        assert read(url + "/f.jsonl") == ROWS


def entry(key: str, size: str = f"<Size>{len(DATA)}</Size>") -> str:
    return f"<Contents><Key>{key}</Key>{size}</Contents>"


def page(entries: str, more: str = "") -> bytes:
    kind = "<EncodingType>url</EncodingType>"
    return f"<ListBucketResult>{kind}{more}{entries}</ListBucketResult>".encode()


NEXT = "<IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>"
LISTINGS = {
    "no size": (page(entry("d/f.jsonl", "")), "lists s3://bucket/d/f.jsonl without a size"),
    "no number": (page(entry("d/f.jsonl", "<Size>x</Size>")), 'with the size "x", which is none'),
    "one token": (page(entry("d/f.jsonl"), NEXT), "the same token for the next page twice"),
    "outside": (page(entry("secret.jsonl")), "lists s3://bucket/secret.jsonl, which does not"),
    "short": (page(entry("d")), "lists s3://bucket/d, which does not begin so"),
    "too long": (page(" " * (16 << 20)), "the answer has more than 16 MB"),
    "not UTF-8": (
        page(entry("d/f.jsonl") + entry("d/%FF.jsonl")),
        r"the name of s3://bucket/d/\xff.jsonl is not UTF-8",
    ),
    "no match": (page(entry("d/%FF%1B[2J.bin")), None),
}


@pytest.mark.parametrize("pattern", ["d/*.jsonl", "d/"])
@pytest.mark.parametrize("listing", LISTINGS)
def test_listings_that_are_wrong_are_named(listing: str, pattern: str) -> None:  # X3, 7, 9, 10, 17
    body, words = LISTINGS[listing]

    def get(handler: BaseHTTPRequestHandler) -> None:
        if "list-type" in handler.path:
            return send(handler, 200, body)
        return send_range(handler)

    with serving(get) as url, pytest.raises(OSError) as error:
        read(f"s3://bucket/{pattern}", endpoint_url=url, anonymous=True, region="us-east-1")
    if words is not None:
        assert words in str(error.value)
    assert str(error.value).isprintable()


DEEP = b'{"items": ' + b"[" * 300_000 + b"]" * 300_000 + b"}"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (DEEP, "is JSON nested deeper than 64 levels"),
        (b'{"items": 5}', "is no listing: items is no list"),
        (json.dumps({"items": [{"name": "d/f.jsonl"}]}).encode(), "without a size"),
        (json.dumps({"items": [{"name": "x", "size": "1"}]}).encode(), "lists gs://bucket/x, "),
        (b'{"nextPageToken": "a"}', "the same token for the next page twice"),
    ],
)
def test_listings_of_google_that_are_wrong_are_named(  # X3, X7, X9, X10
    body: bytes, words: str
) -> None:
    with (
        serving(lambda handler: send(handler, 200, body)) as url,
        pytest.raises(OSError, match=re.escape(words)),
    ):
        read("gs://bucket/d/*.jsonl", endpoint_url=url, token="ya29.TEST")


def test_words_of_a_server_are_shown_escaped() -> None:  # X17
    words = json.dumps({"error": {"message": "\x1b[2J\x1b]0;evil\x07\nTraceback"}}).encode()

    def refuse(handler: BaseHTTPRequestHandler) -> None:
        send(handler, 403, words, x_request_id="\x1b[31mred\xff")

    with (
        serving(refuse, lambda handler: send(handler, 405)) as url,
        pytest.raises(OSError) as error,
    ):
        read(url + "/f.jsonl")
    assert r"\x1b[2J\x1b]0;evil\x07\nTraceback" in str(error.value)
    assert r"request id \x1b[31mred\xff" in str(error.value)
    assert str(error.value).isprintable()
