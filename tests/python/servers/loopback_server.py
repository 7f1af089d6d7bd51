"""An HTTP/1.1 server on 127.0.0.1 that fails by rules: what FaultServer and FaultProxy share."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Self

from fault_answers import Answer, instead_of_answer, paced, sent_as_fated
from faults import Asked, Fate, Faults, Request, Rule

# Bytes that a connection holds back, each way, and the most that is handed on at a time.
PIECE = 1 << 18


class Gauge:
    """How many there are now, and the most there were at once."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0

    def __enter__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)

    def __exit__(self, *error: object) -> None:
        self.now -= 1


class Client:
    """A connection to who asks."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.has_unread = False  # a body is on its way that nobody wants
        writer.transport.set_write_buffer_limits(high=4 * PIECE)

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Ends the connection by RST."""
        held: socket.socket = self.writer.get_extra_info("socket")
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def stall(self, seconds: float) -> None:
        """Does nothing for so long, or until the client goes."""
        try:
            async with asyncio.timeout(seconds):
                while await self.reader.read(PIECE):
                    pass
        except TimeoutError:
            return

    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request as it comes, chunk sizes and all; says first that it may come."""
        if request.headers.get("expect", "").lower() == "100-continue":
            await self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in request.headers.get("transfer-encoding", "").lower():
            async for framing, data in chunks(self.reader):
                yield framing + data
        else:
            async for data in exactly(self.reader, int(request.headers.get("content-length", 0))):
                yield data

    async def body_as_fated(self, request: Request, fate: Fate) -> AsyncIterator[bytes]:
        """The body of a request at the pace and up to the byte that rules give it."""
        body = self.body(request)
        for pace in fate.paces:
            body = paced(body, pace)
        if fate.rule is None or fate.fault != "cut_request":
            async for piece in body:
                yield piece
            return
        left, held = fate.rule.at, b""  # the last byte is held back: it never comes whole
        async for piece in body:
            known = held + piece[:left]
            left -= len(piece)
            yield known[:-1]
            held = known[-1:]
            if left <= 0:
                break
        self.reset()
        raise ConnectionResetError("by a rule")


def has_body(request: Request) -> bool:
    length = int(request.headers.get("content-length", 0))
    return length > 0 or "transfer-encoding" in request.headers


async def exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    """So many bytes, in pieces."""
    while size > 0:
        data = await reader.read(min(size, PIECE))
        if not data:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(data)
        yield data


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[tuple[bytes, bytes]]:
    """The pieces of a chunked body: what frames each (sizes, ends, trailers), what is in it."""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        if size == 0:
            break
        async for data in exactly(reader, size):
            yield line, data
            line = b""
        yield await reader.readexactly(2), b""
    while line != b"\r\n":
        yield line, b""
        line = await reader.readuntil(b"\r\n")
    yield line, b""


class LoopbackServer:
    """Answers on a port of 127.0.0.1 (0: a free one) while it is entered; TLS by `context`."""

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        seed: int = 0,
        port: int = 0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.faults = Faults(rules, seed)
        self.connections = Gauge()
        self.in_flight = Gauge()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._started = threading.Event()
        self._port = port
        self._context = context

    @property
    def url(self) -> str:
        scheme = "http" if self._context is None else "https"
        return f"{scheme}://127.0.0.1:{self._port}"

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules in force; setting them counts from nought."""
        return self.faults.rules

    @rules.setter
    def rules(self, rules: Sequence[Rule]) -> None:
        self.faults.rules = rules

    @property
    def log(self) -> list[Asked]:
        return self.faults.log

    def asked(self, method: str = "GET") -> list[Asked]:
        return [each for each in self.log if each.method == method]

    async def answer(self, request: Request, fate: Fate, client: Client) -> Answer | None:
        """What the answer is without a fault, the request's body read; None: the end."""
        raise NotImplementedError

    def replace(self, target: str, body: bytes) -> None:
        """From now on answers GET and HEAD of a target by these bytes."""
        raise NotImplementedError

    def disconnected(self, client: Client) -> None:
        """Lets go of what was held for a client."""

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        started = asyncio.start_server(
            self._connection, "127.0.0.1", self._port, ssl=self._context, limit=PIECE, backlog=512
        )
        server = self._loop.run_until_complete(started)
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0))  # connections that are closed go now
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(reader, writer)
        try:
            with self.connections:
                if self.faults.refuses():
                    client.reset()
                while not writer.is_closing():
                    request = Request.parsed(await reader.readuntil(b"\r\n\r\n"))
                    with self.in_flight:
                        if not await self._serve(request, client):
                            break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return  # the client went, or the server ends
        finally:
            self.disconnected(client)
            writer.close()

    async def _serve(self, request: Request, client: Client) -> bool:
        """Answers a request; false: the connection ends."""
        fate = self.faults.fate(request)
        await asyncio.sleep(fate.latency)
        if fate.fault == "close":
            return False
        if fate.rule is not None and fate.fault == "stall_headers":
            await client.stall(fate.rule.seconds)
            return False
        if fate.rule is not None and fate.fault == "replaced":
            self.replace(request.target, fate.rule.body)
            fate.rule = None
        answer = instead_of_answer(fate.rule, request) if fate.rule is not None else None
        if answer is not None:
            if "expect" in request.headers:  # the client sends no body now
                answer.headers["Connection"] = "close"
                client.has_unread = True
            else:
                async for _ in client.body(request):
                    pass
        else:
            answer = await self.answer(request, fate, client)
        if answer is None:
            return False
        goes_on = await sent_as_fated(answer, fate, client)
        if client.has_unread:
            await client.stall(2)  # were it closed at once, a reset could overtake the answer
        return goes_on
