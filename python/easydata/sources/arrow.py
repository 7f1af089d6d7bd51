"""Arrow IPC."""

from __future__ import annotations

from easydata.sources.files import FileSource


class ArrowShardedSource(FileSource):
    """Rows of Arrow IPC files, of the file and of the stream format.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.
        name: What errors, statistics and positions call this source.
        on_error: "raise", "skip" or "quarantine"; see FileSource.
        quarantine_path: The JSONL file for rows in quarantine.
        identity: "mtime", "content" or "size"; see FileSource.
        on_missing: "raise", "skip" or "quarantine"; see FileSource.
        hive_partitioning: Whether rows have the columns that the folders of their file say; see
            FileSource.
        zstd_max_window: The largest window of a zstd file that is decompressed, as bytes or "2GB";
            None: 128 MB. See DatasetConfig.
    """

    _format = "arrow"
