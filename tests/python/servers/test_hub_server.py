"""The stub of the Hub is like the real one, as far as the real libraries can tell."""

from __future__ import annotations

import hashlib
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from faults import Rule
from hub_repositories import Repository
from hub_server import HUB, STORE, HubServer
from raw_client import ask

huggingface_hub = pytest.importorskip("huggingface_hub", minversion="2.0")

from huggingface_hub import (  # noqa: E402
    HfApi,
    HfFileSystem,
    get_hf_file_metadata,
    hf_hub_download,
    snapshot_download,
)
from huggingface_hub import errors as hub_errors  # noqa: E402

DATA = random.Random(1).randbytes(100_000)


@pytest.fixture
def repo(hub: HubServer) -> Repository:
    files = {
        "README.md": b"# A\n",
        "data/a.jsonl": b'{"n": 1}\n',
        "data/b.bin": DATA,
        "x/y/z": b"z",
    }
    return hub.repo("datasets", "org/name", files)


def fetch(hub: HubServer, home: Path, path: str, **options: Any) -> bytes:
    options = {"repo_id": "org/name", "repo_type": "dataset", "token": False, **options}
    got = hf_hub_download(filename=path, endpoint=hub.endpoint, cache_dir=home, **options)
    return Path(got).read_bytes()


def test_repositories_are_described(hub: HubServer, repo: Repository) -> None:
    api = HfApi(endpoint=hub.endpoint, token=False)
    first = api.dataset_info("org/name").sha
    second = hub.commit(repo, {"data/b.bin": b"\0other", "x/y/z": None}, title="again")
    hub.tag(repo, "v1", first)
    hub.branch(repo, "dev", first)
    hub.commit(repo, {"default/train/0.parquet": b"p"}, "refs/convert/parquet")
    info = api.dataset_info("org/name", files_metadata=True)
    assert (info.sha, info.private, info.gated, info.author) == (second, False, False, "org")
    sizes = {each.rfilename: each.size for each in info.siblings}
    assert sizes.keys() == {".gitattributes", "README.md", "data/a.jsonl", "data/b.bin"}
    large = next(each for each in info.siblings if each.rfilename == "data/b.bin")
    assert large.lfs.sha256 == hashlib.sha256(b"\0other").hexdigest()
    assert vars(api.dataset_info("org/name", expand=["sha"]))["siblings"] is None
    assert (
        api.dataset_info("org/name", revision="v1").sha
        == first
        == api.dataset_info("org/name", revision=first).sha
    )
    refs = api.list_repo_refs("org/name", repo_type="dataset")
    assert {each.name: each.target_commit for each in refs.branches} == {
        "main": second,
        "dev": first,
    }
    assert [each.ref for each in refs.converts] == ["refs/convert/parquet"]
    assert [each.name for each in refs.tags] == ["v1"]
    commits = api.list_repo_commits("org/name", repo_type="dataset")
    assert [(each.commit_id, each.title) for each in commits] == [
        (second, "again"),
        (first, "initial commit"),
    ]
    at = {"repo_type": "dataset", "revision": "refs/convert/parquet"}
    assert api.list_repo_files("org/name", **at) == ["default/train/0.parquet"]


@pytest.mark.parametrize("page", [2, 1000])
def test_trees_are_listed_page_by_page(hub: HubServer, repo: Repository, page: int) -> None:
    hub.page_size = page
    api = HfApi(endpoint=hub.endpoint, token=False)
    hub.commit(repo, {"data/c #?%é.txt": b"odd"}, title="odd")
    tree = {
        each.path: each
        for each in api.list_repo_tree("org/name", recursive=True, repo_type="dataset")
    }
    assert len(hub.listings) == (5 if page == 2 else 1)
    files = {".gitattributes", "README.md", "data/a.jsonl", "data/b.bin", "data/c #?%é.txt"}
    assert tree.keys() == {*files, "x/y/z", "data", "x", "x/y"}
    assert (tree["data/b.bin"].size, tree["data/b.bin"].lfs.size) == (100_000, 100_000)
    assert (tree["data/a.jsonl"].size, tree["data/a.jsonl"].lfs) == (9, None)
    inside = api.list_repo_tree("org/name", "data", expand=True, repo_type="dataset")
    assert {each.path: each.last_commit.title for each in inside} == {
        "data/a.jsonl": "initial commit",
        "data/b.bin": "initial commit",
        "data/c #?%é.txt": "odd",
    }
    known = api.get_paths_info("org/name", ["data", "x/y/z", "none"], repo_type="dataset")
    assert [each.path for each in known] == ["data", "x/y/z"]
    fs = HfFileSystem(endpoint=hub.endpoint, token=False, skip_instance_cache=True)
    assert fs.glob("datasets/org/name/**/*.jsonl") == ["datasets/org/name/data/a.jsonl"]
    assert fs.read_bytes("datasets/org/name/data/c #?%é.txt") == b"odd"
    with fs.open("datasets/org/name/data/b.bin", block_size=10_000) as file:
        file.seek(70_000)
        assert file.read(10) == DATA[70_000:70_010]


@pytest.mark.parametrize("resolve_cache", [False, True])
def test_files_come_from_both_hosts_by_one_commit(
    hub: HubServer, repo: Repository, tmp_path: Path, resolve_cache: bool
) -> None:
    hub.resolve_cache = resolve_cache
    old = HfApi(endpoint=hub.endpoint).dataset_info("org/name").sha
    hub.commit(repo, {"data/b.bin": b"\0new", "README.md": b"new"})
    assert fetch(hub, tmp_path, "README.md") == b"new"
    assert fetch(hub, tmp_path, "data/b.bin") == b"\0new"
    assert fetch(hub, tmp_path, "data/b.bin", revision=old) == DATA
    assert fetch(hub, tmp_path, "README.md", revision=old) == b"# A\n"
    assert [each.method for each in hub.asked("cdn")] == ["GET", "GET"]
    asked = len(hub.log)
    assert fetch(hub, tmp_path, "data/b.bin", revision=old) == DATA  # cached
    assert len(hub.log) == asked
    folder = snapshot_download(
        "org/name", repo_type="dataset", endpoint=hub.endpoint, cache_dir=tmp_path, token=False
    )
    assert Path(folder, "x/y/z").read_bytes() == b"z"


def test_what_resolve_tells(hub: HubServer, repo: Repository) -> None:
    hub.xet = True
    sha = HfApi(endpoint=hub.endpoint).dataset_info("org/name").sha
    got = ask(hub.endpoint, "/datasets/org/name/resolve/main/data/b.bin", "HEAD")
    assert (got.status, got.headers["x-repo-commit"], got.headers["x-linked-size"]) == (
        302,
        sha,
        "100000",
    )
    assert got.headers["x-linked-etag"] == f'"{hashlib.sha256(DATA).hexdigest()}"'
    assert len(got.headers["x-xet-hash"]) == 64
    assert 'rel="xet-auth"' in got.headers["link"]
    assert got.headers["location"].startswith(hub.cdn + "/xet-bridge/")
    small = ask(hub.endpoint, "/datasets/org/name/resolve/main/data/a.jsonl", "HEAD")
    blob = hashlib.sha1(b'blob 9\0{"n": 1}\n').hexdigest()
    assert (small.status, small.headers["etag"]) == (200, f'"{blob}"')
    part = {"Range": "bytes=2-4"}
    small = ask(hub.endpoint, "/datasets/org/name/resolve/main/data/a.jsonl", headers=part)
    assert (small.status, small.body, small.headers["content-range"]) == (
        206,
        b'n":',
        "bytes 2-4/9",
    )
    target = got.headers["location"].removeprefix(hub.cdn)
    for value, want in (("bytes=10-19", DATA[10:20]), ("bytes=-7", DATA[-7:])):
        part = ask(hub.cdn, target, headers={"Range": value})
        assert (part.status, part.body) == (206, want)
    assert ask(hub.cdn, target, headers={"Range": "bytes=100000-"}).status == 416


def test_signed_addresses_expire_and_bear_no_change(hub: HubServer, repo: Repository) -> None:
    path = "/datasets/org/name/resolve/main/data/b.bin"
    target = ask(hub.endpoint, path).headers["location"].removeprefix(hub.cdn)
    assert ask(hub.cdn, target).body == DATA
    changed = ask(hub.cdn, target.replace("Expires=3600", "Expires=7200"))
    assert (changed.status, b"SignatureDoesNotMatch" in changed.body) == (403, True)
    hub.advance(3601)
    late = ask(hub.cdn, target)
    assert (late.status, b"Request has expired" in late.body) == (403, True)
    target = ask(hub.endpoint, path).headers["location"].removeprefix(hub.cdn)
    assert ask(hub.cdn, target).body == DATA


@pytest.mark.parametrize("where", ["header", "query", "faulted"])
def test_a_token_that_reaches_the_store_is_an_offence(
    hub: HubServer, repo: Repository, where: str
) -> None:
    target = ask(hub.endpoint, "/datasets/org/name/resolve/main/data/b.bin").headers["location"]
    target = target.removeprefix(hub.cdn)
    token = hub.token("ann")
    if where == "query":
        assert ask(hub.cdn, f"{target}&token={token}").status == 403
    else:
        hub.rules = [Rule("close", path=STORE)] if where == "faulted" else []
        headers = {"Authorization": f"Bearer {token}"}
        assert ask(hub.cdn, target, headers=headers).status == (400 if where == "header" else None)
    with pytest.raises(AssertionError, match="token reached the store"):
        hub.check()
    hub.offences.clear()


def test_errors_have_their_names(hub: HubServer, repo: Repository, tmp_path: Path) -> None:
    hub.repo("datasets", "org/secret", {"a.bin": DATA}, private=True)
    hub.repo("datasets", "org/gated", {"a.bin": DATA}, gated="auto", allowed=["bob"])
    ann, bob, stranger = hub.token("ann", orgs=["org"]), hub.token("bob"), hub.token("eve")
    powerless = hub.token("ann", "none", orgs=["org"])

    def error(name: str, path: str, token: str | bool, **options: Any) -> tuple[str, int]:
        with pytest.raises(Exception) as caught:
            fetch(hub, tmp_path, path, repo_id=name, token=token, **options)
        value: Any = caught.value
        if isinstance(value, hub_errors.LocalEntryNotFoundError):  # nor is it in the cache
            value = value.__cause__
        return type(value).__name__, value.response.status_code

    assert error("org/none", "a", False) == ("RepositoryNotFoundError", 401)
    assert error("org/none", "a", ann) == ("RepositoryNotFoundError", 404)
    assert error("org/secret", "a.bin", False) == ("RepositoryNotFoundError", 401)
    assert error("org/secret", "a.bin", stranger) == ("RepositoryNotFoundError", 404)
    assert error("org/secret", "a.bin", powerless) == ("RepositoryNotFoundError", 404)
    assert error("org/gated", "a.bin", False) == ("GatedRepoError", 401)
    assert error("org/gated", "a.bin", stranger) == ("GatedRepoError", 403)
    assert error("org/name", "a", False) == ("RemoteEntryNotFoundError", 404)
    assert error("org/name", "README.md", False, revision="v9") == ("RevisionNotFoundError", 404)
    assert error("org/name", "README.md", "hf_invalid") == ("HfHubHTTPError", 401)
    assert fetch(hub, tmp_path, "a.bin", repo_id="org/secret", token=ann) == DATA
    assert fetch(hub, tmp_path, "a.bin", repo_id="org/gated", token=bob) == DATA
    api = HfApi(endpoint=hub.endpoint, token=stranger)
    assert api.dataset_info("org/gated").gated == "auto"
    with pytest.raises(hub_errors.GatedRepoError):
        api.auth_check("org/gated", repo_type="dataset")
    assert HfApi(endpoint=hub.endpoint, token=ann).whoami()["name"] == "ann"
    with pytest.raises(hub_errors.HfHubHTTPError, match="Invalid user token"):
        api.whoami(token="hf_invalid")


def test_names_redirect_and_are_searched(hub: HubServer, repo: Repository, tmp_path: Path) -> None:
    hub.repo("datasets", "org/hidden-name", private=True)
    hub.repo("datasets", "other/thing", {"README.md": b"---\nlicense: mit\n---\n"})
    hub.repo("models", "old-model", {"config.json": b"{}"})
    hub.rename(repo, "org/new-name")
    assert fetch(hub, tmp_path, "data/b.bin") == DATA
    assert fetch(hub, tmp_path, "README.md") == b"# A\n"
    assert fetch(hub, tmp_path, "config.json", repo_id="old-model", repo_type="model") == b"{}"
    api = HfApi(endpoint=hub.endpoint, token=False)
    assert api.dataset_info("org/name").id == "org/new-name"
    assert [each.id for each in api.list_datasets(search="NAME")] == ["org/new-name"]
    assert [each.id for each in api.list_models(search="old", limit=1)] == ["old-model"]
    assert [each.id for each in api.list_datasets(author="other")] == ["other/thing"]
    listed = {each.id: each for each in api.list_datasets(full=True)}
    assert listed["other/thing"].card_data.license == "mit"
    ann = HfApi(endpoint=hub.endpoint, token=hub.token("ann", orgs=["org"]))
    assert {each.id for each in ann.list_datasets(search="name")} == {
        "org/new-name",
        "org/hidden-name",
    }


def test_limits_are_told(hub: HubServer, repo: Repository) -> None:
    hub.limit("resolvers", requests=1, seconds=1)
    path = "/datasets/org/name/resolve/main/README.md"
    first, second = ask(hub.endpoint, path), ask(hub.endpoint, path)
    assert (first.status, first.headers["ratelimit"]) == (200, '"resolvers";r=0;t=1')
    assert (second.status, second.headers["ratelimit"]) == (429, '"resolvers";r=0;t=1')
    assert second.headers["ratelimit-policy"] == '"fixed window";"resolvers";q=1;w=1'
    assert ask(hub.endpoint, "/api/datasets/org/name").status == 200
    del hub.access.limits["resolvers"]
    assert "ratelimit" not in ask(hub.endpoint, path).headers


TEXT = b"a line of text\n" * 3000
PART = {"Range": "bytes=100-20099"}
# What comes of a fault where bytes 100-20099 were asked for: status, size, error.
FAULTED = {
    "status": (Rule("status", status=429, headers={"Retry-After": "1"}), (429, 0, None)),
    "close": (Rule("close"), (None, 0, "RemoteDisconnected")),
    "reset": (Rule("reset", at=900), (206, 900, "ConnectionResetError")),
    "cut": (Rule("cut", at=900), (206, 900, "short")),
    "stall": (Rule("stall_body", at=900), (206, 900, "TimeoutError")),
    "short": (Rule("short", at=900), (206, 900, None)),
    "whole": (Rule("whole"), (200, None, None)),
    "shifted": (Rule("shifted"), (206, 20_000, None)),
    "flip": (Rule("flip", at=7), (206, 20_000, None)),
    "replaced": (Rule("replaced", body=b"other" * 9000), (206, 20_000, None)),
}


@pytest.mark.parametrize("host", ["hub", "cdn"])
@pytest.mark.parametrize("name", FAULTED)
def test_rules_act_at_either_host(hub: HubServer, repo: Repository, host: str, name: str) -> None:
    rule, want = FAULTED[name]
    hub.commit(repo, {"notes.txt": TEXT})
    path, data, url = "/datasets/org/name/resolve/main/notes.txt", TEXT, hub.endpoint
    if host == "cdn":
        linked = ask(hub.endpoint, "/datasets/org/name/resolve/main/data/b.bin", "HEAD")
        path, data, url = linked.headers["location"].removeprefix(hub.cdn), DATA, hub.cdn
    good = ask(url, path, headers=PART)
    assert good.body == data[100:20_100]
    hub.rules = [replace(rule, path=STORE if host == "cdn" else HUB, times=1)]
    got = ask(url, path, headers=PART, timeout=0.2)
    size = len(data) if want[1] is None else want[1]
    assert (got.status, len(got.body), got.error) == (want[0], size, want[2])
    if name in ("shifted", "flip", "replaced"):
        assert got.body != good.body
    if name == "replaced":
        assert got.headers["etag"] != good.headers["etag"]
    elif name != "whole":
        assert ask(url, path, headers=PART).body == good.body
    assert hub.asked(host)[-1 if name in ("whole", "replaced") else -2].fault == rule.fault


def test_the_library_survives_faults(hub: HubServer, repo: Repository, tmp_path: Path) -> None:
    hub.rules = [Rule("cut", at=60_000, path=STORE, times=1)]
    assert fetch(hub, tmp_path, "data/b.bin") == DATA
    assert [each.fault for each in hub.asked("cdn")] == ["cut", None]


def test_a_commit_can_be_made_to_lie(hub: HubServer, repo: Repository) -> None:
    path = "/datasets/org/name/resolve/{}/data/b.bin"
    sha = hub.commit(repo, {"x.txt": b"x"})
    before = ask(hub.endpoint, path.format(sha), "HEAD").headers
    hub.rewrite(repo, sha, "data/b.bin", b"\0other")
    after = ask(hub.endpoint, path.format(sha), "HEAD").headers
    assert before["x-linked-etag"] != after["x-linked-etag"]
    assert (before["x-linked-size"], after["x-linked-size"]) == ("100000", "6")
    assert before["x-repo-commit"] == after["x-repo-commit"] == sha


def test_xet_is_told_as_the_library_wants_it(hub: HubServer, repo: Repository) -> None:
    url = f"{hub.endpoint}/datasets/org/name/resolve/main/data/b.bin"
    told = get_hf_file_metadata(url, token=False, endpoint=hub.endpoint)
    assert (told.size, told.etag, told.xet_file_data) == (
        100_000,
        hashlib.sha256(DATA).hexdigest(),
        None,
    )
    hub.xet = True
    told = get_hf_file_metadata(url, token=False, endpoint=hub.endpoint)
    assert told.xet_file_data is not None
    assert "/xet-read-token/" in told.xet_file_data.refresh_route
    (entry,) = HfApi(endpoint=hub.endpoint, token=False).get_paths_info(
        "org/name", "data/b.bin", repo_type="dataset"
    )
    assert entry.xet_hash == told.xet_file_data.file_hash


def test_many_ask_at_once(hub: HubServer, repo: Repository) -> None:
    path = "/datasets/org/name/resolve/main/data/b.bin"

    def ask_both(_: int) -> bytes:
        target = ask(hub.endpoint, path).headers["location"].removeprefix(hub.cdn)
        return ask(hub.cdn, target).body

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(ask_both, range(64))) == {DATA}
    assert (len(hub.resolves), len(hub.asked("cdn"))) == (64, 64)
