"""What workers of Ray do, without Ray: parts of sources, sent as bytes, and rows of them."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ray_sources
from easydata.distributed import RayTokenizeWorker, TokenizeBatch, TokenizedBatch
from easydata.distributed.sent_objects import received, sent
from easydata.distributed.shard_jobs import Part, ProcessJob, TokenizeJob
from ray_sources import SOURCES, expected, lines, rows_of

from easydata import (
    HFDatasetShardedSource,
    JsonShardedSource,
    Tokenizer,
    TokenizerConfig,
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tokenize_job(source: Any, tokenizer: str, max_length: int = 2048) -> TokenizeJob:
    config = TokenizerConfig(tokenizer, max_length=max_length)
    return TokenizeJob(source, Tokenizer(tokenizer), config, "text", 1)


def parts_elsewhere(job: Any) -> list[tuple[Part, list[Any]]]:
    """Each part, and the rows that a process makes of it that has the job's bytes alone."""
    data = sent(job.apart(), "the source")
    found = []
    for part in job.parts():
        there = pickle.loads(pickle.dumps(part))
        found.append((part, list(received(data).rows(there))))
    return found


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_are_those_that_are_made_here(kind: str, tiny: str) -> None:
    want = expected(SOURCES[kind](), tiny, 24)
    found = parts_elsewhere(tokenize_job(SOURCES[kind](), tiny, 24))
    assert [row for _, rows in found for row in rows] == want
    assert len(want) > 49 or kind == "no rows"


def test_files_are_cut_and_rows_in_memory_travel_with_their_part(
    tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("easydata.distributed.shard_jobs._PART_BYTES", 8000)
    job = tokenize_job(lines(), tiny)
    found = parts_elsewhere(job)
    assert len(found) == 3 or len(found) > 3
    assert [row for _, rows in found for row in rows] == expected(lines(), tiny)
    tables = tokenize_job(ray_sources.tables(), tiny)
    found = parts_elsewhere(tables)
    assert len(found) > 2
    assert all(part.rows is None for part, _ in found)
    assert [row for _, rows in found for row in rows] == expected(ray_sources.tables(), tiny)
    memory = tokenize_job(HFDatasetShardedSource(rows_of(0, 2500)), tiny)
    assert [len(part.rows or ()) for part in memory.parts()] == [1024, 1024, 452]
    assert len(sent(memory.apart(), "it")) < len(sent(memory, "it")) - 10_000


def test_a_bad_row_is_named_by_its_file_or_number(tiny: str) -> None:
    rows = rows_of(0, 1100)
    rows[1050]["text"] = 7  # not in the first part
    Path("bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for source, place in (
        (JsonShardedSource("bad.jsonl"), r"bad\.jsonl"),
        (HFDatasetShardedSource(rows), "hf_dataset:0"),
    ):
        with pytest.raises((ValueError, TypeError, KeyError), match=rf"{place}.*1050"):
            parts_elsewhere(tokenize_job(source, tiny))


def test_functions_get_shards_as_a_whole() -> None:
    def sizes(rows: list[Any]) -> list[Any]:
        return [{"rows": len(rows), "first": rows[0]["id"] if rows else None}]

    loads: dict[bytes, Callable[..., Any]] = {b"sizes": sizes, b"none": lambda rows: None}
    loads[b"texts"] = lambda rows: ["text"]

    def made(source: Any, name: bytes) -> list[Any]:
        job = ProcessJob(source, name, loads.__getitem__)
        return [row for part in job.parts() for row in job.rows(part)]

    assert made(lines(), b"sizes") == [{"rows": 400, "first": 400 * i} for i in range(3)]
    memory = HFDatasetShardedSource(rows_of(0, 2500))
    assert made(memory, b"sizes") == [{"rows": 2500, "first": 0}]
    assert made(HFDatasetShardedSource([]), b"sizes") == [{"rows": 0, "first": None}]
    with pytest.raises(TypeError, match=r"gave NoneType for shard lines/0\.jsonl"):
        made(lines(), b"none")
    with pytest.raises(TypeError, match=r"gave str as row 0 of shard hf_dataset:0"):
        made(memory, b"texts")


def test_code_without_a_name_and_secrets_are_not_sent(tiny: str) -> None:
    def inner(row: Any) -> Any:
        return row

    for function in (lambda row: row, inner):
        source = lines().map(function)
        with pytest.raises(TypeError, match=r"source calls .*(lambda|inner).* put it into a mod"):
            sent(tokenize_job(source, tiny).apart(), "the source")
    with pytest.raises(TypeError, match=r"cannot be sent to other processes.*lock"):
        sent([__import__("threading").Lock()], "it")
    kept = lines().cache("s3://bucket/kept", storage_options={"key": "a", "secret": "hush"})
    with pytest.raises(ValueError, match=r"storage_options\.\w+ is a secret") as refused:
        sent(kept, "the source")
    assert "hush" not in str(refused.value)
    assert b"profile" in sent(lines().cache("s3://b/k", storage_options={"profile": "p"}), "it")


def test_a_worker_tokenizes_right_here_too(tiny: str, gpt2: str) -> None:
    worker = RayTokenizeWorker(gpt2, max_length=4)
    texts = ["some words of a text", "few"]
    ids = [Tokenizer(gpt2).encode(text, max_length=4).tolist() for text in texts]
    masks = [[1] * len(each) for each in ids]
    assert worker.tokenize_batch(texts) == TokenizedBatch(ids, masks, None)
    batch = TokenizeBatch(texts, {"page": 3})
    assert worker.tokenize_batch(batch) == TokenizedBatch(ids, masks, {"page": 3})
    rows = rows_of(0, 20)
    made = worker.tokenize_shard(rows)
    assert made == expected(rows, gpt2, 4)
    other = [{"body": row["text"], "id": row["id"]} for row in rows]
    assert [row["input_ids"] for row in worker.tokenize_shard(other, "body")] == [
        row["input_ids"] for row in made
    ]
    assert worker.tokenize_shard([]) == []
