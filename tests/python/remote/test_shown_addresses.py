"""What is secret in an address is shown nowhere, however it is written, and whatever fails."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer, Rule
from faults import Request
from loopback_server import Client

import easydata
from easydata import DatasetConfig, create_source, expand_data_files

ROWS = b"".join(json.dumps({"id": i, "text": f"row {i}"}).encode() + b"\n" for i in range(100))

# User, end of the path, query: with "hush" in what is secret.
ADDRESSES = [
    ("me:hush@", "", ""),
    ("hush@", "", ""),
    ("me:%40hush@", "", ""),
    ("me:p*hush@", "", ""),
    ("me:p[hush@", "", ""),
    ("me:p{hush@", "", ""),
    ("me:p@hush@", "", ""),
    ("me:hush@", "", "?token=hush"),
    ("", "", "?sig=a*hush"),
    ("", "", "?sig=a[hush"),
    ("", "", "?sig={hush}"),
    ("", "", "?token=hush{1,2}b"),
    ("", "", "?X-Amz-Signature=hush&X-Amz-Date=1"),
    ("", "", "?x-goog-signature=hush"),
    ("", "", "?se=2030&sp=r&sig=hush%2Fhush"),
    ("", "", "?part=1&access_token=hush"),
    ("", "", "?next=http://me:hush@host/"),
    ("", "", "?hush0123456789abcdefghijkl"),
    ("", "", "#hush"),
    ("me:hush@", "?v=2", "&Expires=3&Signature=hush"),
]
MISTYPED = ["http:me:hush@{}", "http:/me:hush@{}", "http://me:pa/hush@{}", "http://me:hush@:80/{}"]


class Server(FaultServer):
    """Gives its files by their path alone, and says in each refusal what it was asked."""

    async def answer(self, request: Request, fate: Any, client: Client) -> Any:
        request.target = request.path
        return await super().answer(request, fate, client)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    files = {"/rows.jsonl": ROWS, "/rows": ROWS, "/bad.jsonl": ROWS + b'{"broken\n'}
    with Server(files) as made:
        yield made


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="easydata")
    return caplog


def failure(run: Callable[[], Any], *kinds: type[BaseException]) -> str:
    """What a user sees of an error: with its causes, without the lines of this file."""
    with pytest.raises(kinds or (OSError, ValueError, NotImplementedError)) as failed:
        run()
    lines = traceback.format_exception(failed.value)
    return "".join(line for line in lines if not line.lstrip().startswith("File "))


def read(address: str, **options: Any) -> list[Any]:
    patience = {"retries": 0, "stall_timeout": 0.3, "connect_timeout": 2}
    return list(create_source(DatasetConfig(address, storage_options=patience, **options)))


def save_to(data_files: str, folder: str) -> None:
    stages = {"datasets": [{"data_files": data_files}], "save": {"output_dir": folder}}
    easydata.Pipeline.from_config(stages).source().save().build()


def small_batches(config: easydata.PipelineConfig) -> Any:
    config.load.batch_size = 4
    config.load.shuffle_buffer_size = None
    return easydata.Pipeline(config).source().load().build()


@pytest.mark.parametrize(("user", "end", "query"), ADDRESSES)
def test_no_error_tells_a_secret(
    server: Server, said: pytest.LogCaptureFixture, tmp_path: Path, user: str, end: str, query: str
) -> None:
    def at(path: str, host: str = server.url.removeprefix("http://")) -> str:
        return f"http://{user}{host}{path}{end}{query}"

    def with_rule(**rule: Any) -> str:
        server.rules = [Rule(**{"method": "", **rule})]
        try:
            return failure(lambda: read(at("/rows.jsonl")))
        finally:
            server.rules = []

    echo = f"<Error><Message>you asked {user} for {end}{query}</Message></Error>".encode()
    texts = [
        failure(lambda: read(at("/missing.jsonl")), FileNotFoundError),
        with_rule(fault="status", status=403),
        with_rule(fault="status", status=403, body=echo),
        with_rule(fault="status", status=500, body=echo),
        with_rule(fault="status", status=400, body=echo, method="GET"),
        with_rule(fault="stall_headers"),
        with_rule(fault="cut", at=40, method="GET"),
        with_rule(fault="redirect", location="http://127.0.0.1:1/elsewhere"),
        failure(lambda: read(at("/rows.jsonl", "127.0.0.1:1"))),
        failure(lambda: read(at("/rows.jsonl", "nowhere.invalid"))),
        failure(lambda: read(at("/*.jsonl")), ValueError),
        failure(lambda: read(at("/{9..1}.jsonl")), ValueError),
        failure(lambda: read(at("/{1..99999999}.jsonl")), ValueError),
        failure(lambda: read(at("/{a.jsonl")), ValueError),
        failure(lambda: read(at("/d/")), OSError),
        failure(lambda: read(at("/bad.jsonl")), ValueError),
        failure(lambda: read(at("/rows")), ValueError),
        failure(lambda: list(easydata.ParquetShardedSource(at("/rows.jsonl"))), OSError),
        failure(lambda: read(at("/rows.jsonl"), identity="no"), ValueError),
        failure(lambda: save_to(at("/rows.jsonl"), at("/out")), Exception),
    ]
    # What is right is read, and is not shown either.
    source = create_source(DatasetConfig(at("/rows.jsonl")))
    assert [row["id"] for row in source] == list(range(100))
    copy = pickle.loads(pickle.dumps(source))
    assert len(list(copy)) == 100
    if user:
        assert server.log[-1].authorized
    names = expand_data_files(at("/rows.jsonl"))
    config = easydata.PipelineConfig.from_dict({"datasets": [{"data_files": at("/rows.jsonl")}]})
    with small_batches(config) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        texts += [json.dumps(state), repr(loader), repr(loader.explain()), repr(loader.stats())]
    server.files["/other.jsonl"] = ROWS
    other = easydata.PipelineConfig.from_dict({"datasets": [{"data_files": at("/other.jsonl")}]})
    with small_batches(other) as loader:
        texts.append(failure(lambda: loader.load_state_dict(state), ValueError))
    texts += [
        *names,
        repr(config),
        str(config),
        repr(source),
        repr(easydata.Pipeline(config).freeze()),
    ]
    texts += [record.getMessage() for record in said.records]
    told = "\n".join(texts)
    assert names[0].startswith(server.url + "/rows.jsonl")
    assert names[0] in told
    assert "hush" not in told, told[max(0, told.find("hush") - 200) :][:300]


@pytest.mark.parametrize("address", MISTYPED)
def test_no_error_of_a_mistyped_address_tells_a_secret(server: Server, address: str) -> None:
    given = address.format(server.url.removeprefix("http://") + "/rows.jsonl")
    told = failure(lambda: read(given), ValueError)
    told += failure(lambda: easydata.JsonShardedSource(given), ValueError)
    told += repr(DatasetConfig(given))
    assert "hush" not in told, told[max(0, told.find("hush") - 200) :][:300]


@pytest.mark.parametrize("scheme", ["s3", "S3", "gs", "memory", "sftp"])
def test_a_password_in_an_address_of_a_store_is_refused(scheme: str) -> None:
    told = failure(lambda: read(f"{scheme}://me:hush@bucket/x*.jsonl"), ValueError)
    assert "storage_options" in told
    assert "hush" not in told, told[max(0, told.find("hush") - 200) :][:300]


def test_parameters_that_are_no_secret_are_names(server: Server) -> None:
    addresses = [f"{server.url}/rows.jsonl?part={part}&sig=hush" for part in (1, 2)]
    assert expand_data_files(addresses) == [f"{server.url}/rows.jsonl?part={p}" for p in (1, 2)]
    assert {asked.query for asked in server.log[-2:]} == {"part=1&sig=hush", "part=2&sig=hush"}
    assert len(read(addresses)) == 200  # type: ignore[arg-type]


def test_names_that_would_be_equal_are_told_apart(server: Server) -> None:
    addresses = [f"{server.url}/rows.jsonl?token=hush{part}" for part in (1, 2)]
    names = expand_data_files(addresses)
    assert expand_data_files(addresses[::-1]) == names
    assert len(set(names)) == 2
    for name in names:
        assert len(name) == len(f"{server.url}/rows.jsonl#01234567")
    source = create_source(DatasetConfig(addresses))
    server.log.clear()
    assert len(list(pickle.loads(pickle.dumps(source)))) == 200
    assert {asked.query for asked in server.log} == {"token=hush1", "token=hush2"}


def test_a_state_goes_on_with_a_newly_signed_address(server: Server) -> None:
    def loader(signature: str) -> Any:
        address = f"{server.url}/rows.jsonl?v=1&X-Amz-Signature={signature}&X-Amz-Expires=9"
        return small_batches(
            easydata.PipelineConfig.from_dict({"datasets": [{"data_files": address}]})
        )

    with loader("hush1") as first:
        batches = iter(first)
        next(batches)
        state = first.state_dict()
        expected = [list(batch["id"]) for batch in batches]
    with loader("hush2") as second:
        second.load_state_dict(state)
        assert [list(batch["id"]) for batch in second] == expected
    assert server.log[-1].query == "v=1&X-Amz-Signature=hush2&X-Amz-Expires=9"
