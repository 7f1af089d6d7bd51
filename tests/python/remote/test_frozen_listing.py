"""One listing for all processes of a job."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fault_proxy import FaultProxy
from fault_server import FaultServer
from small_files import write_files
from stores import S3Store

import easydata


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("rows"))


def pipeline(data_files: Any, **options: Any) -> easydata.Pipeline[Any]:
    load = {"batch_size": 16, "shuffle_buffer_size": None}
    datasets = [{"data_files": data_files, "name": "rows", **options}]
    return easydata.create_pipeline(datasets, load=load)


def digest(some: easydata.Pipeline[Any]) -> str:
    with some.source().load().build() as batches:
        for _ in batches:
            pass
        found: str = batches.digest()
        return found


def test_ranks_take_one_listing(seaweed: S3Store) -> None:
    bucket = seaweed.bucket("frozen")
    for i in range(8):
        seaweed.put(bucket, f"data/{i}.jsonl", b"".join(b'{"text": "%d"}\n' % j for j in range(64)))
    with FaultProxy(seaweed.url) as proxy:
        options = seaweed.options_at(proxy.url)
        address = f"s3://{bucket}/data/*.jsonl"
        text = pipeline(address, storage_options=options).freeze()
        assert len(proxy.log) == 1
        seaweed.put(bucket, "data/new.jsonl", b'{"text": "new"}\n')
        found: list[str] = []

        def rank() -> None:
            mine = pipeline(address, storage_options=options)
            assert mine.freeze(text) == text
            found.append(digest(mine))

        ranks = [threading.Thread(target=rank) for _ in range(8)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()
        lists = [each for each in proxy.log if "list-type" in each.query]
        heads = [each for each in proxy.log if each.method == "HEAD"]
    assert len(lists) == 1
    assert heads == []
    assert len(found) == 8
    assert len(set(found)) == 1


def parquet(number: int) -> bytes:
    """A file of Parquet; every fifth has a column more."""
    columns = {"text": [f"row {number}.{i}" for i in range(8)]}
    if number % 5 == 4:
        columns["more"] = ["m"] * 8
    out = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), out)
    return out.getvalue().to_pybytes()


def test_columns_of_files_are_looked_at_once_for_all_ranks() -> None:
    files = {f"/{n:02}.parquet": parquet(n) for n in range(24)}
    with FaultServer(files) as server:
        address = server.url + "/{00..23}.parquet"

        def rows(text: str) -> list[str]:
            mine = pipeline(address)
            mine.freeze(text)
            first = next(iter(mine.source().build()))
            assert first == {"text": "row 0.0", "more": None}
            return list(first)

        text = pipeline(address).freeze()
        asked = len(server.asked("GET"))
        assert {each.path for each in server.asked("GET")} == set(files)
        for _ in range(8):
            assert rows(text) == rows(text)
        # Each of 16 reads the first file, and what is read ahead of it; none reads all footers.
        more = [each.path for each in server.asked("GET")][asked:]
        assert "/23.parquet" not in more
        assert Counter(more)["/00.parquet"] >= 1


def test_a_stage_that_names_its_columns_reads_no_footer_ahead() -> None:
    files = {f"/{n:02}.parquet": parquet(n) for n in range(24)}
    with FaultServer(files) as server:
        address = server.url + "/{00..23}.parquet"
        some = pipeline(address, columns=["text"])
        some.freeze()
        assert server.asked("GET") == []
        with some.source().load().build() as batches:
            next(iter(batches))
        assert "/23.parquet" not in {each.path for each in server.asked("GET")}


def test_a_frozen_listing_has_no_secrets_and_needs_the_addresses(files: Path) -> None:
    target = "/rows.jsonl?signature=hush"
    with FaultServer({target: files.joinpath("rows.jsonl").read_bytes()}) as server:
        text = pipeline(server.url + target).freeze()
        assert "hush" not in text
        mine = pipeline(server.url + target)
        mine.freeze(text)
        assert digest(mine) == digest(pipeline(str(files / "rows.jsonl")))
        assert len(server.asked("HEAD")) == 1


def test_a_state_of_another_listing_is_refused(tmp_path: Path) -> None:
    for i in range(2):
        (tmp_path / f"{i}.jsonl").write_text('{"text": "a"}\n' * 64)
    with pipeline(str(tmp_path)).source().load().build() as batches:
        next(iter(batches))
        state = batches.state_dict()
    (tmp_path / "2.jsonl").write_text('{"text": "a"}\n' * 64)
    with (
        pipeline(str(tmp_path)).source().load().build() as batches,
        pytest.raises(ValueError, match=r"2\.jsonl"),
    ):
        batches.load_state_dict(state)


REFUSED = [
    ("nonsense", "no text that freeze"),
    (json.dumps({"version": 9, "datasets": {}}), "version 9"),
    (json.dumps({"version": 2, "datasets": {}}), "no dataset 'rows'"),
    (json.dumps({"version": 2, "datasets": {"rows": [["x"]]}}), "no text that freeze"),
    (
        json.dumps({"version": 2, "datasets": {"rows": {"files": [["x"]], "columns": []}}}),
        "no listing that freeze",
    ),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_is_no_listing(text: str, words: str, files: Path) -> None:
    with pytest.raises(ValueError, match=words):
        pipeline(str(files / "rows.jsonl")).freeze(text)


def test_freezing_comes_first(files: Path) -> None:
    begun = pipeline(str(files / "rows.jsonl"))
    begun.source()
    with pytest.raises(RuntimeError, match="before source"):
        begun.freeze()


RANK = Path(__file__).with_name("listing_rank.py")


def run_ranks(framework: str, address: str, meeting: str) -> list[tuple[int, str]]:
    """What three processes of a job print, and how they end."""
    pytest.importorskip(framework, reason=f"{framework} is not installed")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(RANK), framework, address, str(rank), "3", meeting],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(3)
    ]
    # JAX prints what it connects to first.
    lines = [rank.communicate(timeout=120)[0].strip().splitlines() for rank in ranks]
    said = [some[-1] if some else "" for some in lines]
    return [(rank.returncode, text) for rank, text in zip(ranks, said, strict=True)]


def meeting_of(framework: str, tmp_path: Path) -> str:
    if framework == "torch":
        return str(tmp_path / "meeting")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_ranks_hand_the_listing_on(framework: str, tmp_path: Path) -> None:
    data = {f"/{i}.jsonl": b'{"text": "%d"}\n' % i for i in range(4)}
    with FaultServer(data) as server:
        address = server.url + "/{0..3}.jsonl"
        ended = run_ranks(framework, address, meeting_of(framework, tmp_path))
        assert ended == [(0, "3")] * 3
        assert len(server.asked("HEAD")) == 4


def test_where_listing_fails_it_fails_everywhere(tmp_path: Path) -> None:
    with FaultServer({}) as server:
        ended = run_ranks("torch", server.url + "/0.jsonl", meeting_of("torch", tmp_path))
    assert [code for code, _ in ended] == [3, 3, 3]
    assert ended[0][1].startswith("FileNotFoundError")
    for _, text in ended[1:]:
        assert "listing the files failed in the first process: FileNotFoundError" in text
