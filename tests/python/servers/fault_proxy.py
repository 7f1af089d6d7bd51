"""A proxy before a server, which hands on all there is unharmed but for what rules say.

    with FaultProxy(seaweed.url, [Rule("lost", method="PUT", times=1)]) as proxy:
        write(f"s3://{bucket}/a", storage_options=seaweed.options_at(proxy.url))
        assert [each.attempt for each in proxy.asked("PUT")] == [1, 2]

Host and all other headers go on as they came, so signatures hold. Bodies are handed on in pieces.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

from fault_answers import Answer, file_answer
from faults import Fate, Request, Rule
from loopback_server import PIECE, Client, LoopbackServer, chunks, exactly, has_body

# What concerns one connection, and is ours to say to the client.
OWN_HEADERS = ("connection", "keep-alive")


class _Upstream:
    """A connection to the server behind."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._may_go_on = True  # nothing of an earlier request is left in it
        writer.transport.set_write_buffer_limits(high=4 * PIECE)

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent."""
        return self._may_go_on and not self.reader.at_eof() and not self.writer.is_closing()

    async def write(self, data: bytes) -> None:
        self._may_go_on = False
        self.writer.write(data)
        await self.writer.drain()

    async def take(self, body: AsyncIterator[bytes]) -> bool:
        """Sends the body of a request; false: the server does not want all of it."""
        async for piece in body:
            try:
                await self.write(piece)
            except ConnectionError:
                return False
        return True

    async def head(self) -> bytes:
        """The head of the answer, after those that only say to go on."""
        while True:
            head = await self.reader.readuntil(b"\r\n\r\n")
            if not head.split(b" ", 2)[1].startswith(b"1"):
                return head

    def answer(self, head: bytes, method: str) -> Answer:
        """An answer whose body is still to come."""
        first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        version, status, *_ = first.split(" ")
        pairs = (line.split(":", 1) for line in lines)
        answer = Answer(int(status), {name: value.strip() for name, value in pairs}, b"")
        is_last = version == "HTTP/1.0" or answer.headers.find("Connection") == "close"
        for name in OWN_HEADERS:
            answer.headers.drop(name)
        answer.has_body = method != "HEAD" and answer.status not in (204, 304)
        if not answer.has_body:
            body = exactly(self.reader, 0)
        elif answer.is_chunked:
            body = (data async for _, data in chunks(self.reader) if data)
        elif answer.length is not None:
            body = exactly(self.reader, answer.length)
        else:
            body = self._rest()
        answer.pieces = self._handed_on(body, is_last)
        return answer

    async def _rest(self) -> AsyncIterator[bytes]:
        while data := await self.reader.read(PIECE):
            yield data

    async def _handed_on(self, body: AsyncIterator[bytes], is_last: bool) -> AsyncIterator[bytes]:
        """A body; when it has ended, another request may follow, unless the server closes."""
        async for data in body:
            yield data
        self._may_go_on = not is_last


class FaultProxy(LoopbackServer):
    """Stands before the server at `upstream`, an address or host:port; TLS by `context`.

    `connections` and `in_flight` tell how many there are (`now`) and were at once (`most`).
    """

    def __init__(
        self,
        upstream: str,
        rules: Sequence[Rule] = (),
        seed: int = 0,
        port: int = 0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(rules, seed, port, context)
        at = urlsplit(upstream if "//" in upstream else f"//{upstream}")
        self._host, self._host_port = at.hostname or "127.0.0.1", at.port or 80
        self._replaced: dict[str, bytes] = {}
        self._upstreams: dict[Client, _Upstream] = {}

    def replace(self, target: str, body: bytes) -> None:
        self._replaced[target.partition("?")[0]] = body

    def disconnected(self, client: Client) -> None:
        upstream = self._upstreams.pop(client, None)
        if upstream is not None:
            upstream.writer.transport.abort()

    async def answer(self, request: Request, fate: Fate, client: Client) -> Answer | None:
        if request.path in self._replaced and request.method in ("GET", "HEAD"):
            return file_answer(self._replaced[request.path], request)
        if has_body(request):
            return await self._upload(request, fate, client)
        return await self._download(request, client)

    async def _download(self, request: Request, client: Client) -> Answer:
        """Hands on a request without a body; again where the server has left an idle connection."""
        upstream, is_new = await self._connected(client)
        try:
            await upstream.write(_head(request))
            return upstream.answer(await upstream.head(), request.method)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.disconnected(client)
            if is_new:
                raise
            return await self._download(request, client)

    async def _upload(self, request: Request, fate: Fate, client: Client) -> Answer:
        """Hands on a request and its body; the server may answer before it has all of it."""
        upstream, _ = await self._connected(client)
        await upstream.write(_head(request))
        body = client.body_as_fated(request, fate)
        sending = asyncio.create_task(upstream.take(body))
        answering = asyncio.create_task(upstream.head())
        try:
            await asyncio.wait({sending, answering}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                client.has_unread = not sending.result()
            else:
                client.has_unread = True
            answer = upstream.answer(await answering, request.method)
        finally:
            sending.cancel()
            answering.cancel()
            await asyncio.gather(sending, answering, return_exceptions=True)
        if client.has_unread:
            answer.headers["Connection"] = "close"
        return answer

    async def _connected(self, client: Client) -> tuple[_Upstream, bool]:
        """The client's connection to the server behind, and whether it is a new one."""
        upstream = self._upstreams.get(client)
        if upstream is not None and upstream.is_usable:
            return upstream, False
        self.disconnected(client)
        streams = await asyncio.open_connection(self._host, self._host_port, limit=PIECE)
        self._upstreams[client] = _Upstream(*streams)
        return self._upstreams[client], True


def _head(request: Request) -> bytes:
    """The head of a request as it came, but that we ask for its body ourselves."""
    lines = [line for line in request.lines if not line.lower().startswith("expect:")]
    told = [f"{request.method} {request.target} HTTP/1.1", *lines, "", ""]
    return "\r\n".join(told).encode("latin-1")
