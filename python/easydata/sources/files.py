"""What sources of files share: a list of files, read by the engine."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from easydata import _native
from easydata.sources.base import ShardedDataSource, ShardInfo, Shuffle
from easydata.sources.data_files import expand_data_files
from easydata.transforms.base import Columns

Row: TypeAlias = dict[str, Any]
DataFiles: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
OnError: TypeAlias = Literal["raise", "skip", "quarantine"]
Identity: TypeAlias = Literal["mtime", "content", "size"]

_logger = logging.getLogger("easydata")


class FileSource(ShardedDataSource[Row]):
    """Files read by the engine, one shard each, named by its path.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: For remote files, which come with a later release.
        name: What errors, statistics and positions call this source.
        on_error: What becomes of rows that cannot be read: "raise" ends with an error, "skip"
            leaves them out, counted and logged, "quarantine" also adds them to `quarantine_path`.
        quarantine_path: The JSONL file for rows in quarantine.
        identity: What tells a file from another one under its name. Files are looked at once, when
            the source is first used. One that is another by then, when its turn comes, is an
            OSError that names it, and a saved state of other files is a ValueError. "mtime": the
            size and the time of the last change; a copy has another time, unless it was copied
            with it (`cp -p`, `rsync -t`). "content": the size and a hash of all bytes, for which
            every file is read once more. "size": the size alone; what a saved state knows besides
            is not looked at.
    """

    _one_schema = True
    """Whether all shards give columns of one schema, so that one stream may read them all."""

    def __init__(
        self,
        data_files: DataFiles,
        storage_options: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        on_error: OnError = "raise",
        quarantine_path: str | os.PathLike[str] | None = None,
        identity: Identity = "mtime",
    ) -> None:
        if storage_options:
            raise NotImplementedError(
                "storage_options are for remote files, which come with a later release of EasyData"
            )
        if on_error not in ("raise", "skip", "quarantine"):
            raise ValueError(f'on_error must be "raise", "skip" or "quarantine", got {on_error!r}')
        if on_error == "quarantine" and quarantine_path is None:
            raise ValueError('on_error="quarantine" needs quarantine_path, the file for the rows')
        if identity not in ("mtime", "content", "size"):
            raise ValueError(f'identity must be "mtime", "content" or "size", got {identity!r}')
        self._files = expand_data_files(data_files)
        self._name = name
        self._on_error = on_error
        self._quarantine_path = "" if quarantine_path is None else os.fspath(quarantine_path)
        self._identity: Identity = identity
        self._made: _native.Source | None = None

    def _make_source(self) -> _native.Source:
        raise NotImplementedError

    @property
    def _source(self) -> _native.Source:
        if self._made is None:
            self._made = self._make_source()
        return self._made

    def __getstate__(self) -> dict[str, Any]:
        # What the engine remembers of the files is found again by whoever gets the copy.
        return {**self.__dict__, "_made": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._files)} files, first {self._files[:1]})"

    @property
    def shard_names(self) -> Sequence[str]:
        """The files' paths, sorted."""
        return tuple(self._files)

    def num_shards(self) -> int:
        """Number of files."""
        return len(self._files)

    def open_shard(self, shard_name: str) -> Iterator[Row]:
        """The rows of a file as dicts, in order. Reading goes on ahead on the engine's threads."""
        return self.open_shard_at_row(shard_name, 0)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Row]:
        """The rows of a file from row `row` on; none where it has no more.

        Parquet is entered by row group, Arrow by record batch, lines of text by an index that is
        built while reading (or by counting line ends); compressed text and JSON arrays are read,
        though not parsed, from their start.
        """
        return _native.iterate_rows(self._open_stream(None, [shard_name], row))

    def __iter__(self) -> Iterator[Row]:
        if not self._one_schema:
            return itertools.chain.from_iterable(map(self.open_shard, self._files))

        return _native.iterate_rows(self._stream())

    def _index(self, shard_name: str) -> int:
        try:
            return self._files.index(shard_name)
        except ValueError:
            raise KeyError(f"there is no shard {shard_name} in {self!r}") from None

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """Number, size and, where the file says so at once, rows of a file."""
        index = self._index(shard_name)
        return ShardInfo(
            shard_id=index,
            shard_name=shard_name,
            num_rows=self._source.known_rows(index),
            byte_size=os.stat(shard_name).st_size,
        )

    def __len__(self) -> int:
        """Rows of all files. Where they do not say, lines or records are counted, once."""
        return sum(self._source.count_rows(index) for index in range(len(self._files)))

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        return self._open_stream(columns, shards, 0)

    def _open_stream(
        self,
        columns: Columns | None,
        shards: Sequence[str] | None,
        start_row: int,
        order: Shuffle | None = None,
    ) -> _native.Stream:
        return self._stream_of(self._source, columns, shards, start_row, order)

    def _shuffled_stream(self, columns: Columns | None, order: Shuffle) -> _native.Stream:
        return self._open_stream(columns, None, 0, order)

    def _stream_of(
        self,
        source: _native.Source,
        columns: Columns | None,
        shards: Sequence[str] | None,
        start_row: int,
        order: Shuffle | None = None,
    ) -> _native.Stream:
        return source.stream(
            None if columns is None else dict(columns),
            None if shards is None else list(shards),
            start_row,
            self._name,
            self._on_error,
            self._quarantine_path,
            None if self._on_error == "raise" else _logger.warning,
            **({} if order is None else vars(order)),
        )

    def _can_seek(self) -> bool:
        return True

    def _stream_from(
        self, columns: Columns | None, shards: Sequence[str] | None, row: int
    ) -> _native.Stream:
        return self._open_stream(columns, shards, row)

    def _peek(self) -> Iterator[Any]:
        # Nothing is logged or put aside, which reading will do.

        on_error = "raise" if self._on_error == "raise" else "skip"
        stream = self._source.stream(name=self._name, on_error=on_error)
        return iter(_native.iterate_rows(stream, ahead=False))
