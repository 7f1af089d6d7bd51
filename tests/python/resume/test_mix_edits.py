"""A mix that is edited at a checkpoint: the old stream up to a block, then the new one."""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import difference
from easydata.transforms import ExpandTransform

from easydata import (
    AsyncDataLoader,
    DropFields,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    WeightScheduler,
)

NAMES = ("a", "b", "c", "d")
ROWS = 4000
EOS = 7
BLOCK = 20
PACKED: dict[str, dict[str, Any]] = {
    "greedy": {},
    "greedy shuffled": {},
    "first_fit": {"strategy": "first_fit", "pack_window": 70},
    "best_fit": {"strategy": "best_fit", "pack_window": 70},
    "pool": {"strategy": "pool", "num_packers": 5, "pack_window": 70},
    "balanced": {"balance_groups": 3},
    "balanced best_fit": {"strategy": "best_fit", "pack_window": 70, "balance_groups": 3},
    "tokens greedy": {},
}
KINDS = ("plain", "shuffled", *PACKED)
# Documents of a source that may come before one that is in front of them, as windows do not keep
# the order.
SLACK = {
    "shuffled": 50,
    "greedy shuffled": 400,
    "first_fit": 70,
    "best_fit": 70,
    "pool": 70,
    "balanced": 9,
    "balanced best_fit": 79,
}
OLD = {"a": 0.5, "b": 0.3, "c": 0.2}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file a source; document r of source s is 1 to 9 times the token (s + 1) * 100,000 + r."""
    folder = tmp_path_factory.mktemp("edits")
    for s, name in enumerate(NAMES):
        documents = [[(s + 1) * 100_000 + r] * (1 + r * (s + 3) % 9) for r in range(ROWS)]
        table = pa.table({"input_ids": pa.array(documents, pa.list_(pa.int32()))})
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=150)
    return folder


class Twice(ExpandTransform):
    """Each row twice."""

    def __call__(self, example: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield example
        yield example


def make(
    kind: str,
    corpus: Path,
    weights: dict[str, float],
    mix: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncDataLoader:
    unit = "tokens" if kind.startswith("tokens") else "examples"
    arguments: dict[str, Any] = {"block_size": BLOCK, "seed": 5, "unit": unit, **(mix or {})}
    if "weight_scheduler" not in arguments:
        arguments["weights"] = weights
    sources = {name: ParquetShardedSource(str(corpus / f"{name}.parquet")) for name in weights}
    mixed = MixedShardedSource(sources, **arguments)
    if kind == "plain":
        return AsyncDataLoader(mixed, 3, **options)
    if kind == "shuffled":
        return AsyncDataLoader(mixed, 3, shuffle_buffer_size=50, seed=2, **options)
    packed = PackedShardedSource(
        mixed,
        16,
        EOS,
        **{"strategy": "greedy", "shuffle": False, "include_segment_ids": False, **PACKED[kind]},
    )
    if kind == "greedy shuffled":
        return AsyncDataLoader(packed, 3, shuffle_buffer_size=40, seed=2, **options)
    return AsyncDataLoader(packed, 3, **options)


def take(loader: AsyncDataLoader, steps: int) -> list[list[list[int]]]:
    """The tokens of the next steps, by row, padding left out."""
    out = []
    batches = iter(loader)
    for _ in range(steps):
        batch = next(batches)
        ids, mask = batch["input_ids"], batch.get("attention_mask")
        if mask is None:
            mask = ids != 0
        out.append([row[keep.astype(bool)].tolist() for row, keep in zip(ids, mask, strict=True)])
    return out


def documents(steps: list[list[list[int]]]) -> list[tuple[int, int]]:
    """(token, how often) of the documents in the steps, in order of their first tokens."""
    counts: Counter[int] = Counter()
    for step in steps:
        for row in step:
            counts.update(token for token in row if token != EOS)
    return list(counts.items())


def edited(kind: str, corpus: Path, state: dict[str, Any], **how: Any) -> AsyncDataLoader:
    loader = make(kind, corpus, **how)
    loader.load_state_dict(json.loads(json.dumps(state)), allow=("mix",))
    return loader


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("save_at", [1, 7, 40])
@pytest.mark.parametrize(
    "new",
    [
        {"weights": {"a": 0.1, "b": 0.1, "c": 0.8}},
        {"weights": {"d": 0.7, "a": 0.1, "b": 0.1, "c": 0.1}},
        {"weights": {"a": 0.5, "b": 0.5, "c": 0.0}},
    ],
    ids=["weights", "added", "removed"],
)
def test_edited_streams(kind: str, save_at: int, new: dict[str, Any], corpus: Path) -> None:
    steps = 260
    with_old = make(kind, corpus, OLD)
    before = take(with_old, save_at)
    state = with_old.state_dict()
    undisturbed = take(with_old, steps)
    after = take(edited(kind, corpus, state, **new), steps)

    # Threads, prefetching and where they stood make no difference.
    again = edited(kind, corpus, state, **new, prefetch_enabled=False, num_threads=4)
    assert take(again, steps) == after

    # First the old stream, then another one; with no windows right behind the save's block.
    changed = next(k for k in range(steps) if after[k] != undisturbed[k])
    rows_to_block_end = -(save_at * 3) % BLOCK
    if kind == "plain":
        same = undisturbed[: rows_to_block_end // 3]
        assert changed >= rows_to_block_end // 3
        assert after[: len(same)] == same
        assert changed <= rows_to_block_end // 3 + 4
    elif kind in ("shuffled", "greedy shuffled"):
        window = 50 if kind == "shuffled" else 40
        assert changed >= (-(save_at * 3) % window) // 3
        assert changed <= 60
    else:
        assert changed <= 60

    # What is consumed does not come again, and nothing is left out.
    seen = documents(before + after)
    by_source: dict[int, list[int]] = {}
    for token, _ in seen:
        by_source.setdefault(token // 100_000, []).append(token)
    slack = SLACK.get(kind, 0)
    for source, tokens in by_source.items():
        rows = sorted(token % 100_000 for token in tokens)
        missing = set(range(rows[-1] + 1)) - set(rows)
        assert len(missing) <= slack, (source, sorted(missing)[:9])
        if slack == 0:
            assert tokens == sorted(tokens)
    # A document comes whole; those of the last open row or window may not have yet.
    partial = sum(
        times != 1 + token % 100_000 * (token // 100_000 + 2) % 9 for token, times in seen
    )
    assert partial <= (60 if "shuffled" in kind else 2)

    # The new weights hold behind the edit.
    late = Counter(token // 100_000 for token, _ in documents(after[160:]))
    if kind == "plain":
        for index, name in enumerate(NAMES):
            share = new["weights"].get(name, 0.0)
            assert abs(late[index + 1] / late.total() - share) < 0.1, (name, late)
    if new["weights"]["c"] == 0.0:
        assert late[3] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_saved_again_at_every_step(kind: str, corpus: Path) -> None:
    """Saving before the edit acts carries it on, and afterwards the new mix is the only one."""
    new = {"weights": {"a": 0.1, "d": 0.6, "b": 0.2, "c": 0.1}}
    with_old = make(kind, corpus, OLD)
    take(with_old, 5)
    loader = edited(kind, corpus, with_old.state_dict(), **new)
    states = [loader.state_dict()]
    steps = []
    for _ in range(60):
        steps.extend(take(loader, 1))
        states.append(loader.state_dict())
    for k in range(0, 61, 4):
        restored = make(kind, corpus, **new)
        restored.load_state_dict(json.loads(json.dumps(states[k])))
        assert restored.state_dict() == states[k]
        assert take(restored, 60 - k) == steps[k:], k
        assert restored.state_dict() == states[60]
    assert '"before"' in json.dumps(states[0])
    take(loader, 1000)  # the window or batch that the block was in is over
    assert '"before"' not in json.dumps(loader.state_dict())
    assert len(json.dumps(loader.state_dict())) <= 4096


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_an_edit(kind: str, corpus: Path) -> None:
    second = {"weights": {"a": 0.1, "d": 0.6, "b": 0.2, "c": 0.1}}
    third = {"weights": {"a": 0.2, "d": 0.1, "b": 0.6, "c": 0.1}}
    with_old = make(kind, corpus, OLD)
    steps = take(with_old, 4)
    loader = edited(kind, corpus, with_old.state_dict(), **second)
    for gap in (0, 2, 30):
        one = copy.deepcopy(loader.state_dict())
        ahead = take(edited(kind, corpus, one, **second), gap)
        pending = edited(kind, corpus, one, **second)
        take(pending, gap)
        last = edited(kind, corpus, pending.state_dict(), **third)
        rows = steps + ahead + take(last, 200)
        slack = SLACK.get(kind, 0)
        by_source: dict[int, list[int]] = {}
        for token, _ in documents(rows):
            by_source.setdefault(token // 100_000, []).append(token % 100_000)
        for tokens in by_source.values():
            assert len(set(tokens)) == len(tokens)
            assert len(set(range(max(tokens) + 1)) - set(tokens)) <= slack
        if kind == "plain":
            late = Counter(t // 100_000 for t, _ in documents(rows[-100:]))
            assert late.most_common(1)[0][0] == 2


def test_a_schedule_takes_over_with_its_clock_going_on(corpus: Path) -> None:
    schedule = WeightScheduler(
        [
            SimpleNamespace(step=0, weights={"a": 1.0, "b": 0.0, "c": 0.0}),
            SimpleNamespace(step=40, weights={"a": 0.0, "b": 0.0, "c": 1.0}),
        ]
    )
    for kind in ("plain", "greedy"):
        with_old = make(kind, corpus, OLD)
        take(with_old, 10)
        new = {"weights": OLD, "mix": {"weight_scheduler": schedule, "schedule_unit": "steps"}}
        steps = take(edited(kind, corpus, with_old.state_dict(), **new), 60)
        assert {t // 100_000 for t, _ in documents(steps[20:24])} == {1}
        assert {t // 100_000 for t, _ in documents(steps[-10:])} == {3}
        first_c = next(
            k for k in range(20, 60) if 3 in {t // 100_000 for t, _ in documents(steps[k : k + 1])}
        )
        # Blocks of 20 examples are 6 steps or more, and closing tokens are none of the mix's.
        assert abs(10 + first_c - 40) <= (8 if kind == "plain" else 14)


def test_a_removed_source_that_is_gone_is_an_error_that_says_so(corpus: Path) -> None:
    with_old = make("plain", corpus, OLD)
    take(with_old, 3)
    loader = edited("plain", corpus, with_old.state_dict(), weights={"a": 0.5, "b": 0.5})
    with pytest.raises(ValueError, match=r'sources\["c"\] was removed from the mix.*weight 0'):
        take(loader, 30)


def test_steps_before_what_is_known_of_an_edited_mix_are_refused(corpus: Path) -> None:
    new = {"a": 0.1, "b": 0.8, "c": 0.1}
    with_old = make("plain", corpus, OLD)
    take(with_old, 5)
    loader = edited("plain", corpus, with_old.state_dict(), weights=new)
    rest = [batch for batch, _ in zip(loader, range(20), strict=False)]
    later = make("plain", corpus, new)
    later.load_state_dict(loader.state_dict())
    assert difference([later.at(30)], [loader.at(30)]) is None
    assert difference([loader.at(9)], [rest[4]]) is None
    said = r"^step {} (came of another mix: it|cannot be found: the mix) was edited at step 5[;,]"
    for step in (0, 4, 5, 24):
        with pytest.raises(ValueError, match=said.format(step)):
            later.at(step)


def test_without_allow_another_mix_is_refused(corpus: Path) -> None:
    with_old = make("greedy", corpus, OLD)
    take(with_old, 3)
    state = with_old.state_dict()
    other = make("greedy", corpus, {"a": 0.5, "b": 0.2, "c": 0.3})
    with pytest.raises(ValueError, match=r"mix\.weights\[1\] changed, from 0\.3 to 0\.2"):
        other.load_state_dict(state)
    with pytest.raises(ValueError, match=r'only "mix" may change.*"pack"'):
        other.load_state_dict(state, allow=("pack",))
    with pytest.raises(TypeError, match="collection of names"):
        other.load_state_dict(state, allow="mix")
    with pytest.raises(ValueError, match=r"pack\.strategy changed"):
        make("first_fit", corpus, {"a": 0.5, "b": 0.2, "c": 0.3}).load_state_dict(
            state, allow=("mix",)
        )
    # Refused edits leave the loader where it was.
    other.load_state_dict(state, allow=("mix",))
    assert np.all(take(other, 1)[0][0])


@pytest.mark.parametrize("behind", ["map", "filter", "drop_fields", "expand"])
def test_what_works_row_by_row_behind_the_mix_is_no_window(behind: str, corpus: Path) -> None:
    """An edit acts at the block behind the row that was given out last, not behind its batch."""

    def loader(weights: dict[str, float]) -> AsyncDataLoader:
        sources = {n: ParquetShardedSource(str(corpus / f"{n}.parquet")) for n in weights}
        rows: Any = MixedShardedSource(sources, weights, block_size=BLOCK, seed=5)
        if behind == "map":
            rows = rows.map(lambda row: row)
        elif behind == "filter":
            rows = rows.filter(lambda row: row["input_ids"][0] % 3 != 0)
        elif behind == "drop_fields":
            rows = rows.transform(DropFields(["nothing"]))
        else:
            rows = rows.transform(Twice())
        return AsyncDataLoader(rows, 10)

    with loader({"a": 0.5, "b": 0.5}) as before:
        seen = [next(iter(before)) for _ in range(11)]
        state = before.state_dict()
    with loader({"a": 0.0, "b": 1.0}) as after:
        after.load_state_dict(state, allow=("mix",))
        rows = [name for _ in range(10) for name in next(iter(after))["__source__"]]
    # Up to the end of the block, there still are rows of "a"; behind it there are none.
    assert "a" in [name for batch in seen for name in batch["__source__"]]
    assert "a" not in rows[2 * BLOCK :]


def test_the_same_mix_is_no_edit(corpus: Path) -> None:
    loader = make("greedy", corpus, OLD)
    take(loader, 3)
    state = loader.state_dict()
    rest = take(loader, 9)
    other = make("greedy", corpus, OLD)
    other.load_state_dict(state, allow=("mix",))
    assert other.state_dict() == state
    assert take(other, 9) == rest
