"""Restored at every step, a pipeline gives the ordered rest, bit for bit."""

import json
from pathlib import Path
from typing import Any

import pytest
from batches import Batch, difference, joined
from fresh_process import rests_in_a_fresh_process
from token_pipelines import KINDS, make, rows_of

from easydata import AsyncDataLoader, ParquetShardedSource, save_dataset


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_restore(kind: str, corpus: Path) -> None:
    whole = list(make(kind, corpus))
    assert len(whole) > 5
    running = make(kind, corpus)
    iterator = iter(running)
    sizes = []
    for step in range(len(whole) + 1):
        state = json.loads(json.dumps(running.state_dict()))
        sizes.append(len(json.dumps(state)))
        restored = make(kind, corpus, num_threads=1 + step % 3)
        restored.load_state_dict(state)
        assert restored.state_dict() == state
        assert difference(list(restored), whole[step:]) is None, f"restored at step {step}: {state}"
        restored.close()
        next(iterator, None)
    assert max(sizes) <= 4096


@pytest.mark.parametrize("kind", KINDS)
def test_resume_of_a_resume(kind: str, corpus: Path) -> None:
    whole = list(make(kind, corpus))
    taken: list[Batch] = []
    state = make(kind, corpus).state_dict()
    for count in (2, 1, 3):
        loader = make(kind, corpus)
        loader.load_state_dict(state)
        iterator = iter(loader)
        taken += [next(iterator) for _ in range(count)]
        state = loader.state_dict()
        loader.close()
    last = make(kind, corpus)
    last.load_state_dict(state)
    assert difference(taken + list(last), whole) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world", [2, 3])
def test_any_number_of_ranks(kind: str, world: int, corpus: Path) -> None:
    def global_batches(world: int, state: dict[str, Any] | None, num_threads: int) -> list[Batch]:
        parts = []
        for rank in range(world):
            loader = make_12(kind, corpus, rank, world, num_threads)
            if state is not None:
                loader.load_state_dict(state)
            parts.append(list(loader))
        return [joined(step) for step in zip(*parts, strict=True)]

    whole = global_batches(1, None, 2)
    assert difference(global_batches(world, None, 1), whole) is None
    # One rank saves, another number of ranks goes on.
    loader = make_12(kind, corpus, 1, world, 2)
    iterator = iter(loader)
    next(iterator)
    assert difference(global_batches(5 - world, loader.state_dict(), 4), whole[1:]) is None


def make_12(kind: str, corpus: Path, rank: int, world: int, num_threads: int) -> AsyncDataLoader:
    rows = rows_of(kind, corpus)
    return AsyncDataLoader(rows, 12, rank=rank, world_size=world, num_threads=num_threads)


def test_five_steps_in_a_fresh_process(corpus: Path, tmp_path: Path) -> None:
    kinds = ("mix", "shuffled rows", "pack best_fit")
    folders = [corpus]
    rests_in_a_fresh_process(make, kinds, folders, folders, tmp_path)


def test_what_was_saved_loads_to_the_same_batches(corpus: Path, tmp_path: Path) -> None:
    rows = rows_of("pack greedy", corpus)
    save_dataset(rows, tmp_path / "out")
    again = AsyncDataLoader(ParquetShardedSource(str(tmp_path / "out")), 4, drop_last=False)
    assert difference(list(again), list(AsyncDataLoader(rows, 4, drop_last=False))) is None
