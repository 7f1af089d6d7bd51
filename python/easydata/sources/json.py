"""JSON and JSON lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from easydata import _native
from easydata.core.choices import Identity, OnError
from easydata.core.config import DatasetConfig
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource


class JsonShardedSource(FileSource):
    """Rows of JSON files, each exactly what `json.loads` makes of it.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Who asks for files on other machines, and how; see docs/guide/stores.md.
        jsonl: True reads one object a line (a file that starts with `[` is read as the array it
            is, and one named .json as whichever it turns out to be); False reads one array of
            objects, or one object; None reads whichever of these a file is.
        name: What errors, statistics and positions call this source.
        on_error: "raise", "skip" or "quarantine"; see FileSource.
        quarantine_path: The JSONL file for rows in quarantine.
        identity: "mtime", "content" or "size"; see FileSource.
        on_missing: "raise", "skip" or "quarantine"; see FileSource.
    """

    _format = "json"

    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        jsonl: bool | None = True,
        *,
        name: str = "",
        on_error: OnError = "raise",
        quarantine_path: str | os.PathLike[str] | None = None,
        identity: Identity = "mtime",
        on_missing: OnError = "raise",
    ) -> None:
        super().__init__(
            data_files,
            storage_options,
            name=name,
            on_error=on_error,
            quarantine_path=quarantine_path,
            identity=identity,
            on_missing=on_missing,
        )
        self._jsonl = jsonl

    @classmethod
    def _of_config(
        cls, files: _native.FileListing, kind: str, config: DatasetConfig, options: dict[str, Any]
    ) -> FileSource:
        # "json" is any of its forms; "jsonl" is one value a line, whatever the files are called.
        return cls(files, jsonl=None if kind == "json" else True, **options)

    def _format_options(self) -> dict[str, object]:
        return {"layout": {True: "lines", False: "document", None: "auto"}[self._jsonl]}
