"""Answers of a server of tests, and what each fault makes of them."""

from __future__ import annotations

import asyncio
import hashlib
import html
import json
import re
import urllib.parse
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from faults import Fate, Pace, Request, Rule

if TYPE_CHECKING:
    from loopback_server import Client

EXPIRED_S3 = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>ExpiredToken</Code>'
    b"<Message>The provided token has expired.</Message><RequestId>TESTS</RequestId></Error>"
)
EXPIRED_GCS = json.dumps(
    {"error": {"code": 401, "message": "Invalid Credentials", "status": "UNAUTHENTICATED"}}
).encode()
GCS_PATH = re.compile(r"^/(?:(?:upload|download)/)?storage/v1/")


class Headers(dict[str, str]):
    """Headers in order, found whatever the case of their names."""

    def _known(self, name: str) -> str:
        return next((each for each in self if each.lower() == name.lower()), name)

    def __setitem__(self, name: str, value: str) -> None:
        super().__setitem__(self._known(name), value)

    def find(self, name: str) -> str | None:
        return super().get(self._known(name))

    def drop(self, name: str) -> None:
        self.pop(self._known(name), None)


class Answer:
    """A status, headers, and a body in pieces.

    `body` is bytes, or pieces as they come from elsewhere. `whole` is the file of which the body
    is a part, where that is known.
    """

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes],
        whole: bytes | None = None,
    ) -> None:
        self.status = status
        self.headers = Headers()
        for name, value in headers.items():
            self.headers[name] = value
        self.pieces = _one(body) if isinstance(body, bytes) else body
        self.whole = whole
        self.has_body = True  # though it may be empty

    @property
    def length(self) -> int | None:
        told = self.headers.find("Content-Length")
        return None if told is None else int(told)

    @property
    def is_chunked(self) -> bool:
        return "chunked" in (self.headers.find("Transfer-Encoding") or "").lower()

    def take(self, body: bytes) -> None:
        """Has another body, of a length that is told."""
        self.pieces = _one(body)
        self.set_length(len(body))

    def set_length(self, length: int) -> None:
        self.headers.drop("Transfer-Encoding")
        self.headers["Content-Length"] = str(length)

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} X", *(f"{n}: {v}" for n, v in self.headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def file_answer(data: bytes, request: Request, tag: str | None = None) -> Answer:
    """What a file's server answers: ranges, a strong ETag (of its own, or `tag`), If-Match."""
    tag = tag or '"' + hashlib.md5(data).hexdigest() + '"'
    headers = {"ETag": tag, "Accept-Ranges": "bytes"}
    if request.headers.get("if-match", tag) != tag:
        return Answer(412, {**headers, "Content-Length": "0"}, b"")
    status, first, body = 200, 0, data
    if "range" in request.headers:
        begin, _, end = request.headers["range"].removeprefix("bytes=").partition("-")
        first = int(begin) if begin else max(0, len(data) - int(end))
        if first >= len(data):
            return Answer(416, {**headers, "Content-Length": "0"}, b"")
        body = data[first : int(end) + 1 if begin and end else None]
        status = 206
        headers["Content-Range"] = f"bytes {first}-{first + len(body) - 1}/{len(data)}"
    headers["Content-Length"] = str(len(body))
    return Answer(status, headers, b"" if request.method == "HEAD" else body, data)


def instead_of_answer(rule: Rule, request: Request) -> Answer | None:
    """The answer of a fault that needs none of the server's own."""
    status, headers, body = rule.status, dict(rule.headers), rule.body
    if rule.fault == "headless":
        status = 405
    elif rule.fault == "redirect":
        status = 307
    elif rule.fault == "expired":
        is_gcs = GCS_PATH.match(request.path) is not None
        status, body = (401, EXPIRED_GCS) if is_gcs else (403, EXPIRED_S3)
        headers["Content-Type"] = "application/json" if is_gcs else "application/xml"
    elif rule.fault != "status":
        return None
    headers.setdefault("Content-Length", str(len(body)))
    if rule.location:
        headers["Location"] = rule.location
    return Answer(status, headers, b"" if request.method == "HEAD" else body)


async def sent_as_fated(answer: Answer, fate: Fate, client: Client) -> bool:
    """Writes an answer with its fault; false: the connection ends."""
    rule = fate.rule
    if rule is not None:
        if rule.fault == "lost":
            async for _ in answer.pieces:
                pass
            return False
        await _harm(answer, rule)
    for pace in fate.paces:
        answer.pieces = paced(answer.pieces, pace)
    fate.asked.status = answer.status
    has_end = answer.is_chunked or answer.length is not None or not answer.has_body
    ahead = answer.head()
    async for piece in answer.pieces:
        await client.write(ahead + (_chunk(piece) if answer.is_chunked else piece))
        ahead = b""
    if rule is not None and rule.fault in ("cut", "reset", "longer", "stall_body"):
        await client.write(ahead)
        if rule.fault == "stall_body":
            await client.stall(rule.seconds)
        elif rule.fault == "reset":
            await asyncio.sleep(0.02)  # so that what was sent arrives
            client.reset()
        return False
    if answer.is_chunked and answer.has_body:
        ahead += _chunk(b"")
    await client.write(ahead)
    return has_end and answer.headers.find("Connection") != "close"


async def _harm(answer: Answer, rule: Rule) -> None:
    """Changes an answer as a fault has it."""
    fault = rule.fault
    if fault in ("cut", "reset", "stall_body"):
        answer.pieces = _up_to(answer.pieces, rule.at)
    elif fault == "encoded":
        answer.headers["Content-Encoding"] = "gzip"
    elif fault == "trickle":
        answer.pieces = paced(answer.pieces, Pace(rule.rate))
    elif fault == "flip":
        answer.pieces = _flipped(answer.pieces, rule.at)
    elif fault == "short":
        length = answer.length
        answer.set_length(rule.at if length is None else min(rule.at, length))
        answer.pieces = _up_to(answer.pieces, rule.at)
    elif fault == "longer":
        if answer.length is None:
            answer.take(await _joined(answer.pieces))
        answer.set_length((answer.length or 0) + rule.at)
    elif fault == "drop_key":
        answer.take(_without_key(await _joined(answer.pieces), rule.key))
    elif fault in ("shifted", "whole"):
        told = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.headers.find("Content-Range") or "")
        if told is not None:
            first, last, size = map(int, told.groups())
            await (_shift if fault == "shifted" else _make_whole)(answer, first, last, size)


async def _shift(answer: Answer, first: int, last: int, size: int) -> None:
    """Makes it the range that begins a byte later; what lies behind may have to be invented."""
    behind = b"\0" if answer.whole is None else answer.whole[last + 1 : last + 2]
    body = (await _joined(answer.pieces))[1:] + behind
    answer.headers["Content-Range"] = f"bytes {first + 1}-{first + len(body)}/{size}"
    answer.take(body)


async def _make_whole(answer: Answer, first: int, last: int, size: int) -> None:
    """Makes it a 200 with all of the file; zeros stand for what is not known of it."""
    answer.status = 200
    answer.headers.drop("Content-Range")
    answer.set_length(size)
    if answer.whole is None:
        answer.pieces = _amid_zeros(answer.pieces, first, size - last - 1)
    else:
        answer.pieces = _one(answer.whole)


def _without_key(body: bytes, key: str) -> bytes:
    """A list of objects, S3's XML or Google's JSON, that lacks one key: `key`, or the last."""
    if body.startswith(b"{"):
        page = json.loads(body)
        items = page.get("items", [])
        dropped = _last_of(key, [each["name"] for each in items])
        page["items"] = [each for number, each in enumerate(items) if number != dropped]
        return json.dumps(page).encode()
    entries = list(re.finditer(r"<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", body.decode(), re.S))
    names = [html.unescape(each[1]) for each in entries]
    if b"<EncodingType>url</EncodingType>" in body:
        names = [urllib.parse.unquote_plus(each) for each in names]
    dropped = _last_of(key, names)
    if dropped is None:
        return body
    rest = body.decode().replace(entries[dropped][0], "", 1)
    count = "<KeyCount>{}</KeyCount>"
    return rest.replace(count.format(len(names)), count.format(len(names) - 1)).encode()


def _last_of(key: str, names: list[str]) -> int | None:
    """Where `key` stands, or the last where it is empty."""
    found = [number for number, name in enumerate(names) if name == key or not key]
    return found[-1] if found else None


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _one(data: bytes) -> AsyncIterator[bytes]:
    if data:
        yield data


async def _joined(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def _up_to(pieces: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    """The first bytes."""
    async for piece in pieces:
        if size <= 0:
            return
        yield piece[:size]
        size -= len(piece)


async def _flipped(pieces: AsyncIterator[bytes], at: int) -> AsyncIterator[bytes]:
    """The same with the lowest bit of byte `at` turned over."""
    async for piece in pieces:
        if 0 <= at < len(piece):
            piece = piece[:at] + bytes([piece[at] ^ 1]) + piece[at + 1 :]
        at -= len(piece)
        yield piece


async def paced(pieces: AsyncIterator[bytes], pace: Pace) -> AsyncIterator[bytes]:
    """The same, no faster than a pace: in pieces of a twentieth of a second."""
    size = max(1, int(pace.rate / 20))
    async for piece in pieces:
        for begin in range(0, len(piece), size):
            part = piece[begin : begin + size]
            await pace.wait(len(part))
            yield part


async def _amid_zeros(
    pieces: AsyncIterator[bytes], before: int, behind: int
) -> AsyncIterator[bytes]:
    yield bytes(before)
    async for piece in pieces:
        yield piece
    yield bytes(behind)
