"""Token files of other programs: nanoGPT, llm.c, Megatron-LM, numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from easydata import _native
from easydata.core.choices import TokenType
from easydata.core.takes_options import takes_options_of
from easydata.sources.data_files import DataFiles
from easydata.sources.files import FileSource

if TYPE_CHECKING:
    from easydata.core.signatures import FileOptions


class TokenFilesShardedSource(FileSource):
    """Rows of tokens, as `input_ids`, of files that hold nothing else; nothing tokenizes them.

    Four kinds are known: bare tokens (.bin, as nanoGPT writes them), the same behind llm.c's
    header, the .bin and .idx of Megatron-LM, of which each document is a row, and numpy's .npy of
    one or two dimensions. Files are read a piece at a time, never mapped; a row is found without
    reading those before it, but for documents that an EOS ends, which are counted. A number that is
    no int32 makes a bad row.

    Args:
        data_files: A path, a pattern (`**` too), a folder, or a list of them. Of Megatron's pairs
            either name does.
        storage_options: Credentials for files on other machines, and how often to retry; see
            docs/guide/stores.md.
        dtype: The type of bare tokens, "uint16" in nanoGPT; other files say theirs.
        document_eos: The token that ends each document: a row is a document, with that token. For
            bare tokens, and .npy files of one dimension.
        row_tokens: In place of it, a length of rows; the last row of a file may be shorter.
        options: Those of FileSource.
    """

    @takes_options_of(FileSource, without=["zstd_max_window"])
    def __init__(
        self,
        data_files: DataFiles | _native.FileListing,
        storage_options: Mapping[str, Any] | None = None,
        *,
        dtype: TokenType | None = None,
        document_eos: int | None = None,
        row_tokens: int | None = None,
        **options: Unpack[FileOptions],
    ) -> None:
        super().__init__(data_files, storage_options, **options)
        kinds = {_native.format_of_name(uri) for uri in self._files}
        self._format = "npy" if kinds == {"npy"} else "bin"
        given = {"dtype": dtype, "document_eos": document_eos, "row_tokens": row_tokens}
        self._format_options = {each: value for each, value in given.items() if value is not None}
