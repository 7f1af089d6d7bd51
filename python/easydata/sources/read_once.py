"""What can be read once, and what others may look at of it before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class ReadOnce(Generic[T]):
    """Items that can be read once, but for the first of them.

    Args:
        items: Where they come from.
        size: What an item counts of what is kept.
        most: So much of the first items is kept, and no less than one of them.
        refusal: The error of a second reading that gets further than that.
    """

    def __init__(
        self, items: Iterator[T], size: Callable[[T], int], most: int, refusal: str
    ) -> None:
        self._items, self._size, self._most, self._refusal = items, size, most, refusal
        self._kept: list[T] = []
        self._kept_size = 0
        self._read = 0
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[T]:
        """All items.

        Raises:
            ValueError: They were read before, further than is kept of them.
        """
        index = 0
        while (found := self._item(index)) is not None:
            index += 1
            yield found[0]

    def _item(self, index: int) -> tuple[T] | None:
        with self._lock:
            if index < len(self._kept):
                return (self._kept[index],)
            if index < self._read:
                raise ValueError(self._refusal)
            try:
                item = next(self._items)
            except StopIteration:
                return None
            if self._kept_size < self._most:
                self._kept.append(item)
                self._kept_size += self._size(item)
            self._read += 1
            return (item,)
