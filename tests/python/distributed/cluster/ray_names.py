"""The names of the manual, on a cluster."""

import gc
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from easydata.distributed import (
    RayPreprocessor,
    RayTokenizeWorker,
    TokenizeBatch,
    TokenizedBatch,
    parallel_process_shards,
    tokenize_with_ray,
)
from ray_sources import SOURCES, expected, lines, rows_of
from small_data import jsonl

from easydata import JsonShardedSource, RayConfig, Tokenizer, TokenizerConfig


def workers() -> set[int]:
    """The processes that are workers of ours."""
    found = set()
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        name = " ".join(process.info["cmdline"] or ())
        if name.startswith("ray::ShardWorker") and process.info["status"] != "zombie":
            found.add(process.info["pid"])
    return found


def wait_for_no_workers() -> None:
    deadline = time.monotonic() + 30
    while workers():
        assert time.monotonic() < deadline, "workers are still there"
        time.sleep(0.1)


@pytest.mark.parametrize("kind", ["lines", "tables", "chats", "memory", "python"])
def test_tokens_are_those_of_one_process(kind: str, gpt2: str, tiny: str) -> None:
    tokenizer = tiny if kind == "chats" else gpt2
    got = list(tokenize_with_ray(SOURCES[kind](), tokenizer, num_workers=2, max_length=16))
    assert got == expected(SOURCES[kind](), tokenizer, 16)
    wait_for_no_workers()
    assert ray.is_initialized()  # it was there before


def test_a_preprocessor_keeps_its_workers_until_it_is_shut_down(gpt2: str) -> None:
    config, source = RayConfig(num_workers=3), lines()
    with RayPreprocessor(config, TokenizerConfig(gpt2)) as preprocessor:
        first = list(preprocessor.tokenize_source(source))
        there = workers()
        assert first == expected(source, gpt2)
        assert list(preprocessor.tokenize_source(source)) == first
        assert workers() & there
        assert len(workers()) <= 3
        # Two at once, one of which is left in the middle.
        left = preprocessor.tokenize_source(source)
        rows = preprocessor.tokenize_source(source)
        assert [next(left), next(rows)] == [first[0], first[0]]
        left.close()
        assert [first[0], *rows] == first
    wait_for_no_workers()
    assert ray.is_initialized()
    with pytest.raises(ValueError, match="tokenizer_config: there is none"):
        RayPreprocessor(config).tokenize_source(source)


def test_the_text_may_have_another_name(gpt2: str) -> None:
    rows = [{"body": row["text"], "text": "kept", "id": row["id"]} for row in rows_of(0, 50)]
    got = list(tokenize_with_ray(rows, gpt2, content_field="body"))
    assert [row["text"] for row in got] == ["kept"] * 50
    ids = Tokenizer(gpt2).encode_batch([row["body"] for row in rows]).to_pylist()
    assert [row["input_ids"] for row in got] == ids
    assert "body" not in got[0]


def test_a_killed_worker_loses_and_doubles_nothing(gpt2: str) -> None:
    source = lines(20_000)
    want = expected(source, gpt2)
    got, killed = [], 0
    for row in tokenize_with_ray(source, gpt2, num_workers=2):
        got.append(row)
        if len(got) in (5, 15_000) and (victims := workers()):
            killed += 1
            os.kill(min(victims), signal.SIGKILL)
    assert killed == 2
    assert got == want


def test_a_worker_that_dies_in_a_function_is_replaced() -> None:
    here = Path.cwd()

    def dies_once(rows: list[Any]) -> list[Any]:
        mark = here / f"died-{rows[0]['id']}"
        if rows[0]["id"] == 400 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return [{"first": rows[0]["id"], "rows": len(rows)}]

    got = list(parallel_process_shards(lines(), dies_once, num_workers=2))
    assert got == [{"first": 400 * i, "rows": 400} for i in range(3)]
    assert (here / "died-400").exists()


def test_what_kills_every_worker_is_named() -> None:
    def dies(rows: list[Any]) -> list[Any]:
        if rows[0]["id"] == 800:
            os.kill(os.getpid(), signal.SIGKILL)
        return [{"first": rows[0]["id"]}]

    rows = parallel_process_shards(lines(), dies, num_workers=2)
    assert [next(rows), next(rows)] == [{"first": 0}, {"first": 400}]
    with pytest.raises(RuntimeError, match=r"shard lines/2\.jsonl: the Ray worker .* died, 3 t"):
        next(rows)
    wait_for_no_workers()


def test_functions_may_be_lambdas_and_their_errors_name_the_shard() -> None:
    got = parallel_process_shards(lines(), lambda rows: rows[:2])
    assert [row["id"] for row in got] == [0, 1, 400, 401, 800, 801]
    rows = parallel_process_shards(lines(), lambda rows: [{"n": 1 / (rows[0]["id"] - 400)}])
    assert next(rows) == {"n": -1 / 400}
    with pytest.raises(ZeroDivisionError) as raised:
        next(rows)
    notes = "".join(raised.value.__notes__)
    assert "was at shard lines/1.jsonl" in notes
    got = parallel_process_shards(rows_of(0, 3000), lambda rows: [{"rows": len(rows)}])
    assert list(got) == [{"rows": 3000}]


def test_a_row_that_cannot_be_tokenized_comes_after_those_before_it(gpt2: str) -> None:
    rows = rows_of(0, 300)
    rows[150]["text"] = 7
    source = JsonShardedSource(jsonl("bad.jsonl", rows))
    got = []
    with pytest.raises((ValueError, TypeError, KeyError), match=r"bad\.jsonl.*150"):
        got.extend(tokenize_with_ray(source, gpt2, num_workers=2))
    for row in tokenize_with_ray(rows[:150], gpt2):
        got.append(row)
    assert len(got) >= 150
    wait_for_no_workers()


def test_little_is_in_hand_however_much_there_is(gpt2: str) -> None:
    """Of a source without an end the first rows come, and no more is read than a window."""
    read = 0

    class Endless:
        def __iter__(self) -> Any:
            nonlocal read
            while True:
                read += 1
                yield {"text": f"row {read}", "id": read}

    from easydata import HFDatasetShardedSource

    rows = tokenize_with_ray(HFDatasetShardedSource(Endless()), gpt2, num_workers=2)
    assert [next(rows)["id"] for _ in range(3000)][-1] > 2900
    rows.close()  # type: ignore[attr-defined]
    gc.collect()
    assert read < 3000 + 6 * 1024 + 2000
    wait_for_no_workers()


def test_options_reach_ray_or_are_refused(gpt2: str) -> None:
    config = TokenizerConfig(gpt2)

    def tokenize(**options: Any) -> list[Any]:
        with RayPreprocessor(RayConfig(**options), config) as preprocessor:
            rows = preprocessor.tokenize_source(lines())
            first = [next(rows)]
            free = ray.available_resources().get("CPU", 0)
            return [free, *first, *rows]

    free, *rows = tokenize(num_workers=1, resources_per_worker={"CPU": 3})
    assert free == 1
    assert rows == expected(lines(), gpt2)
    with pytest.raises(ValueError, match="object_store_memory: the cluster runs already"):
        tokenize(object_store_memory=10**8)
    with pytest.raises(ValueError, match=r"address: 'far:1' is not where this process is conn"):
        tokenize(address="far:1")
    with pytest.raises(ValueError, match=r"resources_per_worker\.GPU.*use_gpu"):
        tokenize(resources_per_worker={"GPU": 1})
    address = ray.get_runtime_context().gcs_address
    assert len(tokenize(num_workers=2, address=address)) == 1201


def test_an_actor_tokenizes(gpt2: str) -> None:
    worker = RayTokenizeWorker.remote(gpt2, max_length=4)
    texts = ["some words of a text", "few"]
    ids = [Tokenizer(gpt2).encode(text, max_length=4).tolist() for text in texts]
    batch = ray.get(worker.tokenize_batch.remote(TokenizeBatch(texts, {"page": 3})))
    assert batch == TokenizedBatch(ids, [[1] * len(each) for each in ids], {"page": 3})
    other = RayTokenizeWorker.options(num_cpus=2).remote(tokenizer_name=gpt2)
    rows = rows_of(0, 20)
    assert ray.get(other.tokenize_shard.remote(rows, "text")) == expected(rows, gpt2)
    again = ray.remote(RayTokenizeWorker).remote(gpt2, 4)
    assert ray.get(again.tokenize_batch.remote(texts)).input_ids == ids
