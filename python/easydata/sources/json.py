"""JSON and JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from easydata import _native
from easydata.core.takes_options import takes_options_of
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource

if TYPE_CHECKING:
    from easydata.core.signatures import CompressedFileOptions


class JsonShardedSource(FileSource):
    """Rows of JSON files, each exactly what `json.loads` makes of it.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them.
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.
        jsonl: True reads one object a line (a file that starts with `[` is read as the array it
            is, and one named .json as whichever it turns out to be); False reads one array of
            objects, or one object; None reads whichever of these a file is.
        field: Each file is one object, and the rows are the list under this name in it, whatever
            `jsonl` says; what else the object has is passed over.
        options: Those of FileSource.
    """

    _format = "json"

    @takes_options_of(FileSource)
    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        jsonl: bool | None = True,
        *,
        field: str | None = None,
        **options: Unpack[CompressedFileOptions],
    ) -> None:
        super().__init__(data_files, storage_options, **options)
        if field == "":
            raise ValueError("field: must name a field; without it, the rows are the file's own")
        layout = {True: "lines", False: "document", None: "auto"}[jsonl]
        self._format_options = {"layout": layout, "field": field or ""}
