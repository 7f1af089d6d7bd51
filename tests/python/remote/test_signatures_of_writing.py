"""Signatures of requests that write to S3: those that botocore makes of the same requests."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import http.client
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any
from unittest import mock
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

import pytest
from fault_answers import Answer
from faults import Fate, Request
from loopback_server import Client, LoopbackServer
from store_outputs import big_rows, save, small_rows
from stores import S3Store

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session/token+="
REGION = "eu-north-1"
ALPHABET = "abcXYZ019-._~ +=%#&'\"!();:@,$<>|^`ünïcödé日本語/"
REQUESTS = 200
READING = ("GET", "HEAD")
# What a signature adds, and what it is made for.
MADE = ("authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "host")
KINDS = {
    "PUT",
    "PUT if-none-match",
    "PUT x-amz-copy-source",
    "PUT partNumber&uploadId",
    "POST uploads",
    "POST uploadId",
    "DELETE",
    "DELETE uploadId",
}


@dataclass
class Sent:
    """A request as it came."""

    request: Request
    body: bytes

    @property
    def signed(self) -> list[str]:
        """The names of the headers that the signature covers."""
        found = re.search("SignedHeaders=([^,]+)", self.request.headers["authorization"])
        assert found is not None
        return found[1].split(";")

    @property
    def kind(self) -> str:
        """Method, names of the query, and a header that makes it another request."""
        names = [each.split("=")[0] for each in self.request.query.split("&")]
        special = [name for name in ("if-none-match", "x-amz-copy-source") if name in self.signed]
        return " ".join(filter(None, (self.request.method, "&".join(names), *special)))


class Recorder(LoopbackServer):
    """Keeps all requests on their way to a store, and tells of uploads with odd ids."""

    def __init__(self, store: S3Store, rng: random.Random) -> None:
        super().__init__()
        self.sent: list[Sent] = []
        self.keys_of_uploads: list[str] = []
        self._at = urlsplit(store.url).netloc
        self._rng = rng

    async def answer(self, request: Request, fate: Fate, client: Client) -> Answer | None:
        body = b"".join([piece async for piece in client.body(request)])
        self.sent.append(Sent(request, body))
        if request.method == "GET" and "uploads=" in request.query:
            return self._uploads()
        if request.method == "DELETE" and "uploadId=" in request.query:
            return Answer(204, {"Content-Length": "0"}, b"")
        return await asyncio.to_thread(self._handed_on, request, body)

    def _uploads(self) -> Answer:
        """Uploads that another run has left open."""
        uploads = "".join(
            f"<Upload><Key>{escape(key)}</Key><UploadId>{escape(odd(self._rng))}</UploadId></Upload>"
            for key in self.keys_of_uploads
        )
        text = f"<ListMultipartUploadsResult>{uploads}</ListMultipartUploadsResult>".encode()
        return Answer(200, {"Content-Length": str(len(text))}, text)

    def _handed_on(self, request: Request, body: bytes) -> Answer:
        connection = http.client.HTTPConnection(self._at, timeout=60)
        try:
            headers = {
                k: v for k, v in request.headers.items() if k not in ("connection", "expect")
            }
            connection.request(request.method, request.target, body or None, headers)
            given = connection.getresponse()
            data = given.read()
        finally:
            connection.close()
        told = Answer(given.status, dict(given.getheaders()), data)
        told.headers.drop("Connection")
        if request.method != "HEAD":
            told.set_length(len(data))
        return told


def odd(rng: random.Random) -> str:
    """A key or an id of characters that need care."""
    text = "".join(rng.choices(ALPHABET, k=rng.randrange(1, 30)))
    return re.sub("/[/ .]*", "/", text).strip("/ .") or "x"


def check(sent: Sent, url: str, token: str | None) -> None:
    """Whether a request is signed as botocore signs it, with all that it has to cover."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    headers = sent.request.headers
    must = {name for name in headers if name.startswith(("x-amz-", "if-", "content-type"))}
    assert must | {"host"} <= set(sent.signed), sent.request.target
    assert headers["x-amz-content-sha256"] == hashlib.sha256(sent.body).hexdigest()
    assert headers.get("x-amz-security-token") == token
    kept = {name: headers[name] for name in sent.signed if name not in MADE}
    asked = AWSRequest(sent.request.method, url + sent.request.target, kept, sent.body)
    asked.context["payload_signing_enabled"] = True
    at = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
    with (
        mock.patch("botocore.auth.get_current_datetime", return_value=at),
        mock.patch("botocore.compat.get_current_datetime", return_value=at),
    ):
        S3SigV4Auth(Credentials(KEY, SECRET, token), "s3", REGION).add_auth(asked)
    assert headers["authorization"] == str(asked.headers["Authorization"]), sent.request.target


def test_signatures_of_writing_are_those_of_botocore(moto: S3Store) -> None:
    pytest.importorskip("botocore", reason="needs botocore, of requirements-extra.txt")
    rng = random.Random(23)
    bucket = moto.bucket("signed")
    kinds: Counter[str] = Counter()
    with Recorder(moto, rng) as recorder:
        while kinds.total() < REQUESTS:
            is_first = kinds.total() == 0
            token = rng.choice([TOKEN, None])
            prefix = odd(rng)
            options: dict[str, Any] = {
                "key": KEY,
                "secret": SECRET,
                "region": REGION,
                "endpoint_url": recorder.url,
                "requester_pays": rng.random() < 0.3,
                **({"token": token} if token else {}),
            }
            recorder.keys_of_uploads = [f"{prefix}/shard-{i:05}.jsonl" for i in range(3)]
            rows = big_rows(18) if is_first else small_rows(150)
            size = {"max_shard_size": 10**9} if is_first else {}
            for _ in range(2):  # the second moves what it wrote to where the first one's lies
                address = f"s3://{bucket}/{prefix}"
                save(rows, address, overwrite=True, storage_options=options, **size)
                rows, size = small_rows(150, seed=1), {}
            for sent in recorder.sent:
                check(sent, recorder.url, token)
            kinds.update(each.kind for each in recorder.sent if each.request.method not in READING)
            recorder.sent.clear()
    assert kinds.keys() == KINDS
