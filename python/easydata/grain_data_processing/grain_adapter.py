"""Rows as an IterDataset of Grain's."""

from __future__ import annotations

from typing import Any

try:
    import grain  # type: ignore[import-untyped, unused-ignore]
except ModuleNotFoundError as error:
    if error.name != "grain":
        raise
    raise ModuleNotFoundError(
        "rows as a dataset of Grain's need grain; pip install grain", name="grain"
    ) from error

from easydata.execution.async_loader import AsyncDataLoader
from easydata.sources.sharded_source import ShardedDataSource


class GrainRowDataset(grain.IterDataset):  # type: ignore[misc, unused-ignore]
    """See LLMRowDataset.to_grain()."""

    def __init__(self, rows: ShardedDataSource[Any]) -> None:
        super().__init__()
        self._rows = rows

    def __iter__(self) -> GrainRowIterator:
        return GrainRowIterator(self._rows)

    def __str__(self) -> str:
        return "GrainRowDataset"


class GrainRowIterator(grain.DatasetIterator):  # type: ignore[misc, unused-ignore]
    """The rows of one pass; its state is JSON, and that of a loader with a batch size of 1."""

    def __init__(self, rows: ShardedDataSource[Any]) -> None:
        super().__init__()
        self._loader = AsyncDataLoader(rows, batch_size=1, drop_last=False)
        self._batches = iter(self._loader)

    def __next__(self) -> dict[str, Any]:
        return {name: values[0] for name, values in next(self._batches).items()}

    def get_state(self) -> dict[str, Any]:
        """The position after the row that was handed out last."""
        return self._loader.state_dict()

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes on from a state."""
        self._loader.load_state_dict(state)
        self._batches = iter(self._loader)

    def close(self) -> None:
        """Ends the loader's threads."""
        self._loader.close()
        super().close()
