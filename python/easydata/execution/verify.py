"""Holding files against what is known of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from easydata import _native
from easydata.core.short_repr import short
from easydata.tokenizers.tokenizer import Tokenizer

_Path = str | os.PathLike[str]


@dataclass(frozen=True)
class VerifiedFile:
    """What was found of one file.

    Attributes:
        path: The file.
        rows: Rows that were read.
        tokens: Ids in `input_ids`, less those that `attention_mask` leaves out.
        bytes: Size of the file.
        recorded: Whether the metadata of its output says what must be in it.
        problem: What is wrong with it; empty where it is intact.
    """

    path: str
    rows: int
    tokens: int
    bytes: int
    recorded: bool
    problem: str


@dataclass(frozen=True)
class VerifyReport:
    """What `verify()` found.

    Attributes:
        files: All files, in order of their paths.
    """

    files: list[VerifiedFile] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether all files are intact."""
        return not self.damaged

    @property
    def damaged(self) -> list[VerifiedFile]:
        """The files that something is wrong with."""
        return [file for file in self.files if file.problem]


def verify(
    data: _Path | Sequence[_Path],
    *,
    tokenizer: str | Tokenizer | None = None,
    vocab_size: int | None = None,
    num_threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> VerifyReport:
    """Reads files of training data whole and says which are damaged.

    Of an output of EasyData it checks what `.metadata.json` says: that each shard is there with the
    size and the hash that it was written with, its columns, rows and tokens, and that no other data
    lies beside them. Other files must be readable and have the columns of the first one in their
    folder. Ids in `input_ids` must be from 0 to below the end of the vocabulary.

    Args:
        data: A folder, with those in it; a file; a glob pattern; or several of them.
        tokenizer: The tokenizer of the ids, or its folder.
        vocab_size: What ids are below, instead; neither: the tokenizers that the metadata names.
        num_threads: Files that are read at once; None: one for each core.
        storage_options: Who asks for files on other machines; see docs/guide/stores.md.

    Raises:
        FileNotFoundError: When there are no such files.
        ValueError: When both `tokenizer` and `vocab_size` are given.
    """
    paths = [data] if isinstance(data, str | os.PathLike) else data
    if not isinstance(paths, Sequence) or not all(
        isinstance(each, str | os.PathLike) for each in paths
    ):
        raise TypeError(
            "verify() takes a folder, a file or a pattern, or a list of them, not "
            f"{short(data)}; rows are checked where they lie"
        )
    if tokenizer is not None:
        if vocab_size is not None:
            raise ValueError("tokenizer, vocab_size: both say what the vocabulary is; give one")

        known = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)
        vocab_size = known.id_limit
    found = _native.verify(
        [os.fspath(path) for path in paths],
        vocab_size=vocab_size,
        num_threads=num_threads,
        storage_options=storage_options,
    )
    return VerifyReport([VerifiedFile(**file) for file in found])
