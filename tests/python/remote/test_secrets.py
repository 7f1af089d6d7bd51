"""What proves who asks: it reaches the server, and nothing else."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from easydata.core.config import config_hash
from fault_proxy import FaultProxy
from fault_server import FaultServer, Rule
from run_outputs import Outputs, run_all
from small_files import ROWS, rows, write_files
from stores import SECRET, S3Store

import easydata
from easydata import DatasetConfig, create_source, expand_data_files

SIGNATURE = "X-Amz-Signature=hush0123456789"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("rows"))


def read(data_files: Any, **options: Any) -> list[Any]:
    return list(create_source(DatasetConfig(data_files=data_files, **options)))


def signed(files: Path) -> tuple[FaultServer, str]:
    """A server that knows a file by its presigned address alone, and that address' end."""
    target = f"/rows.jsonl?{SIGNATURE}&Expires=3600"
    return FaultServer({target: files.joinpath("rows.jsonl").read_bytes()}), target


def test_presigned_addresses(files: Path) -> None:
    server, target = signed(files)
    with server:
        assert expand_data_files(server.url + target) == [f"{server.url}/rows.jsonl"]
        assert read(server.url + target) == rows()
        source = create_source(DatasetConfig(server.url + target))
        copy = pickle.loads(pickle.dumps(source))
        assert list(copy) == rows()


def test_users_and_headers_of_web_servers(files: Path) -> None:
    data = {"/rows.jsonl": files.joinpath("rows.jsonl").read_bytes()}
    with FaultServer(data) as server:
        address = server.url.replace("http://", "http://me:hush%40@") + "/rows.jsonl"
        assert read(address) == rows()
        assert all(each.authorized for each in server.log)
        server.log.clear()
        assert read(server.url + "/rows.jsonl", storage_options={"token": "hush"}) == rows()
        assert all(each.authorized for each in server.log)
        server.log.clear()
        headers = {"headers": {"Authorization": "Custom hush"}}
        assert read(server.url + "/rows.jsonl", storage_options=headers) == rows()
        assert all(each.authorized for each in server.log)


def test_no_credential_follows_a_redirect_to_another_host(files: Path) -> None:
    data = {"/rows.jsonl": files.joinpath("rows.jsonl").read_bytes()}
    with FaultServer(data) as other:
        elsewhere = Rule("redirect", location=other.url + "/rows.jsonl", method="")
        with FaultServer(data, [elsewhere]) as server:
            assert read(server.url + "/rows.jsonl", storage_options={"token": "hush"}) == rows()
            assert all(each.authorized for each in server.log)
        assert other.log
        assert not any(each.authorized or each.token for each in other.log)


WAYS: list[tuple[str, dict[str, Any]]] = [
    ("", {"token": "hush"}),
    ("", {"headers": {"Authorization": "Custom hush"}}),
    ("me:hush@", {}),
]


@pytest.mark.parametrize(("user", "options"), WAYS)
@pytest.mark.parametrize("absolute", [False, True])
def test_credentials_follow_a_redirect_on_their_host(
    files: Path, user: str, options: dict[str, Any], absolute: bool
) -> None:
    data = {"/moved.jsonl": files.joinpath("rows.jsonl").read_bytes()}
    with FaultServer(data) as server:
        to = (server.url if absolute else "") + "/moved.jsonl"
        server.rules = [Rule("redirect", location=to, method="", path="/rows.jsonl")]
        address = server.url.replace("http://", f"http://{user}") + "/rows.jsonl"
        assert read(address, storage_options=options) == rows()
        assert {each.path for each in server.log} == {"/rows.jsonl", "/moved.jsonl"}
        assert all(each.authorized for each in server.log)


@pytest.mark.parametrize(("user", "options"), WAYS)
def test_no_credential_comes_back_from_another_host(
    files: Path, user: str, options: dict[str, Any]
) -> None:
    data = {"/chosen.jsonl": files.joinpath("rows.jsonl").read_bytes()}
    with FaultServer(data) as server, FaultServer({}) as other:
        away = other.url + "/rows.jsonl"
        server.rules = [Rule("redirect", location=away, method="", path="/rows.jsonl")]
        # A user of whom we were not asked is none of ours either.
        back = server.url.replace("http://", "http://you:theirs@") + "/chosen.jsonl"
        other.rules = [Rule("redirect", location=back, method="")]
        address = server.url.replace("http://", f"http://{user}") + "/rows.jsonl"
        assert read(address, storage_options=options) == rows()
        assert not any(each.authorized for each in other.log)
        came = {each.path: each.authorized for each in server.log}
        assert came == {"/rows.jsonl": True, "/chosen.jsonl": False}


def test_line_ends_in_tokens_and_headers(files: Path) -> None:
    data = {"/rows.jsonl": files.joinpath("rows.jsonl").read_bytes()}
    with FaultServer(data) as server:
        read(server.url + "/rows.jsonl", storage_options={"token": "hush\r\n"})
        read(server.url + "/rows.jsonl", storage_options={"headers": {"X-Key": " hush\n"}})
        assert len(server.log) > 2
        server.log.clear()
        for options in (
            {"token": "hu\r\nsh: 1"},
            {"token": "hu\0sh"},
            {"key": "k", "secret": "hu\nsh"},
            {"headers": {"X-Key": "hu\nsh: 1"}},
            {"headers": {"X-Key: 1\r\nX-Other": "hush"}},
            {"headers": {"": "hush"}},
        ):
            with pytest.raises(ValueError, match="storage_options") as failed:
                read(server.url + "/rows.jsonl", storage_options=options)
            assert "hush" not in str(failed.value)
            assert "sh: 1" not in str(failed.value)
        assert not server.log


def test_an_endpoint_has_no_user() -> None:
    for endpoint in ("http://me:hush@127.0.0.1:1", "http://127.0.0.1:1?sig=hush", "s3:me:hush@h"):
        for scheme in ("s3", "gs"):
            with pytest.raises(ValueError, match=r"endpoint_url|is written") as failed:
                read(f"{scheme}://b/x.jsonl", storage_options={"endpoint_url": endpoint})
            assert "hush" not in str(failed.value)


@pytest.mark.parametrize("proxy", ["http://me:hush@[::", "gopher://me:hush@127.0.0.1:1"])
def test_a_proxy_that_is_wrong_is_not_shown(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(OSError, match="proxy") as failed:
        read("http://nowhere.invalid/x.jsonl", storage_options={"retries": 0})
    assert "hush" not in str(failed.value)


def test_a_host_that_refuses_is_told_soon(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", logger="easydata")
    with FaultServer({}) as server:
        address = server.url + "/rows.jsonl"
    began = time.monotonic()
    with pytest.raises(OSError, match="see that its host and port are right") as failed:
        read(address)
    assert "after 11 attempts" in str(failed.value)
    assert time.monotonic() - began < 20  # a slow server is waited for five minutes
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert told[0].startswith(f"cannot look at {address} yet: ")


def test_secrets_of_addresses_are_said_nowhere(
    files: Path, tmp_path: Path, outputs: Outputs
) -> None:
    target = f"/rows.jsonl?{SIGNATURE}"
    bad = files.joinpath("rows.jsonl").read_bytes() + b'{"broken\n'
    with FaultServer({target: bad}) as server:
        address = server.url.replace("http://", "http://me:hush0123456789@") + target
        run_all(outputs, tmp_path, address, None)
        server.rules = [Rule("status", status=403, method="")]
        for change in ({}, {"retries": 1}):
            with pytest.raises(PermissionError) as failed:
                read(address, storage_options=change)
            outputs.add(str(failed.value))
        server.rules = [Rule("status", status=500, method="")]
        with pytest.raises(OSError, match="status 500") as broken:
            read(address, storage_options={"retries": 1})
        outputs.add(str(broken.value))
    with pytest.raises(OSError, match="cannot look at") as away:
        read(address, storage_options={"retries": 1})
    outputs.add(str(away.value))
    assert "rows.jsonl" in outputs.everything()
    assert "hush" not in outputs.everything()


def test_secrets_of_options_are_said_nowhere(
    files: Path, tmp_path: Path, outputs: Outputs, seaweed: S3Store
) -> None:
    bucket = seaweed.bucket("secrets")
    seaweed.put(bucket, "rows.jsonl", files.joinpath("rows.jsonl").read_bytes() + b"{broken\n")
    address = f"s3://{bucket}/rows.jsonl"
    with FaultProxy(seaweed.url) as proxy:
        options = {**seaweed.options_at(proxy.url), "token": ""}
        del options["token"]
        run_all(outputs, tmp_path, address, options)
        wrong = {**options, "secret": "hush0123456789", "token": "hush-token"}
        with pytest.raises(PermissionError) as failed:
            read(address, storage_options=wrong)
        outputs.add(str(failed.value))
    assert "rows.jsonl" in outputs.everything()
    assert SECRET not in outputs.everything()
    assert "hush" not in outputs.everything()


def test_who_asks_is_no_part_of_a_config(files: Path) -> None:
    one = easydata.PipelineConfig.from_dict({"datasets": [{"data_files": "s3://b/x.jsonl"}]})
    other = easydata.PipelineConfig.from_dict(
        {
            "datasets": [{"data_files": "s3://b/x.jsonl", "storage_options": {"anon": True}}],
        }
    )
    assert config_hash(one) == config_hash(other)
    assert len(rows()) == ROWS
