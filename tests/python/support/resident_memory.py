"""How much memory this process has."""

import ctypes
import os
from pathlib import Path

# The allocators hand back what is freed at once: mimalloc, Arrow's, does so a second later else,
# and the C library's keeps an arena for each of many threads.
GIVES_BACK = {"MIMALLOC_PURGE_DELAY": "0", "MALLOC_ARENA_MAX": "2"}


def resident() -> int:
    """Bytes of memory that are resident now; not the peak so far.

    Asked in a program that was started with GIVES_BACK: in others it tells what the allocators
    keep of anything that ran before, too.
    """
    assert GIVES_BACK.items() <= os.environ.items(), "run what is measured with GIVES_BACK"
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def give_back() -> None:
    """Hands memory that was freed back to the system, as far as the allocators let it go."""
    import pyarrow  # not by those that only look

    # Arrow's allocator is the engine's, too.
    pyarrow.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
