"""How many threads and open files this process has."""

import os
import time
from pathlib import Path


def threads() -> int:
    """The kernel's threads of this process, Python's and the engine's.

    A thread that was joined may stay listed for a moment longer: the fewest of several looks count.
    Arrow's allocator has threads of its own, which come when it sees fit and stay.
    """
    counts = []
    for _ in range(10):
        names = map(_name, os.listdir("/proc/self/task"))
        counts.append(sum(name not in ("", "jemalloc_bg_thd") for name in names))
        time.sleep(0.005)
    return min(counts)


def handles() -> int:
    """Open files, sockets and the like."""
    return len(os.listdir("/proc/self/fd"))


def _name(thread: str) -> str:
    """What the kernel calls a thread; nothing where it has ended."""
    try:
        return Path(f"/proc/self/task/{thread}/comm").read_text().strip()
    except OSError:
        return ""
