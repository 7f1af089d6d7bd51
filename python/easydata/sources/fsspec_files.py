"""Files at schemes that the engine does not speak itself, reached through fsspec.

The engine calls `FsspecFiles` from threads of its own, once for each listing, look and range, and
checks and repeats what it asks for: nothing here does.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

# Properties that change with a file's content, by the names that file systems give them.
_TAGS = (
    "ETag",
    "etag",
    "generation",
    "blob_id",
    "sha",
    "sha256",
    "md5Hash",
    "md5",
    "checksum",
)
_TIMES = (
    "mtime",
    "LastModified",
    "last_modified",
    "lastModified",
    "updated",
    "modified",
    "modify",
    "modificationTime",
    "created",
)

# Name, bytes, nanoseconds since 1970 of the last change or 0, "NAME VALUE" of a tag or "".
Entry = tuple[str, int, int, str]


class FsspecFiles:
    """The files of one scheme."""

    def __init__(self, scheme: str, options: Mapping[str, Any]) -> None:
        """Find who knows the scheme.

        Raises:
            NotImplementedError: fsspec is not there, or does not know the scheme, or lacks
                a package for it.
        """
        try:
            import fsspec
        except ImportError:
            raise NotImplementedError(
                f"{scheme}:// is read through fsspec, which is not installed (pip install fsspec)"
            ) from None
        try:
            fsspec.get_filesystem_class(scheme)
        except ImportError as error:
            raise NotImplementedError(
                f"{scheme}:// is read through fsspec, which lacks a package: {error}"
            ) from None
        except ValueError:
            raise NotImplementedError(
                f"{scheme}:// is no scheme that EasyData reads: it knows s3, gs, http, https, "
                "paths of this machine, and what fsspec knows; this is none of them"
            ) from None
        self._options = dict(options)
        self._opened: dict[tuple[int, str], tuple[Any, threading.Lock | None]] = {}

    def _files(self, address: str) -> tuple[Any, threading.Lock | None]:
        """The file system of an address, and what its calls must hold where it needs that."""
        from fsspec.core import url_to_fs

        host = address.split("://", 1)[1].split("/", 1)[0]
        key = (os.getpid(), host)  # none is of use in a fork
        if key not in self._opened:
            files, _ = url_to_fs(address, **self._options)
            # Those that are not made for it may not be used by two threads: one connection of FTP.
            lock = None if getattr(files, "async_impl", False) else threading.Lock()
            self._opened.setdefault(key, (files, lock))
        return self._opened[key]

    @contextlib.contextmanager
    def _open(self, address: str) -> Iterator[tuple[Any, str]]:
        files, lock = self._files(address)
        with lock if lock is not None else contextlib.nullcontext():
            yield files, files._strip_protocol(address)

    def list_folder(self, folder: str, by_folder: bool) -> tuple[list[Entry], list[str]]:
        """Files below a folder by what comes after its address, and folders, with a slash.

        Args:
            folder: An address that ends in a slash.
            by_folder: Only what lies in the folder itself.
        """
        with self._open(folder) as (files, path):
            files.invalidate_cache()
            if by_folder:
                found = files.ls(path, detail=True)
            else:
                found = list(files.find(path, detail=True).values())
        above = path.rstrip("/") + "/"
        entries, folders = [], []
        for info in found:
            name = info["name"]
            # Where all paths begin with a slash, some file systems leave it out.
            if not name.startswith(above):
                name = "/" + name
            if not name.startswith(above) or name == above:
                continue  # the folder itself
            name = name[len(above) :]
            if info["type"] == "directory":
                folders.append(name.rstrip("/") + "/")
            elif info["type"] == "file":
                entries.append(_entry(name, info))
        return entries, folders

    def stat(self, address: str) -> Entry:
        """Size and identity as they are now, not as they were remembered."""
        with self._open(address) as (files, path):
            files.invalidate_cache()
            info = files.info(path)
        if info["type"] != "file":
            raise IsADirectoryError(f"it is a {info['type']}")
        return _entry(address, info)

    def read(self, address: str, begin: int, end: int) -> bytes:
        """What fsspec gives for a range."""
        with self._open(address) as (files, path):
            read: bytes = files.cat_file(path, start=begin, end=end)
            return read


def _entry(name: str, info: Mapping[str, Any]) -> Entry:
    size = info.get("size")
    if not isinstance(size, int):
        raise OSError(f"the size of {name} is not known")
    tag = next((f"{key} {info[key]}" for key in _TAGS if info.get(key)), "")
    time = next((info[key] for key in _TIMES if info.get(key)), None)
    nanoseconds = _nanoseconds(time)
    if not tag and time is not None and nanoseconds == 0:
        tag = f"time {time}"  # in words of its own
    return name, size, nanoseconds, tag


def _nanoseconds(time: object) -> int:
    if isinstance(time, datetime):
        utc = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        return round(utc.timestamp() * 1_000_000) * 1000
    if isinstance(time, int | float):
        return round(time * 1_000_000) * 1000
    return 0
