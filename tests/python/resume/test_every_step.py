"""Restored at every step, a pipeline gives the ordered rest, bit for bit."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
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
    """Two folders of JSONL: documents of very different lengths, some of them empty."""
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
            with open(folder / name / f"{shard}.jsonl", "w") as file:
                for _ in range(rows):
                    size = int(random.integers(0, 60)) * int(random.integers(0, 4))
                    text = " ".join(random.choice(words, size))
                    file.write(json.dumps({"text": text, "id": int(random.integers(99))}) + "\n")
    return folder


def make(kind: str, corpus: Path, shared: Path, **options: Any) -> AsyncDataLoader:
    """The pipelines that are restored."""
    tokenizer = str(shared / "data" / "tokenizers" / "gpt2")
    if not Path(tokenizer).is_dir():
        candidates = sorted((shared / "data" / "tokenizers").glob("*gpt2*"))
        if not candidates:
            pytest.skip("no GPT-2 tokenizer in ../shared/data/tokenizers")
        tokenizer = str(candidates[0])

    def tokens(name: str) -> TokenizedShardedSource:
        return TokenizedShardedSource(
            JsonShardedSource(str(corpus / name / "*.jsonl")),
            tokenizer,
            TokenizerConfig(name_or_path=tokenizer),
        )

    def packed(source: Any, strategy: str) -> PackedShardedSource:
        overlong: Any = "truncate" if strategy == "grain_best_fit" else "split"
        return PackedShardedSource(source, 64, 50256, strategy=strategy, seed=3, overlong=overlong)

    if kind == "tokens":
        return AsyncDataLoader(tokens("prose"), 4, drop_last=False, **options)
    if kind.startswith("pack "):
        return AsyncDataLoader(packed(tokens("prose"), kind[5:]), 4, drop_last=False, **options)
    mixed = MixedShardedSource(
        {"prose": tokens("prose"), "code": tokens("code")},
        {"prose": 0.7, "code": 0.3},
        block_size=10,
        seed=1,
        stop_strategy="all_exhausted",
    )
    return AsyncDataLoader(packed(mixed, "greedy"), 4, drop_last=False, **options)


KINDS = [
    "tokens",
    "pack greedy",
    "pack pool",
    "pack first_fit",
    "pack best_fit",
    "pack grain_best_fit",
    "pack grain_concat",
    "mix",
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


def test_in_a_fresh_process(corpus: Path, shared: Path, tmp_path: Path) -> None:
    whole = make("mix", corpus, shared)
    list(whole)
    loader = make("mix", corpus, shared)
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    (tmp_path / "state.json").write_text(json.dumps(loader.state_dict()))
    script = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "sys.path[:0] = sys.argv[4:]\n"
        "from test_every_step import make\n"
        "loader = make('mix', Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "loader.load_state_dict(json.load(open(sys.argv[3])))\n"
        "list(loader)\n"
        "print(loader.digest())\n"
    )
    folders = [str(folder) for folder in Path(__file__).parents[:2]]
    arguments = [str(corpus), str(shared), str(tmp_path / "state.json"), *folders]
    rest = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()
    total = (int(rest, 16) + int(loader.digest(), 16)) % 2**64
    assert f"{total:016x}" == whole.digest()


def test_what_was_saved_loads_to_the_same_batches(
    corpus: Path, shared: Path, tmp_path: Path
) -> None:
    loader = make("pack greedy", corpus, shared)
    save_dataset(loader._source, tmp_path / "out")
    again = AsyncDataLoader(ParquetShardedSource(str(tmp_path / "out")), 4, drop_last=False)
    assert difference(list(again), list(loader)) is None
