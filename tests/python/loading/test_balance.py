"""balance_groups: the rows of a loader's step in groups that cost about the same."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from easydata import AsyncDataLoader, PackedShardedSource, Pipeline

GROUPS, ROWS, SEQ_LENGTH = 4, 16, 256


def documents(count: int = 2000) -> Any:
    draw = random.Random(1)
    lengths = [1 + min(1000, int(draw.lognormvariate(4, 1))) for _ in range(count)]
    return [{"input_ids": [1 + number % 900] * length} for number, length in enumerate(lengths)]


def batches(balance_groups: int, **options: Any) -> list[dict[str, Any]]:
    packed = PackedShardedSource(documents(), SEQ_LENGTH, 0, balance_groups=balance_groups)
    with AsyncDataLoader(packed, batch_size=ROWS, drop_last=False, **options) as loader:
        return list(loader)


def cost(rows: dict[str, Any], begin: int, end: int) -> int:
    """The sum of squared segment lengths, padding left out."""
    total = 0
    for row in range(begin, end):
        segments = rows["segment_ids"][row][rows["attention_mask"][row] == 1]
        total += int((np.unique(segments, return_counts=True)[1].astype(np.int64) ** 2).sum())
    return total


def excess(rows: dict[str, Any]) -> float:
    """How much more than the mean the costliest group costs."""
    each = ROWS // GROUPS
    costs = [cost(rows, g * each, (g + 1) * each) for g in range(GROUPS)]
    return max(costs) / (sum(costs) / GROUPS) - 1


def test_groups_of_a_step_cost_about_the_same() -> None:
    plain, balanced = batches(1), batches(GROUPS)
    assert len(plain) == len(balanced) > 30
    for before, after in zip(plain, balanced, strict=True):
        key = [row.tobytes() for row in before["input_ids"]]
        assert sorted(key) == sorted(row.tobytes() for row in after["input_ids"])
    last = len(plain[-1]["input_ids"])
    assert last < ROWS  # a step that is not full keeps its order
    assert (plain[-1]["input_ids"] == balanced[-1]["input_ids"]).all()
    before_mean = np.mean([excess(rows) for rows in plain[:-1]])
    after_mean = np.mean([excess(rows) for rows in balanced[:-1]])
    assert after_mean < before_mean / 10


def test_ranks_share_the_balanced_steps() -> None:
    whole = batches(GROUPS)[:-1]
    ranks = [batches(GROUPS, rank=rank, world_size=2) for rank in range(2)]
    for rows, *shares in zip(whole, *ranks, strict=False):
        joined = np.concatenate([share["input_ids"] for share in shares])
        assert (joined == rows["input_ids"]).all()


def test_a_loader_goes_on_between_balanced_steps() -> None:
    packed = PackedShardedSource(documents(300), SEQ_LENGTH, 0, balance_groups=GROUPS)
    loader = AsyncDataLoader(packed, batch_size=ROWS)
    rows = []
    states = []
    for batch in loader:
        rows.append(batch["input_ids"].copy())
        states.append(loader.state_dict())
    for step, state in enumerate(states):
        other = AsyncDataLoader(packed, batch_size=ROWS)
        other.load_state_dict(state)
        rest = [batch["input_ids"] for batch in other]
        assert len(rest) == len(rows) - step - 1
        for got, expected in zip(rest, rows[step + 1 :], strict=True):
            assert (got == expected).all()


def test_groups_that_do_not_divide_a_step_are_refused() -> None:
    packed = PackedShardedSource(documents(10), SEQ_LENGTH, 0, balance_groups=3)
    with pytest.raises(ValueError, match="balance_groups must divide the rows of every step"):
        AsyncDataLoader(packed, batch_size=ROWS)


def test_without_a_loader_there_is_no_step_to_balance() -> None:
    packed = PackedShardedSource(documents(10), SEQ_LENGTH, 0, balance_groups=2)
    with pytest.raises(ValueError, match="balance_groups orders the rows of a loader's step"):
        next(iter(packed))


def test_rows_are_not_shuffled_once_they_are_balanced() -> None:
    packed = PackedShardedSource(documents(10), SEQ_LENGTH, 0, balance_groups=2)
    with pytest.raises(ValueError, match=r"shuffle_buffer_size: .* after balance_groups"):
        AsyncDataLoader(packed, 4, shuffle_buffer_size=10)


def test_another_balance_is_another_stream() -> None:
    packed = PackedShardedSource(documents(300), SEQ_LENGTH, 0, balance_groups=2)
    state = AsyncDataLoader(packed, batch_size=ROWS).state_dict()
    other = PackedShardedSource(documents(300), SEQ_LENGTH, 0, balance_groups=4)
    with pytest.raises(ValueError, match=r"pack\.balance\.groups changed"):
        AsyncDataLoader(other, batch_size=ROWS).load_state_dict(state)


def test_a_pipeline_balances_its_steps(tmp_path: Path) -> None:
    rows = "".join(json.dumps(row) + "\n" for row in documents(300))
    (tmp_path / "a.jsonl").write_text(rows)
    values: dict[str, Any] = {
        "datasets": [{"data_files": str(tmp_path / "a.jsonl"), "name": "a"}],
        "pack": {"seq_length": SEQ_LENGTH, "eos_token_id": 0, "balance_groups": GROUPS},
        "load": {"batch_size": ROWS},
    }
    loader = Pipeline.from_config(values).source().pack().load().build()
    packed = PackedShardedSource(documents(300), SEQ_LENGTH, 0, balance_groups=GROUPS)
    expected = list(AsyncDataLoader(packed, batch_size=ROWS))
    for got, batch in zip(loader, expected, strict=True):
        assert (got["input_ids"] == batch["input_ids"]).all()
    values["pack"]["balance_groups"] = 3
    with pytest.raises(ValueError, match="balance_groups must divide the rows of every step"):
        Pipeline.from_config(values).source().pack().load().build()
