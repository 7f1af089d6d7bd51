"""Files by name and by byte, wherever they lie."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from easydata import _native
from easydata.sources.data_files import expand_data_files, list_data_files


class RemoteFileSystem:
    """Files on object stores, web servers and this machine, as sources read them.

    Args:
        storage_options: Credentials, and how often to retry; see docs/guide/stores.md.
    """

    def __init__(self, storage_options: Mapping[str, Any] | None = None) -> None:
        self._options = storage_options

    def glob(self, pattern: str | os.PathLike[str]) -> list[str]:
        """The files that a name, pattern, folder or braces stand for; see expand_data_files()."""
        return expand_data_files(pattern, self._options)

    def size(self, path: str | os.PathLike[str]) -> int:
        """Bytes of a file."""
        return self._open(path).size

    def exists(self, path: str | os.PathLike[str]) -> bool:
        """Whether a name stands for files."""
        try:
            return bool(self.glob(path))
        except FileNotFoundError:
            return False

    def cat_file(
        self, path: str | os.PathLike[str], start: int = 0, end: int | None = None
    ) -> bytes:
        """The bytes of a file from `start` to before `end`."""
        file = self._open(path)
        return file.read_at(start, max((file.size if end is None else end) - start, 0))

    def _open(self, path: str | os.PathLike[str]) -> _native.File:
        listing = list_data_files(path, self._options)
        if len(listing) != 1:
            raise IsADirectoryError(f"{os.fspath(path)} stands for {len(listing)} files; name one")
        return listing.open(0)
