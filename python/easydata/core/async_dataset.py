"""Data sets that are read by `await`, and from plain code as well."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
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


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, also where the calling thread has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    result: list[T] = []
    error: list[BaseException] = []

    def work() -> None:
        try:
            result.append(asyncio.run(coroutine))
        except BaseException as raised:
            error.append(raised)

    thread = threading.Thread(target=work, name="easydata-async")
    thread.start()
    thread.join()
    if error:
        raise error[0]
    return result[0]


class AsyncDataset(ABC, Generic[T]):
    """Base of data sets that are read by `await`; plain code may call get() and iterate."""

    @abstractmethod
    async def aget(self, index: int) -> T:
        """The example at `index`."""

    @abstractmethod
    def __aiter__(self) -> AsyncIterator[T]: ...

    async def abatch(self, indices: Sequence[int]) -> list[T]:
        """The examples at `indices`, in that order, read at the same time."""
        return list(await asyncio.gather(*(self.aget(index) for index in indices)))

    def get(self, index: int) -> T:
        """The example at `index`, from plain code."""
        return _run(self.aget(index))

    def __iter__(self) -> Iterator[T]:
        iterator = aiter(self)

        async def step() -> tuple[T] | None:
            try:
                return (await anext(iterator),)
            except StopAsyncIteration:
                return None

        while (item := _run(step())) is not None:
            yield item[0]

    def get_output_sharding(self) -> Any:
        """How examples lie on devices; None: not on devices."""
        return None

    @property
    def is_exhausted(self) -> bool:
        """Whether there is nothing left to read."""
        return False
