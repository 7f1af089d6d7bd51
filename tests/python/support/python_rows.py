"""A source in Python."""

from collections.abc import Iterator, Sequence
from typing import Any

from easydata import ShardedDataSource


class Rows(ShardedDataSource[dict[str, Any]]):
    """Rows from memory in one shard, with something to do before each."""

    def __init__(self, rows: Sequence[dict[str, Any]], before: Any = None) -> None:
        self.rows = rows
        self._before = before

    @property
    def shard_names(self) -> list[str]:
        return ["rows"]

    def num_shards(self) -> int:
        return 1

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        for number, row in enumerate(self.rows):
            if self._before is not None:
                self._before(number)
            yield row
