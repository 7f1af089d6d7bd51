"""A client that tells what a server really sent, whole or not."""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Got:
    """What came: as much of the body as did, and how it ended if not well."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: str | None = None  # the type of the error, "short" for an end before its time
    first_byte: float = 0.0  # seconds until the head was there
    seconds: float = 0.0


def ask(
    url: str,
    target: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout: float = 10,
    context: ssl.SSLContext | None = None,
) -> Got:
    """Asks once, by a connection of its own, and never again."""
    at = urlsplit(url)
    connection: http.client.HTTPConnection
    if at.scheme == "https":
        connection = http.client.HTTPSConnection(
            at.hostname or "", at.port, timeout=timeout, context=context
        )
    else:
        connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=timeout)
    got = Got()
    begin = time.monotonic()
    try:
        connection.request(method, target, body, dict(headers or {}))
        answer = connection.getresponse()
        got.first_byte = time.monotonic() - begin
        got.status = answer.status
        got.headers = {name.lower(): value for name, value in answer.getheaders()}
        while data := answer.read1():
            got.body += data
        told = got.headers.get("content-length")
        if told is not None and method != "HEAD" and len(got.body) < int(told):
            got.error = "short"
    except (OSError, http.client.HTTPException) as error:
        got.error = type(error).__name__
    finally:
        connection.close()
    got.seconds = time.monotonic() - begin
    return got
