"""Trainers of EasyDeL on sources.

```python
examples = JsonShardedSource("chats/*.jsonl").transform(SFTPreprocessTransform(tokenizer, 1024))
trainer = easydel.SFTTrainer(..., train_dataset=easydata.trainers.easydel.source(examples))
```
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from easydata.execution.async_loader import AsyncDataLoader
from easydata.execution.loaders_in_turn import LoadersInTurn
from easydata.sources.sharded_source import ShardedDataSource, ShardInfo
from easydata.transforms.base import Example

__all__ = ["source"]


def source(rows: ShardedDataSource[Any]) -> Any:
    """A source as an `easydel.data.ShardedDataSource`, the class that EasyDeL's trainers ask for.

    Rows that one of the trainer's own transforms made go into it as they are; it prepares others
    itself. EasyDeL reads all shards in order on each process, the same in each epoch, and shuffles
    none (`shuffle_train_dataset` says nothing of sources): give it `rows.shuffle("rows")`. Where
    the number of rows is not known, as after such a transform, set `max_training_steps` or
    `per_epoch_training_steps`.

    Args:
        rows: The source.

    Raises:
        ModuleNotFoundError: EasyDeL is not installed.
        TypeError: It is no source.
    """
    if isinstance(rows, AsyncDataLoader | LoadersInTurn):
        raise TypeError(
            "EasyDeL's trainers make batches themselves; give source() what the loader reads; "
            f"got {type(rows).__name__}"
        )
    if not isinstance(rows, ShardedDataSource):
        raise TypeError(
            "source() takes a source of EasyData, such as JsonShardedSource(files); other data "
            f"sets go into EasyDeL's trainers as they are; got {type(rows).__name__}"
        )
    return _source_class()(rows)


@functools.cache
def _source_class() -> type[Any]:
    try:
        from easydel.data.core import protocols
    except ModuleNotFoundError as error:
        if error.name != "easydel":
            raise
        raise ModuleNotFoundError(
            "easydata.trainers.easydel needs EasyDeL; pip install easydel==0.3.0", name="easydel"
        ) from error

    class EasyDataSource(protocols.ShardedDataSource):  # type: ignore[misc]
        """A source of EasyData as one of EasyDeL; map(), transform() ... are EasyDeL's."""

        def __init__(self, rows: ShardedDataSource[Any]) -> None:
            self.rows = rows

        @property
        def shard_names(self) -> Sequence[str]:
            return self.rows.shard_names

        def num_shards(self) -> int:
            return self.rows.num_shards()

        def open_shard(self, shard_name: str) -> Iterator[Example]:
            return self.rows.open_shard(shard_name)

        def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
            return self.rows.open_shard_at_row(shard_name, row)

        def get_shard_info(self, shard_name: str) -> Any:
            info = self.rows.get_shard_info(shard_name)
            if info is None:
                return None
            known = {each.name: getattr(info, each.name) for each in dataclasses.fields(ShardInfo)}
            return protocols.ShardInfo(**known)

        def __iter__(self) -> Iterator[Example]:
            return iter(self.rows)

        def __len__(self) -> int:
            return len(self.rows)

        def __bool__(self) -> bool:
            return True

        def __repr__(self) -> str:
            return f"{type(self).__name__}({self.rows!r})"

    return EasyDataSource
