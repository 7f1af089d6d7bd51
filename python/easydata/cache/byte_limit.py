"""Keeps the entries of a folder below a number of bytes."""

from __future__ import annotations

import contextlib
from typing import Any

from easydata.cache.entry_folder import EntryFolder, seen

# Below the limit by so much, so that not each entry costs a look at all of them; and after so much
# of our own we look again, since other processes write, too.
_ROOM = 1 / 10
_OURS = 1 / 16


def checked_limit(max_bytes: Any) -> int | None:
    """The option of this name."""
    if max_bytes is None:
        return None
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int):
        raise TypeError(f"max_bytes is {max_bytes!r}: give a number of bytes, or None for no limit")
    if max_bytes < 1:
        raise ValueError(f"max_bytes is {max_bytes}: give 1 or more, or None for no limit")
    return max_bytes


class ByteLimit:
    """Removes the entries unused for longest when there are too many bytes.

    Attributes:
        max_bytes: Of all entries together; None: there is no limit.
    """

    def __init__(self, folder: EntryFolder, max_bytes: int | None) -> None:
        self.max_bytes = max_bytes
        self._folder = folder
        self._others: int | None = None  # bytes at the last look
        self._ours = 0  # and those written since, by this process

    def wrote(self, size: int) -> int:
        """Makes room where an entry of so many bytes was written; how many others went for it."""
        if self.max_bytes is None:
            return 0
        self._ours += size
        room = 0 if self._others is None else self.max_bytes - self._others
        if self._ours <= min(room, self.max_bytes * _OURS):
            return 0
        return self._make_room(self.max_bytes)

    def _make_room(self, most: int) -> int:
        entries = []
        with contextlib.suppress(OSError):
            for each in self._folder.entries():
                with contextlib.suppress(FileNotFoundError):
                    entries.append((seen(each.stat()), each.name.partition(".")[0]))
        total = sum(found.size for found, _ in entries)
        removed = 0
        if total > most:
            for found, name in sorted(entries, key=lambda entry: entry[0].last_use):
                if total <= most * (1 - _ROOM) or removed == len(entries) - 1:
                    break
                with contextlib.suppress(OSError):
                    if self._folder.look(name) == found:  # and not used meanwhile
                        self._folder.remove(name)
                    total -= found.size
                    removed += 1
        self._others, self._ours = total, 0
        return removed
