"""The batches of all ranks, joined, are those of one, by any number of ranks and of threads."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import Batch, difference, first_rows, joined, rows_in
from easydata.transforms import ExpandTransform

from easydata import (
    AsyncDataLoader,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    WeightSchedulePoint,
    WeightScheduler,
)

Source = ShardedDataSource[Any]
Row = dict[str, Any]
# What 1, 2, 3, 5 and 8 ranks can share.
BATCH_SIZE = 120
STEPS = 20
WORDS = ("the", "of", "water", "42", "naïve", "日本", "tokenizer", ",", ".", "\n", "def f(x):")


class Corpus:
    """Two sources as JSON lines and as Parquet, and a tokenizer."""

    def __init__(self, folder: Path, tokenizer: Path) -> None:
        self.folder = folder
        self.tokenizer = Tokenizer(tokenizer)
        for name, shards, rows, first in (("prose", 3, 170, 0), ("code", 2, 90, 10_000)):
            (folder / name).mkdir()
            for shard in range(shards):
                self._write(folder / name / str(shard), first + rows * shard, rows)

    def _write(self, path: Path, first: int, rows: int) -> None:
        random = np.random.default_rng(first)
        made = []
        for n in range(first, first + rows):
            # Most are short, some longer than a packed row, some empty.
            size = int(random.integers(0, 30)) * int(random.integers(0, 4))
            text = " ".join(random.choice(WORDS, size))
            ids = list(range(100 * n, 100 * n + size))
            made.append({"n": n, "text": text, "input_ids": ids, "tag": f"row {n}"})
        lines = "".join(json.dumps(row) + "\n" for row in made)
        path.with_suffix(".jsonl").write_text(lines, encoding="utf-8")
        types = [pa.int64(), pa.string(), pa.list_(pa.int32()), pa.string()]
        schema = pa.schema(list(zip(made[0], types, strict=True)))
        table = pa.Table.from_pylist(made, schema)
        pq.write_table(table, path.with_suffix(".parquet"), row_group_size=25)

    def lines(self, name: str) -> Source:
        return JsonShardedSource(f"{self.folder}/{name}/*.jsonl").select_fields(["n", "text"])

    def table(self, name: str, *columns: str) -> Source:
        return ParquetShardedSource(f"{self.folder}/{name}/*.parquet").select_fields([*columns])

    def tokenized(self, source: Source) -> Source:
        return TokenizedShardedSource(source, self.tokenizer, TokenizerConfig(self.tokenizer))

    def packed(self, source: Source, strategy: Any, **options: Any) -> Source:
        options = {"include_segment_ids": True, "pack_window": 70, "seed": 3, **options}
        return PackedShardedSource(source, 32, strategy=strategy, **options)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, gpt2: str) -> Corpus:
    return Corpus(tmp_path_factory.mktemp("corpus"), Path(gpt2))


# ---- pipelines -----------------------------------------------------------------------------------


class Halves(ExpandTransform):
    """Both halves of a text; some texts give none."""

    def __call__(self, example: Row) -> Iterator[Row]:
        if example["n"] % 11 == 4:
            return
        words = example["text"].split(" ")
        middle = len(words) // 2
        yield {**example, "text": " ".join(words[:middle])}
        yield {**example, "text": " ".join(words[middle:])}


def mixed_text(corpus: Corpus) -> tuple[Source, dict[str, Any]]:
    sources = {name: corpus.tokenized(corpus.lines(name)) for name in ("prose", "code")}
    sources["prose"] = sources["prose"].shuffle("rows", 4, window_bytes=5000)
    mixed = MixedShardedSource(sources, {"prose": 0.7, "code": 0.3}, block_size=30, seed=1)
    return corpus.packed(mixed, "greedy", shuffle=True, shuffle_buffer_factor=1), {}


def scheduled_tokens(corpus: Corpus) -> tuple[Source, dict[str, Any]]:
    sources = {name: corpus.table(name, "input_ids") for name in ("prose", "code")}
    points = [
        WeightSchedulePoint(1, {"prose": 0.9, "code": 0.1}),
        WeightSchedulePoint(5, {"prose": 0.2, "code": 0.8}),
    ]
    mixed = MixedShardedSource(
        sources,
        block_size=20,
        seed=2,
        weight_scheduler=WeightScheduler(points, "linear"),
        schedule_unit="steps",
        unit="tokens",
    )
    packed = corpus.packed(mixed, "first_fit", shuffle=False, eos_token_id=1)
    return packed, {"shuffle_buffer_size": 170, "seed": 6, "batch_rampup": {3: 2, 9: 1}}


def ragged_rows(corpus: Corpus) -> tuple[Source, dict[str, Any]]:
    """Rows that end in the midst of a step, over passes; lists and strings differ in length."""
    rows = corpus.table("code", "n", "input_ids", "tag").shuffle("rows", 5, window_bytes=4000)
    options = {"shuffle_buffer_size": 50, "seed": 8, "drop_last": False, "epochs": 13}
    return rows, {**options, "steps": None}


def filtered_and_expanded(corpus: Corpus) -> tuple[Source, dict[str, Any]]:
    rows = corpus.lines("prose").filter(lambda row: row["n"] % 3 != 1).transform(Halves())
    return corpus.packed(corpus.tokenized(rows), "best_fit", shuffle=True), {}


PIPELINES: dict[str, Callable[[Corpus], tuple[Source, dict[str, Any]]]] = {
    "mixed text": mixed_text,
    "scheduled tokens": scheduled_tokens,
    "ragged rows": ragged_rows,
    "filtered and expanded": filtered_and_expanded,
}


def run_ranks(
    name: str,
    corpus: Corpus,
    world: int,
    threads: int,
    state: Any = None,
    steps: int | None = None,
) -> tuple[list[Batch], Any]:
    """The next steps of all ranks, joined, and the state that all of them are left with."""
    source, options = PIPELINES[name](corpus)
    parts, states = [], []
    for rank in range(world):
        run = {"rank": rank, "world_size": world, "num_threads": threads}
        with AsyncDataLoader(source, BATCH_SIZE, **{"steps": STEPS, **options, **run}) as loader:
            if state is not None:
                loader.load_state_dict(json.loads(json.dumps(state)))
                assert loader.state_dict() == state
            parts.append(list(itertools.islice(loader, steps)))
            states.append(loader.state_dict())
    assert all(each == states[0] for each in states), "the ranks are not at one position"
    return [joined(step) for step in zip(*parts, strict=True)], states[0]


def without_filling(batches: list[Batch], like: list[Batch]) -> list[Batch]:
    """The batches without the rows that only make the last one full for so many ranks."""
    counts = [rows_in(batch) for batch in like]
    added = [rows_in(batch) - count for batch, count in zip(batches, counts, strict=True)]
    assert not any(added[:-1])
    return [first_rows(*each) for each in zip(batches, counts, strict=True)]


# ---- the tests -----------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PIPELINES)
def test_ranks_and_threads_do_not_change_the_batches(name: str, corpus: Corpus) -> None:
    whole, end = run_ranks(name, corpus, 1, 1)
    assert len(whole) == STEPS
    for world, threads in itertools.product((1, 2, 3, 5, 8), (1, 2, 4)):
        if world == threads == 1:
            continue
        batches, state = run_ranks(name, corpus, world, threads)
        problem = difference(without_filling(batches, whole), whole)
        assert problem is None, f"{world} ranks of {threads} threads: {problem}"
        assert state == end


@pytest.mark.parametrize("name", PIPELINES)
def test_other_numbers_of_ranks_go_on(name: str, corpus: Corpus) -> None:
    whole, end = run_ranks(name, corpus, 1, 2)
    taken: list[Batch] = []
    state = None
    for world, threads, steps in ((8, 1, 5), (3, 4, 4), (5, 2, 6), (1, 1, None)):
        batches, state = run_ranks(name, corpus, world, threads, state, steps)
        taken += batches
    assert difference(taken, whole) is None
    assert state == end
