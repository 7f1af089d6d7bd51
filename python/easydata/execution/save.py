"""Writing rows to shards of Parquet, Arrow or JSONL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from easydata.core.sizes import parse_size
from easydata.core.source import ShardedDataSource

if TYPE_CHECKING:
    from easydata import _native

__all__ = [
    "ArrowWriter",
    "DatasetWriter",
    "JsonlWriter",
    "ParquetWriter",
    "WriteStats",
    "create_writer",
    "parse_size",
    "save_dataset",
    "save_iterator",
]

_Path = str | os.PathLike[str]
_Columns = Sequence[str] | Mapping[str, str]
_Progress = Callable[[dict[str, int]], object]


@dataclass
class WriteStats:
    """What was written.

    Attributes:
        num_examples: Rows.
        num_shards: Files.
        total_bytes: Bytes of the files.
        output_paths: The files, in order.
    """

    num_examples: int = 0
    num_shards: int = 0
    total_bytes: int = 0
    output_paths: list[str] = field(default_factory=list)


class DatasetWriter:
    """Writes a source into a folder of shards, and `metadata.json` when all of it is there.

    A shard gets its name when it is complete. A job that was interrupted and is run again keeps the
    shards that it had finished and writes the rest (with `num_shards` it starts over). The files
    are the same, byte for byte, whatever the number of threads.

    Args:
        output_path: A local folder; made where it does not exist.
        max_shard_size: File size at which a shard is closed, at its next row group.
        num_shards: Exact number of shards instead; runs of 1,024 rows are dealt to them in turn.
        compression: "none", "gzip", "lz4", "zstd" or "snappy", as far as the format has it; None:
            zstd for Parquet, none for the others.
        overwrite: Replace an output that is there already, wholly; else it is an error.
        columns: Columns to write, in this order, or `{name: type}` with types such as "int32",
            "string" or "list<float32>"; None: all. The columns of free-form rows (JSON, Python
            dicts) are those of the first 1,000 rows.
        num_threads: Worker threads; None: one for each core.
        progress: Called with `{"rows", "tokens", "bytes", "shards"}` done so far, up to ten times a
            second.
    """

    format: str = ""

    def __init__(
        self,
        output_path: _Path,
        max_shard_size: str | int = 500 * 2**20,
        num_shards: int | None = None,
        compression: str | None = None,
        overwrite: bool = False,
        *,
        columns: _Columns | None = None,
        num_threads: int | None = None,
        progress: _Progress | None = None,
    ) -> None:
        self._output_path = os.fspath(output_path)
        self._max_shard_size = parse_size(max_shard_size)
        self._num_shards = num_shards
        self._compression = compression
        self._overwrite = overwrite
        self._columns = columns
        self._num_threads = num_threads
        self._progress = progress

    def write(self, source: ShardedDataSource[Any]) -> WriteStats:
        """Writes all rows of a source.

        Raises:
            FileExistsError: When the folder holds an output or other files, and `overwrite` is not
            set.
            OSError: When the folder cannot be written to; the message names the path.
            ValueError: When the source never ends, or a row has a key or a type that no column has.
        """
        source = as_source(source)
        return self._write(source._stream(), resumable=True, in_memory=_in_memory(source))

    def _write(self, stream: _native.Stream, resumable: bool, in_memory: bool) -> WriteStats:
        from easydata import _native

        columns = self._columns
        written = _native.write(
            stream,
            self._output_path,
            format=self.format,
            compression=self._compression or "",
            max_shard_size=self._max_shard_size,
            num_shards=self._num_shards,
            overwrite=self._overwrite,
            resumable=resumable,
            columns=dict(columns) if isinstance(columns, Mapping) else columns,
            sample_rows=-1 if in_memory else 1000,
            num_threads=self._num_threads,
            progress=self._progress,
        )
        shards = written["shards"]
        return WriteStats(
            num_examples=written["rows"],
            num_shards=len(shards),
            total_bytes=written["bytes"],
            output_paths=[os.path.join(self._output_path, shard["name"]) for shard in shards],
        )


class ParquetWriter(DatasetWriter):
    """Writes Parquet; see DatasetWriter."""

    format = "parquet"


class ArrowWriter(DatasetWriter):
    """Writes Arrow IPC files; see DatasetWriter."""

    format = "arrow"


class JsonlWriter(DatasetWriter):
    """Writes JSON lines; see DatasetWriter. Arrays and lists become JSON lists."""

    format = "jsonl"


_WRITERS = {writer.format: writer for writer in (ParquetWriter, ArrowWriter, JsonlWriter)}


def create_writer(
    output_path: _Path,
    format: str = "parquet",
    max_shard_size: str | int = "500MB",
    num_shards: int | None = None,
    compression: str | None = None,
    overwrite: bool = False,
    **options: Any,
) -> DatasetWriter:
    """The writer of a format; the arguments are those of DatasetWriter.

    Raises:
        ValueError: When there is no such format.
    """
    writer = _WRITERS.get(format)
    if writer is None:
        known = ", ".join(_WRITERS)
        raise ValueError(f"format: must be one of {known}, not {format!r}")
    return writer(output_path, max_shard_size, num_shards, compression, overwrite, **options)


def save_dataset(
    source: ShardedDataSource[Any],
    output_path: _Path,
    format: str = "parquet",
    max_shard_size: str | int = "500MB",
    num_shards: int | None = None,
    compression: str | None = None,
    *,
    overwrite: bool = False,
    columns: _Columns | None = None,
    num_threads: int | None = None,
    progress: _Progress | None = None,
) -> WriteStats:
    """Writes a source into a folder of shards; see DatasetWriter for the arguments and errors."""
    return create_writer(
        output_path,
        format,
        max_shard_size,
        num_shards,
        compression,
        overwrite,
        columns=columns,
        num_threads=num_threads,
        progress=progress,
    ).write(source)


def save_iterator(
    iterator: Iterable[Mapping[str, Any]],
    output_path: _Path,
    format: str = "parquet",
    max_shard_size: str | int = "500MB",
    compression: str | None = None,
    *,
    overwrite: bool = False,
    columns: _Columns | None = None,
    num_threads: int | None = None,
    progress: _Progress | None = None,
) -> WriteStats:
    """Writes what an iterator of dicts yields; see DatasetWriter for the arguments and errors.

    An iterator cannot be read twice, so an interrupted job leaves nothing behind to go on from.
    """
    from easydata import _native

    rows = iter(iterator)

    stream = _native.python_stream(
        lambda shard, row: rows, ["iterator"], None, description={"source.kind": "iterator"}
    )
    writer = create_writer(
        output_path,
        format,
        max_shard_size,
        None,
        compression,
        overwrite,
        columns=columns,
        num_threads=num_threads,
        progress=progress,
    )
    return writer._write(stream, resumable=False, in_memory=isinstance(iterator, Sequence))


def as_source(source: Any) -> ShardedDataSource[Any]:
    """The source itself, or one around a `datasets` object or a list of dicts."""
    if isinstance(source, ShardedDataSource):
        return source
    from easydata.sources import wrap_hf_dataset

    return wrap_hf_dataset(source)


def _in_memory(source: object) -> bool:
    """Whether looking at all rows before writing costs no more than looking at some."""
    from easydata.sources import HFDatasetShardedSource

    return isinstance(source, HFDatasetShardedSource) and isinstance(
        getattr(source, "_dataset", None), Sequence
    )
