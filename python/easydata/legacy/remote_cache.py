"""Copies of files on other machines, kept on this one for a while."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

from easydata import _native

_STEP = 8 << 20


def cached_files(
    listing: _native.FileListing, folder: str | os.PathLike[str], expiry_seconds: float
) -> list[str]:
    """Paths of copies of the listed files, those of this machine as they are.

    A copy is named by its file's address, size and identity: an exchanged file gets another. One
    that is older than `expiry_seconds` is fetched anew. Copies appear whole.
    """
    known = json.loads(listing.to_json())
    paths = []
    for index, (uri, *identity) in enumerate(known):
        if "://" not in uri:
            paths.append(uri)
            continue
        key = hashlib.sha256(json.dumps([uri, *identity]).encode()).hexdigest()[:32]
        path = Path(folder) / key / uri.rsplit("/", 1)[-1]
        if not _is_fresh(path, expiry_seconds):
            _copy(listing.open(index), path)
        paths.append(str(path))
    return paths


def _is_fresh(path: Path, expiry_seconds: float) -> bool:
    try:
        return time.time() - path.stat().st_mtime < expiry_seconds
    except FileNotFoundError:
        return False


def _copy(file: _native.File, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as out:
            for position in range(0, file.size, _STEP):
                out.write(file.read_at(position, _STEP))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
