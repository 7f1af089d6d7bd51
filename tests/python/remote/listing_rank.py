"""One process of a job whose ranks share a listing: prints the digest of its rows.

listing_rank.py FRAMEWORK ADDRESS RANK WORLD_SIZE MEETING
"""

from __future__ import annotations

import sys
from typing import Any

import easydata


def pipeline(address: str) -> easydata.Pipeline[Any]:
    return easydata.create_pipeline([{"data_files": address}])


def torch_ranks(mine: Any, rank: int, world_size: int, meeting: str) -> Any:
    import easydata.torch
    import torch.distributed as dist

    dist.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=world_size
    )
    return easydata.torch.ranks(pipeline=mine)


def jax_ranks(mine: Any, rank: int, world_size: int, meeting: str) -> Any:
    import easydata.jax
    import jax
    import numpy as np

    jax.distributed.initialize(meeting, num_processes=world_size, process_id=rank)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    return easydata.jax.ranks(mesh, pipeline=mine)


def main() -> None:
    framework, address, rank, world_size, meeting = sys.argv[1:]
    mine = pipeline(address)
    find = {"torch": torch_ranks, "jax": jax_ranks}[framework]
    try:
        ranks = find(mine, int(rank), int(world_size), meeting)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        sys.exit(3)
    assert ranks == {"rank": int(rank), "world_size": int(world_size)}
    print(sorted(row["text"] for row in mine.source().build())[-1])


if __name__ == "__main__":
    main()
