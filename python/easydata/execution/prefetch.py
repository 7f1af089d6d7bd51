"""Reading an iterator ahead."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any, Generic, TypeAlias, TypeVar

T = TypeVar("T")

# An item, the end (None) or what the source raised.
_Items: TypeAlias = "queue.Queue[tuple[Any] | BaseException | None]"

# Seconds between two looks whether to stop.
_POLL = 0.05


def _read(source: Iterator[Any], items: _Items, stop: threading.Event) -> None:
    last: BaseException | None = None
    try:
        for item in source:
            if not _put((item,), items, stop):
                return
    except BaseException as error:  # handed to the reader, whatever it is
        last = error
    _put(last, items, stop)


def _put(item: tuple[Any] | BaseException | None, items: _Items, stop: threading.Event) -> bool:
    while not stop.is_set():
        try:
            items.put(item, timeout=_POLL)
        except queue.Full:
            continue
        return True
    return False


class PrefetchIterator(Generic[T]):
    """Reads an iterator ahead on a thread; gives the same items and exceptions, in order.

    However slow the source is, the end comes when the source ends and not before. The thread starts
    with the first item that is asked for.

    Args:
        source: What is read.
        buffer_size: Items read ahead at most.
        num_workers: Kept for compatibility: an iterator can be read by one thread only.
    """

    def __init__(self, source: Iterator[T], buffer_size: int = 4, num_workers: int = 2) -> None:
        if buffer_size < 1:
            raise ValueError(f"buffer_size must be at least 1, not {buffer_size}")
        if num_workers < 1:
            raise ValueError(f"num_workers must be at least 1, not {num_workers}")
        self._source = source
        self._items: _Items = queue.Queue(buffer_size)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._over = False

    def __iter__(self) -> PrefetchIterator[T]:
        return self

    def __next__(self) -> T:
        if self._over:
            raise StopIteration
        if self._thread is None:
            # The thread knows nothing of this object, which can go while the thread waits.
            self._thread = threading.Thread(
                target=_read,
                args=(self._source, self._items, self._stop),
                name="easydata-prefetch",
                daemon=True,
            )
            self._thread.start()
        while True:
            # Waiting in pieces lets Ctrl-C through, and notices close() from another thread.
            try:
                item = self._items.get(timeout=_POLL)
            except queue.Empty:
                if self._stop.is_set():
                    self._over = True
                    raise StopIteration from None
                continue
            break
        if isinstance(item, tuple):
            value: T = item[0]
            return value
        self._over = True
        if item is None:
            raise StopIteration
        raise item

    def close(self) -> None:
        """Ends the thread, as soon as the source gives back control."""
        self._stop.set()
        self._over = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> PrefetchIterator[T]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_stop"):  # else it was refused its options
            self._stop.set()
