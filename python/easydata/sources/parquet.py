"""Parquet."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from easydata import _native
from easydata.core.choices import Identity, OnError
from easydata.core.config import DatasetConfig
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource
from easydata.sources.rows_in_shards import ShardInfo


@dataclass
class ParquetShardInfo(ShardInfo):
    """What a Parquet file's footer says.

    Attributes:
        num_row_groups: Number of row groups.
    """

    num_row_groups: int = 0


class ParquetShardedSource(FileSource):
    """Rows of Parquet files.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.
        columns: The columns to read; all by default. What is not named is not read from the file.
        name: What errors, statistics and positions call this source.
        on_error: "raise", "skip" or "quarantine"; see FileSource.
        quarantine_path: The JSONL file for rows in quarantine.
        identity: "mtime", "content" or "size"; see FileSource.
        on_missing: "raise", "skip" or "quarantine"; see FileSource.
        hive_partitioning: Whether rows have the columns that the folders of their file say; see
            FileSource.
    """

    _format = "parquet"

    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        columns: Sequence[str] | None = None,
        *,
        name: str = "",
        on_error: OnError = "raise",
        quarantine_path: str | os.PathLike[str] | None = None,
        identity: Identity = "mtime",
        on_missing: OnError = "raise",
        hive_partitioning: bool = False,
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
        )
        self._columns = None if columns is None else list(columns)

    @classmethod
    def _of_config(
        cls, files: _native.FileListing, kind: str, config: DatasetConfig, options: dict[str, Any]
    ) -> FileSource:
        return cls(files, columns=config.columns, **options)

    def get_shard_info(self, shard_name: str) -> ParquetShardInfo:
        """Number, size, rows and row groups of a file."""
        info = super().get_shard_info(shard_name)
        assert info is not None
        groups = self._source.num_blocks(info.shard_id)
        return ParquetShardInfo(**vars(info), num_row_groups=groups)
