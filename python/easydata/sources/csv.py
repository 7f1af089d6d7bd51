"""Comma- and tab-separated values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from easydata import _native
from easydata.core.takes_options import takes_options_of
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource, Row

if TYPE_CHECKING:
    from easydata.core.signatures import CompressedFileOptions


class CsvShardedSource(FileSource):
    """Rows of delimiter-separated files, as `csv.DictReader` gives them: all values are text.

    Fields may be of any length and hold line ends in quotes. A field that a short record lacks is
    None. Of a record with more fields than the header, rows as dicts have the rest as a list under
    the key None; where it becomes columns (tokenizing, saving) it is an error of that row.

    Quotes are read as with `strict=True`: text after the one that closes a field makes a bad row,
    one that nothing closes is an error of the file. So is a header that has a name twice.

    The options have pandas' names where they mean what pandas does. `column_names` is what pyarrow
    and `datasets` call pandas' `names`; `comment` leaves whole lines out, as polars does.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.
        delimiter: The one ASCII character between fields; a tab may be written as a backslash and
            t.
        quotechar: The one ASCII character around fields that hold delimiters or line ends. "":
            nothing is quoted, and quotes are text (`csv.QUOTE_NONE`).
        encoding: How text is encoded, by a name that Python has for it: "latin-1", "cp1252",
            "utf-16", ... A record that cannot be decoded is a row with an error.
        header: Whether the first record names the columns; None: unless `column_names` does. Where
            both do, those of `column_names` are taken.
        column_names: Names of the columns, in their order in the files.
        comment: Lines that begin with this text are left out; within a line it is text.
        options: Those of FileSource.
    """

    _format = "csv"

    @takes_options_of(FileSource)
    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        delimiter: str = ",",
        *,
        quotechar: str = '"',
        encoding: str = "utf-8",
        header: bool | None = None,
        column_names: Sequence[str] | None = None,
        comment: str | None = None,
        **options: Unpack[CompressedFileOptions],
    ) -> None:
        super().__init__(data_files, storage_options, **options)
        dialect = {
            "delimiter": delimiter,
            "quotechar": quotechar,
            "encoding": encoding,
            "header": header,
            "column_names": None if column_names is None else list(column_names),
            "comment": comment,
        }
        self._format_options = {each: value for each, value in dialect.items() if value is not None}
        self._made_for_rows: _native.Source | None = None

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
            self._made_for_rows = self._make({**self._format_options, "keep_rest": True})
        return self._plan_of(self._made_for_rows)
