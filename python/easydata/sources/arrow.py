"""Arrow IPC."""

from __future__ import annotations

from easydata.sources.files import FileSource


class ArrowShardedSource(FileSource):
    """Rows of Arrow IPC files, of the file and of the stream format.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Who asks for files on other machines, and how; see docs/guide/stores.md.
        name: What errors, statistics and positions call this source.
        on_error: "raise", "skip" or "quarantine"; see FileSource.
        quarantine_path: The JSONL file for rows in quarantine.
        identity: "mtime", "content" or "size"; see FileSource.
    """

    _format = "arrow"
