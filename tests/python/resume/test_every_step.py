"""Restored at every step, a pipeline gives the ordered rest, bit for bit."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import Batch, difference, joined

from easydata import (
    AsyncDataLoader,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    TokenizedShardedSource,
    TokenizerConfig,
    save_dataset,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders of JSONL, one also as Parquet: documents of many lengths, some of them empty."""
    random = np.random.default_rng(11)
    words = [
        "the",
        "of",
        "water",
        "42",
        "naïve",
        "übung",
        "日本",
        "tokenizer",
        ",",
        ".",
        "\n",
        "def f(x):",
    ]
    folder = tmp_path_factory.mktemp("corpus")
    for name, shards, rows in (("prose", 3, 40), ("code", 2, 25)):
        (folder / name).mkdir()
        for shard in range(shards):
            path = folder / name / f"{shard}.jsonl"
            made = []
            for _ in range(rows):
                size = int(random.integers(0, 60)) * int(random.integers(0, 4))
                text = " ".join(random.choice(words, size))
                made.append({"text": text, "id": int(random.integers(99))})
            path.write_text("".join(json.dumps(row) + "\n" for row in made))
            if name == "prose":
                table = pa.Table.from_pylist(made)
                pq.write_table(table, path.with_suffix(".parquet"), row_group_size=7)
    return folder


def make(kind: str, corpus: Path, shared: Path, **options: Any) -> AsyncDataLoader:
    """The pipelines that are restored."""
    tokenizer = str(shared / "data" / "tokenizers" / "gpt2")
    if not Path(tokenizer).is_dir():
        candidates = sorted((shared / "data" / "tokenizers").glob("*gpt2*"))
        if not candidates:
            pytest.skip("no GPT-2 tokenizer in ../shared/data/tokenizers")
        tokenizer = str(candidates[0])

    def tokenized(source: Any) -> TokenizedShardedSource:
        return TokenizedShardedSource(source, tokenizer, TokenizerConfig(name_or_path=tokenizer))

    def tokens(name: str) -> TokenizedShardedSource:
        return tokenized(JsonShardedSource(str(corpus / name / "*.jsonl")))

    def packed(source: Any, strategy: str) -> PackedShardedSource:
        overlong: Any = "truncate" if strategy == "grain_best_fit" else "split"
        return PackedShardedSource(source, 64, 50256, strategy=strategy, seed=3, overlong=overlong)

    if kind == "tokens":
        return AsyncDataLoader(tokens("prose"), 4, drop_last=False, **options)
    if kind == "shuffled rows":
        rows = tokenized(ParquetShardedSource(str(corpus / "prose" / "*.parquet")))
        shuffled = rows.shuffle("rows", 7, window_bytes=2000)
        return AsyncDataLoader(shuffled, 4, drop_last=False, **options)
    if kind.startswith("pack "):
        return AsyncDataLoader(packed(tokens("prose"), kind[5:]), 4, drop_last=False, **options)
    mixed = MixedShardedSource(
        {"prose": tokens("prose"), "code": tokens("code")},
        {"prose": 0.7, "code": 0.3},
        block_size=10,
        seed=1,
        stop_strategy="all_exhausted",
        order="grain" if kind == "grain mix" else "blocks",
    )
    return AsyncDataLoader(packed(mixed, "greedy"), 4, drop_last=False, **options)


KINDS = [
    "tokens",
    "shuffled rows",
    "pack greedy",
    "pack pool",
    "pack first_fit",
    "pack best_fit",
    "pack grain_best_fit",
    "pack grain_concat",
    "mix",
    "grain mix",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_restore(kind: str, corpus: Path, shared: Path) -> None:
    whole = list(make(kind, corpus, shared))
    assert len(whole) > 5
    running = make(kind, corpus, shared)
    iterator = iter(running)
    sizes = []
    for step in range(len(whole) + 1):
        state = json.loads(json.dumps(running.state_dict()))
        sizes.append(len(json.dumps(state)))
        restored = make(kind, corpus, shared, num_threads=1 + step % 3)
        restored.load_state_dict(state)
        assert restored.state_dict() == state
        assert difference(list(restored), whole[step:]) is None, f"restored at step {step}: {state}"
        restored.close()
        next(iterator, None)
    assert max(sizes) <= 4096


@pytest.mark.parametrize("kind", KINDS)
def test_resume_of_a_resume(kind: str, corpus: Path, shared: Path) -> None:
    whole = list(make(kind, corpus, shared))
    taken: list[Batch] = []
    state = make(kind, corpus, shared).state_dict()
    for count in (2, 1, 3):
        loader = make(kind, corpus, shared)
        loader.load_state_dict(state)
        iterator = iter(loader)
        taken += [next(iterator) for _ in range(count)]
        state = loader.state_dict()
        loader.close()
    last = make(kind, corpus, shared)
    last.load_state_dict(state)
    assert difference(taken + list(last), whole) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world", [2, 3])
def test_any_number_of_ranks(kind: str, world: int, corpus: Path, shared: Path) -> None:
    def global_batches(world: int, state: dict[str, Any] | None, num_threads: int) -> list[Batch]:
        parts = []
        for rank in range(world):
            loader = make_12(kind, corpus, shared, rank, world, num_threads)
            if state is not None:
                loader.load_state_dict(state)
            parts.append(list(loader))
        return [joined(step) for step in zip(*parts, strict=True)]

    whole = global_batches(1, None, 2)
    assert difference(global_batches(world, None, 1), whole) is None
    # One rank saves, another number of ranks goes on.
    loader = make_12(kind, corpus, shared, 1, world, 2)
    iterator = iter(loader)
    next(iterator)
    assert difference(global_batches(5 - world, loader.state_dict(), 4), whole[1:]) is None


def make_12(
    kind: str, corpus: Path, shared: Path, rank: int, world: int, num_threads: int
) -> AsyncDataLoader:
    loader = make(kind, corpus, shared)
    source = loader._source
    loader.close()
    return AsyncDataLoader(source, 12, rank=rank, world_size=world, num_threads=num_threads)


SCRIPT = """
import json, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from test_every_step import make
for kind, states in json.load(sys.stdin).items():
    for state in states:
        with make(kind, Path(sys.argv[1]), Path(sys.argv[2])) as loader:
            loader.load_state_dict(state)
            assert loader.state_dict() == state
            for _ in loader:
                pass
            print(kind, loader.digest(), sep=":")
"""


def test_five_steps_in_a_fresh_process(corpus: Path, shared: Path, tmp_path: Path) -> None:
    states, expected = {}, []
    for kind in ("mix", "shuffled rows", "pack best_fit"):
        with make(kind, corpus, shared) as loader:
            saved, digests = [loader.state_dict()], [0]
            for _ in loader:
                saved.append(loader.state_dict())
                digests.append(int(loader.digest(), 16))
        steps = [len(digests) * part // 5 for part in range(5)]
        assert len(set(steps)) == 5
        states[kind] = [saved[step] for step in steps]
        # Digests of the parts of a stream add up, and tell its order.
        rests = [(digests[-1] - digests[step]) % 2**64 for step in steps]
        expected += [f"{kind}:{rest:016x}" for rest in rests]
    folders = [str(folder) for folder in Path(__file__).parents[:2]]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(corpus), str(shared), *folders],
        input=json.dumps(states),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == expected


def test_what_was_saved_loads_to_the_same_batches(
    corpus: Path, shared: Path, tmp_path: Path
) -> None:
    loader = make("pack greedy", corpus, shared)
    save_dataset(loader._source, tmp_path / "out")
    again = AsyncDataLoader(ParquetShardedSource(str(tmp_path / "out")), 4, drop_last=False)
    assert difference(list(again), list(loader)) is None
