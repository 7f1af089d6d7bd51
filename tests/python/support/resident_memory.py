"""How much memory this process has."""

import os
from pathlib import Path


def resident() -> int:
    """Bytes of memory that are resident now; not the peak so far."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
