"""States that were damaged since they were saved: an error that says so, never a crash."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from easydata import (
    AsyncDataLoader,
    CompositeShardedSource,
    HFDatasetShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    PadSpec,
    ParquetShardedSource,
    merge_states,
)

ANYTHING = (None, -1, 2**63, 1.5, "x", True, [], [-1, 3], {}, {"mix": 1})
# A count that may be meant: so many rows are packed and skipped, ten seconds of them by best_fit.
FAR = 10_000
FARTHER = 10**6
PADDING = {"input_ids": PadSpec(length=8)}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("damaged")
    for name in ("a", "b"):
        (folder / name).mkdir()
        for shard in range(2):
            tokens = [[10 * n + k for k in range(1 + n % 7)] for n in range(200)]
            table = pa.table({"input_ids": pa.array(tokens, pa.list_(pa.int32()))})
            pq.write_table(table, folder / name / f"{shard}.parquet", row_group_size=20)
    return {name: str(folder / name / "*.parquet") for name in ("a", "b")}


def mixed(files: dict[str, str], **options: Any) -> MixedShardedSource:
    sources = {name: ParquetShardedSource(path) for name, path in files.items()}
    return MixedShardedSource(sources, {"a": 1, "b": 2}, block_size=30, **options)


def packed(files: dict[str, str], strategy: Any) -> PackedShardedSource:
    return PackedShardedSource(mixed(files), 16, 5, strategy=strategy, pack_window=50)


LOADERS: dict[str, Callable[[dict[str, str]], AsyncDataLoader]] = {
    "rows": lambda files: AsyncDataLoader(ParquetShardedSource(files["a"]), 4, epochs=3),
    "list": lambda files: AsyncDataLoader(
        HFDatasetShardedSource([{"n": i} for i in range(300)]), 4
    ),
    "composite": lambda files: AsyncDataLoader(
        CompositeShardedSource([ParquetShardedSource(path) for path in files.values()]), 4
    ),
    "blocks": lambda files: AsyncDataLoader(ParquetShardedSource(files["a"]).shuffle("blocks"), 4),
    "windows": lambda files: AsyncDataLoader(
        ParquetShardedSource(files["a"]).shuffle("rows", 1, window_bytes=999),
        4,
        shuffle_buffer_size=9,
    ),
    "grain": lambda files: AsyncDataLoader(ParquetShardedSource(files["a"]).shuffle("grain"), 4),
    "mix": lambda files: AsyncDataLoader(mixed(files), 4, padding=PADDING),
    "tokens": lambda files: AsyncDataLoader(mixed(files, unit="tokens"), 4, padding=PADDING),
    "grain mix": lambda files: AsyncDataLoader(mixed(files, order="grain"), 4, padding=PADDING),
    "greedy": lambda files: AsyncDataLoader(packed(files, "greedy"), 4),
    "best_fit": lambda files: AsyncDataLoader(packed(files, "best_fit"), 4),
    "lanes": lambda files: AsyncDataLoader(mixed(files), 4, lanes=2, padding=PADDING),
}


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all members of a JSON value."""
    members = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        members = enumerate(value)
    for key, member in members:
        yield (*at, key)
        yield from paths(member, (*at, key))


@pytest.mark.parametrize("far", [FAR, pytest.param(FARTHER, marks=pytest.mark.sliced)])
@pytest.mark.parametrize("kind", LOADERS)
def test_damage_is_an_error_or_leads_to_another_row(
    kind: str, far: int, files: dict[str, str]
) -> None:
    with LOADERS[kind](files) as loader:
        list(islice(loader, 13))
        state = json.loads(json.dumps(loader.state_dict()))
        following = next(iter(loader))
    draw = random.Random(kind)
    every = [path for path in paths(state) if path[0] != "plan"]
    refused = []
    for _ in range(150):
        *path, last = draw.choice(every)
        damaged = copy.deepcopy(state)
        at = damaged
        for key in path:
            at = at[key]
        if draw.random() < 0.2:
            del at[last]
        else:
            at[last] = draw.choice((far, *ANYTHING))
        with LOADERS[kind](files) as other:
            try:
                other.load_state_dict(damaged)
                list(islice(other, 2))
                merge_states([damaged])
            except (ValueError, IndexError) as error:
                refused.append(str(error))
    assert len(refused) > 50
    assert min(len(error.split()) for error in refused) > 4, refused
    with LOADERS[kind](files) as other:
        other.load_state_dict(state)
        assert str(next(iter(other))) == str(following)


@pytest.mark.parametrize("key", ["step", "rows", "skip", "epoch"])
def test_counts_below_zero_are_refused(key: str, files: dict[str, str]) -> None:
    with LOADERS["rows"](files) as loader:
        list(islice(loader, 3))
        state = loader.state_dict()
        with pytest.raises(ValueError, match=r"the saved state is damaged: it counts -1"):
            loader.load_state_dict({**state, key: -1})
        with pytest.raises(ValueError, match=r"the saved state is damaged: it counts -5"):
            loader.load_state_dict({**state, "cursor": {**state["cursor"], "row": -5}})
        with pytest.raises(ValueError, match=r"the saved state is damaged: its cursor is 5"):
            loader.load_state_dict({**state, "cursor": 5})


@pytest.mark.parametrize("more", [1, 4, 10**6, 10**15])
@pytest.mark.parametrize("kind", ["rows", "list", "mix", "greedy", "windows", "lanes"])
def test_counts_that_cannot_be_are_refused(kind: str, more: int, files: dict[str, str]) -> None:
    """A count that contradicts the others is named, and the loader stays where it is."""
    with LOADERS[kind](files) as loader:
        list(islice(loader, 5))
        state = loader.state_dict()
        skip: dict[str, Any] = {"skip": state["rows"] + more}
        if "lanes" in state:
            first = {**state["lanes"]["0"], **skip}
            skip = {"lanes": {**state["lanes"], "0": first}}
        later = state["step"] + more
        for key, damage in (
            ("rows", {"step": later}),
            ("rows", {"rows": state["rows"] + more}),
            ("rows", {"rows": max(0, state["rows"] - more)}),
            ("skip", skip),
            ("pass_start", {"pass_start": later}),
            ("edited", {"edited": later}),
        ):
            with pytest.raises(ValueError, match=rf"is damaged: its '{key}' is \d+, which cannot"):
                loader.load_state_dict({**state, **damage})
        assert loader.state_dict() == state


@pytest.mark.parametrize("world_size", [1, 2])
def test_short_steps_have_fewer_rows(world_size: int, files: dict[str, str]) -> None:
    """Where drop_last is off, each pass may end in a short step; none is longer than it can be."""
    source = HFDatasetShardedSource([{"n": i} for i in range(10)])
    options: dict[str, Any] = {"drop_last": False, "world_size": world_size}
    with AsyncDataLoader(source, 4, **options) as loader:
        for _ in range(2):
            list(loader)
        state = loader.state_dict()
        assert (state["step"], state["rows"]) == (6, 20)
        loader.load_state_dict(state)
        for rows in (25, 5):
            with pytest.raises(ValueError, match=rf"its 'rows' is {rows}, .* with 'step' 6;"):
                loader.load_state_dict({**state, "rows": rows})


@pytest.mark.parametrize("key", ["step", "rows", "skip", "epoch", "cursor", "sources", "plan"])
def test_what_a_state_lacks_is_named(key: str, files: dict[str, str]) -> None:
    with LOADERS["rows"](files) as loader:
        list(islice(loader, 3))
        state = loader.state_dict()
        with pytest.raises(ValueError, match=rf"is damaged: it lacks .*'{key}'"):
            loader.load_state_dict({name: state[name] for name in state if name != key})
        if key in ("step", "rows", "skip", "epoch"):
            with pytest.raises(ValueError, match=rf"is damaged: it lacks the number '{key}'"):
                loader.load_state_dict({**state, key: "3"})


@pytest.mark.parametrize("number", [1.5, 1e121, 2**63])
def test_numbers_in_lists_that_are_not_whole_are_refused(
    number: float, files: dict[str, str]
) -> None:
    with LOADERS["mix"](files) as loader:
        next(iter(loader))
        state = loader.state_dict()
        reach, carry = copy.deepcopy(state), copy.deepcopy(state)
        reach["reach"][1] = number
        carry["cursor"]["mix"]["carry"][0] = number
        dropped = {**state, "sources": {"a": {"tokens": 1, "dropped": {"overlong": [1, number]}}}}
        for damaged in (reach, carry, dropped):
            with pytest.raises(ValueError, match=r"damaged: it counts (1\.5|1e\+121|9223)"):
                loader.load_state_dict(damaged)
        assert loader.state_dict() == state


@pytest.mark.parametrize("kind", ["rows", "mix", "greedy"])
def test_lone_surrogates_are_refused(kind: str, files: dict[str, str]) -> None:  # B12
    """Python's strings hold them, UTF-8 does not."""
    with LOADERS[kind](files) as loader:
        list(islice(loader, 3))
        state = loader.state_dict()
        for path in (("kind",), ("cursor",), ("plan", "source.kind"), ("\ud800",)):
            damaged = copy.deepcopy(state)
            at = damaged
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = "a\ud800"
            with pytest.raises(ValueError, match=r"surrogate|damaged|UTF-8"):
                loader.load_state_dict(damaged)
        loader.load_state_dict(state)
