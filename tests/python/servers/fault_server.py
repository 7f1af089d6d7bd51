"""A web server of files that fails as it is told to: a fault by rule, and a log of what was asked.

    with FaultServer({"/rows.jsonl": data}, [Rule("status", status=503, times=2)]) as server:
        read(server.url + "/rows.jsonl")
        print(server.log)

It speaks HTTP/1.1 with ranges, If-Match and strong ETags, one thread for all connections.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence

from fault_answers import Answer, file_answer
from faults import Asked, Fate, Request, Rule
from loopback_server import Client, LoopbackServer

__all__ = ["Asked", "FaultServer", "Rule"]


class FaultServer(LoopbackServer):
    """Serves files on a port of 127.0.0.1 (0: a free one) while it is entered; TLS by `context`."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        rules: Sequence[Rule] = (),
        seed: int = 0,
        port: int = 0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(rules, seed, port, context)
        self.files = dict(files)

    def replace(self, target: str, body: bytes) -> None:
        self.files[target] = body

    async def answer(self, request: Request, fate: Fate, client: Client) -> Answer | None:
        async for _ in client.body_as_fated(request, fate):
            pass
        data = self.files.get(request.target)
        if data is None:
            return Answer(404, {"Content-Length": "0"}, b"")
        return file_answer(data, request)
