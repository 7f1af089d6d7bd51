"""What sources of files share: a list of files, read by the engine."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from easydata import _native
from easydata.core.choices import Identity
from easydata.core.signatures import FileSourceSignature
from easydata.core.sizes import size_of_option
from easydata.keywords import explain
from easydata.sources.data_files import DataFiles, list_data_files
from easydata.sources.rows_in_shards import ShardInfo
from easydata.sources.sharded_source import PlannedSource, Rewrite, Selection, ShardedDataSource

Row: TypeAlias = dict[str, Any]

_logger = logging.getLogger("easydata")


class FileSource(
    FileSourceSignature,
    PlannedSource[Row],
    options="ErrorPolicy",
    positional=("data_files", "storage_options"),
    types={"quarantine_path": "str | os.PathLike[str] | None"},
    texts={
        "data_files": "A path, a pattern (`**` too), a folder, or a list of them.",
        "storage_options": "Credentials for files on other machines, and how often to retry; see "
        "docs/guide/stores.md.",
        "name": "What errors, statistics and positions call this source.",
        "identity": "How a file that was replaced under the same name is noticed. Files are listed "
        "once, when the source is made. One that is another by then, when its turn comes, is an "
        'OSError that names it, and a saved state of other files is a ValueError. "mtime": the '
        "size and the time of the last change; a copy has another time, unless it was copied with "
        'it (`cp -p`, `rsync -t`). "content": the size and a hash of all bytes, for which every '
        'file is read once more, when the source is first used. "size": the size alone; what a '
        "saved state knows besides is not looked at.",
        "hive_partitioning": "Whether rows have the columns that the folders of their file say, as "
        "Hive, Spark and pyarrow write them: lang=en/year=2024/x.parquet. Every folder counts that "
        "is in the path as it is named here. A column has whole numbers where all of its values "
        "are, else text (None for __HIVE_DEFAULT_PARTITION__), and stands in the place of one of "
        "that name in the file.",
        "zstd_max_window": "The largest window of a file compressed by zstd, which takes as much "
        'memory while it is read: bytes, or "2GB"; None: 128 MB. For formats that may be '
        "compressed.",
    },
):
    """Files read by the engine, one shard each, named by its path."""

    _format = ""
    """The format of the files, by a name of the registry (src/easydata/config/data_formats.h)."""

    _format_options: Mapping[str, object] = {}
    """The options that the format itself has (src/easydata/source/data_format.h)."""

    def _take(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        name: str = "",
        identity: Identity = "mtime",
        hive_partitioning: bool = False,
        zstd_max_window: str | int | None = None,
        *,
        options: dict[str, Any],
    ) -> None:
        on_missing, path = options["on_missing"], options["quarantine_path"]
        _native.check_on_error(options["on_error"], path is not None, on_missing)
        _native.check_identity(identity)
        if not isinstance(data_files, _native.FileListing):
            data_files = list_data_files(
                data_files, storage_options, keeps_missing=on_missing != "raise"
            )
            if storage_options and not any("://" in uri for uri in data_files.uris):
                raise ValueError(
                    "storage_options: say how object stores and web servers are reached, and all "
                    "of the files are on this machine; leave them out"
                )
        elif storage_options:
            raise ValueError("storage_options: a listing has those that it was made with")
        self._listing = data_files
        self._files = self._listing.uris
        self._name = name
        self._errors = {**options, "quarantine_path": _native.user_path(os.fspath(path or ""))}
        self._identity: Identity = identity
        self._hive_partitioning = hive_partitioning
        window = size_of_option("zstd_max_window", zstd_max_window)
        if window is not None and window < 1:
            raise ValueError(f"zstd_max_window: must be at least 1; it is {zstd_max_window!r}")
        self._zstd_max_window = window
        self._made: _native.Source | None = None

    def identified(self) -> _native.FileListing:
        """The listing with the identities that were asked for; hashing is done once."""
        self._listing = self._listing.with_identity(self._identity)
        return self._listing

    @property
    def _source(self) -> _native.Source:
        if self._made is None:
            self._made = self._make(self._format_options)
        return self._made

    def _make(self, options: Mapping[str, object]) -> _native.Source:
        options = dict(options)
        if self._zstd_max_window is not None:
            options["zstd_max_window"] = self._zstd_max_window
        if self._hive_partitioning:
            options["hive_partitioning"] = True
        try:
            return _native.make_source(self.identified(), self._format, options)
        except TypeError as error:
            made = type(self).__init__
            explain(error, type(self).__name__, inspect.signature(made), made, options)
            raise

    def __getstate__(self) -> dict[str, Any]:
        # What the engine remembers of the files is found again by whoever gets the copy.
        return {**super().__getstate__(), "_made": None}

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self._files[0] if len(self._files) == 1 else list(self._files),), {}

    @property
    def shard_names(self) -> Sequence[str]:
        """The files' paths, sorted."""
        return tuple(self._files)

    def __iter__(self) -> Iterator[Row]:
        return _native.iterate_rows(self._stream())

    def _index(self, shard_name: str) -> int:
        try:
            return self._files.index(shard_name)
        except ValueError:
            raise _native.MissingKey(f"there is no shard {shard_name} in {self!r}") from None

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """Number, size and, where the file says so at once, rows of a file."""
        index = self._index(shard_name)
        return ShardInfo(
            shard_id=index,
            shard_name=shard_name,
            num_rows=self._source.known_rows(index),
            byte_size=self._listing.size_of(index),
        )

    def __len__(self) -> int:
        """Rows of all files. Where they do not say, lines or records are counted, once.

        Files that cannot be read have none where `on_missing` leaves them out.
        """
        return sum(self._count(index) for index in range(len(self._files)))

    @property
    def _raises(self) -> bool:
        """Whether no row and no file is left out."""
        return {self._errors["on_error"], self._errors["on_missing"]} == {"raise"}

    def _count(self, index: int) -> int:
        try:
            return self._source.count_rows(index)
        except (OSError, ValueError):
            if self._errors["on_missing"] == "raise":
                raise
            return 0

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Row] | None:
        if not isinstance(rewrite, Selection):
            return None
        if not self._raises:
            raise rewrite.refused(
                "rows that cannot be read are left out here, so that the others have no numbers"
            )
        return SelectedFileRows(self, rewrite.numbers(len(self)))

    # The columns that the source was made to read; all where it is None.
    _columns: Sequence[str] | None = None

    # Types of columns, for files that do not agree on them (DatasetConfig.column_types).
    _column_types: Mapping[str, str] | None = None

    def _make_plan(self) -> _native.Plan:
        return self._plan_of(self._source)

    def _plan_of(self, source: _native.Source) -> _native.Plan:
        return _native.file_rows(
            source,
            _native.SourceStageOptions(
                name=self._name, column_types=self._column_types, **self._errors
            ),
            report=None if self._raises else _logger.warning,
            columns=self._columns,
        )


class FormatSource(FileSource):
    """Rows of files of a format that has no class of its own.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        format: A name of the registry of formats.
        options: Those of FileSource.
    """

    def __init__(
        self, data_files: DataFiles | _native.FileListing, format: str, **options: Any
    ) -> None:
        super().__init__(data_files, **options)
        self._format = format


class SelectedFileRows(PlannedSource[Row]):
    """Rows of files by their numbers among those of all files, as one shard.

    Args:
        files: The files.
        numbers: The rows, in the order in which they come.
    """

    def __init__(self, files: FileSource, numbers: Sequence[int]) -> None:
        self._inputs = (files,)
        self._files = files
        self._numbers = numbers

    shard_names = ("rows",)
    """The one shard's name."""

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """The number of rows."""
        return ShardInfo(shard_id=0, shard_name=shard_name, num_rows=len(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self._files,), {"rows": len(self._numbers)}

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Row] | None:
        if not isinstance(rewrite, Selection):
            return None
        numbers = rewrite.numbers(len(self))
        return SelectedFileRows(self._files, [self._numbers[number] for number in numbers])

    def _make_plan(self) -> _native.Plan:
        return _native.selected_rows(
            self._files._source,
            self._numbers,
            name=self._files._name,
            columns=self._files._columns,
        )
