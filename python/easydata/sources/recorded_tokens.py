"""Tokens that text is asked of: whose they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from easydata import _native
from easydata.sources.files import FileSource
from easydata.sources.rows_in_shards import made_of
from easydata.sources.sharded_source import ShardedDataSource
from easydata.tokenizers.tokenizer import Tokenizer


def refusal_of_tokens(
    source: ShardedDataSource[Any], content_field: str, tokenizer: Tokenizer
) -> ValueError:
    """The error for rows that have tokens and no `content_field` to make any of.

    It names the tokenizer that made them, where the metadata of an output of ours does.
    """
    text = f"there is no {content_field!r} to tokenize: the rows have tokens already (input_ids)"
    cure = "take them as they are, by naming no tokenizer"
    for uri, made_by in _recorded(source):
        whose = repr(made_by["path"] or made_by["fingerprint"])
        if made_by["fingerprint"] == tokenizer.fingerprint:
            return ValueError(f"{text}, of {uri}, made by the same tokenizer, {whose}; {cure}")
        return ValueError(
            f"{text}, of {uri}, made by the tokenizer {whose}, and {tokenizer.name!r} is another "
            f"one: its ids mean other text; tokenize the text itself with it, or {cure}"
        )
    return ValueError(f"{text}; {cure}, or name the text's column by content_field")


def _recorded(source: ShardedDataSource[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The files whose output says what tokenizer made it, and that tokenizer."""
    for listing in (each._listing for each in made_of(source) if isinstance(each, FileSource)):
        for uri, output in zip(listing.uris, _native.recorded_outputs(listing), strict=True):
            for made_by in () if output is None else output.get("tokenizers", ()):
                yield uri, made_by
