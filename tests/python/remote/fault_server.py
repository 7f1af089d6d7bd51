"""A web server of files that fails as it is told to: a fault by rule, and a log of what was asked.

    with FaultServer({"/rows.jsonl": data}, [Rule("status", status=503, times=2)]) as server:
        read(server.url + "/rows.jsonl")
        print(server.log)

It speaks HTTP/1.1 with ranges, If-Match and strong ETags, one thread for all connections.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# What a rule may do. "cut" ends a body after `at` bytes: its length was told (FIN), "reset" by RST.
FAULTS = (
    "status",
    "close",  # before any answer
    "cut",
    "reset",
    "stall_headers",
    "stall_body",
    "short",  # Content-Length agrees with a body that is shorter than Content-Range says
    "shifted",  # another range than was asked for, and says so
    "whole",  # 200 and all of the file
    "encoded",  # Content-Encoding: gzip
    "replaced",  # from now on another file
    "redirect",
    "headless",  # no HEAD: 405
)


@dataclass
class Rule:
    """A fault, for requests from the `skip`-th on, `times` times, each with a probability."""

    fault: str
    status: int = 503
    headers: Mapping[str, str] = field(default_factory=dict)
    at: int = 1000
    seconds: float = 60.0
    body: bytes = b""
    location: str = ""
    method: str = "GET"
    skip: int = 0
    times: int = 1 << 30
    probability: float = 1.0

    def __post_init__(self) -> None:
        assert self.fault in FAULTS, self.fault


@dataclass
class Asked:
    """A request, and what was done with it."""

    method: str
    path: str
    range: str | None
    if_match: str | None
    fault: str | None


class FaultServer:
    """Serves files on a port of 127.0.0.1 (0: a free one) while it is entered; TLS by `context`."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        rules: Sequence[Rule] = (),
        seed: int = 0,
        port: int = 0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.files = dict(files)
        self.rules = list(rules)
        self.log: list[Asked] = []
        self._random = random.Random(seed)
        self._seen = [0] * len(self.rules)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._started = threading.Event()
        self._port = port
        self._context = context

    @property
    def url(self) -> str:
        scheme = "http" if self._context is None else "https"
        return f"{scheme}://127.0.0.1:{self._port}"

    def __enter__(self) -> FaultServer:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def asked(self, method: str = "GET") -> list[Asked]:
        return [each for each in self.log if each.method == method]

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        started = asyncio.start_server(self._connection, "127.0.0.1", self._port, ssl=self._context)
        server = self._loop.run_until_complete(started)
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return  # the client went, or the server ends
        finally:
            writer.close()

    def _fault(self, method: str) -> Rule | None:
        for number, rule in enumerate(self.rules):
            if rule.method != method:
                continue
            self._seen[number] += 1
            is_due = rule.skip < self._seen[number] <= rule.skip + rule.times
            if is_due and self._random.random() < rule.probability:
                return rule
        return None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers a request; false: the connection ends."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        given = {
            name.lower(): value
            for name, value in (line.split(": ", 1) for line in head[1:] if ": " in line)
        }
        rule = self._fault(method)
        self.log.append(
            Asked(method, path, given.get("range"), given.get("if-match"), rule and rule.fault)
        )
        if rule is not None and rule.fault == "replaced":
            self.files[path] = rule.body
            rule = None
        answer = self._plain(method, path, given)
        if rule is None:
            writer.write(answer.head() + answer.body)
            await writer.drain()
            return True
        return await self._fail(rule, answer, writer)

    def _plain(self, method: str, path: str, given: Mapping[str, str]) -> _Answer:
        data = self.files.get(path)
        if data is None:
            return _Answer(404, {"Content-Length": "0"}, b"")
        tag = '"' + hashlib.md5(data).hexdigest() + '"'
        headers = {"ETag": tag, "Accept-Ranges": "bytes"}
        if given.get("if-match", tag) != tag:
            return _Answer(412, {**headers, "Content-Length": "0"}, b"")
        status, first, body = 200, 0, data
        if "range" in given:
            begin, _, end = given["range"].removeprefix("bytes=").partition("-")
            first = int(begin)
            if first >= len(data):
                return _Answer(416, {**headers, "Content-Length": "0"}, b"")
            body = data[first : int(end) + 1]
            status = 206
            headers["Content-Range"] = f"bytes {first}-{first + len(body) - 1}/{len(data)}"
        headers["Content-Length"] = str(len(body))
        return _Answer(status, headers, b"" if method == "HEAD" else body, data, first)

    async def _fail(self, rule: Rule, answer: _Answer, writer: asyncio.StreamWriter) -> bool:
        if rule.fault == "close":
            return False
        if rule.fault == "stall_headers":
            await asyncio.sleep(rule.seconds)
            return False
        if rule.fault in ("status", "headless", "redirect"):
            status = {"headless": 405, "redirect": 307}.get(rule.fault, rule.status)
            headers = {"Content-Length": "0", **rule.headers}
            if rule.location:
                headers["Location"] = rule.location
            writer.write(_Answer(status, headers, b"").head())
        elif rule.fault in ("cut", "reset", "stall_body"):
            writer.write(answer.head() + answer.body[: rule.at])
            await writer.drain()
            if rule.fault == "stall_body":
                await asyncio.sleep(rule.seconds)
            if rule.fault == "reset":
                await asyncio.sleep(0.02)  # so that what was sent arrives
                writer.transport.abort()
            return False
        elif rule.fault == "short":
            body = answer.body[: rule.at]
            answer.headers["Content-Length"] = str(len(body))
            writer.write(answer.head() + body)
        elif rule.fault == "shifted":
            body = answer.whole[answer.first + 1 : answer.first + 1 + len(answer.body)]
            first = answer.first + 1
            answer.headers["Content-Range"] = (
                f"bytes {first}-{first + len(body) - 1}/{len(answer.whole)}"
            )
            answer.headers["Content-Length"] = str(len(body))
            writer.write(answer.head() + body)
        elif rule.fault == "whole":
            headers = {**answer.headers, "Content-Length": str(len(answer.whole))}
            headers.pop("Content-Range", None)
            writer.write(_Answer(200, headers, b"").head() + answer.whole)
        elif rule.fault == "encoded":
            answer.headers["Content-Encoding"] = "gzip"
            writer.write(answer.head() + answer.body)
        await writer.drain()
        return True


@dataclass
class _Answer:
    status: int
    headers: dict[str, Any]
    body: bytes
    whole: bytes = b""
    first: int = 0

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} X", *(f"{n}: {v}" for n, v in self.headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
