"""Google Cloud Storage in mid-run: access tokens that run out, and objects that are exchanged."""

from __future__ import annotations

import base64
import io
import json
import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from certificates import Certificates
from fault_answers import EXPIRED_GCS, Answer
from fault_proxy import FaultProxy
from faults import Fate, Request, Rule
from loopback_server import Client, LoopbackServer
from served_files import HASTY
from small_files import ROWS, loader, rows
from stores import GcsStore

from easydata import DatasetConfig, create_source

HUSH = "ya29.hush"
CHAINS = ["user", "account", "machine"]
GROUPS = 40  # row groups of the Parquet file: far more than are read ahead
SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
METADATA = "/computeMetadata/v1/instance/service-accounts/default/token"
CHANGED = "is not the file any more that was listed"


class Issuer(LoopbackServer):
    """Gives access tokens, each but once, as Google's OAuth and metadata servers do."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []
        self.given: list[str] = []
        self.seconds: dict[int, int] = {}  # how long the first, second, ... token holds
        self.says: Callable[[int], str] = lambda number: f"{HUSH}-{number}"

    async def answer(self, request: Request, fate: Fate, client: Client) -> Answer | None:
        body = b"".join([piece async for piece in client.body(request)]).decode()
        self.forms.append(dict(each.split("=", 1) for each in body.split("&") if each))
        is_machine = request.path == METADATA and request.headers["metadata-flavor"] == "Google"
        if not is_machine and (request.method, request.path) != ("POST", "/token"):
            return Answer(404, {"Content-Length": "0"}, b"")
        number = len(self.given) + 1
        self.given.append(self.says(number))
        told = {"access_token": self.given[-1], "expires_in": self.seconds.get(number, 3599)}
        text = json.dumps(told).encode()
        headers = {"Content-Length": str(len(text)), "Content-Type": "application/json"}
        return Answer(200, {**headers, "Metadata-Flavor": "Google"}, text)


class Guard(FaultProxy):
    """Stands before the store, and lets in who has a token that still holds.

    `good_for` says how many ranges a token is good for; at the next it is of no more use.
    """

    def __init__(self, store: GcsStore, issuer: Issuer) -> None:
        super().__init__(store.url)
        self.issuer = issuer
        self.good_for: dict[str, int] = {}
        self.let_in: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    async def answer(self, request: Request, fate: Fate, client: Client) -> Answer | None:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        is_range = "range" in request.headers
        is_used_up = is_range and self.let_in[token] >= self.good_for.get(token, 1 << 30)
        is_known = kind == "Bearer" and token in self.issuer.given
        if not is_known or is_used_up or self.refused[token]:
            self.refused[token] += 1
            headers = {"Content-Type": "application/json", "Content-Length": str(len(EXPIRED_GCS))}
            return Answer(401, headers, EXPIRED_GCS)
        self.let_in[token] += is_range
        return await super().answer(request, fate, client)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("google")
    for kind in ("parquet", "jsonl"):
        (folder / f"rows.{kind}").write_bytes(data_of(kind, rows()))
    return folder


@pytest.fixture(scope="module")
def bucket(gcs: GcsStore, files: Path) -> str:
    made = gcs.bucket("google")
    for path in files.iterdir():
        gcs.put(made, path.name, path.read_bytes())
    return made


def credentials(chain: str, url: str, key: Path) -> dict[str, str]:
    """The file of a user or of a service account."""
    if chain == "user":
        secrets = {"client_id": "me", "client_secret": "hush/1", "refresh_token": "1//hush"}
        return {"type": "authorized_user", **secrets, "token_uri": url}
    who = {"client_email": "me@project.example", "private_key": key.read_text()}
    return {"type": "service_account", **who, "private_key_id": "17", "token_uri": url}


def say_who_asks(
    chain: str, issuer: Issuer, key: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Makes the environment that of a user, a service account or a machine of Google's."""
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(folder / "none"))
    if chain == "machine":
        monkeypatch.setenv("GCE_METADATA_HOST", issuer.url.removeprefix("http://"))
        return
    path = folder / "credentials.json"
    path.write_text(json.dumps(credentials(chain, f"{issuer.url}/token", key)))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))


class Access:
    """What tests need: who gives tokens, who looks at them, and how to ask."""

    def __init__(self, issuer: Issuer, guard: Guard, bucket: str) -> None:
        self.issuer = issuer
        self.guard = guard
        self.bucket = bucket
        # The emulator has no room for more that connect at the same moment.
        self.options = {"endpoint_url": guard.url, "max_in_flight": 4, **HASTY}

    def address(self, name: str) -> str:
        return f"gs://{self.bucket}/{name}"

    def source(self, name: str, **options: Any) -> Any:
        given = {**self.options, **options}
        return create_source(DatasetConfig(self.address(name), storage_options=given))

    def check_unsaid(self, error: BaseException) -> None:
        """No secret stands in an error, nor in those behind it."""
        seen: BaseException | None = error
        while seen is not None:
            assert "hush" not in repr(seen), seen
            seen = seen.__cause__ or seen.__context__


@pytest.fixture
def access(
    request: pytest.FixtureRequest,
    gcs: GcsStore,
    bucket: str,
    certificates: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    chain = getattr(request, "param", "user")
    with Issuer() as issuer, Guard(gcs, issuer) as guard:
        say_who_asks(chain, issuer, certificates.good.key, tmp_path, monkeypatch)
        yield Access(issuer, guard, bucket)


def in_part(text: str) -> Any:
    """What a part of a signed assertion says."""
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def check_forms(chain: str, issuer: Issuer, certificates: Certificates) -> None:
    """Whether each request for a token says who asks, and proves it."""
    for form in issuer.forms:
        if chain == "machine":
            assert form == {}
        elif chain == "user":
            assert form["grant_type"] == "refresh_token"
            assert form["refresh_token"] == "1%2F%2Fhush"
        else:
            signed, _, signature = form["assertion"].rpartition(".")
            head, claims = (in_part(part) for part in signed.split("."))
            assert head == {"alg": "RS256", "kid": "17", "typ": "JWT"}
            assert (claims["iss"], claims["scope"]) == ("me@project.example", SCOPE)
            assert claims["aud"] == f"{issuer.url}/token"
            assert 0 < claims["exp"] - claims["iat"] <= 3600
            assert abs(claims["iat"] - time.time()) < 60
            check_signature(certificates.good.key, signed.encode(), signature)


def check_signature(key: Path, signed: bytes, signature: str) -> None:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    private = serialization.load_pem_private_key(key.read_bytes(), None)
    data = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    private.public_key().verify(data, signed, PKCS1v15(), SHA256())


@pytest.mark.parametrize(
    ("chain", "access"), [(each, each) for each in CHAINS], indirect=["access"], ids=CHAINS
)
@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl"])
def test_a_token_that_is_refused_in_mid_run_is_got_anew_once(
    name: str, chain: str, access: Access, certificates: Certificates
) -> None:
    # Two of a Parquet file's requests: its end, and some of its rows. A text has but one.
    access.guard.good_for = {f"{HUSH}-1": 2 if name == "rows.parquet" else 0}
    access.guard.rules = [Rule("latency", seconds=0.02, method="GET")]  # several are on their way
    with loader(access.address(name), storage_options=access.options) as batches:
        assert [text for batch in batches for text in batch["text"]] == [
            row["text"] for row in rows()
        ]
        retries = batches.stats()["io"]["retries"]
    assert access.issuer.given == [f"{HUSH}-1", f"{HUSH}-2"]
    assert access.guard.refused == {f"{HUSH}-1": access.guard.refused.total()}
    assert access.guard.let_in[f"{HUSH}-2"] > (2 if name == "rows.parquet" else 0)
    assert retries["credentials"] == access.guard.refused.total()
    check_forms(chain, access.issuer, certificates)


@pytest.mark.parametrize("access", CHAINS, indirect=True)
def test_a_token_that_expires_in_mid_run_is_got_anew_before_it_is_refused(access: Access) -> None:
    """Those that hold for less than five minutes count as old, and are got anew at any time."""
    access.issuer.seconds = {1: 301}
    access.guard.rules = [Rule("latency", seconds=0.08, method="GET")]  # more than a second in all
    assert list(access.source("rows.parquet", max_in_flight=2)) == rows()
    assert access.issuer.given == [f"{HUSH}-1", f"{HUSH}-2"]
    assert access.guard.let_in[f"{HUSH}-1"] > 0
    assert access.guard.let_in[f"{HUSH}-2"] > 0
    assert access.guard.refused.total() == 0


def test_tokens_that_run_out_again_and_again(access: Access) -> None:
    """Each is got once, whoever finds first that the one before is of no use."""
    access.guard.good_for = {f"{HUSH}-{i}": 10 for i in range(1, 100)}
    assert list(access.source("rows.parquet")) == rows()
    asked = access.guard.let_in.total()
    assert asked >= GROUPS
    assert len(access.issuer.given) == -(-asked // 10)


@pytest.mark.parametrize("access", CHAINS, indirect=True)
def test_a_new_token_that_is_refused_is_one_error(access: Access) -> None:
    source = access.source("rows.jsonl")
    assert len(access.issuer.given) <= 1
    access.guard.good_for = {f"{HUSH}-{i}": 0 for i in range(1, 100)}
    with pytest.raises(PermissionError, match=r"status 401 \(.*Invalid Credentials.*\)") as raised:
        list(source)
    assert access.address("rows.jsonl") in str(raised.value)
    assert "storage_options" in str(raised.value)
    access.check_unsaid(raised.value)
    assert access.issuer.given == [f"{HUSH}-1", f"{HUSH}-2"]
    assert access.guard.refused == {f"{HUSH}-1": 1, f"{HUSH}-2": 1}


def test_the_same_token_again_is_not_tried_again(access: Access) -> None:
    """As the metadata server gives it, which keeps those that it gave."""
    access.issuer.says = lambda number: f"{HUSH}-1"
    source = access.source("rows.jsonl")
    access.guard.good_for = {f"{HUSH}-1": 0}
    with pytest.raises(PermissionError, match="status 401") as raised:
        list(source)
    assert access.address("rows.jsonl") in str(raised.value)
    access.check_unsaid(raised.value)
    assert access.guard.refused.total() == 1
    assert len(access.issuer.given) == 2


def test_a_token_that_is_not_given_anew_is_one_error(access: Access) -> None:
    source = access.source("rows.jsonl")
    access.guard.good_for = {f"{HUSH}-1": 0}
    told = b'{"error": "invalid_grant", "error_description": "Token has been revoked."}'
    access.issuer.rules = [Rule("status", status=400, method="POST", body=told)]
    with pytest.raises(PermissionError, match=r"invalid_grant: Token has been revoked") as raised:
        list(source)
    assert access.issuer.url in str(raised.value)
    assert access.address("rows.jsonl") in str(raised.value)
    access.check_unsaid(raised.value)


def test_a_server_of_tokens_that_fails_in_passing_is_asked_again(access: Access) -> None:
    source = access.source("rows.jsonl")
    access.guard.good_for = {f"{HUSH}-1": 0}
    access.issuer.rules = [Rule("status", status=503, method="POST", times=2)]
    assert list(source) == rows()
    assert access.issuer.given == [f"{HUSH}-1", f"{HUSH}-2"]


class Exchanger(FaultProxy):
    """Puts another object in the place of one before the `at`-th range of it is handed on."""

    def __init__(self, store: GcsStore, at: int, exchange: Callable[[], str]) -> None:
        super().__init__(store.url)
        self.ranges = 0
        self._at = at
        self._exchange = exchange

    async def answer(self, request: Request, fate: Fate, client: Client) -> Answer | None:
        self.ranges += "range" in request.headers
        if "range" in request.headers and self.ranges == self._at:
            self._exchange()
        return await super().answer(request, fate, client)


def others() -> list[dict[str, Any]]:
    """Rows of the same size that have nothing in common with the first ones."""
    return [{"id": row["id"], "text": row["text"].swapcase()} for row in rows()]


def data_of(kind: str, data: list[dict[str, Any]]) -> bytes:
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in data).encode()
    sink = io.BytesIO()
    table = pa.Table.from_pylist(data)
    if kind == "arrow":
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=-(-ROWS // GROUPS))
    else:
        pyarrow.parquet.write_table(table, sink, row_group_size=-(-ROWS // GROUPS))
    return sink.getvalue()


def take_all(given: Iterator[Any], taken: list[Any]) -> None:
    """Keeps what comes before an error, too."""
    for each in given:
        taken.append(each)


# The range before which an object is exchanged.
EXCHANGED = [
    ("parquet", 2),
    ("parquet", 6),
    ("parquet", 20),
    ("arrow", 2),
    ("jsonl", 1),
    ("jsonl", 2),
]


@pytest.mark.parametrize(("kind", "at"), EXCHANGED)
def test_an_object_that_is_exchanged_in_mid_run_is_one_error(
    kind: str, at: int, bucket: str, gcs: GcsStore
) -> None:
    name = f"exchanged-{at}.{kind}"
    old = gcs.put(bucket, name, data_of(kind, rows()))
    new: list[str] = []

    def exchange() -> str:
        new.append(gcs.put(bucket, name, data_of(kind, others())))
        return new[0]

    with Exchanger(gcs, at, exchange) as proxy:
        if kind == "jsonl":  # which is read by one range, and what is left of it by another
            proxy.rules = [Rule("cut", at=300_000, times=1, header="range")]
        options = {**gcs.options_at(proxy.url), **HASTY}
        source = create_source(DatasetConfig(f"gs://{bucket}/{name}", storage_options=options))
        given, read = iter(()), list[Any]()
        # The first look at an Arrow file is at its columns.
        with pytest.raises(OSError, match=CHANGED) as raised:  # noqa: PT012
            given = iter(source)
            take_all(given, read)
        assert f"gs://{bucket}/{name}" in str(raised.value)
        assert all(f"tag {each}" in str(raised.value) for each in (old, *new))
        assert len(read) < ROWS
        assert read == rows()[: len(read)]
        with pytest.raises((StopIteration, OSError)):
            next(given)
        assert {each.query for each in proxy.log if each.range} == {f"alt=media&generation={old}"}
        anew = create_source(DatasetConfig(f"gs://{bucket}/{name}", storage_options=options))
        assert list(anew) == others()


@pytest.mark.parametrize(("kind", "at"), [("parquet", 20), ("jsonl", 2)])
def test_a_state_of_before_an_exchange_refuses_the_new_object(
    kind: str, at: int, bucket: str, gcs: GcsStore
) -> None:
    name, address = f"stated.{kind}", f"gs://{bucket}/stated.{kind}"
    old = data_of(kind, rows())
    gcs.put(bucket, name, old)
    with Exchanger(gcs, at, lambda: gcs.put(bucket, name, data_of(kind, others()))) as proxy:
        if kind == "jsonl":
            proxy.rules = [Rule("cut", at=300_000, times=1, header="range")]
        options = {**gcs.options_at(proxy.url), **HASTY}
        with loader(address, storage_options=options) as first:
            given, batches, state = iter(first), list[Any](), first.state_dict()
            with pytest.raises(OSError, match=CHANGED) as raised:
                take_all(given, batches)
            if kind == "parquet":
                assert len(batches) > 0
                state = first.state_dict()
        read = [text for batch in batches for text in batch["text"]]
        assert address in str(raised.value)
        assert read == [row["text"] for row in rows()[: len(read)]]
        assert proxy.ranges >= at
        with loader(address, storage_options=options) as rest:
            with pytest.raises(ValueError, match=rf"(?s){name}") as refused:
                rest.load_state_dict(state)
            assert address in str(refused.value)
        # The same bytes anew are another generation, too; where they alone count, it goes on.
        gcs.put(bucket, name, old)
        with (
            loader(address, storage_options=options) as rest,
            pytest.raises(ValueError, match=name),
        ):
            rest.load_state_dict(state)
    with loader(address, identity="content", storage_options=gcs.storage_options) as begun:
        some = iter(begun)
        read = [text for _ in range(100) for text in next(some)["text"]]
        state = begun.state_dict()
    gcs.put(bucket, name, old)
    with loader(address, identity="content", storage_options=gcs.storage_options) as rest:
        rest.load_state_dict(state)
        read += [text for batch in rest for text in batch["text"]]
    assert read == [row["text"] for row in rows()]


def test_what_a_file_of_credentials_holds_may_be_given(
    access: Access, certificates: Certificates
) -> None:
    held = credentials("account", f"{access.issuer.url}/token", certificates.good.key)
    source = access.source("rows.jsonl", token=held)
    assert list(source) == rows()
    # It goes to the processes of a loader and to saved copies as it is.
    assert list(pickle.loads(pickle.dumps(source))) == rows()
    check_forms("account", access.issuer, certificates)
    with pytest.raises(
        OSError, match=r"in token of storage_options are of type \"other\""
    ) as raised:
        list(access.source("rows.jsonl", token={"type": "other", "private_key": "hush"}))
    access.check_unsaid(raised.value)
