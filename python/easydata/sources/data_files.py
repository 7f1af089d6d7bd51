"""Which files a description of data stands for."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from easydata import _native
from easydata.core.short_repr import short

DataFiles: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_logger = logging.getLogger("easydata")
_told: set[str] = set()


def expand_data_files(
    data_files: DataFiles, storage_options: Mapping[str, Any] | None = None
) -> list[str]:
    """The files that paths, patterns and folders stand for, sorted and distinct.

    A folder stands for all files below it whose names tell a known format (.parquet .pq .jsonl
    .ndjson .json .arrow .ipc .feather .csv .tsv .txt, each also with .gz .zst .bz2 .lz4 .xz). In a
    pattern `**` matches any number of folders.

    Patterns and folders leave out names that start with `_` or `.`, and `metadata.json`. Beside
    shards of another format they also leave out what models' folders and `datasets.save_to_disk`
    keep there (`config.json`, `dataset_info.json`, `state.json`, `dataset_dict.json`,
    `tokenizer*.json`, `special_tokens_map.json`, `README.md`, and `cache-*.arrow` of a saved
    dataset), nor are the weights and arrays (`.bin`, `.npy`) beside files of other formats; a
    notice names what was left out, once. A file that is named itself is always data.

    Files on object stores (`s3://`, `gs://`) are named in the same ways; on web servers
    (`https://`) they are spelled out or numbered in braces. `storage_options` hold
    credentials; see docs/guide/stores.md.

    Raises:
        FileNotFoundError: Something matches no file; the message says where it was looked for and
            what is near.
        OSError: Something is no regular file, but a FIFO, a socket or a device.
        NotImplementedError: A URI of a scheme that is not known.
    """
    return list_data_files(data_files, storage_options).uris


def list_data_files(
    data_files: DataFiles,
    storage_options: Mapping[str, Any] | None = None,
    *,
    keeps_missing: bool = False,
    commits: dict[str, str] | None = None,
) -> _native.FileListing:
    """The files of `expand_data_files`, each with its size and the time of its last change.

    This is the one look that a job takes at where its data is: what is made of the listing reads
    these files, and refuses others under their names. `keeps_missing`: a file that is named and is
    not there is listed all the same, unless none is there; it is found lost when its turn comes.
    `commits`: see pinned().
    """
    items: list[Any]
    if isinstance(data_files, (str, os.PathLike)):
        items = [data_files]
    elif isinstance(data_files, io.IOBase):
        raise TypeError(
            "data_files: must be a path, not an open file; write its name: "
            f"{getattr(data_files, 'name', '...')!r}"
        )
    elif isinstance(data_files, Iterable):
        items = list(data_files)
    else:
        raise TypeError(
            "data_files: must be a path, a pattern or a folder, or a list of them, not "
            f"{short(data_files)}"
        )
    commits = {} if commits is None else commits
    names = [pinned(os.fspath(item), storage_options, commits) for item in items]
    listing, left_out = _native.list_data_files(names, storage_options, keeps_missing)
    if new := [path for path in left_out if path not in _told]:
        _told.update(new)
        shown = ", ".join(new[:8]) + (f" and {len(new) - 8} more" if len(new) > 8 else "")
        _logger.warning(
            "not read as data: %s, which belong to the data beside them; name such a file itself "
            "to read it",
            shown,
        )
    return listing


def pinned(name: str, storage_options: Mapping[str, Any] | None, commits: dict[str, str]) -> str:
    """A name of files; one on the Hugging Face Hub by the commit that its revision is.

    `commits` has the repositories that were asked for before, at the revisions that were named:
    those whose names share it are at one commit each.
    """
    if not name.startswith("hf://"):
        return name
    repository, path = _native.split_hub_address(name)
    if repository not in commits:
        commits[repository] = _native.pinned_hub_address(repository, storage_options)
    return commits[repository] + path
