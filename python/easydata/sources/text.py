"""Plain text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from easydata import _native
from easydata.core.choices import Identity, OnError
from easydata.core.config import DatasetConfig
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource


class TextShardedSource(FileSource):
    """One row a line, without the line's end; blank lines are rows too.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Who asks for files on other machines, and how; see docs/guide/stores.md.
        text_field: Name of the one field.
        name: What errors, statistics and positions call this source.
        on_error: "raise", "skip" or "quarantine"; see FileSource.
        quarantine_path: The JSONL file for rows in quarantine.
        identity: "mtime", "content" or "size"; see FileSource.
        on_missing: "raise", "skip" or "quarantine"; see FileSource.
    """

    _format = "txt"

    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        text_field: str = "text",
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
        self._text_field = text_field

    @classmethod
    def _of_config(
        cls, files: _native.FileListing, kind: str, config: DatasetConfig, options: dict[str, Any]
    ) -> FileSource:
        return cls(files, text_field=config.content_field, **options)

    def _format_options(self) -> dict[str, object]:
        return {"field": self._text_field}
