"""How much memory this process has."""

import ctypes
import os
from pathlib import Path


def resident() -> int:
    """Bytes of memory that are resident now; not the peak so far."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def give_back() -> None:
    """Hands memory that was freed back to the system, as far as the allocators let it go."""
    import pyarrow  # not by those that only look

    # Arrow's allocator is the engine's, too.
    pyarrow.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
