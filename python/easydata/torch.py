"""A loader's rows or batches for torch.

```python
torch.distributed.init_process_group()                       # where there are several processes
loader = AsyncDataLoader(source, batch_size=64, **easydata.torch.ranks())
for batch in easydata.torch.dataset(loader, batches=True):   # {column: tensor [rows, ...]}
    ...

loader = AsyncDataLoader(source, batch_size=64)   # a Trainer divides the rows among processes
data = easydata.torch.dataset(loader, for_trainer=True)
trainer = transformers.Trainer(model, train_dataset=data)
```

Tensors lie in the engine's own memory and keep it for as long as they live. torch knows no tensor
that is read-only, so it is up to the caller to write to none of them: `tensor.clone()` gives one of
your own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, overload

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        'easydata.torch needs torch; pip install "easydata[torch]"', name="torch"
    ) from error

from easydata.execution.async_loader import AsyncDataLoader
from easydata.execution.frozen_listing import share_listing
from easydata.execution.loaders_in_turn import LoadersInTurn
from easydata.execution.ranks import Ranks
from easydata.execution.torch_rows import LoaderDataset
from easydata.execution.trainer_rows import TrainerDataset

if TYPE_CHECKING:
    from easydata.execution.chain import Pipeline

__all__ = ["LoaderDataset", "TrainerDataset", "dataset", "ranks"]


def ranks(group: Any = None, *, pipeline: Pipeline | None = None) -> Ranks:
    """What a loader needs to know to give this process its part: `{"rank": r, "world_size": w}`.

    Args:
        group: The processes that share each batch, such as the data-parallel group of a device
            mesh; None: all of torch.distributed. Without torch.distributed: one process.
        pipeline: A pipeline before its source(): the first process of torch.distributed lists its
            files, and the others take that listing (Pipeline.freeze). All of them must give it.

    Raises:
        RuntimeError: When this is one of several processes (WORLD_SIZE, as torchrun sets it) and
            torch.distributed is not initialised yet: each would read everything.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        if pipeline is not None:
            share_listing(pipeline, torch.distributed.get_rank() == 0, _broadcast)
        return Ranks(
            rank=torch.distributed.get_rank(group),
            world_size=torch.distributed.get_world_size(group),
        )
    started = os.environ.get("WORLD_SIZE", "1")
    if started != "1":
        raise RuntimeError(
            "torch.distributed is not initialised, so every process would read all rows; call "
            "torch.distributed.init_process_group() before easydata.torch.ranks(); "
            f"WORLD_SIZE is {started}"
        )
    if pipeline is not None:
        pipeline.freeze()
    return Ranks(rank=0, world_size=1)


def _broadcast(text: str | None) -> str:
    texts: list[Any] = [text]
    torch.distributed.broadcast_object_list(texts, src=0)
    return str(texts[0])


@overload
def dataset(
    loader: AsyncDataLoader | LoadersInTurn, batches: bool = False, *, for_trainer: Literal[True]
) -> TrainerDataset: ...


@overload
def dataset(
    loader: AsyncDataLoader | LoadersInTurn, batches: bool = False, *, for_trainer: bool = False
) -> LoaderDataset: ...


def dataset(
    loader: AsyncDataLoader | LoadersInTurn, batches: bool = False, *, for_trainer: bool = False
) -> LoaderDataset:
    """This rank's rows of a loader as a torch dataset, or its batches.

    `for_trainer=True` makes what the Trainer of transformers takes as `train_dataset` and
    `eval_dataset`, whatever its batch size and collator are: see TrainerDataset.

    What divides a dataset among processes by itself (Accelerate's `prepare()`, and with it the
    Trainer of transformers) refuses one whose loader has `ranks()`: each process would get a part
    of its part.

    It goes through torch.utils.data.DataLoader and torchdata's StatefulDataLoader with
    `num_workers=0`; `batch_size=None` there hands on what comes without a copy, `batch_size=k` has
    torch stack k rows.

    Args:
        loader: A loader. Whoever takes from it elsewhere takes from this dataset too.
        batches: Yield batches, `{column: tensor [rows, ...]}`, not rows, `{column: tensor [...]}`.
            Columns that the loader gives as lists (strings) stay lists, and Python values in rows.
            The rows that fill up a last batch (`drop_last=False`, several ranks) come as rows.
        for_trainer: Yield rows for the Trainer of transformers.

    Raises:
        TypeError: It is no loader.
        ValueError: `batches` and `for_trainer` are both asked for.
    """
    if not isinstance(loader, AsyncDataLoader | LoadersInTurn):
        raise TypeError(
            "easydata.torch.dataset() takes a loader, AsyncDataLoader(source, batch_size=...) or "
            f"what load() of a pipeline builds; got {type(loader).__name__}"
        )
    if not for_trainer:
        return LoaderDataset(loader, batches)
    if batches:
        raise ValueError("for_trainer: a Trainer makes batches itself; leave batches=True out")
    return TrainerDataset(loader)
