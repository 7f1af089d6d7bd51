"""The bench itself: stores keep objects, straight and through the proxy, with their conditions."""

from __future__ import annotations

import json
import os
import signal
import ssl
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import FaultProxy
from faults import Rule
from programs import run_python
from raw_client import ask
from server_process import missing, running
from stores import GcsStore, S3Store, WebServer

botocore = pytest.importorskip("botocore.exceptions")

PART = 5 << 20
DATA = os.urandom(2 * PART + 1000)
ODD_KEYS = [
    "a b/c+d=e%20f#g?h.jsonl",
    "ünïcödé/名前.txt",
    "quotes \"double\" 'single' & ~;*[x]{y}.csv",
    "date=2024-01-01/part-0.parquet",
    "dot./.hidden",
    "percent%2Fcoded/+ +",
    "two//slashes",
]


@pytest.fixture(params=["seaweed", "moto"])
def s3(request: pytest.FixtureRequest) -> S3Store:
    store: S3Store = request.getfixturevalue(request.param)
    return store


@pytest.fixture
def proxied(s3: S3Store) -> Iterator[tuple[FaultProxy, Any]]:
    """A proxy before the store, and a client that knows the proxy only."""
    with FaultProxy(s3.url) as proxy:
        client = s3.client(proxy.url)
        yield proxy, client
        client.close()


def status_of(call: Callable[[], Any]) -> int:
    """The status with which a client's call ends."""
    try:
        return int(call()["ResponseMetadata"]["HTTPStatusCode"])
    except botocore.ClientError as error:
        return int(error.response["ResponseMetadata"]["HTTPStatusCode"])


@pytest.mark.parametrize("name", ["seaweed", "moto", "gcs"])
def test_a_store_keeps_objects(name: str, request: pytest.FixtureRequest) -> None:
    store: S3Store | GcsStore = request.getfixturevalue(name)
    bucket = store.bucket("keeps")
    for number, key in enumerate(ODD_KEYS):
        store.put(bucket, key, b"%d" % number)
    store.put(bucket, "empty", b"")
    keys = [*ODD_KEYS, "empty"]
    if name == "seaweed":  # which reads them by that name, and lists them by another
        keys.remove("two//slashes")
        keys.append("two/slashes")
    assert sorted(store.list(bucket)) == sorted(keys)
    assert [store.get(bucket, key) for key in ODD_KEYS] == [b"%d" % i for i in range(len(ODD_KEYS))]
    assert store.get(bucket, "empty") == b""
    assert store.list(bucket, "date=") == [ODD_KEYS[3]]
    store.delete(bucket, ODD_KEYS[0])
    assert ODD_KEYS[0] not in store.list(bucket)
    assert store.bucket("keeps") != bucket


def test_signatures_hold_through_the_proxy(s3: S3Store, proxied: tuple[FaultProxy, Any]) -> None:
    proxy, client = proxied
    bucket = s3.bucket("through")
    for key in ODD_KEYS:
        client.put_object(Bucket=bucket, Key=key, Body=key.encode())
        got = client.get_object(Bucket=bucket, Key=key, Range="bytes=1-3")
        assert got["Body"].read() == key.encode()[1:4]
        assert s3.get(bucket, key) == key.encode()
    assert len(client.list_objects_v2(Bucket=bucket)["Contents"]) == len(ODD_KEYS)
    assert all(each.authorized and each.host == proxy.url[7:] for each in proxy.log)
    assert {each.range for each in proxy.asked()} == {"bytes=1-3", None}
    assert {each.status for each in proxy.log} == {200, 206}


def test_seaweed_checks_who_asks(seaweed: S3Store) -> None:
    bucket = seaweed.bucket("secrets")
    seaweed.put(bucket, "a", b"a")
    assert ask(seaweed.url, f"/{bucket}/a").status == 403
    forged = {"Authorization": "AWS4-HMAC-SHA256 Credential=EASYDATAKEY/20240101/us-east-1/s3"}
    assert ask(seaweed.url, f"/{bucket}/a", headers=forged).status in (400, 403)


def upload(client: Any, bucket: str, key: str, **conditions: str) -> str:
    """Writes DATA in three parts, and returns the ETag."""
    target = {"Bucket": bucket, "Key": key}
    number = client.create_multipart_upload(**target)["UploadId"]
    parts: list[dict[str, Any]] = []
    for begin in range(0, len(DATA), PART):
        part = {"PartNumber": len(parts) + 1}
        body = DATA[begin : begin + PART]
        sent = client.upload_part(**target, **part, UploadId=number, Body=body)
        parts.append({**part, "ETag": sent["ETag"]})
    told = {"UploadId": number, "MultipartUpload": {"Parts": parts}, **conditions}
    return str(client.complete_multipart_upload(**target, **told)["ETag"])


def test_objects_come_in_parts(s3: S3Store, proxied: tuple[FaultProxy, Any]) -> None:
    proxy, client = proxied
    bucket = s3.bucket("parts")
    tag = upload(client, bucket, "a")
    assert tag.endswith('-3"')
    assert s3.get(bucket, "a") == DATA
    assert s3.open_uploads(bucket) == []
    assert ["partNumber=" in each.query for each in proxy.asked("PUT")] == [True] * 3
    assert ["uploadId=" in each.query for each in proxy.asked("POST")] == [False, True]
    client.create_multipart_upload(Bucket=bucket, Key="left")
    assert s3.open_uploads(bucket) == ["left"]


def test_conditions_are_kept(s3: S3Store, proxied: tuple[FaultProxy, Any]) -> None:
    _, client = proxied
    bucket = s3.bucket("conditions")
    tag = s3.put(bucket, "a", b"old")
    target = {"Bucket": bucket, "Key": "a"}
    wrong = '"00000000000000000000000000000000"'
    assert status_of(lambda: client.get_object(**target, IfMatch=tag)) == 200
    assert status_of(lambda: client.get_object(**target, IfMatch=wrong)) == 412
    assert status_of(lambda: client.get_object(**target, IfNoneMatch=tag)) == 304
    assert status_of(lambda: client.put_object(**target, Body=b"x", IfNoneMatch="*")) == 412
    assert status_of(lambda: client.put_object(**target, Body=b"x", IfMatch=wrong)) == 412
    with pytest.raises(botocore.ClientError, match="PreconditionFailed"):
        upload(client, bucket, "a", IfNoneMatch="*")
    assert s3.get(bucket, "a") == b"old"
    assert s3.open_uploads(bucket) == ["a"]
    upload(client, bucket, "b", IfNoneMatch="*")


def test_a_write_may_be_done_and_not_answered(s3: S3Store, proxied: tuple[FaultProxy, Any]) -> None:
    proxy, client = proxied
    bucket = s3.bucket("lost")
    proxy.rules = [Rule("lost", method="PUT", path="/a$"), Rule("cut_request", method="PUT")]
    for key in ("a", "b"):
        with pytest.raises(botocore.HTTPClientError):
            client.put_object(Bucket=bucket, Key=key, Body=DATA)
    assert s3.list(bucket) == ["a"]
    assert s3.get(bucket, "a") == DATA
    assert [(each.fault, each.status) for each in proxy.log] == [
        ("lost", None),
        ("cut_request", None),
    ]


def test_a_list_may_lack_a_key(s3: S3Store, proxied: tuple[FaultProxy, Any]) -> None:
    proxy, client = proxied
    bucket = s3.bucket("lists")
    for key in ("a", "b&c", "d"):
        s3.put(bucket, key, b"")

    def listed(*rules: Rule) -> tuple[list[str], int]:
        proxy.rules = rules
        page = client.list_objects_v2(Bucket=bucket)
        return [each["Key"] for each in page["Contents"]], page["KeyCount"]

    assert listed() == (["a", "b&c", "d"], 3)
    assert listed(Rule("drop_key", query="list-type")) == (["a", "b&c"], 2)
    assert listed(Rule("drop_key", key="b&c")) == (["a", "d"], 2)
    assert listed(Rule("drop_key", key="none")) == (["a", "b&c", "d"], 3)


def test_expired_credentials_are_understood(s3: S3Store, proxied: tuple[FaultProxy, Any]) -> None:
    proxy, client = proxied
    proxy.rules = [Rule("expired")]
    with pytest.raises(botocore.ClientError, match="ExpiredToken"):
        client.get_object(Bucket=s3.bucket("expired"), Key="a")


def test_google_through_the_proxy(gcs: GcsStore) -> None:
    bucket = gcs.bucket("through")
    for key in ("a", "b", "c"):
        gcs.put(bucket, key, key.encode() * 100)
    target = gcs.object_target(bucket, "b") + "?alt=media"
    with FaultProxy(gcs.url) as proxy:
        through = GcsStore(proxy.url)
        assert [through.get(bucket, key) for key in through.list(bucket)] == [
            each * 100 for each in (b"a", b"b", b"c")
        ]
        got = ask(proxy.url, target, headers={"Range": "bytes=5-9"})
        assert (got.status, got.body) == (206, b"bbbbb")
        proxy.rules = [Rule("drop_key", key="b")]
        assert through.list(bucket) == ["a", "c"]
        proxy.rules = [Rule("lost", method="POST")]
        with pytest.raises(ConnectionError):
            through.put(bucket, "d", b"d")
        proxy.rules = [Rule("expired")]
        assert ask(proxy.url, target).status == 401
    assert gcs.get(bucket, "d") == b"d"


def test_google_keeps_generations(gcs: GcsStore) -> None:
    bucket = gcs.bucket("generations")
    old = gcs.put(bucket, "a", b"old")
    target, inserted = gcs.object_target(bucket, "a"), f"/upload/storage/v1/b/{bucket}/o?name=a"
    got = ask(gcs.url, f"{target}?alt=media&generation={old}")
    assert (got.body, got.headers["x-goog-generation"]) == (b"old", old)
    new = gcs.put(bucket, "a", b"new")
    assert ask(gcs.url, f"{target}?alt=media&generation={old}").status == 404
    assert ask(gcs.url, f"{target}?alt=media&ifGenerationMatch={old}").status == 412
    assert ask(gcs.url, f"{target}?ifGenerationMatch={new}").status == 200
    absent = {"x-goog-if-generation-match": "0"}
    assert ask(gcs.url, f"/{bucket}/a", "PUT", absent, b"x").status == 412
    assert ask(gcs.url, f"/{bucket}/b", "PUT", absent, b"x").status == 200
    media = f"{inserted}&uploadType=media&ifGenerationMatch="
    assert ask(gcs.url, media + "0", "POST", body=b"x").status == 412
    assert ask(gcs.url, media + old, "POST", body=b"x").status == 412
    assert ask(gcs.url, f"{target}?ifGenerationMatch={old}", "DELETE").status == 412
    assert gcs.get(bucket, "a") == b"new"
    assert ask(gcs.url, media + new, "POST", body=b"newer").status == 200
    head = ask(gcs.url, f"/{bucket}/a", "HEAD")
    assert (head.status, head.headers["content-length"]) == (200, "5")
    assert ask(gcs.url, f"/{bucket}/a", headers={"Range": "bytes=5-9"}).status == 416


def test_google_takes_uploads_in_pieces(gcs: GcsStore) -> None:
    bucket = gcs.bucket("pieces")
    begun = f"/upload/storage/v1/b/{bucket}/o?uploadType=resumable&name=a&ifGenerationMatch=0"
    kind = {"Content-Type": "application/json"}
    session = ask(gcs.url, begun, "POST", kind, b"{}").headers["location"].removeprefix(gcs.url)
    assert ask(gcs.url, session, "PUT", {"Content-Range": "bytes 0-2/*"}, b"abc").status == 308
    asked = ask(gcs.url, session, "PUT", {"Content-Range": "bytes */*"}, b"")
    assert (asked.status, asked.headers["range"]) == (308, "bytes=0-2")
    assert gcs.list(bucket) == []
    assert ask(gcs.url, session, "PUT", {"Content-Range": "bytes 3-4/5"}, b"de").status == 200
    assert ask(gcs.url, session, "PUT", {"Content-Range": "bytes */5"}, b"").status == 200
    assert gcs.get(bucket, "a") == b"abcde"
    assert ask(gcs.url, begun, "POST", kind, b"{}").status == 412


def test_google_lists_in_pages(gcs: GcsStore) -> None:
    bucket = gcs.bucket("pages")
    names = [f"{i % 3}/{i:04}" for i in range(1100)]
    for name in names:
        gcs.put(bucket, name, b"")
    assert gcs.list(bucket) == sorted(names)
    page = json.loads(gcs.call("GET", f"/storage/v1/b/{bucket}/o?delimiter=/&maxResults=2"))
    assert (page["prefixes"], page["nextPageToken"]) == (["0/", "1/"], "1/")


@pytest.mark.parametrize("name", ["nginx", "nginx_tls"])
def test_nginx_serves_a_folder(name: str, request: pytest.FixtureRequest) -> None:
    server: WebServer = request.getfixturevalue(name)
    for key in ("odd + %20 é.txt", "plain"):
        (server.folder / key).write_bytes(b"0123456789")
    context = None
    if name == "nginx_tls":
        trusted = request.getfixturevalue("certificates").ca_file
        context = ssl.create_default_context(cafile=str(trusted))
    target = "/" + urllib.request.pathname2url("odd + %20 é.txt")
    got = ask(server.url, target, headers={"Range": "bytes=2-4"}, context=context)
    assert (got.status, got.body, got.headers["content-range"]) == (206, b"234", "bytes 2-4/10")
    tag = got.headers["etag"]
    assert ask(server.url, target, headers={"If-Match": tag}, context=context).status == 200
    assert ask(server.url, target, headers={"If-Match": '"x"'}, context=context).status == 412
    assert b"plain" in ask(server.url, "/", context=context).body
    if name == "nginx":
        with FaultProxy(server.url) as proxy:
            assert ask(proxy.url, target).body == b"0123456789"


def test_servers_end_with_their_starter(tmp_path: Path) -> None:
    script = """
import os, sys, signal, pathlib
from server_process import missing, running
folder = pathlib.Path(sys.argv[1])
command = ["sh", "-c", "touch ready; exec sleep 60"]
with running(command, folder, (folder / "ready").exists) as server:
    print(server.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    started = run_python("-c", script, tmp_path, status=-signal.SIGKILL)
    is_running = Path(f"/proc/{int(started.stdout)}/cmdline")
    until = time.monotonic() + 10
    while is_running.exists() and b"sleep" in is_running.read_bytes():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_server_that_fails_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no room')"]
    with pytest.raises(OSError, match=r"(?s)ended with status 1:.*no room"):
        running(command, tmp_path, lambda: False).__enter__()


def test_what_is_not_installed_fails_only_where_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EASYDATA_REQUIRE_STORES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="weed is not installed"):
        missing("weed is not installed")
    monkeypatch.setenv("EASYDATA_REQUIRE_STORES", "1")
    with pytest.raises(pytest.fail.Exception, match="weed is not installed"):
        missing("weed is not installed")
