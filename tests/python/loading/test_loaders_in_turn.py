"""Several loaders as one: turns, errors, positions, what is told of them."""

import asyncio
import itertools
import json
import time
from typing import Any

import numpy as np
import pytest
from easydata.execution.loaders_in_turn import LoadersInTurn

from easydata import AsyncDataLoader, HFDatasetShardedSource, merge_states

SIZES = {"a": 9, "b": 21, "c": 3, "d": 12}  # batches of 3: 3, 7, 1, 4


def rows(first: int, count: int) -> HFDatasetShardedSource:
    return HFDatasetShardedSource([{"n": first + n} for n in range(count)])


def in_turn(**options: Any) -> LoadersInTurn:
    return LoadersInTurn(
        {
            name: AsyncDataLoader(rows(100 * index, size), batch_size=3, **options)
            for index, (name, size) in enumerate(SIZES.items())
        }
    )


def first_of(batch: Any) -> int:
    return int(batch["n"][0])


def firsts(batches: Any, count: int | None = None) -> list[int]:
    return [first_of(batch) for batch in itertools.islice(batches, count)]


ORDER = [0, 100, 200, 300, 3, 103, 303, 6, 106, 306, 109, 309, 112, 115, 118]


def fails_at(number: int) -> Any:
    def function(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == number:
            raise ZeroDivisionError(number)
        return row

    return function


def test_an_error_comes_again_and_moves_nothing() -> None:
    broken = AsyncDataLoader(rows(0, 12).map(fails_at(4)), batch_size=3)
    with LoadersInTurn({"a": AsyncDataLoader(rows(100, 12), 3), "b": broken}) as loader:
        batches = iter(loader)
        assert firsts(batches, 3) == [100, 0, 103]
        state = loader.state_dict()
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                next(batches)
        assert loader.state_dict() == state
        with pytest.raises(ZeroDivisionError):
            next(iter(loader))


def test_an_iterator_that_ended_stays_so() -> None:
    with in_turn() as loader:
        batches = iter(loader)
        assert firsts(batches) == ORDER
        assert next(batches, None) is None
        assert firsts(loader, 5) == ORDER[:5], "the next pass is another iterator's"
        assert next(batches, None) is None
        assert firsts(loader) == ORDER[5:]


def test_an_iterator_goes_on_from_a_state_that_is_loaded() -> None:
    with in_turn() as loader:
        start = loader.state_dict()
        batches = iter(loader)
        assert firsts(batches, 12) == ORDER[:12], "two have ended"
        loader.load_state_dict(start)
        assert firsts(batches) == ORDER


def test_async_for_takes_the_same_turns() -> None:
    async def everything(loader: LoadersInTurn) -> list[int]:
        return [first_of(batch) async for batch in loader]

    with in_turn() as loader:
        assert asyncio.run(everything(loader)) == ORDER


def test_async_waiting_that_is_given_up_takes_no_batch() -> None:
    def slowly(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.05)
        return row

    async def main(loader: LoadersInTurn) -> list[int]:
        given_up = 0
        seen: list[int] = []
        batches = aiter(loader)
        while True:
            try:
                seen.append(first_of(await asyncio.wait_for(anext(batches), 0.02)))
            except TimeoutError:
                given_up += 1
                batches = aiter(loader)
            except StopAsyncIteration:
                assert given_up > 3
                return seen

    slow = {
        name: AsyncDataLoader(rows(first, 9).map(slowly), 3, prefetch_buffer_size=1)
        for name, first in (("a", 0), ("b", 100))
    }
    with LoadersInTurn(slow) as loader:
        assert asyncio.run(main(loader)) == [0, 100, 3, 103, 6, 106]


def test_at_gives_the_batch_of_any_step() -> None:
    with in_turn() as loader, in_turn() as other:
        # From every position of a pass, those before it and behind it.
        for taken in range(len(ORDER) + 1):
            state = json.loads(json.dumps(loader.state_dict()))
            steps = range(len(ORDER)) if taken % 4 == 0 else (0, taken, len(ORDER) - 1)
            for step in steps:
                if step < len(ORDER):
                    assert first_of(loader.at(step)) == ORDER[step], (taken, step)
            with pytest.raises(IndexError, match="there are 15 steps, counted from 0"):
                loader.at(15)
            assert loader.state_dict() == state
            if taken < len(ORDER):
                assert first_of(next(iter(loader))) == ORDER[taken]
        assert next(iter(loader), None) is None
        # Steps count on in the next pass.
        assert firsts(loader, 6) == ORDER[:6]
        other.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        for each in (loader, other):
            found = [first_of(each.at(step)) for step in range(15, 30)]
            assert found == ORDER
            with pytest.raises(IndexError, match="there are 30 steps"):
                each.at(30)
            with pytest.raises(ValueError, match=r"step 14 came in a pass .* began with step 15$"):
                each.at(14)
            assert firsts(each) == ORDER[6:]
        assert first_of(loader.at(np.int64(30))) == 0


def test_at_refuses_what_is_no_step() -> None:
    with in_turn() as loader:
        with pytest.raises(TypeError, match=r"^step: must be a whole number, not 1\.5$"):
            loader.at(1.5)  # type: ignore[arg-type]
        with pytest.raises(IndexError, match=r"^step: must be at least 0, not -1$"):
            loader.at(-1)


def test_a_state_that_lacks_something_is_refused() -> None:
    with in_turn() as loader:
        state = loader.state_dict()
        for key in ("turn", "ended", "given", "before"):
            less = {name: value for name, value in state.items() if name != key}
            with pytest.raises(ValueError, match=f"it has no '{key}'"):
                loader.load_state_dict(less)


@pytest.mark.parametrize("key", ["turn", "ended", "given", "before"])
def test_states_of_other_turns_are_not_merged(key: str) -> None:  # E12
    """Also where the loaders themselves stand at the same positions."""
    with in_turn() as loader:
        firsts(loader, 3)
        state = loader.state_dict()
    assert merge_states([state, state]) == state
    other = {"turn": state["turn"] + 1, "ended": ["a"], "given": {}, "before": {"a": 1}}
    with pytest.raises(ValueError, match=rf"states\[1\] and states\[0\] differ in '{key}'"):
        merge_states([state, {**state, key: other[key]}])


def test_the_digest_is_the_sum_of_theirs() -> None:
    with in_turn() as loader:
        assert loader.digest() == "0" * 16
        firsts(loader)
        parts = [int(each.digest(), 16) for each in loader.loaders.values()]
        assert sum(parts) >= 2**64, "the sum goes round"
        assert loader.digest() == f"{sum(parts) % 2**64:016x}"
        whole = loader.digest()
    total = 0
    for rank in range(3):
        with in_turn(rank=rank, world_size=3) as loader:
            firsts(loader)
            total += int(loader.digest(), 16)
    assert f"{total % 2**64:016x}" == whole


@pytest.mark.parametrize("prefetch", [False, True])
def test_explain_names_the_loader_that_is_waited_for(prefetch: bool) -> None:
    def slow(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.004)
        return row

    def loader_of(source: Any) -> AsyncDataLoader:
        return AsyncDataLoader(source, 3, prefetch_enabled=prefetch, prefetch_buffer_size=1)

    sources = {"fast": rows(0, 30), "slow": rows(0, 30).map(slow)}
    with LoadersInTurn({name: loader_of(source) for name, source in sources.items()}) as loader:
        before = loader.explain()
        assert before["bottleneck"] is None
        assert before["sentence"].startswith("Nothing was measured yet")
        firsts(loader)
        found = loader.explain()
    assert set(found) == {"bottleneck", "share", "speedup_if_free", "sentence"}
    assert found["bottleneck"] not in (None, "trainer")
    assert found["share"] > 0.4
    assert found["sentence"].startswith('Of 2 loaders, "slow" is waited for longest. "')


def test_waiting_for_other_loaders_is_not_training() -> None:
    def slow(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.012)  # what starting costs must not matter
        return row

    loaders = {
        name: AsyncDataLoader(rows(0, 30).map(slow), 3, prefetch_enabled=False) for name in "abcd"
    }
    with LoadersInTurn(loaders) as loader:
        firsts(loader)
        # By itself the first takes the time of the three others for the trainer's.
        assert loaders["a"].explain()["bottleneck"] == "trainer"
        found = loader.explain()
    assert found["bottleneck"] != "trainer"
    assert 0.1 < found["share"] < 0.5
    assert 1.1 < found["speedup_if_free"] < 2


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"turn": -3}, "damaged"),
        ({"turn": "x"}, "damaged"),
        ({"ended": ["zz"]}, "damaged"),
        ({"ended": "a"}, "damaged"),
        ({"ended": ["a", "a"]}, "damaged"),
        ({"given": {"a": -5, "b": 0}}, "damaged"),
        ({"before": {"a": 1}}, "damaged"),
        ({"version": 2}, "is of version 2, and this easydata reads 1"),
        ({"loaders": {"a": {}}}, "of other datasets than these loaders"),
    ],
)
def test_a_damaged_state_moves_no_loader(damage: dict[str, Any], said: str) -> None:
    with in_turn() as loader, in_turn() as same:
        next(iter(loader))
        state = loader.state_dict()
        with pytest.raises(ValueError, match=said):
            loader.load_state_dict({**state, **damage})
        name = list(state["loaders"])[-1]
        other = {**state["loaders"], name: {**state["loaders"][name], "plan": {}}}
        for _ in range(3):
            next(iter(loader))
        moved = loader.state_dict()
        with pytest.raises(ValueError, match="of another stream"):
            loader.load_state_dict({**state, "loaders": other})
        assert loader.state_dict() == moved
        with pytest.raises(TypeError, match="state: must be what state_dict"):
            loader.load_state_dict(5)  # type: ignore[arg-type]
        same.load_state_dict(moved)
        assert len(list(same)) == len(list(loader))
