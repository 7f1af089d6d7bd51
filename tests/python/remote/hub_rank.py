"""One process of a job that reads from the Hub: prints the rows of its rank.

hub_rank.py RANK WORLD_SIZE LISTING OPTIONS
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import easydata


def main() -> None:
    rank, world_size, listing, options = sys.argv[1:]
    load = {
        "batch_size": 16,
        "shuffle_buffer_size": None,
        "rank": int(rank),
        "world_size": int(world_size),
        "lanes": int(world_size),
    }
    datasets = [{"name": "rows", **ast.literal_eval(options)}]
    mine = easydata.create_pipeline(datasets, load=load)
    mine.freeze(Path(listing).read_text())
    with mine.source().load().build() as batches:
        for batch in batches:
            print(*batch["text"], sep="\n")


if __name__ == "__main__":
    main()
