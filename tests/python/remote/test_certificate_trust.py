"""Who is told what: redirects, credentials that run out, certificates of servers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from certificates import Certificates
from fault_answers import Answer
from fault_proxy import FaultProxy
from fault_server import FaultServer
from faults import Fate, Request, Rule
from loopback_server import Client
from programs import run_python
from served_files import HASTY, put, served_files
from small_files import ROWS, loader, rows, write_files
from stores import KEY, REGION, SECRET, S3Store, WebServer

from easydata import DatasetConfig, create_source

SECRETS = {
    "authorization",
    "cookie",
    "x-amz-security-token",
    "x-amz-date",
    "x-amz-content-sha256",
    "x-private",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("trust"))


class Stranger(FaultServer):
    """Another host, which looks at all that it is told."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.heads: list[dict[str, str]] = []

    async def answer(self, request: Request, fate: Fate, client: Client) -> Answer | None:
        self.heads.append(request.headers)
        return await super().answer(request, fate, client)


@pytest.mark.parametrize("where", ["seaweed", "nginx"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_another_host_is_told_no_credentials(
    status: int, where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    secrets: dict[str, Any] = {"token": "very-secret"}
    if where == "nginx":
        secrets["headers"] = {"x-private": "very-secret"}
    data = {"/else/rows.jsonl": (files / "rows.jsonl").read_bytes()}
    with Stranger(data) as other, served_files(request, where, files) as here:
        here.proxy.rules = [
            Rule(
                "status",
                status=status,
                location=other.url + "/else/rows.jsonl",
                headers={"Set-Cookie": "very=secret"},
                method="GET|HEAD",
                path="rows.jsonl",
            )
        ]
        assert here.read("rows.jsonl", **secrets) == rows()
        assert all(each.authorized for each in here.proxy.log)
        assert len(other.heads) >= 2
        for head in other.heads:
            assert not SECRETS & head.keys()
            assert "secret" not in json.dumps(head)
        assert {each.if_match for each in other.asked()} != {None}


@pytest.mark.parametrize("where", ["seaweed", "nginx"])
def test_the_same_host_is_told_them_again(
    where: str, files: Path, request: pytest.FixtureRequest
) -> None:
    """Signed anew: a signature holds for one address."""
    with served_files(request, where, files) as here:
        put(here.server, here.folder, "moved.jsonl", (files / "rows.jsonl").read_bytes())
        moved = f"/{here.folder}/moved.jsonl"
        here.proxy.rules = [
            Rule("status", status=308, location=moved, method="GET|HEAD", path="rows.jsonl")
        ]
        assert here.read("rows.jsonl") == rows()
        assert {each.path for each in here.proxy.log if each.fault is None} == {moved}
        assert all(each.authorized for each in here.proxy.log) == (where == "seaweed")


PROCESS = """
import json, pathlib, sys
count = pathlib.Path(sys.argv[1])
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
keys = {"AccessKeyId": f"KEY{number}", "SecretAccessKey": "very-secret", "SessionToken": "token"}
print(json.dumps({"Version": 1, **keys}))
"""


@pytest.fixture
def refreshed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A profile whose program gives other keys each time; the file that counts them."""
    program, count = tmp_path / "keys.py", tmp_path / "count"
    program.write_text(PROCESS)
    config = tmp_path / "config"
    command = f"{sys.executable} {program} {count}"
    config.write_text(f"[profile changing]\ncredential_process = {command}\nregion = {REGION}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return count


@contextmanager
def changing(store: S3Store, files: Path) -> Iterator[tuple[FaultProxy, str, dict[str, Any]]]:
    """The rows in a store that takes any key, behind a proxy."""
    bucket = store.bucket("changing")
    store.put(bucket, "rows.jsonl", (files / "rows.jsonl").read_bytes())
    with FaultProxy(store.url) as proxy:
        options = {"profile": "changing", "endpoint_url": proxy.url, **HASTY}
        yield proxy, f"s3://{bucket}/rows.jsonl", options


@pytest.mark.parametrize("skip", range(3))
def test_credentials_that_ran_out_are_found_anew(
    skip: int, refreshed: Path, files: Path, moto: S3Store
) -> None:
    """The first look, and requests in mid-run."""
    with changing(moto, files) as (proxy, address, options):
        proxy.rules = [Rule("expired", method="GET|HEAD", skip=skip, times=1)]
        with loader(address, storage_options=options) as batches:
            assert sum(len(batch["text"]) for batch in batches) == ROWS
            again = batches.stats()["io"]["retries"]
        assert all(each.authorized and each.token for each in proxy.log)
        assert [each.fault for each in proxy.log].count("expired") == 1
        assert refreshed.read_text() == "2"
        assert again.get("credentials", 0) == (1 if skip > 0 else 0)  # the look is not the loader's


def test_credentials_that_stay_refused_are_refreshed_once(
    refreshed: Path, files: Path, moto: S3Store
) -> None:
    with changing(moto, files) as (proxy, address, options):
        source = create_source(DatasetConfig(address, storage_options=options))
        proxy.rules = [Rule("expired", method="GET")]
        with pytest.raises(PermissionError, match="ExpiredToken: The provided token") as raised:
            list(source)
        assert "very-secret" not in str(raised.value)
        expired = [each for each in proxy.log if each.fault]
        requests = len({each.range for each in expired})
        assert len(expired) <= 2 * requests
        assert int(refreshed.read_text()) <= 1 + requests


def test_keys_that_are_given_are_not_asked_for_again(files: Path, moto: S3Store) -> None:
    with changing(moto, files) as (proxy, address, options):
        del options["profile"]
        given = {**options, "key": KEY, "secret": SECRET, "region": REGION}
        proxy.rules = [Rule("expired", method="GET|HEAD")]
        with pytest.raises(PermissionError):
            list(create_source(DatasetConfig(address, storage_options=given)))
        assert len(proxy.log) <= 2  # a look with HEAD, and one with GET for servers without


def read(address: str, **options: Any) -> list[Any]:
    return list(create_source(DatasetConfig(address, storage_options={**HASTY, **options})))


@pytest.fixture
def served(nginx_tls: WebServer, files: Path) -> str:
    (nginx_tls.folder / "rows.jsonl").write_bytes((files / "rows.jsonl").read_bytes())
    return nginx_tls.url + "/rows.jsonl"


def test_an_authority_of_ones_own_is_trusted(served: str, certificates: Certificates) -> None:
    assert read(served, ca_file=str(certificates.ca_file)) == rows()
    assert read(served.replace("127.0.0.1", "localhost"), ca_file=str(certificates.ca_file))
    with pytest.raises(OSError, match=r"certificate is not trusted here \(storage_options: ca_fi"):
        read(served)


AUTHORITIES = ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"]


@pytest.mark.parametrize("name", AUTHORITIES)
def test_the_environment_names_authorities(
    name: str, served: str, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import sys; from easydata import DatasetConfig, create_source; "
        "print(sum(1 for _ in create_source(DatasetConfig(sys.argv[1]))))"
    )
    for each in AUTHORITIES:
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, str(certificates.ca_file))
    assert run_python("-c", code, served, timeout=60).stdout == f"{ROWS}\n"


UNTRUSTED = {
    "expired": "expired",
    "other_host": "does not match|no alternative certificate subject name",
    "unknown": "unable to get local issuer|self.signed",
}


@pytest.mark.parametrize("name", UNTRUSTED)
def test_what_is_not_to_be_trusted_is_one_error_at_once(
    name: str, served: str, certificates: Certificates
) -> None:
    context = getattr(certificates, name).context()
    with FaultServer({"/rows.jsonl": b'{"a": 1}\n'}, context=context) as server:
        begin = time.monotonic()
        with pytest.raises(OSError, match=UNTRUSTED[name]) as raised:
            read(server.url + "/rows.jsonl", ca_file=str(certificates.ca_file))
        assert time.monotonic() - begin < 2
        assert server.url in str(raised.value)
        assert "after 1 attempt" in str(raised.value)
        assert server.log == []


def test_a_file_of_authorities_that_is_not_there_is_said(served: str, tmp_path: Path) -> None:
    for path in (tmp_path / "none.pem", Path(__file__)):
        with pytest.raises(OSError, match="ca_file"):
            read(served, ca_file=str(path), retry_timeout=5)


def test_faults_over_tls_change_nothing(
    nginx_tls: WebServer, served: str, certificates: Certificates
) -> None:
    """A server that breaks off within TLS is one that breaks off."""
    data = {"/rows.jsonl": (nginx_tls.folder / "rows.jsonl").read_bytes()}
    for fault in ("cut", "reset", "close", "stall_body"):
        rule = Rule(fault, at=70_000, times=2)
        with FaultServer(data, [rule], context=certificates.good.context()) as server:
            assert read(server.url + "/rows.jsonl", ca_file=str(certificates.ca_file)) == rows()
            assert sum(each.fault is not None for each in server.log) == 2
