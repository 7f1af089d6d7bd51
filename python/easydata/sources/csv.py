"""Comma- and tab-separated values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from easydata import _native
from easydata.core.choices import Identity, OnError
from easydata.core.config import DatasetConfig
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource, Row


class CsvShardedSource(FileSource):
    """Rows of delimiter-separated files, as `csv.DictReader` gives them: all values are text.

    Fields may be of any length and hold line ends in quotes. A field that a short record lacks is
    None. Of a record with more fields than the header, rows as dicts have the rest as a list under
    the key None; where it becomes columns (tokenizing, saving) it is an error of that row.

    Quotes are read as with `strict=True`: text behind the one that closes a field makes a bad row,
    one that nothing closes is an error of the file. So is a header that has a name twice.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Who asks for files on other machines, and how; see docs/guide/stores.md.
        delimiter: The one character between fields.
        name: What errors, statistics and positions call this source.
        on_error: "raise", "skip" or "quarantine"; see FileSource.
        quarantine_path: The JSONL file for rows in quarantine.
        identity: "mtime", "content" or "size"; see FileSource.
        on_missing: "raise", "skip" or "quarantine"; see FileSource.
    """

    _format = "csv"

    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        delimiter: str = ",",
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
        self._delimiter = delimiter
        self._made_for_rows: _native.Source | None = None

    @classmethod
    def _of_config(
        cls, files: _native.FileListing, kind: str, config: DatasetConfig, options: dict[str, Any]
    ) -> FileSource:
        return cls(files, delimiter="\t" if kind == "tsv" else ",", **options)

    def _format_options(self) -> dict[str, object]:
        return {"delimiter": self._delimiter}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_made_for_rows": None}

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Row]:
        """The rows of a file from row `row` on; records are counted from the file's start."""
        return _native.iterate_rows(self._plan_of_rows().stream(None, [shard_name], row))

    def __iter__(self) -> Iterator[Row]:
        return _native.iterate_rows(self._plan_of_rows().stream())

    def _plan_of_rows(self) -> _native.Plan:
        """The plan of rows that hold what has no column, too."""
        if self._made_for_rows is None:
            options = {**self._format_options(), "keep_rest": True}
            self._made_for_rows = _native.make_source(self._identified(), self._format, options)
        return self._plan_of(self._made_for_rows)
