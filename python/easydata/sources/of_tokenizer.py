"""Sources of tokens that a config names the tokenizer of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.sources.rows_in_shards import ShardInfo
from easydata.sources.sharded_source import ShardedDataSource, WrapperSource
from easydata.tokenizers.tokenizer import Tokenizer
from easydata.transforms.base import Example


class OfTokenizerSource(WrapperSource[Example]):
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

    def open_shard(self, shard_name: str) -> Iterator[Example]:
        """The rows of a shard, in order."""
        return self._source.open_shard(shard_name)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
        """The rows of a shard from row `row` on."""
        return self._source.open_shard_at_row(shard_name, row)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard."""
        return self._source.get_shard_info(shard_name)

    def __len__(self) -> int:
        return len(self._source)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self._source, self._tokenizer), {}

    def _make_plan(self) -> _native.Plan:
        return _native.rows_of_vocabulary(
            self._source._plan, self._tokenizer._vocabulary, self._name
        )
