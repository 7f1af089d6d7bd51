"""The real libraries create, upload to, and push to the stub of the Hub, and resume there."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from faults import Rule
from hub_access import Call
from hub_repositories import Repository
from hub_server import STORE, HubServer, nth_write
from raw_client import ask

huggingface_hub = pytest.importorskip("huggingface_hub", minversion="2.0")

from huggingface_hub import (  # noqa: E402
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    HfApi,
)
from huggingface_hub import errors as hub_errors  # noqa: E402

DATA = random.Random(1).randbytes(100_000)
CARD = b"---\nlicense: mit\n---\n# Mine\n"


@pytest.fixture
def api(hub_here: HubServer) -> HfApi:
    return HfApi(token=hub_here.token("ann", "write", orgs=["org"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "data").mkdir(parents=True)
    (made / "README.md").write_bytes(CARD)
    (made / "empty.bin").touch()
    for number in range(3):
        (made / "data" / f"{number}.bin").write_bytes(DATA[number:])
    return made


def content(repository: Repository, revision: str = "main") -> dict[str, bytes]:
    commit = repository.resolved(revision)
    assert commit is not None
    files = {path: blob.data for path, blob in commit.files.items()}
    del files[".gitattributes"]
    return files


def of(folder: Path) -> dict[str, bytes]:
    files = (each for each in folder.rglob("*") if each.is_file())
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in files}


@pytest.mark.parametrize("part_size", [1 << 24, 40_000])
def test_folders_are_uploaded(
    hub_here: HubServer, api: HfApi, folder: Path, part_size: int
) -> None:
    hub_here.part_size = part_size
    url = api.create_repo("org/new", repo_type="dataset", private=True)
    assert (url.repo_id, url.endpoint) == ("org/new", hub_here.endpoint)
    assert api.create_repo("org/new", repo_type="dataset", exist_ok=True).repo_id == "org/new"
    made = api.upload_folder(repo_id="org/new", repo_type="dataset", folder_path=folder)
    repo = hub_here.access.repositories["datasets", "org/new"]
    assert repo.private
    assert content(repo) == of(folder)
    assert made.oid == repo.refs["refs/heads/main"]
    assert len(hub_here.asked("cdn", "PUT")) == (3 if part_size > 1 << 20 else 9)
    commit = repo.commits[made.oid]
    assert [commit.files[each].is_lfs for each in ("README.md", "empty.bin", "data/0.bin")] == [
        False,
        False,
        True,
    ]
    # What is there is sent no more, and what is the same makes no commit.
    (folder / "data" / "copy.bin").write_bytes(DATA)
    again = api.upload_folder(repo_id="org/new", repo_type="dataset", folder_path=folder)
    assert again.oid != made.oid
    assert content(repo) == of(folder)
    assert len(hub_here.asked("cdn", "PUT")) == (3 if part_size > 1 << 20 else 9)
    same = api.upload_folder(repo_id="org/new", repo_type="dataset", folder_path=folder)
    assert same.oid == again.oid


def test_commits_change_what_they_say(hub_here: HubServer, api: HfApi) -> None:
    files = {"README.md": CARD, "a/x.bin": DATA, "a/y.txt": b"y", "b/z.txt": b"z", "c.txt": b"c"}
    repo = hub_here.repo("datasets", "org/name", files)
    first = api.repo_info("org/name", repo_type="dataset").sha
    at: dict[str, Any] = {"repo_id": "org/name", "repo_type": "dataset"}
    info = api.create_commit(
        operations=[
            CommitOperationDelete("b/"),
            CommitOperationDelete("c.txt"),
            CommitOperationAdd("d.txt", b"d"),
            CommitOperationCopy("a/x.bin", "e.bin"),
            CommitOperationCopy("a/y.txt", "e.txt"),
        ],
        commit_message="change",
        parent_commit=first,
        **at,
    )
    now = {"README.md": CARD, "a/x.bin": DATA, "a/y.txt": b"y", "d.txt": b"d"}
    assert content(repo) == {**now, "e.bin": DATA, "e.txt": b"y"}
    assert content(repo, first) == files
    assert (repo.commits[info.oid].parent, repo.commits[info.oid].author) == (first, "ann")
    with pytest.raises(hub_errors.HfHubHTTPError, match="A commit has happened since") as caught:
        api.upload_file(path_or_fileobj=b"f", path_in_repo="f", parent_commit=first, **at)
    assert caught.value.response.status_code == 412
    with pytest.raises(hub_errors.RemoteEntryNotFoundError, match="name doesn't exist"):
        api.delete_file("none", **at)
    api.delete_files(delete_patterns=["e.*", "d.txt", "a/*"], **at)
    assert content(repo) == {"README.md": CARD}
    card = b"---\n[\n---\n"
    with pytest.raises(ValueError, match="Invalid metadata"):
        api.upload_file(path_or_fileobj=card, path_in_repo="README.md", **at)


def test_branches_and_tags_are_made_and_dropped(hub_here: HubServer, api: HfApi) -> None:
    repo = hub_here.repo("models", "ann/model", {"a.txt": b"a"})
    first = api.model_info("ann/model").sha
    api.create_branch("ann/model", branch="dev/x")
    api.create_branch("ann/model", branch="dev/x", exist_ok=True)
    api.upload_file(
        repo_id="ann/model", path_or_fileobj=b"b", path_in_repo="a.txt", revision="dev/x"
    )
    api.create_tag("ann/model", tag="v1", revision="dev/x")
    assert (content(repo), content(repo, "v1")) == ({"a.txt": b"a"}, {"a.txt": b"b"})
    pull = api.upload_file(
        repo_id="ann/model", path_or_fileobj=b"c", path_in_repo="a.txt", create_pr=True
    )
    assert pull.pr_num == 1
    assert api.list_repo_refs("ann/model", include_pull_requests=True).pull_requests
    assert content(repo, "refs/pr/1") == {"a.txt": b"c"}
    api.delete_branch("ann/model", branch="dev/x")
    api.delete_tag("ann/model", tag="v1")
    with pytest.raises(hub_errors.RevisionNotFoundError):
        api.upload_file(
            repo_id="ann/model", path_or_fileobj=b"", path_in_repo="a", revision="dev/x"
        )
    assert api.model_info("ann/model").sha == first
    api.update_repo_settings("ann/model", private=True, gated="auto")
    assert (repo.private, repo.gated) == (True, "auto")
    api.move_repo("ann/model", "org/model")
    assert api.model_info("ann/model").id == "org/model"
    api.delete_repo("org/model")
    assert not api.repo_exists("org/model")


def test_writing_takes_rights(hub_here: HubServer, api: HfApi) -> None:
    repo = hub_here.repo("datasets", "org/name", {"README.md": CARD})
    more: dict[str, Any] = {"path_in_repo": "a.bin", "repo_id": "org/name", "repo_type": "dataset"}

    def status(token: str | bool) -> int:
        with pytest.raises(hub_errors.HfHubHTTPError) as caught:
            api.upload_file(path_or_fileobj=DATA, token=token, **more)
        return caught.value.response.status_code

    assert status(False) == 401
    assert status(hub_here.token("ann", "read", orgs=["org"])) == 403
    assert status(hub_here.token("eve", "write")) == 403
    assert content(repo) == {"README.md": CARD}
    with pytest.raises(hub_errors.HfHubHTTPError, match="write under"):
        api.create_repo("other/name", repo_type="dataset")
    api.auth_check("org/name", repo_type="dataset", write=True)


def test_datasets_pushes(hub_here: HubServer, api: HfApi, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    assert api.token is not None
    monkeypatch.setenv("HF_TOKEN", str(api.token))
    rows = [{"n": number, "text": f"row {number}"} for number in range(6)]

    def loaded(**options: Any) -> list[Any]:
        return list(datasets.load_dataset("org/rows", split="train", **options))

    datasets.Dataset.from_list(rows).push_to_hub("org/rows", num_shards=3, private=True)
    repo = hub_here.access.repositories["datasets", "org/rows"]
    assert sorted(content(repo)) == [
        "README.md",
        *(f"data/train-0000{number}-of-00003.parquet" for number in range(3)),
    ]
    assert loaded() == rows == loaded(streaming=True)
    datasets.Dataset.from_list(rows[:2]).push_to_hub("org/rows", num_shards=1)
    datasets.Dataset.from_list(rows[2:]).push_to_hub("org/rows", "other")
    assert sorted(content(repo)) == [
        "README.md",
        "data/train-00000-of-00001.parquet",
        "other/train-00000-of-00001.parquet",
    ]
    assert loaded() == rows[:2]
    assert loaded(name="other") == rows[2:]


UPLOAD = """
import sys, huggingface_hub
api = huggingface_hub.HfApi()
api.create_repo("org/new", repo_type="dataset", exist_ok=True)
api.upload_folder(repo_id="org/new", repo_type="dataset", folder_path=sys.argv[1])
"""


def test_a_killed_upload_goes_on(hub: HubServer, folder: Path, tmp_path: Path) -> None:
    """Killed at each writing request in turn, before it is done and after: what is there, stays."""
    environment = hub.environment(tmp_path / "home", hub.token("ann", "write", orgs=["org"]))
    running: list[subprocess.Popen[bytes]] = []
    kills = iter([("before", 1), ("after", 1), ("before", 6), ("after", 8), ("after", 30)])
    when, number = next(kills)

    def kill(at: str) -> Any:
        def killing(count: int, call: Call) -> None:
            sha256 = call.path.removeprefix("/lfs-uploads/")
            known = hub.access.repositories.get(("datasets", "org/new"))
            if at == "before" and known is not None and sha256 in known.stored:
                sent_again.append(sha256)
            if (at, count) == (when, begin + number):
                os.kill(running[-1].pid, signal.SIGKILL)
                raise ConnectionResetError

        return killing

    hub.before_write, hub.after_write = kill("before"), kill("after")
    ended: list[int] = []
    sent_again: list[str] = []
    while True:
        begin = len(hub.writings)
        command = [sys.executable, "-c", UPLOAD, str(folder)]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
            running.append(process)
            _, said = process.communicate(timeout=60)
        ended.append(process.returncode)
        if process.returncode != -signal.SIGKILL:
            break
        when, number = next(kills)
    assert ended == [-signal.SIGKILL] * 4 + [0], said.decode()
    repo = hub.access.repositories["datasets", "org/new"]
    assert content(repo) == of(folder)
    assert not sent_again
    assert len(repo.commits) == 2


def test_writing_requests_fail_by_number(hub_here: HubServer, api: HfApi, folder: Path) -> None:
    repo = hub_here.repo("datasets", "org/name")
    more: dict[str, Any] = {"repo_id": "org/name", "repo_type": "dataset", "folder_path": folder}
    hub_here.rules = [nth_write(3, "status", status=400)]
    with pytest.raises(hub_errors.BadRequestError):  # the card is looked at twice before
        api.upload_folder(**more)
    assert [each.fault for each in hub_here.writings] == [None, None, "status"]
    assert content(repo) == {}
    hub_here.rules = [
        Rule("status", status=503, method="PUT", path=STORE, times=1),
        Rule("lost", method="POST", path="/batch$", times=1),
    ]
    api.upload_folder(**more)
    assert content(repo) == of(folder)
    assert {each.fault for each in hub_here.writings} == {None, "status", "lost"}


def test_what_arrives_damaged_is_refused(hub_here: HubServer, api: HfApi) -> None:
    repo = hub_here.repo("datasets", "org/name")
    more: dict[str, Any] = {"path_in_repo": "a.bin", "repo_id": "org/name", "repo_type": "dataset"}

    def damage(_: int, call: Call) -> None:
        if call.path.endswith("/verify"):
            hub_here.store.uploaded[call.json()["oid"]] = DATA[:-1] + b"\0"

    hub_here.before_write = damage
    with pytest.raises(RuntimeError, match="Error while uploading"):
        api.upload_file(path_or_fileobj=DATA, **more)
    hub_here.before_write = None
    assert content(repo) == {}
    oid = hashlib.sha256(DATA).hexdigest()
    line = {"key": "lfsFile", "value": {"path": "a.bin", "algo": "sha256", "oid": oid}}
    lines = [{"key": "header", "value": {"summary": "a"}}, line]
    body = b"\n".join(json.dumps(each).encode() for each in lines)
    token = {"Authorization": f"Bearer {api.token}"}
    got = ask(hub_here.endpoint, "/api/datasets/org/name/commit/main", "POST", token, body)
    assert (got.status, b"LFS pointer" in got.body) == (400, True)
    api.upload_file(path_or_fileobj=DATA, **more)
    assert content(repo) == {"a.bin": DATA}


def test_many_files_take_many_commits(
    hub_here: HubServer, api: HfApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface_hub's own upload of folders, which it makes where Xet is not switched off."""
    pytest.importorskip("hf_xet")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", False)
    repo = hub_here.repo("datasets", "org/many", lfs=())  # no file is sent to Xet
    (tmp_path / "many").mkdir()
    for number in range(300):
        (tmp_path / "many" / f"{number}.txt").write_text(f"{number}\n")
    more: dict[str, Any] = {"repo_type": "dataset", "folder_path": tmp_path / "many"}
    hub_here.rules = [Rule("status", status=400, method="POST", path="/commit/", skip=1)]
    with pytest.raises(hub_errors.BadRequestError):
        api.upload_folder(repo_id="org/many", **more)
    assert 0 < len(content(repo)) < 300
    hub_here.rules = []
    api.upload_folder(repo_id="org/many", **more)
    assert content(repo) == of(tmp_path / "many")
    assert len(repo.commits) > 2
