"""easydata.torch in several processes that torch.distributed joins (gloo)."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from batches import Batch, difference, joined, rows_in
from processes import run_ranks
from small_corpus import BATCH_SIZE, packed_loader

pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

RANK = Path(__file__).with_name("gloo_rank.py")
BATCHES = 20
AFTER = 7


def gathered(folder: Path, kind: str, world_size: int) -> list[Batch]:
    """The global batches that the ranks' rows make up, in rank order."""
    share = BATCH_SIZE // world_size
    parts = []
    for rank in range(world_size):
        rows = dict(np.load(folder / f"{kind}-{rank}.npz"))
        steps = range(0, rows_in(rows), share)
        parts.append(
            [{name: column[at : at + share] for name, column in rows.items()} for at in steps]
        )
    return [joined(step) for step in zip(*parts, strict=True)]


@pytest.mark.parametrize("world_size", [pytest.param(2, marks=pytest.mark.sliced), 3])
def test_ranks_rows_join_to_the_batches_of_one_process(
    tmp_path: Path, corpus: Path, tokenizer: str, world_size: int
) -> None:
    # The truth: one process, no torch; its states are those that the ranks must come to.
    states = {}
    with packed_loader(corpus, tokenizer) as loader:
        expected = []
        for batch in itertools.islice(loader, AFTER + BATCHES):
            expected.append(batch)
            states[len(expected)] = loader.state_dict()
    (tmp_path / "after.json").write_text(json.dumps(states[AFTER]))
    options = {
        "job": "collect",
        "corpus": corpus,
        "tokenizer": tokenizer,
        "output": tmp_path,
        "state": tmp_path / "after.json",
        "rows": BATCHES * BATCH_SIZE // world_size,
    }
    run_ranks(RANK, world_size, options)
    for kind, first in (("start", 0), ("state", AFTER)):
        got = gathered(tmp_path, kind, world_size)
        assert difference(got, expected[first : first + BATCHES]) is None, kind
        for rank in range(world_size):
            state = json.loads((tmp_path / f"{kind}-{rank}.json").read_text())
            assert state == states[first + BATCHES]


@pytest.mark.sliced
def test_losses_are_the_same_to_the_bit_with_restarts_at_other_world_sizes(
    tmp_path: Path, corpus: Path, tokenizer: str
) -> None:
    def run(name: str, world_size: int, steps: int, model: str, state: Path | None) -> Path:
        output = tmp_path / name
        output.mkdir()
        options = {"job": "train", "corpus": corpus, "tokenizer": tokenizer, "output": output}
        if state is not None:
            options["state"] = state
        run_ranks(RANK, world_size, {**options, "steps": steps, "model": tmp_path / model})
        return output

    def losses(output: Path, rank: int) -> list[str]:
        said: list[str] = json.loads((output / f"losses-{rank}.json").read_text())
        return said

    undisturbed = run("undisturbed", 1, 200, "whole.pt", None)
    expected = losses(undisturbed, 0)
    assert len(expected) == 200
    assert len(set(expected)) == 200
    values = [float.fromhex(loss) for loss in expected]
    assert values[-1] < values[0] / 2, "the model learns"

    got: list[str] = []
    state: Path | None = None
    for part, (world_size, steps) in enumerate(((1, 47), (3, 61), (2, 53), (1, 39))):
        output = run(f"part-{part}", world_size, steps, "parts.pt", state)
        for rank in range(world_size):
            assert losses(output, rank) == losses(output, 0)
        got += losses(output, 0)
        # Each process saved the position; any one of them will do.
        states = [json.loads((output / f"state-{r}.json").read_text()) for r in range(world_size)]
        assert all(each == states[0] for each in states)
        state = output / f"state-{world_size - 1}.json"
    assert got == expected
    whole = json.loads((undisturbed / "state-0.json").read_text())
    assert state is not None
    assert json.loads(state.read_text()) == whole
