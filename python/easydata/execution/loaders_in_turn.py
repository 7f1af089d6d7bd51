"""Several loaders as one."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from easydata.execution.loader import AsyncDataLoader

Batch = dict[str, Any]


class LoadersInTurn:
    """Takes a batch of each loader in turn, until all have ended.

    A loader that has ended is left out of the turns. Iterating goes on from where the last
    iteration stopped; after the end it starts anew, as the loaders do.

    Args:
        loaders: The loaders by dataset, in the order of their turns.
    """

    def __init__(self, loaders: Mapping[str, "AsyncDataLoader"]) -> None:
        self.loaders = dict(loaders)
        self._turn = 0
        self._ended: list[str] = []

    def __iter__(self) -> Iterator[Batch]:
        names = list(self.loaders)
        running: dict[str, Iterator[Batch]] = {}
        while len(self._ended) < len(names):
            name = names[self._turn % len(names)]
            if name in self._ended:
                self._turn += 1
                continue
            if name not in running:
                running[name] = iter(self.loaders[name])
            batch = next(running[name], None)
            # The turn is over before the batch is out: breaking off must not repeat it.
            self._turn += 1
            if batch is None:
                self._ended.append(name)
            else:
                yield batch
        self._turn, self._ended = 0, []

    async def __aiter__(self) -> AsyncIterator[Batch]:
        import asyncio

        iterator = iter(self)
        while (batch := await asyncio.to_thread(next, iterator, None)) is not None:
            yield batch

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
            "loaders": {name: loader.state_dict() for name, loader in self.loaders.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any], allow: Collection[str] = ()) -> None:
        """Goes on from a state_dict().

        Raises:
            ValueError: When the state is of other datasets, or as a loader's load_state_dict().
        """
        if state.get("version") != 1 or set(state.get("loaders", ())) != set(self.loaders):
            raise ValueError(
                "the state is of other datasets than these loaders; it has "
                f"{sorted(state.get('loaders', ()))}, the pipeline has {sorted(self.loaders)}"
            )
        for name, loader in self.loaders.items():
            loader.load_state_dict(state["loaders"][name], allow)
        self._turn, self._ended = state["turn"], list(state["ended"])

    def stats(self) -> dict[str, Any]:
        """What each loader has done, by dataset."""
        return {name: loader.stats() for name, loader in self.loaders.items()}

    def close(self) -> None:
        """Closes the loaders."""
        for loader in self.loaders.values():
            loader.close()

    def __enter__(self) -> "LoadersInTurn":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
