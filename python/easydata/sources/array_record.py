"""ArrayRecord files."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, Unpack

from easydata import _native
from easydata.core.takes_options import takes_options_of
from easydata.sources.data_files import DataFiles, list_data_files
from easydata.sources.files import FileSource

if TYPE_CHECKING:
    from easydata.core.signatures import FileOptions


def records_of(files: _native.FileListing) -> Any:
    """What the records of files are, by the metadata of our outputs; else text.

    Raises:
        ValueError: Two files differ.
    """
    found: dict[str, str] = {}
    for uri, output in zip(files.uris, _native.recorded_outputs(files), strict=True):
        found.setdefault("text" if output is None else output.get("records", "text"), uri)
    if len(found) > 1:
        (one, first), (other, second), *_ = found.items()
        raise ValueError(
            f"the records of {first} are {one}, those of {second} are {other}; read them as two "
            "datasets, or say by decode what they are"
        )
    return next(iter(found), "text")


class ArrayRecordShardedSource(FileSource):
    """One row a record. Each byte that is read is checked by its hash; a record is found at once.

    The records of a damaged chunk are bad rows.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.
        column: Name of the one field; None: "text", "input_ids" or "record", by `decode`.
        decode: What records are: "text" (UTF-8), "int32" (tokens, little-endian), "bytes", or
            "json" (an object each, whose fields are the row's); None: what the metadata of an
            output of ours says, and text where there is none.
        options: Those of FileSource.
    """

    _format = "array_record"

    @takes_options_of(FileSource, without=["zstd_max_window"])
    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        column: str | None = None,
        decode: Literal["text", "int32", "bytes", "json"] | None = None,
        **options: Unpack[FileOptions],
    ) -> None:
        super().__init__(data_files, storage_options, **options)
        decode = decode or records_of(self._listing)
        self._format_options = {"column": column or "", "decode": decode}


class ArrayRecordDataSource:
    """Records of files by number, as bytes: the first file's come first, in the order of names.

    A number is looked up in a table, whatever the size of the files. Parts of files of this machine
    that were read stay in memory, 256 MB in a process at most, as they were then. Threads may share
    it; a pickled copy opens the same files, which must be as they were.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.

    Raises:
        OSError: A file is damaged, or no ArrayRecord file.
    """

    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(data_files, _native.FileListing):
            data_files = list_data_files(data_files, storage_options)
        self._files = data_files
        self._records = _native.RecordFiles(data_files)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, record: SupportsIndex) -> bytes:
        return self._records.read(operator.index(record))

    def __getitems__(self, records: Sequence[int]) -> list[bytes]:
        """Several records, in this order; what lies near together is read at once."""
        return self._records.read_many(list(records))

    def __repr__(self) -> str:
        return f"ArrayRecordDataSource({len(self)} records)"
