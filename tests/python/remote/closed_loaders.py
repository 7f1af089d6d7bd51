"""Loaders that are closed while they wait for a server."""

from __future__ import annotations

import threading
import time
from typing import Any


def check_closing_ends_reading(batches: Any) -> None:
    """Closing a loader ends, within a second, one who reads from it on another thread."""
    ended: list[Exception] = []
    reading = threading.Thread(target=_read, args=(batches, ended), daemon=True)
    reading.start()
    time.sleep(0.3)
    begin = time.monotonic()
    batches.close()
    assert time.monotonic() - begin < 1
    reading.join(1)
    assert not reading.is_alive()
    assert [str(error) for error in ended] == ["the loader is closed; make a new one"]


def _read(batches: Any, ended: list[Exception]) -> None:
    try:
        list(iter(batches))
    except ValueError as error:
        ended.append(error)
