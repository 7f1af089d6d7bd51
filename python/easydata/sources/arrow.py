"""Arrow IPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from easydata.sources.files import FileSource

if TYPE_CHECKING:
    from easydata import _native


class ArrowShardedSource(FileSource):
    """Rows of Arrow IPC files, of the file and of the stream format.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: For remote files, which come with a later release.
        name: What errors, statistics and positions call this source.
        on_error: "raise", "skip" or "quarantine"; see FileSource.
        quarantine_path: The JSONL file for rows in quarantine.
        identity: "mtime", "content" or "size"; see FileSource.
    """

    _one_schema = False  # rows may differ from file to file; a stream's columns may not

    def _make_source(self, files: _native.FileListing) -> _native.Source:
        from easydata import _native

        return _native.arrow_source(files)
