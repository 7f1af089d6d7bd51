"""Which files a folder of kept rows was used for: for people who ask why rows are not there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from easydata import _native
from easydata.sources.rows_in_shards import RowsInShards, made_of

_NAME = "files_seen.json"
# What is remembered of more would cost more than it tells.
_MOST_FILES = 10_000
# Of one name.
_MOST_IDENTITIES = 8

SeenFiles = dict[str, list[str]]
"""By their names: what told them from others, the newest last."""


@runtime_checkable
class OfFiles(Protocol):
    """A source of files."""

    def identified(self) -> _native.FileListing:
        """Its files, with what tells each from others."""


def listings_of(source: RowsInShards[Any]) -> list[_native.FileListing]:
    """The files that a source reads, as far as it is known what it is made of."""
    return [each.identified() for each in made_of(source) if isinstance(each, OfFiles)]


def named_files(listings: Iterable[_native.FileListing]) -> dict[str, str]:
    """The files of listings by name, each with what tells it from others."""
    found: dict[str, str] = {}
    for listing in listings:
        state, kind, _, _ = listing.__getstate__()
        files = json.loads(state)
        indexes = [file[4] for file in files if len(file) > 4]
        for name, size, time, tag in [*(file[:4] for file in files), *indexes]:
            found[_native.shown_address(name)] = f"{size} {kind} {time} {tag}"
    return found


def seen_files(folder: str) -> SeenFiles:
    """The files that were read through a folder."""
    try:
        found = json.loads((Path(folder) / _NAME).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def note_files(folder: str, files: Mapping[str, str]) -> None:
    """Remembers files; where that fails there is less to tell, and that is all."""
    if len(files) > _MOST_FILES:
        return
    seen = seen_files(folder)
    if all(seen.get(name, [])[-1:] == [identity] for name, identity in files.items()):
        return
    for name, identity in files.items():
        before = [each for each in seen.pop(name, []) if each != identity]
        seen[name] = [*before, identity][-_MOST_IDENTITIES:]
    kept = dict(list(seen.items())[-_MOST_FILES:])
    path = Path(folder) / _NAME
    part = path.with_name(f".{_NAME}.{os.getpid()}.part")
    try:
        part.write_text(json.dumps({"version": 1, "files": kept}), encoding="utf-8")
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
