"""How many threads this process has."""

import os
import time


def threads() -> int:
    """The kernel's threads of this process, Python's and the engine's.

    A thread that was joined may stay listed for a moment longer: the fewest of several looks count.
    """
    counts = []
    for _ in range(10):
        counts.append(len(os.listdir("/proc/self/task")))
        time.sleep(0.005)
    return min(counts)
