"""Which part of each batch a process gets."""

from typing import TypedDict


class Ranks(TypedDict):
    """The arguments of that name of LoadStageConfig and AsyncDataLoader."""

    rank: int
    world_size: int
