"""Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from easydata import _native
from easydata.core.takes_options import takes_options_of
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource

if TYPE_CHECKING:
    from easydata.core.signatures import FileOptions
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
        options: Those of FileSource.
    """

    _format = "parquet"

    @takes_options_of(FileSource, without=["zstd_max_window"])
    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        columns: Sequence[str] | None = None,
        **options: Unpack[FileOptions],
    ) -> None:
        super().__init__(data_files, storage_options, **options)
        self._columns = None if columns is None else list(columns)

    def get_shard_info(self, shard_name: str) -> ParquetShardInfo:
        """Number, size, rows and row groups of a file."""
        info = super().get_shard_info(shard_name)
        assert info is not None
        groups = _native.blocks_of(self._source, info.shard_id).count
        return ParquetShardInfo(**vars(info), num_row_groups=groups)
