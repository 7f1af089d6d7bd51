"""Which threads, and how many threads and open files, this process has."""

import os
import time
from collections.abc import Callable
from pathlib import Path


def threads() -> int:
    """The kernel's threads of this process, Python's and the engine's.

    A thread that was joined may stay listed for a moment longer: the fewest of several looks count.
    """
    return min(map(len, _looks()))


def settled(look: Callable[[], int], at_most: int) -> int:
    """What is left once threads that were told to end have ended, or after ten seconds.

    Threads that serve the whole process end two seconds after their last work.
    """
    deadline = time.monotonic() + 10
    while (left := look()) > at_most and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def thread_numbers() -> set[str]:
    """The kernel's numbers of the threads that threads() counts.

    What is in one of these and not in an earlier one began in between: threads of tests before,
    which end when they see fit, change nothing about that.
    """
    return set.intersection(*_looks())


def threads_by_name() -> dict[str, str]:
    """What the kernel calls its threads of this process, by their numbers.

    Those of the engine are called easydata-...; those that Arrow's allocator starts as it sees fit
    are left out.
    """
    names = {number: _name(number) for number in os.listdir("/proc/self/task")}
    return {number: name for number, name in names.items() if name not in ("", "jemalloc_bg_thd")}


def _looks() -> list[set[str]]:
    looks = []
    for _ in range(10):
        looks.append(set(threads_by_name()))
        time.sleep(0.005)
    return looks


def handles() -> int:
    """Open files, sockets and the like."""
    return len(os.listdir("/proc/self/fd"))


def _name(thread: str) -> str:
    """What the kernel calls a thread; nothing where it has ended."""
    try:
        return Path(f"/proc/self/task/{thread}/comm").read_text().strip()
    except OSError:
        return ""
