"""The Hub: who is told what, what changes there, and what a machine without it has."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from faults import Rule
from hub_files import HubFiles
from hub_server import STORE, HubServer, head
from reading_programs import check_ctrl_c, check_forks, started
from run_outputs import Outputs, run_all
from served_files import HASTY
from small_files import rows, write_files

from easydata import DatasetConfig, HuggingFaceShardedSource, create_source

huggingface_hub = pytest.importorskip("huggingface_hub", minversion="2.0")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("local"))


@pytest.fixture
def here(hub_here: HubServer, local: Path) -> HubFiles:
    return HubFiles(hub_here, local)


def read(data_files: str, **options: Any) -> list[Any]:
    return list(create_source(DatasetConfig(data_files, storage_options={**HASTY, **options})))


def refused(here: HubFiles) -> list[Any]:
    return [each for each in here.hub.asked("cdn") if each.status == 403]


def test_a_signature_that_expires_is_asked_for_again(here: HubFiles) -> None:
    """By the clock of the store, which this machine does not know: it is resolved once more."""
    source = here.source("rows.parquet")
    assert list(source) == rows()
    here.hub.advance(4000)
    for _ in range(2):
        assert list(source) == rows()
    assert len(here.hub.resolves) == 2
    assert len(refused(here)) >= 1


def test_a_signature_is_not_used_when_it_has_expired(here: HubFiles) -> None:
    """By the clock of this machine: nothing is refused at all."""
    here.hub.lifetime = 1
    source = here.source("rows.parquet")
    assert list(source) == rows()
    assert len(here.hub.resolves) == 1
    time.sleep(1)
    assert list(source) == rows()
    assert len(here.hub.resolves) == 2
    assert refused(here) == []


def test_a_signature_that_expires_amid_a_file(here: HubFiles) -> None:
    """Reading goes on at the byte reached, at another address of the same file."""
    cut = Rule("cut", path=STORE, at=70_000, times=1)
    expired = Rule("status", status=403, path=STORE, times=1, skip=1)
    here.hub.rules = [cut, expired]
    assert here.read("rows.jsonl") == rows()
    assert [each.fault for each in here.faults] == ["cut", "status"]
    assert len(here.hub.resolves) == 2


def test_a_branch_that_moves_changes_nothing(here: HubFiles, local: Path) -> None:
    source = here.source("rows.jsonl")
    other = (local / "rows.jsonl").read_bytes().replace(b"a", b"b")
    rest = iter(source)
    first = [next(rest) for _ in range(10)]
    here.hub.commit(here.repo, {"rows.jsonl": other, "rows.parquet": None})
    assert first + list(rest) == rows()
    assert list(source) == rows()
    assert list(pickle.loads(pickle.dumps(source))) == rows()
    assert here.read("rows.jsonl") != rows()  # who lists now has the new one


@pytest.mark.parametrize("name", ["rows.jsonl", "small/lines.jsonl"])
@pytest.mark.parametrize("how", ["hash", "size"])
def test_a_commits_file_that_is_another_is_noticed(how: str, name: str, here: HubFiles) -> None:
    """What must never happen: the commit stays, and its file does not."""
    source = here.source(name)
    sha = head(here.repo)
    data = here.repo.commits[sha].files[name].data
    other = data.replace(b"ferry", b"train") if how == "hash" else data[:-100]
    assert other != data
    here.hub.rewrite(here.repo, sha, name, other)
    begin = time.monotonic()
    with pytest.raises(OSError, match=r"is not the file any more that was listed") as raised:
        list(source)
    assert time.monotonic() - begin < 2
    assert f"hf://datasets/org/name@{sha}/{name}" in str(raised.value)
    here.check_secrets(raised.value)


def test_secrets_are_said_nowhere(here: HubFiles, tmp_path: Path, outputs: Outputs) -> None:
    """Token, signed addresses, signatures: in no config, plan, state, log, error, copy or file."""
    lines = b'{"text": "a"}\n' * 400 + b'{"broken\n'
    here.hub.commit(here.repo, {"rows.bad.jsonl": lines, "bad/lines.jsonl": lines})
    for name in ("rows.bad.jsonl", "bad/*.jsonl"):
        folder = tmp_path / name[:3]
        folder.mkdir()
        run_all(outputs, folder, here.address(name), dict(here.options))
    for status in (403, 500):
        here.hub.rules = [Rule("status", status=status, path=STORE)]
        with pytest.raises(OSError, match=f"status {status}") as failed:
            here.read("rows.jsonl", retries=1)
        outputs.add(str(failed.value))
        outputs.add(repr(failed.value))
    here.hub.rules = []
    source = here.source("rows.parquet")
    list(source)
    outputs.add(repr(source))
    assert "rows.jsonl" in outputs.everything()
    here.check_secrets(outputs.everything())


def test_the_environments_token_is_in_no_copy(
    here: HubFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", here.token)
    source = create_source(DatasetConfig(here.address("rows.parquet")))
    assert list(source) == rows()
    assert here.token.encode() not in pickle.dumps(source)
    assert b"X-Amz-" not in pickle.dumps(source)
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(OSError, match="HF_TOKEN"):
        list(pickle.loads(pickle.dumps(source)))


def test_ctrl_c_ends_a_resolve(here: HubFiles) -> None:
    here.hub.rules = [Rule("stall_headers", method="HEAD", path="/resolve/")]
    check_ctrl_c(1.5, here.address("rows.jsonl"), {"token": here.token})


def test_a_forked_process_reads_by_itself(here: HubFiles) -> None:
    """While another thread of its parent lists, resolves or reads."""
    data = b"".join(b'{"text": "row %d"}\n' % i for i in range(20_000))
    here.hub.commit(here.repo, {"rows.many.jsonl": data})
    slow = [Rule("latency", seconds=0.03, path=path, method="") for path in ("/api/", "/resolve/")]
    here.hub.rules = slow
    check_forks(here.address("rows.many.jsonl"), {"token": here.token})


def test_who_resolves_while_a_process_forks_is_not_waited_for(here: HubFiles) -> None:
    """The child asks by itself for what a thread asked for that it has not got."""
    here.hub.rules = [Rule("latency", seconds=0.5, path="/resolve/", method="HEAD")]
    code = """
config = DatasetConfig(sys.argv[1], storage_options=json.loads(sys.argv[2]))
source, other = create_source(config), create_source(config)
busy = threading.Thread(target=lambda: list(other))
busy.start()
time.sleep(0.2)
child = os.fork()
if child == 0:
    signal.alarm(10)
    os._exit(0 if sum(1 for _ in source) == 6000 else 1)
print(os.waitpid(child, 0)[1])
busy.join()
"""
    process = started(code, here.address("rows.jsonl"), {"token": here.token})
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (0, "0\n", "")
    assert len(here.hub.resolves) == 2


# What is not for who asks: the name, the token ("": none), the error, and what it says to do.
REFUSED: list[tuple[str, str, type[Exception], str]] = [
    (
        "org/gated",
        "",
        PermissionError,
        r"grants access on request: open http\S+/datasets/org/gated and request it",
    ),
    (
        "org/gated",
        "bob",
        PermissionError,
        r"grants access on request: open http\S+/datasets/org/gated and",
    ),
    ("org/name", "", FileNotFoundError, r"no dataset org/name on the Hub, or it is private: then"),
    ("org/name", "bob", FileNotFoundError, r"or it is private: then log in.*HF_TOKEN"),
    ("org/gate", "", FileNotFoundError, r"no dataset org/gate on the Hub \(there is org/gated\)"),
    ("org/gated", "wrong", PermissionError, r"is not for us \(status 401\); log in"),
    ("org/gated@v7", "ann", FileNotFoundError, r"org/gated has no revision v7; see http"),
]


@pytest.mark.parametrize(("name", "who", "kind", "words"), REFUSED)
@pytest.mark.parametrize("how", ["large", "small", "type"])
def test_who_may_not_is_told_at_once(
    how: str, name: str, who: str, kind: type[Exception], words: str, here: HubFiles, local: Path
) -> None:
    data = {"train.parquet": (local / "rows.parquet").read_bytes(), "a.jsonl": b'{"a": 1}\n'}
    files = {"train.parquet": data["train.parquet"]} if how == "type" else data
    here.hub.repo("datasets", "org/gated", files, gated="auto", allowed=["ann"])
    tokens = {"bob": here.hub.token("bob", "read"), "ann": here.token, "wrong": "hf_wrong"}
    options = {"token": tokens[who]} if who else {}
    pattern = "*.parquet" if how == "large" else "*.jsonl"
    named: dict[str, Any] = {"data_files": f"hf://datasets/{name}/{pattern}"}
    if how == "type":
        named = {"data_files": name, "type": "hf"}
    config = DatasetConfig(**named, storage_options=options or None)
    begin = time.monotonic()
    with pytest.raises(kind, match=words) as raised:
        list(create_source(config))
    assert time.monotonic() - begin < 2
    here.check_secrets(raised.value)
    assert not any(token in str(raised.value) for token in tokens.values())


@pytest.fixture
def offline(here: HubFiles, local: Path, monkeypatch: pytest.MonkeyPatch) -> HubFiles:
    """A machine that has a part of a data set in its cache, and may not ask."""
    from huggingface_hub import constants

    data = {"train.parquet": (local / "rows.parquet").read_bytes(), "x/more.jsonl": b'{"a": 1}\n'}
    here.hub.repo("datasets", "org/open", data)
    huggingface_hub.snapshot_download(
        "org/open", repo_type="dataset", allow_patterns=["*.parquet"], endpoint=here.hub.endpoint
    )
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    here.hub.log.clear()
    return here


def test_offline_what_the_cache_has_is_read(offline: HubFiles) -> None:
    assert read("hf://datasets/org/open/train.parquet") == rows()
    assert read("hf://datasets/org/open@main/*.parquet") == rows()
    assert list(create_source(DatasetConfig("org/open", type="hf", split="train"))) == rows()
    assert list(HuggingFaceShardedSource("org/open")) == rows()
    assert offline.hub.log == []


def test_offline_the_rest_is_one_error_at_once(offline: HubFiles) -> None:
    begin = time.monotonic()
    lacks = r"x/more\.jsonl: HF_HUB_OFFLINE is set, and this machine's cache has not got it; downl"
    with pytest.raises(FileNotFoundError, match=lacks):
        read("hf://datasets/org/open/x/*.jsonl")
    unknown = r"HF_HUB_OFFLINE is set, and this machine's cache \(.*\) has no org/name.*hf download"
    for data, how in (("hf://datasets/org/name/*.jsonl", {}), ("org/name", {"type": "hf"})):
        with pytest.raises(FileNotFoundError, match=unknown):
            list(create_source(DatasetConfig(data, **how)))  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=unknown):
        list(HuggingFaceShardedSource("org/name"))
    assert time.monotonic() - begin < 2
    assert offline.hub.log == []
