"""Arrow IPC."""

from __future__ import annotations

from easydata.sources.files import FileSource


class ArrowShardedSource(FileSource):
    """Rows of Arrow IPC files, of the file and of the stream format."""

    _format = "arrow"
