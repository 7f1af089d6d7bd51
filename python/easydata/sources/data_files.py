"""Which files a description of data stands for."""

from __future__ import annotations

import os
from collections.abc import Sequence


def expand_data_files(
    data_files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> list[str]:
    """The files that paths, patterns and folders stand for, sorted and distinct.

    A folder stands for all files below it whose names tell a known format (.parquet .pq .jsonl
    .ndjson .json .arrow .ipc .feather .csv .tsv .txt, each also with .gz .zst .bz2 .lz4). In a
    pattern `**` matches any number of folders. Patterns and folders leave out names that start with
    `_` or `.`, and `metadata.json`.

    Raises:
        FileNotFoundError: Something matches no file; the message says where it was looked for and
            what is near.
        NotImplementedError: A URI: remote files come with a later release.
    """
    from easydata import _native

    items = [data_files] if isinstance(data_files, (str, os.PathLike)) else list(data_files)
    return _native.expand_data_files([os.fspath(item) for item in items])
