"""One computation of a key at a time, among the threads and processes of a folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from easydata.cache.said_once import SaidOnce

_LOGGER = logging.getLogger("easydata")


@dataclass
class _Seat:
    """A key that threads of this process want to compute."""

    lock: Any = field(default_factory=threading.RLock)
    is_taken: bool = False
    users: int = 0
    descriptor: int | None = None


_guard = threading.Lock()
_seats: dict[str, _Seat] = {}


@contextlib.contextmanager
def alone(folder: Path, name: str, said: SaidOnce) -> Iterator[None]:
    """Waits until no one else computes the key of this name.

    The lock is the system's, of a file for each key, and goes with the process. A key has a lock of
    its own, since a computation may ask for other keys. Where the file system has no locks, or the
    folder cannot be written, processes compute twice, which is said once.
    """
    path = folder / name
    with _guard:
        seat = _seats.setdefault(str(path), _Seat())
        seat.users += 1
    try:
        with seat.lock:
            if seat.is_taken:
                yield  # this thread computes this very key already
                return
            seat.is_taken = True
            try:
                seat.descriptor = _locked(path, said)
                yield
            finally:
                _release(path, seat)
    finally:
        with _guard:
            seat.users -= 1
            if seat.users == 0:
                _seats.pop(str(path), None)


def _locked(path: Path, said: SaidOnce) -> int | None:
    try:
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                _wait_for(descriptor, path)
                # Who computed before us has removed the file: then it is no lock any more.
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.stat(path), os.fstat(descriptor)):
                        return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
    except OSError as error:
        said.warn(
            "locks",
            f"the cache {path.parent} cannot be locked ({error}): several processes may compute "
            "the same",
        )
        return None


def _wait_for(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        _LOGGER.info("waiting for another process that computes %s", path)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _release(path: Path, seat: _Seat) -> None:
    descriptor, seat.descriptor, seat.is_taken = seat.descriptor, None, False
    if descriptor is not None:
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(path), os.fstat(descriptor)):
                os.unlink(path)
        # Said, and not left to closing: a child of a fork may have the file open, too.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def remove_left_locks(folder: Path) -> None:
    """Removes the files of locks that died with their processes."""
    with contextlib.suppress(OSError):
        for each in os.listdir(folder):
            descriptor = os.open(folder / each, os.O_RDWR | os.O_CLOEXEC)
            try:
                with contextlib.suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if os.path.samestat(os.stat(folder / each), os.fstat(descriptor)):
                        os.unlink(folder / each)
            finally:
                os.close(descriptor)


def _forked() -> None:
    """In the child of a fork: what others compute is not computed here."""
    global _guard
    _guard = threading.Lock()
    for seat in _seats.values():
        if seat.descriptor is not None:
            # The lock is the parent's; it must not outlive it with us.
            os.close(seat.descriptor)
            seat.descriptor = None
    _seats.clear()


os.register_at_fork(after_in_child=_forked)
