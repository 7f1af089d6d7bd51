"""Jobs that read from the Hub: ranks that share a listing, and states that go on."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_server import HubServer, head

import easydata
from easydata import HuggingFaceShardedSource

pytest.importorskip("huggingface_hub", minversion="2.0")
pytest.importorskip("datasets")

FILES = 8
RANKS = 8
PROCESSES = 2
HUB_RANK = Path(__file__).with_name("hub_rank.py")


def parquet(number: int, what: str = "row") -> bytes:
    file = io.BytesIO()
    table = pa.table({"text": [f"{what} {number}.{i}" for i in range(64)]})
    pq.write_table(table, file, row_group_size=16)
    return file.getvalue()


def data(what: str = "row") -> dict[str, bytes]:
    return {f"data/train-{i:05}-of-{FILES:05}.parquet": parquet(i, what) for i in range(FILES)}


@pytest.fixture
def hub_data(hub_here: HubServer) -> HubServer:
    hub_here.repo("datasets", "org/name", data())
    return hub_here


def pipeline(data_files: Any, **options: Any) -> easydata.Pipeline[Any]:
    load: dict[str, Any] = {"batch_size": 16, "shuffle_buffer_size": None}
    for name in ("rank", "world_size", "lanes"):
        if name in options:
            load[name] = options.pop(name)
    datasets = [{"data_files": data_files, "name": "rows", **options}]
    return easydata.create_pipeline(datasets, load=load)


WAYS: dict[str, dict[str, Any]] = {
    "files": {"data_files": "hf://datasets/org/name/data/*.parquet"},
    "data set": {"data_files": "org/name", "type": "hf"},
}


def frozen(hub: HubServer, way: str) -> tuple[easydata.Pipeline[Any], str]:
    """The first rank of a job, and the listing that it makes; then the branch moves."""
    first = pipeline(**WAYS[way])
    text = first.freeze()
    assert len(hub.asked("hub", path=r"^/api/datasets/org/name$")) == 1
    assert len(hub.listings) == 1
    repo = hub.access.repositories["datasets", "org/name"]
    hub.commit(repo, {**data("new"), "data/train-00009-of-00009.parquet": parquet(9)})
    return first, text


def check_listed_once(hub: HubServer) -> None:
    assert len(hub.asked("hub", path=r"^/api/datasets/org/name$")) == 1
    assert len(hub.listings) == len(hub.asked("hub", path="^/api/")) - 1 == 1


ALL = sorted(f"row {i}.{j}" for i in range(FILES) for j in range(64))


@pytest.mark.parametrize("way", WAYS)
def test_ranks_list_once_and_resolve_each_file_once(way: str, hub_data: HubServer) -> None:
    """Threads of one process, which knows together where files are."""
    first, text = frozen(hub_data, way)
    are_made = threading.Barrier(RANKS)
    found: list[str] = []

    def rank(number: int) -> None:
        mine = pipeline(**WAYS[way], rank=number, world_size=RANKS, lanes=RANKS)
        mine.freeze(text)
        with mine.source().load().build() as batches:
            are_made.wait(30)
            found.extend(some_rows(batches, 1 << 30))
            are_made.wait(30)

    with ThreadPoolExecutor(RANKS) as ranks:
        list(ranks.map(rank, range(RANKS)))
    assert sorted(found) == ALL
    check_listed_once(hub_data)
    assert [each.method for each in hub_data.resolves] == ["HEAD"] * FILES
    assert len({each.path for each in hub_data.resolves}) == FILES
    del first  # what it knows, all of them did


@pytest.mark.parametrize("way", WAYS)
def test_processes_of_a_job_list_nothing(way: str, hub_data: HubServer, tmp_path: Path) -> None:
    """Each finds each file once by itself: what is signed is handed on to nobody."""
    listing = tmp_path / "listing.json"
    _, text = frozen(hub_data, way)
    listing.write_text(text)
    looked_at = len(hub_data.resolves)
    started = [
        subprocess.Popen(
            [
                sys.executable,
                str(HUB_RANK),
                str(rank),
                str(PROCESSES),
                str(listing),
                str(WAYS[way]),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(PROCESSES)
    ]
    said = [each.communicate(timeout=120)[0] for each in started]
    assert [each.returncode for each in started] == [0] * PROCESSES
    assert sorted(line for each in said for line in each.splitlines()) == ALL
    check_listed_once(hub_data)
    resolves = Counter(each.path for each in hub_data.resolves[looked_at:])
    assert len(resolves) == FILES
    assert max(resolves.values()) <= PROCESSES


def some_rows(batches: Any, count: int) -> list[str]:
    found: list[str] = []
    for batch in batches:
        found.extend(batch["text"])
        if len(found) >= count:
            break
    return found


def saved_after(count: int, **how: Any) -> tuple[Any, list[str], str]:
    """A state after so many rows, what the others are, and their digest."""
    with pipeline(**how).source().load().build() as batches:
        some_rows(batches, count)
        state = batches.state_dict()
        rest = some_rows(batches, 1 << 30)
    gone = gone_on(state, **how)
    assert gone[0] == rest
    return state, *gone


def gone_on(state: Any, **how: Any) -> tuple[list[str], str]:
    with pipeline(**how).source().load().build() as batches:
        batches.load_state_dict(state)
        return some_rows(batches, 1 << 30), batches.digest()


SHUFFLED = {"shuffle": "rows"}


@pytest.mark.parametrize("order", ["as they are", "shuffled"])
@pytest.mark.parametrize("way", WAYS)
def test_a_state_goes_on_where_only_the_branch_moved(
    way: str, order: str, hub_data: HubServer
) -> None:
    """Files of the Hub are known by hashes of their content: other commits have the same ones."""
    how = {**WAYS[way], **(SHUFFLED if order == "shuffled" else {})}
    state, rest, digest = saved_after(150, **how)
    repo = hub_data.access.repositories["datasets", "org/name"]
    old = head(repo)
    assert hub_data.commit(repo, {"README.md": b"# More words\n"}) != old
    assert gone_on(state, **how) == (rest, digest)


@pytest.mark.parametrize("way", WAYS)
def test_a_state_of_other_files_names_the_revision(way: str, hub_data: HubServer) -> None:
    state, rest, digest = saved_after(150, **WAYS[way])
    repo = hub_data.access.repositories["datasets", "org/name"]
    old = head(repo)
    revision = f"hf://datasets/org/name@{old}"
    first = "data/train-00000-of-00008.parquet"
    changes: list[dict[str, bytes | None]] = [
        {first: parquet(0, "raw")},  # of the same size
        {first: parquet(0, "longer")},
        {first: None},
        {"data/train-00008-of-00008.parquet": parquet(8)},
    ]
    for change in changes:
        hub_data.commit(repo, {**data(), "data/train-00008-of-00008.parquet": b""})
        hub_data.commit(repo, {"data/train-00008-of-00008.parquet": None, **change})
        with pytest.raises(ValueError, match="the saved state is of other files") as raised:
            gone_on(state, **WAYS[way])
        assert f"(name their revision: {revision})" in str(raised.value)
    pinned = WAYS[way]["data_files"].replace("org/name", f"org/name@{old}")
    assert gone_on(state, **{**WAYS[way], "data_files": pinned}) == (rest, digest)


@pytest.mark.parametrize("identity", [None, "size", "content"])
def test_a_state_goes_on_over_a_local_copy(
    identity: str | None, hub_data: HubServer, tmp_path: Path
) -> None:
    """And the other way round, where both say what files are known by."""
    for name, content in data().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    there = dict(WAYS["files"]) if identity is None else {**WAYS["files"], "identity": identity}
    copy = {"data_files": str(tmp_path / "data" / "*.parquet"), "identity": identity or "size"}
    state, rest, digest = saved_after(150, **there)
    assert gone_on(state, **copy) == (rest, digest)
    if identity is not None:
        state, rest, digest = saved_after(150, **copy)
        assert gone_on(state, **there) == (rest, digest)
    (tmp_path / next(iter(data()))).write_bytes(parquet(0, "longer"))
    with pytest.raises(ValueError, match="the saved state is of other files"):
        gone_on(state, **copy)


def test_a_state_of_two_data_sets_goes_on(hub_data: HubServer) -> None:
    """Files below no folder of one commit are known by their names without it."""
    hub_data.repo("datasets", "org/more", {"a.parquet": parquet(20), "b.parquet": parquet(21)})
    files = ["hf://datasets/org/more/*.parquet", WAYS["files"]["data_files"]]
    state, rest, digest = saved_after(200, data_files=files)
    for name in ("name", "more"):
        repo = hub_data.access.repositories["datasets", f"org/{name}"]
        hub_data.commit(repo, {"README.md": b"# More words\n"})
    assert gone_on(state, data_files=files) == (rest, digest)


def test_a_source_goes_on_by_the_files_it_found(hub_data: HubServer) -> None:
    source = HuggingFaceShardedSource("org/name")
    rows = iter(source)
    first = [next(rows)["text"] for _ in range(5)]
    repo = hub_data.access.repositories["datasets", "org/name"]
    hub_data.commit(repo, data("new"))
    assert first + [row["text"] for row in rows] == [
        f"row {i}.{j}" for i in range(FILES) for j in range(64)
    ]
