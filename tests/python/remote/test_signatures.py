"""Signatures of requests to S3: those that botocore makes of the same requests."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from unittest import mock

import pytest

from easydata import DatasetConfig, create_source, expand_data_files

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session/token+="
ALPHABET = "abcXYZ019-._~ +=%#?&'\"!*();:@,$<>|^`{}ünïcödé日本語\t/"
REQUESTS = 500


class Recorder(ThreadingHTTPServer):
    """Keeps the requests that come, and answers none of them well."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str]]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(handler) -> None:  # noqa: N805
                headers = {name.lower(): value for name, value in handler.headers.items()}
                self.seen.append((handler.command, handler.path, headers))
                handler.send_response(404)
                handler.send_header("Content-Length", "0")
                handler.end_headers()

            do_HEAD = do_GET  # noqa: N815

            def log_message(handler, *_: Any) -> None:  # noqa: N805
                """Says nothing."""

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


def signed_by_botocore(method: str, url: str, headers: Mapping[str, str], token: str | None) -> str:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    made = ("authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token")
    sent = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    kept = {name: headers[name] for name in sent if name not in (*made, "host")}
    request = AWSRequest(method=method, url=url, headers=kept)
    request.context["payload_signing_enabled"] = True
    at = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
    with (
        mock.patch("botocore.auth.get_current_datetime", return_value=at),
        mock.patch("botocore.compat.get_current_datetime", return_value=at),
    ):
        S3SigV4Auth(Credentials(KEY, SECRET, token), "s3", "eu-north-1").add_auth(request)
    return str(request.headers["Authorization"])


def ask(address: str, options: dict[str, Any], only_lists: bool) -> None:
    """Asks for a file in one of the ways that there are."""
    if only_lists:
        expand_data_files(address, options)
    else:
        list(create_source(DatasetConfig(address, storage_options=options)))


def test_signatures_are_those_of_botocore() -> None:
    pytest.importorskip("botocore", reason="needs botocore, of requirements-extra.txt")
    rng = random.Random(17)
    recorder = Recorder()
    Thread(target=recorder.serve_forever, daemon=True).start()
    with recorder:
        while len(recorder.seen) < REQUESTS:
            key = "".join(rng.choices(ALPHABET, k=rng.randrange(1, 40))).lstrip("/") or "x"
            token = rng.choice([TOKEN, None])
            options: dict[str, Any] = {
                "key": KEY,
                "secret": SECRET,
                "region": "eu-north-1",
                "endpoint_url": recorder.url,
                "requester_pays": rng.random() < 0.3,
            }
            if token is not None:
                options["token"] = token
            before = len(recorder.seen)
            with pytest.raises((OSError, ValueError)):
                ask(f"s3://bucket/{key}", options, rng.random() < 0.5)
            for method, path, headers in recorder.seen[before:]:
                expected = signed_by_botocore(method, recorder.url + path, headers, token)
                assert headers["authorization"] == expected, (method, path)
        recorder.shutdown()
    methods = {method for method, _, _ in recorder.seen}
    assert methods == {"GET", "HEAD"}
