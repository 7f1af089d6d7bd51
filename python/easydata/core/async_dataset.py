"""Datasets that are read by `await`, and from plain code as well."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@runtime_checkable
class AsyncDatasetProtocol(Protocol[T_co]):
    """What code that reads by `await` asks for."""

    async def aget(self, index: int) -> T_co:
        """The example at `index`."""
        ...

    def __aiter__(self) -> AsyncIterator[T_co]: ...


@contextmanager
def _one_loop() -> Iterator[Callable[[Coroutine[Any, Any, T]], T]]:
    """What runs coroutines in one event loop, one after the other.

    The loop is on a thread of its own where the calling thread has a running one already.
    """
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    runner = asyncio.Runner()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with runner:
            yield runner.run
        return
    with ThreadPoolExecutor(1, "easydata-async") as thread:
        try:
            yield lambda coroutine: thread.submit(runner.run, coroutine).result()
        finally:
            thread.submit(runner.close).result()


# What a stream says to torch's DataLoader and to trainers, which ask for a length.
NO_LENGTH = (
    "a loader makes batches itself, and has no length and no rows by number; for a Trainer of "
    "transformers take train_dataset=easydata.torch.dataset(loader, for_trainer=True), for TRL "
    "source.to_hf(), for EasyDeL the source itself, for torch's DataLoader(..., batch_size=None) "
    "easydata.torch.dataset(loader, batches=True)"
)


class AsyncDataset(ABC, Generic[T]):
    """Base of datasets that are read by `await`; plain code may call get() and iterate."""

    @abstractmethod
    async def aget(self, index: int) -> T:
        """The example at `index`."""

    @abstractmethod
    def __aiter__(self) -> AsyncIterator[T]: ...

    async def abatch(self, indices: Sequence[int]) -> list[T]:
        """The examples at `indices`, in that order, read at the same time."""
        import asyncio

        return list(await asyncio.gather(*(self.aget(index) for index in indices)))

    def get(self, index: int) -> T:
        """The example at `index`, from plain code."""
        with _one_loop() as run:
            return run(self.aget(index))

    def __iter__(self) -> Iterator[T]:
        iterator = aiter(self)

        async def step() -> tuple[T] | None:
            try:
                return (await anext(iterator),)
            except StopAsyncIteration:
                return None

        # One loop for all steps: the end of a loop ends its asynchronous generators.
        with _one_loop() as run:
            while (item := run(step())) is not None:
                yield item[0]

    def get_output_sharding(self) -> Any:
        """How examples lie on devices; None: not on devices."""
        return None

    @property
    def is_exhausted(self) -> bool:
        """Whether there is nothing left to read."""
        return False
