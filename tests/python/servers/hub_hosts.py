"""The two hosts of the stub of the Hub: they share one log, and the rules by which they fail."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from fault_answers import Answer
from faults import Fate, Faults, Request
from hub_access import Call
from loopback_server import Client, LoopbackServer

if TYPE_CHECKING:
    from hub_server import HubServer


class _HostFaults(Faults):
    """The faults and log that both hosts share, as one of them sees them."""

    def __init__(self, hub: HubServer, shared: Faults, lock: threading.RLock, server: str) -> None:
        self._hub, self._shared, self._lock, self._server = hub, shared, lock, server

    def refuses(self) -> bool:
        with self._lock:
            return self._shared.refuses()

    def fate(self, request: Request) -> Fate:
        with self._lock:
            fate = self._shared.fate(request)
            if self._server == "cdn" and self._hub.access.shows_token(request):
                said = f"a token reached the store: {request.method} {request.path}"
                self._hub.offences.append(said)
        fate.asked.server = self._server
        return fate


class Host(LoopbackServer):
    """One of the two; `hub` answers for it by its name."""

    def __init__(self, hub: HubServer, name: str, faults: Faults, lock: threading.RLock) -> None:
        super().__init__()
        self.faults = _HostFaults(hub, faults, lock, name)
        self._hub = hub
        self._name = name

    def replace(self, target: str, body: bytes) -> None:
        self._hub.replace(target.partition("?")[0], body)

    async def answer(self, request: Request, fate: Fate, client: Client) -> Answer | None:
        pieces = [piece async for piece in client.body_as_fated(request, fate)]
        body = b"".join(pieces)
        if "chunked" in request.headers.get("transfer-encoding", "").lower():
            body = _unchunked(body)
        answer = self._hub.answer(self._name, Call(request, body))
        if request.method == "HEAD":
            answer.pieces = _nothing()
        return answer


async def _nothing() -> AsyncIterator[bytes]:
    none: list[bytes] = []
    for piece in none:
        yield piece


def _unchunked(body: bytes) -> bytes:
    """What is in the chunks of a whole body."""
    found: list[bytes] = []
    at = 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end].split(b";")[0], 16)
        if size == 0:
            return b"".join(found)
        found.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
