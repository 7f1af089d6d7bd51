"""Sources of tokens that a config names the tokenizer of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.sources.sharded_source import ShardedDataSource, ShardwiseSource
from easydata.tokenizers.tokenizer import Tokenizer
from easydata.transforms.base import Example


class OfTokenizerSource(ShardwiseSource[Example]):
    """The rows of a source, whose tokens are of a tokenizer where nobody knows of another one.

    Args:
        source: Where the rows come from.
        tokenizer: The tokenizer that made the tokens.
        name: What the rows are called, where their files say that it was another one.
    """

    _passes_on = ("shuffle", "split", "select")

    def __init__(self, source: ShardedDataSource[Any], tokenizer: Tokenizer, name: str) -> None:
        self._inputs = (source,)
        self._tokenizer, self._name = tokenizer, name

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
        """The rows of a shard from row `row` on."""
        return self.source.open_shard_at_row(shard_name, row)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self.source, self._tokenizer), {}

    def _make_plan(self) -> _native.Plan:
        return _native.rows_of_vocabulary(
            self.source._plan, self._tokenizer._vocabulary, self._name
        )
