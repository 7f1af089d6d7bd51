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
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.
        jsonl: True reads one object a line (a file that starts with `[` is read as the array it
            is, and one named .json as whichever it turns out to be); False reads one array of
            objects, or one object; None reads whichever of these a file is.
        field: Each file is one object, and the rows are the list under this name in it, whatever
            `jsonl` says; what else the object has is passed over.
        name: What errors, statistics and positions call this source.
        on_error: "raise", "skip" or "quarantine"; see FileSource.
        quarantine_path: The JSONL file for rows in quarantine.
        identity: "mtime", "content" or "size"; see FileSource.
        on_missing: "raise", "skip" or "quarantine"; see FileSource.
        hive_partitioning: Whether rows have the columns that the folders of their file say; see
            FileSource.
        zstd_max_window: The largest window of a zstd file that is decompressed, as bytes or "2GB";
            None: 128 MB. See DatasetConfig.
    """

    _format = "json"

    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        jsonl: bool | None = True,
        *,
        field: str | None = None,
        name: str = "",
        on_error: OnError = "raise",
        quarantine_path: str | os.PathLike[str] | None = None,
        identity: Identity = "mtime",
        on_missing: OnError = "raise",
        hive_partitioning: bool = False,
        zstd_max_window: str | int | None = None,
    ) -> None:
        super().__init__(
            data_files,
            storage_options,
            name=name,
            on_error=on_error,
            quarantine_path=quarantine_path,
            identity=identity,
            on_missing=on_missing,
            hive_partitioning=hive_partitioning,
            zstd_max_window=zstd_max_window,
        )
        if field == "":
            raise ValueError("field: must name a field; without it, the rows are the file's own")
        self._jsonl = jsonl
        self._field = field

    @classmethod
    def _of_config(
        cls, files: _native.FileListing, kind: str, config: DatasetConfig, options: dict[str, Any]
    ) -> FileSource:
        # "json" is any of its forms; "jsonl" is one value a line, whatever the files are called.
        jsonl = None if kind == "json" else True
        return cls(files, jsonl=jsonl, field=config.field, **options)

    def _format_options(self) -> dict[str, object]:
        layout = {True: "lines", False: "document", None: "auto"}[self._jsonl]
        return {"layout": layout, "field": self._field or ""}
