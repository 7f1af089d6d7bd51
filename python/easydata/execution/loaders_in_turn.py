"""Several loaders as one."""

import bisect
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.core.short_repr import call, table
from easydata.execution.batch_stream import BatchStream, RestOfPass
from easydata.execution.collate import Batch
from easydata.execution.sharding import check_sharded
from easydata.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from easydata.execution.async_loader import AsyncDataLoader


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class LoadersInTurn(BatchStream):
    """Takes a batch of each loader in turn, until all have ended.

    A loader that has ended is left out of the turns. Iterating continues from where the last
    iteration stopped; after the end it starts anew, as the loaders do.

    Args:
        loaders: The loaders by dataset, in the order of their turns.
    """

    def __init__(self, loaders: Mapping[str, "AsyncDataLoader"]) -> None:
        self.loaders = dict(loaders)
        self._turn = 0
        self._ended: list[str] = []
        # Batches that each loader gave in this pass, and in those before.
        self._given = dict.fromkeys(self.loaders, 0)
        self._before = dict.fromkeys(self.loaders, 0)
        # The columns of each loader's first batch: one of sharding_map is to be among them.
        self._columns: dict[str, set[str]] = {}

    def _rows_of_pass(self) -> int:
        return sum(loader._rows_of_pass() for loader in self.loaders.values())

    def _is_begun(self) -> bool:
        return any(loader._is_begun() for loader in self.loaders.values())

    def _paddings(self) -> dict[str, tuple[float, str]]:
        """What rows of each column that came are filled up with, and at which side."""
        found: dict[str, tuple[float, str]] = {}
        for loader in self.loaders.values():
            found.update(loader._paddings())
        return found

    def _tokenizers(self) -> list[Tokenizer]:
        """Those of all loaders."""
        return [each for loader in self.loaders.values() for each in loader._tokenizers()]

    def __repr__(self) -> str:
        return call(type(self).__name__, self.loaders)

    def _repr_html_(self) -> str:
        return table(type(self).__name__, self.loaders)

    def __iter__(self) -> Iterator[Batch]:
        return RestOfPass(self, self._next)

    async def __aiter__(self) -> AsyncIterator[Batch]:
        while (name := self._whose_turn()) is not None:
            # As a loader does: only what is ready is taken, in the event loop's own thread.
            await self.loaders[name]._ready()
            if (batch := self._take(name)) is not None:
                yield batch
        self._start_pass()

    def _next(self) -> Batch | None:
        """The batch of the next turn, or None at the end of the pass; an error moves nothing."""
        while (name := self._whose_turn()) is not None:
            if (batch := self._take(name)) is not None:
                return batch
        self._start_pass()
        return None

    def _whose_turn(self) -> str | None:
        """The loader that gives the next batch, or None where all have ended."""
        names = list(self.loaders)
        if len(self._ended) == len(names):
            return None
        while names[self._turn % len(names)] in self._ended:
            self._turn += 1
        return names[self._turn % len(names)]

    def _take(self, name: str) -> Batch | None:
        """The batch of the loader whose turn it is, or None where it ends."""
        batch = next(iter(self.loaders[name]), None)
        if batch is None:
            self._ended.append(name)
        else:
            if name not in self._columns:
                self._look_at(name, batch)
            self._given[name] += 1
        self._turn += 1
        return batch

    def _look_at(self, name: str, batch: Batch) -> None:
        found = {**self._columns, name: set(batch)}
        if len(found) == len(self.loaders):
            columns = dict.fromkeys(column for each in found.values() for column in each)
            check_sharded(self.loaders[name].get_output_sharding(), columns)
        self._columns = found

    def _start_pass(self) -> None:
        self._turn, self._ended = 0, []
        for name, given in self._given.items():
            self._before[name] += given
        self._given = dict.fromkeys(self.loaders, 0)

    @property
    def rank(self) -> int:
        """Which part of each batch this process gets, from 0: the same of all loaders."""
        return next(iter(self.loaders.values())).rank

    @property
    def world_size(self) -> int:
        """Processes that share the batches."""
        return next(iter(self.loaders.values())).world_size

    def state_dict(self) -> dict[str, Any]:
        """Where every loader stands and whose turn it is; JSON-able."""
        return {
            "version": 1,
            "turn": self._turn,
            "ended": list(self._ended),
            "given": dict(self._given),
            "before": dict(self._before),
            "loaders": {name: loader.state_dict() for name, loader in self.loaders.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any], allow: Collection[str] = ()) -> None:
        """Goes on from a state_dict().

        Raises:
            ValueError: When the state is of other datasets, or as a loader's load_state_dict().
        """
        self._check(state)
        before = self.state_dict()["loaders"]
        try:
            for name, loader in self.loaders.items():
                loader.load_state_dict(state["loaders"][name], allow)
        except BaseException:
            # All of them go on, or none.
            for name, loader in self.loaders.items():
                loader.load_state_dict(before[name])
            raise
        self._turn, self._ended = state["turn"], list(state["ended"])
        self._given, self._before = dict(state["given"]), dict(state["before"])

    def reset(self) -> None:
        """Goes back to the first batches of all loaders, as if nothing had been read."""
        for loader in self.loaders.values():
            loader.reset()
        self._start_pass()
        self._before = dict.fromkeys(self.loaders, 0)

    def _check(self, state: Mapping[str, Any]) -> None:
        """Raises what is wrong with a state of several loaders."""
        if not isinstance(state, Mapping):
            raise TypeError(f"state: must be what state_dict() returned, not {state!r}")
        if state.get("version") != 1:
            raise ValueError(
                f"the state is of version {state.get('version')!r}, and this easydata reads 1"
            )
        loaders = state.get("loaders")
        if not isinstance(loaders, Mapping) or set(loaders) != set(self.loaders):
            raise ValueError(
                "the state is of other datasets than these loaders; it has "
                f"{sorted(loaders or ())}, the pipeline has {sorted(self.loaders)}"
            )
        for key in ("turn", "ended", "given", "before"):
            if key not in state:
                raise ValueError(f"the state is not one of several loaders: it has no {key!r}")
        ended = state["ended"]
        is_whole = (
            _is_count(state["turn"])
            and isinstance(ended, list)
            and all(isinstance(name, str) and name in self.loaders for name in ended)
            and len(set(ended)) == len(ended)
            and all(
                isinstance(counts, Mapping)
                and set(counts) == set(self.loaders)
                and all(map(_is_count, counts.values()))
                for counts in (state["given"], state["before"])
            )
        )
        if not is_whole:
            raise ValueError("the saved state is damaged: whose turn it is cannot be read")

    def stats(self) -> dict[str, Any]:
        """What each loader has done, by dataset."""
        return {name: loader.stats() for name, loader in self.loaders.items()}

    def digest(self) -> str:
        """Hash of the rows handed out since the loaders were made: the sum of theirs, mod 2^64."""
        total = sum(int(loader.digest(), 16) for loader in self.loaders.values())
        return f"{total % 2**64:016x}"

    def explain(self) -> dict[str, Any]:
        """What sets the pace, by the stats() up to here: of the loader that is waited for longest.

        Returns:
            As a loader's explain(); the sentence names the loader. The shares are of the whole time
            of a round of turns; waiting for the other loaders is none of the trainer's work.
        """
        stats = self.stats()
        waits = {name: each["wait_seconds"].get("loader", 0.0) for name, each in stats.items()}
        name = max(waits, key=lambda name: waits[name])
        waiting = sum(waits.values())
        # The loader whose turn came first saw all of the time.
        whole = max(waits[name] + stats[name]["busy_seconds"]["trainer"] for name in stats)
        found = self.loaders[name]._native.explain(
            max(0.0, whole - waiting), elsewhere=waiting - waits[name]
        )
        if found["bottleneck"] is not None:
            found["sentence"] = (
                f'Of {len(waits)} loaders, "{name}" is waited for longest. {found["sentence"]}'
            )
        return found

    def at(self, step: int) -> Batch:
        """The batch of a step, as iterating gives it; the loaders stay where they are.

        The step's own loader reads it, and each of the others as far as it takes to know that it
        has not ended before.

        Args:
            step: Number of the batch, counted from 0 over all passes.

        Raises:
            IndexError: When there are fewer steps up to the end of this pass.
            ValueError: When it came in a pass before this one: where those ended is not kept.
        """
        step = _native.whole_number("step", step)
        if step < 0:
            raise IndexError(f"step: must be at least 0, not {step}")
        first = sum(self._before.values())
        if step < first:
            raise ValueError(
                f"step {step} came in a pass before this one, and where loaders ended in that is "
                f"not kept; this pass began with step {first}"
            )
        ends = {name: self._given[name] for name in self._ended}
        while (found := _batch_of_step(step - first, list(self.loaders), ends)) is not None:
            name, number = found
            if self._find_end(name, number, ends):
                continue
            try:
                return self.loaders[name].at(self._before[name] + number)
            except IndexError:
                ends[name] = self._steps_up_to(name, number)
        raise IndexError(
            f"there is no step {step}: up to the end of this pass there are "
            f"{first + sum(ends.values())} steps, counted from 0"
        )

    def _find_end(self, name: str, number: int, ends: dict[str, int]) -> bool:
        """Whether one of the others ends before batch `number` of a loader; then `ends` has it."""
        needed = number + 1  # of those whose turn comes first
        for other in self.loaders:
            if other == name:
                needed = number
            elif other not in ends and needed > self._given[other]:
                steps = self._steps_up_to(other, needed)
                if steps < needed:
                    ends[other] = steps
                    return True
        return False

    def _steps_up_to(self, name: str, most: int) -> int:
        """The batches of a loader in this pass, or `most` where they are more."""
        before = self._before[name]
        return self.loaders[name]._native.steps_up_to(before + most) - before

    def close(self) -> None:
        """Closes the loaders."""
        for loader in self.loaders.values():
            loader.close()


def _batch_of_step(step: int, names: list[str], ends: Mapping[str, int]) -> tuple[str, int] | None:
    """Whose batch a step of a pass is, and the number of that batch among the loader's own.

    None where the loaders have fewer steps by `ends`, the batches of those that end.
    """

    def steps_before(number: int) -> int:
        """The steps before the turns that give batches of this number."""
        return sum(min(ends.get(name, number), number) for name in names)

    number = bisect.bisect_right(range(step + 1), step, key=steps_before) - 1
    running = [name for name in names if ends.get(name, number + 1) > number]
    turn = step - steps_before(number)
    return (running[turn], number) if turn < len(running) else None
