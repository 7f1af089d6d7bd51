"""Plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from easydata import _native
from easydata.core.choices import SampleBy
from easydata.core.takes_options import takes_options_of
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource

if TYPE_CHECKING:
    from easydata.core.signatures import CompressedFileOptions


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
        options: Those of FileSource.
    """

    _format = "txt"

    @takes_options_of(FileSource)
    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        text_field: str = "text",
        *,
        sample_by: SampleBy = "line",
        **options: Unpack[CompressedFileOptions],
    ) -> None:
        super().__init__(data_files, storage_options, **options)
        _native.check_sample_by(sample_by)
        self._format_options = {"field": text_field, "sample_by": sample_by}
