"""The large store of the stub of the Hub: it takes its own signatures, for a time, and no token."""

from __future__ import annotations

import calendar
import hashlib
import hmac
import math
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fault_answers import Answer, file_answer
from hub_access import Call, empty
from hub_reading import disposition
from hub_repositories import Blob

if TYPE_CHECKING:
    from hub_server import HubServer

_SECRET = b"of the stub"


class Store:
    """What it has, by SHA-256, and what it answers."""

    def __init__(self, hub: HubServer) -> None:
        self._hub = hub
        self._blobs: dict[str, bytes] = {}
        # What was sent, by the SHA-256 that was told; the Hub has it only when it is verified.
        self.uploaded: dict[str, bytes] = {}
        self._parts: dict[str, tuple[str, dict[int, bytes]]] = {}

    def begin_parts(self, sha256: str) -> str:
        """The id of an upload in parts."""
        upload_id = f"upload-{len(self._parts) + 1}"
        self._parts[upload_id] = (sha256, {})
        return upload_id

    def join_parts(self, upload_id: str, named: Sequence[tuple[int, str]]) -> bool:
        """Makes one of all parts; false: they are not those that came."""
        sha256, parts = self._parts[upload_id]
        if [(number, _tag(data)) for number, data in sorted(parts.items())] != list(named):
            return False
        self.uploaded[sha256] = b"".join(parts[number] for number, _ in named)
        return True

    def signed(self, blob: Blob, path: str) -> str:
        """Where a file of the store is, for some time."""
        self._blobs[blob.sha256] = blob.data
        where = f"/xet-bridge/{blob.sha256[:24]}/{blob.sha256}"
        shown = {"response-content-disposition": disposition(path), "x-id": "GetObject"}
        return self.sign("GET", where, shown)

    def sign(self, method: str, where: str, shown: Mapping[str, str] | None = None) -> str:
        """An address at the store that lives for `lifetime`."""
        query = {
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Date": time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._hub.now())),
            "X-Amz-Expires": str(math.ceil(self._hub.lifetime)),
            "X-Amz-SignedHeaders": "host",
            **(shown or {}),
        }
        query["X-Amz-Signature"] = _signature(method, where, query)
        return f"{self._hub.cdn}{where}?{urllib.parse.urlencode(query)}"

    def answer(self, call: Call) -> Answer:
        """What the store answers: only to its own signatures, and to nobody who shows a token."""
        if "authorization" in call.headers:
            return _store_error(400, "InvalidArgument", "Only one auth mechanism allowed")
        query = {name: values[-1] for name, values in call.query.items()}
        signature = query.pop("X-Amz-Signature", "")
        method = "GET" if call.method == "HEAD" else call.method
        if not hmac.compare_digest(signature, _signature(method, call.path, query)):
            return _store_error(403, "SignatureDoesNotMatch", "The signature does not match.")
        date = time.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
        if self._hub.now() >= calendar.timegm(date) + int(query["X-Amz-Expires"]):
            return _store_error(403, "AccessDenied", "Request has expired")
        if method == "PUT":
            return self._take(call)
        data = self._blobs.get(call.path.rpartition("/")[2])
        if data is None:
            return _store_error(404, "NoSuchKey", "The specified key does not exist.")
        answer = file_answer(data, call.request)
        answer.headers["Content-Disposition"] = call.one("response-content-disposition")
        return answer

    def _take(self, call: Call) -> Answer:
        """Keeps a file, or a part of one."""
        sha256, *part = call.path.split("/")[2:]
        if not part:
            self.uploaded[sha256] = call.body
        elif part[0] in self._parts:
            self._parts[part[0]][1][int(part[1])] = call.body
        else:
            return _store_error(404, "NoSuchUpload", "The upload does not exist.")
        return empty(200, {"ETag": _tag(call.body)})


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


def _signature(method: str, where: str, query: Mapping[str, str]) -> str:
    text = f"{method}\n{where}\n{sorted(query.items())}"
    return hmac.new(_SECRET, text.encode(), hashlib.sha256).hexdigest()


def _store_error(status: int, code: str, message: str) -> Answer:
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code>'
    body += f"<Message>{message}</Message></Error>"
    headers = {"Content-Type": "application/xml", "Content-Length": str(len(body))}
    return Answer(status, headers, body.encode())
