"""Plain text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from easydata import _native
from easydata.core.choices import Identity, OnError, SampleBy
from easydata.core.config import DatasetConfig
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource


class TextShardedSource(FileSource):
    """One row a line, without the line's end; or a paragraph, or a file.

    Blank lines are rows, too; an empty paragraph or file is none.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.
        text_field: Name of the one field.
        sample_by: What is a row, as in `datasets`: "line"; "paragraph", which two line ends end;
            or "document", all of a file. Within paragraphs and documents line ends are those of
            Unix, whichever the file has.
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

    _format = "txt"

    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        text_field: str = "text",
        *,
        sample_by: SampleBy = "line",
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
        _native.check_sample_by(sample_by)
        self._text_field = text_field
        self._sample_by: SampleBy = sample_by

    @classmethod
    def _of_config(
        cls, files: _native.FileListing, kind: str, config: DatasetConfig, options: dict[str, Any]
    ) -> FileSource:
        unit = config.sample_by
        return cls(files, text_field=config.content_field, sample_by=unit, **options)

    def _format_options(self) -> dict[str, object]:
        return {"field": self._text_field, "sample_by": self._sample_by}
