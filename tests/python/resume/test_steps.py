"""Steps that grow, and steps that are asked for by number, in whole pipelines."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from batches import Batch, difference, first_rows, joined, rows_in
from token_pipelines import KINDS, make, rows_of

from easydata import AsyncDataLoader

RAMPUP = {1: 2, 3: 1, 4: 3}


def test_ramp_up_restored_at_every_step(corpus: Path) -> None:
    for kind in KINDS:
        options = {"batch_rampup": RAMPUP, "shuffle_buffer_size": 9, "seed": 2}
        whole = list(make(kind, corpus, **options))
        sizes = [len(batch["input_ids"]) for batch in whole]
        assert sizes[:4] == [4, 8, 8, 4]
        assert set(sizes[4:-1]) <= {12}
        assert 0 < sizes[-1] <= 12
        rows = make(kind, corpus, shuffle_buffer_size=9, seed=2)
        assert sum(sizes) == sum(len(batch["input_ids"]) for batch in rows)
        running = make(kind, corpus, **options)
        iterator = iter(running)
        for step in range(len(whole) + 1):
            state = json.loads(json.dumps(running.state_dict()))
            restored = make(kind, corpus, num_threads=1 + step % 3, **options)
            restored.load_state_dict(state)
            assert restored.state_dict() == state
            assert difference(list(restored), whole[step:]) is None, f"{kind}: restored at {step}"
            restored.close()
            next(iterator, None)


@pytest.mark.parametrize("drop_last", [True, False])
def test_ramp_up_on_other_numbers_of_ranks(
    drop_last: bool,
    corpus: Path,
) -> None:
    def join(
        world: int, state: dict[str, Any] | None, steps: int | None
    ) -> tuple[list[Batch], Any]:
        parts, states = [], []
        for rank in range(world):
            rows = rows_of("mix", corpus)
            loader = AsyncDataLoader(
                rows, 6, drop_last=drop_last, rank=rank, world_size=world, batch_rampup=RAMPUP
            )
            if state is not None:
                loader.load_state_dict(state)
            parts.append(list(itertools.islice(loader, steps)))
            states.append(loader.state_dict())
        assert all(each == states[0] for each in states), "the state is the same on every rank"
        return [joined(step) for step in zip(*parts, strict=True)], states[0]

    whole, _ = join(1, None, None)
    assert len(whole) > 5
    taken: list[Batch] = []
    state = None
    for world, steps in ((3, 2), (1, 2), (2, 1), (6, None)):
        more, state = join(world, state, steps)
        taken += more
    assert len(taken) == len(whole)
    # The last step of several ranks is filled up.
    rows = rows_in(whole[-1])
    assert difference([*taken[:-1], first_rows(taken[-1], rows)], whole) is None
    if drop_last:
        assert rows_in(taken[-1]) == rows
    else:
        assert not taken[-1]["attention_mask"][rows:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_any_step_from_any_position(kind: str, corpus: Path) -> None:
    options = {"batch_rampup": {3: 2}, "shuffle_buffer_size": 16, "seed": 4}
    whole = list(make(kind, corpus, **options))
    running = make(kind, corpus, **options)
    for position in (0, 1, len(whole) // 2, len(whole)):
        iterator = iter(running)
        while running.state_dict()["step"] < position:
            next(iterator)
        state = running.state_dict()
        restored = make(kind, corpus, **options)
        restored.load_state_dict(json.loads(json.dumps(state)))
        for loader in (running, restored):
            assert difference([loader.at(step) for step in range(len(whole))], whole) is None
            assert loader.state_dict() == state
            with pytest.raises(IndexError, match=f"there are {len(whole)} steps"):
                loader.at(len(whole))
        # What comes next is what would have come.
        assert difference(list(restored), whole[position:]) is None
        restored.close()
    assert running.digest() != restored.digest()
