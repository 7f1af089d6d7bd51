"""The folder of a cache's entries, within a folder of the user's.

    <cache_dir>/easydata_entries/       ours: nothing outside of it is touched
        CACHEDIR.TAG                    says so, to people and to programs that make backups
        <32 hexadecimal digits>.data    an entry, by the SHA-256 of its key
        writing/                        entries that are being written
        locks/                          of keys that are being computed
        damaged/                        entries that were not what was written

Entries appear by renaming, whole. Files are told by names: others are left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from easydata import _native
from easydata.cache import ages

_TAG = """Signature: 8a477f597d28d172789f06886806bc55
# This folder holds entries of caches of EasyData (docs/formats/cache_entries.md).
# It may be deleted at any time; what was cached is computed again.
"""
_ENTRY = re.compile(r"[0-9a-f]{32}\.data")
_WRITTEN = re.compile(r"[0-9a-f]{32}\.[0-9a-f]{16}")
# What is being written for longer than this is written by no one.
_ABANDONED = 86_400.0


def cache_path(cache_dir: Any) -> Path:
    """The folder that a user names, of this machine.

    Raises:
        ValueError: It is no folder, or on a store.
    """
    path = os.fspath(cache_dir)
    if not isinstance(path, str):
        raise TypeError(f"cache_dir is {cache_dir!r}: give a path as text")
    scheme, is_address, _ = path.partition("://")
    if is_address and scheme != "file":
        raise ValueError(f"cache_dir is {path!r}: a cache's folder must be on this machine")
    made = Path(_native.user_path(path))
    if made.exists() and not made.is_dir():
        raise ValueError(f"cache_dir is {path!r}, which is a file: give a folder")
    return made


def entry_name(key: str) -> str:
    """32 hexadecimal digits for a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True)
class Seen:
    """An entry's file as it is now.

    Attributes:
        identity: Tells it from what stood, and will stand, under its name.
        size: Its bytes.
        last_use: Seconds since 1970 of its last use or, before any, of its writing.
    """

    identity: tuple[int, int, int]
    size: int
    last_use: float


class EntryFolder:
    """The folder of entries in `cache_dir`.

    Attributes:
        path: The folder itself.
    """

    def __init__(self, cache_dir: Path, name: str = "easydata_entries") -> None:
        self.path = cache_dir / name

    def file(self, name: str) -> Path:
        """The file of an entry."""
        return self.path / f"{name}.data"

    def part(self, name: str) -> Path:
        """A folder in ours, which is made where it is not there.

        Raises:
            OSError: It cannot be made.
        """
        path = self.path / name
        if not path.is_dir():
            path.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError), open(self.path / "CACHEDIR.TAG", "x") as tag:
                tag.write(_TAG)
        return path

    def look(self, name: str) -> Seen | None:
        """What is known of an entry's file without opening it; None where there is none."""
        try:
            found = os.stat(self.file(name))
        except OSError:
            return None
        return seen(found)

    def open(self, name: str) -> BinaryIO:
        """An entry's file.

        Raises:
            OSError: It is not there, or cannot be read.
        """
        path, flags = self.file(name), os.O_RDONLY | os.O_CLOEXEC
        try:
            descriptor = os.open(path, flags | getattr(os, "O_NOATIME", 0))
        except PermissionError:  # somebody else's: only its owner may read without leaving a trace
            descriptor = os.open(path, flags)
        return os.fdopen(descriptor, "rb")

    def write(self, name: str, parts: Sequence[bytes]) -> Seen:
        """Puts an entry's file in place of what there is, at once.

        Raises:
            OSError: It cannot be written; then what there was is still there.
        """
        written = self.part("writing") / f"{name}.{secrets.token_hex(8)}"
        try:
            with open(written, "xb", buffering=0) as file:
                for each in parts:
                    rest = memoryview(each)
                    while rest:
                        rest = rest[file.write(rest) :]
                # Its identity: two writings never happen in the same nanosecond of a clock.
                moment = int(ages.now() * 1e9) + secrets.randbelow(1000)
                os.utime(file.fileno(), ns=(moment, moment))
                os.fsync(file.fileno())
                found = os.fstat(file.fileno())
            os.replace(written, self.file(name))
        except BaseException:
            with contextlib.suppress(OSError):
                written.unlink()
            raise
        return seen(found)

    def note_use(self, name: str, found: Seen) -> None:
        """Writes down that an entry is used now; others' files keep their times."""
        with contextlib.suppress(OSError), self.open(name) as file:
            if seen(os.fstat(file.fileno())).identity == found.identity:
                os.utime(file.fileno(), ns=(int(ages.now() * 1e9), found.identity[2]))

    def remove(self, name: str) -> None:
        """Removes an entry's file.

        Raises:
            OSError: It is there and cannot be removed.
        """
        self.file(name).unlink(missing_ok=True)

    def set_aside(self, name: str, found: Seen) -> None:
        """Puts a damaged file where nobody reads it, unless it is another one by now."""
        with contextlib.suppress(OSError):
            now = self.look(name)
            if now is not None and now.identity == found.identity:
                os.replace(self.file(name), self.part("damaged") / f"{name}.data")

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """The entries' files, in no order."""
        return _files(self.path, _ENTRY)

    def remove_all(self) -> None:
        """Removes all entries, what is damaged, and what is being written by no one.

        Raises:
            OSError: One is there and cannot be removed.
        """
        for each in (*self.entries(), *_files(self.path / "damaged", _ENTRY)):
            Path(each.path).unlink(missing_ok=True)
        for each in _files(self.path / "writing", _WRITTEN):
            with contextlib.suppress(FileNotFoundError):
                if ages.now() - each.stat().st_mtime > _ABANDONED:
                    Path(each.path).unlink()


def seen(found: os.stat_result) -> Seen:
    """What a file's `stat` says of an entry."""
    # The time of access is ours to set: files are opened so that the system leaves it alone.
    return Seen((found.st_ino, found.st_size, found.st_mtime_ns), found.st_size, found.st_atime)


def _files(folder: Path, names: re.Pattern[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            for each in found:
                if names.fullmatch(each.name) and each.is_file(follow_symlinks=False):
                    yield each
    except FileNotFoundError:
        return
