"""Serves gcp-storage-emulator in memory on a port of 127.0.0.1, with a thread per connection.

What the emulator lacks of Google's behaviour, and a library has to rely on, is added here:
preconditions by generation, reads of a generation, headers that tell it, pages of lists, HEAD, 416,
objects without a byte, names as they are, finished uploads that are asked about again, and uploads
that have nothing yet.
"""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import gcp_storage_emulator.server as emulator
from gcp_storage_emulator.exceptions import NotFound
from gcp_storage_emulator.storage import Storage

PAGE = 1000
JSON_TARGET = re.compile(
    r"(?:/(?:download|upload))?(?:/storage/v1)?/b/([^/]+)/o(?:/([^/]+)(/.*)?)?"
)
XML_TARGET = re.compile(r"/([^/]+)/(.+)")


class MemoryStorage(Storage):  # type: ignore[misc]
    """Objects under their very names, and nothing written down beside them."""

    def _object_path(self, bucket_name: str, file_name: str) -> str:
        return f"{bucket_name}/{quote(file_name, safe='').replace('.', '%2E')}"

    def _write_config_to_file(self) -> None:
        pass


class Handler(emulator.RequestHandler):  # type: ignore[misc]
    """Answers a request by itself where the emulator would not answer as Google does."""

    writing = threading.Lock()
    finished: ClassVar[dict[str, Any]] = {}
    storage: MemoryStorage
    rfile: io.BufferedIOBase

    def do_GET(self) -> None:  # noqa: N802
        self._read("GET")

    def do_HEAD(self) -> None:  # noqa: N802
        self._read("HEAD")

    def do_POST(self) -> None:  # noqa: N802
        self._write("POST")

    def do_PUT(self) -> None:  # noqa: N802
        self._write("PUT")

    def do_PATCH(self) -> None:  # noqa: N802
        self._write("PATCH")

    def do_DELETE(self) -> None:  # noqa: N802
        self._write("DELETE")

    def _look_up(self) -> None:
        """Finds what the request is about."""
        target = urlsplit(self.path)
        self.query = dict(parse_qsl(target.query, keep_blank_values=True))
        as_json, as_xml = JSON_TARGET.fullmatch(target.path), XML_TARGET.fullmatch(target.path)
        self.bucket, self.name, self.action = "", "", ""
        self.is_data = False
        if as_json is not None:
            self.bucket, name, self.action = (each or "" for each in as_json.groups())
            self.name = unquote(name) or self.query.get("name", "")
            is_download = target.path.startswith("/download/")
            self.is_data = self.query.get("alt") == "media" or is_download
        elif as_xml is not None and not target.path.startswith("/storage/"):
            self.bucket, self.name = as_xml[1], unquote(as_xml[2])
            self.is_data = True
        self.is_list = as_json is not None and as_json[2] is None
        try:
            self.found = self.storage.get_file_obj(self.bucket, self.name)
        except NotFound:
            self.found = None

    def _refusal(self) -> int | None:
        """The status where the generation is not what the request says it is."""
        generation = int(self.found["generation"]) if self.found else 0
        header = self.headers.get("x-goog-if-generation-match")
        wanted = self.query.get("ifGenerationMatch", header)
        if "generation" in self.query and int(self.query["generation"]) != generation:
            return 404
        return 412 if wanted is not None and int(wanted) != generation else None

    def _read(self, method: str) -> None:
        self._look_up()
        refusal = self._refusal() if self.found else None
        if refusal is not None:
            self._say(refusal, {"error": {"code": refusal, "message": "generation"}})
        elif self.is_data and self.found is None:
            self._say(404, {"error": {"code": 404, "message": "No such object"}})
        elif self.is_data:
            self._send_data()
        elif self.is_list and self.bucket in self.storage.buckets:
            self._send_list()
        else:
            emulator.Router(self).handle(method)

    def _write(self, method: str) -> None:
        if self.headers.get("Content-Length"):  # so that nobody waits while a slow body comes
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:
                return  # the client went: nothing is done
            self.rfile = io.BytesIO(body)
        with self.writing:
            self._look_up()
            upload = self.query.get("upload_id", "")
            if upload in self.finished:
                self._say(200, self.finished[upload])
                return
            refusal = self._refusal() if self.action in ("", "/compose") else None
            if refusal is not None:
                self._say(refusal, {"error": {"code": refusal, "message": "generation"}})
                return
            was_open = self.storage.resumable.get(upload)
            is_question = re.fullmatch(
                r"bytes \*/(\*|[1-9]\d*)", self.headers.get("Content-Range", "")
            )
            if was_open and is_question and not self.storage.get_resumable_byte_count(upload):
                self._send(308, {}, b"")  # no Range: there is nothing yet
                return
            emulator.Router(self).handle(method)
            if was_open and upload not in self.storage.resumable:
                self.finished[upload] = was_open

    def _send_data(self) -> None:
        data = self.storage.get_file(self.bucket, self.name)
        told = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        status, headers, size = 200, {}, len(data)
        if told is not None:
            first = int(told[1])
            data = data[first : int(told[2]) + 1 if told[2] else None]
            status = 206 if first < size else 416
            last = first + len(data) - 1
            headers["Content-Range"] = f"bytes {f'{first}-{last}' if data else '*'}/{size}"
        for name in ("generation", "metageneration"):
            headers[f"x-goog-{name}"] = self.found[name]
        headers["x-goog-hash"] = f"crc32c={self.found['crc32c']},md5={self.found['md5Hash']}"
        headers["ETag"] = f'"{self.found["etag"]}"'
        headers["Content-Type"] = self.found["contentType"] or "application/octet-stream"
        self._send(status, headers, data)

    def _send_list(self) -> None:
        asked = (self.query.get(name) for name in ("prefix", "delimiter", "matchGlob"))
        items, prefixes = self.storage.get_file_list(self.bucket, *asked)
        entries: list[tuple[str, Any]] = [(each["name"], each) for each in items]
        entries = sorted(entries + [(each, None) for each in prefixes], key=lambda each: each[0])
        behind = self.query.get("pageToken", "")
        entries = [each for each in entries if each[0] > behind]
        most = min(PAGE, int(self.query.get("maxResults") or PAGE))
        page: dict[str, Any] = {"kind": "storage#objects"}
        if len(entries) > most:
            page["nextPageToken"] = entries[most - 1][0]
        page["items"] = [each for _, each in entries[:most] if each]
        page["prefixes"] = [name for name, each in entries[:most] if not each]
        self._say(200, {name: value for name, value in page.items() if value})

    def _say(self, status: int, told: Any) -> None:
        self._send(status, {"Content-Type": "application/json"}, json.dumps(told).encode())

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """Lets many connect at once: what finds the queue full waits for half a second."""

    request_queue_size = 128


def main() -> None:
    logging.disable(logging.CRITICAL)
    read_data = emulator._read_data
    emulator._read_data = lambda handler, query: read_data(handler, query) or b""
    handler = partial(Handler, MemoryStorage(use_memory_fs=True))
    Server(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()


if __name__ == "__main__":
    main()
