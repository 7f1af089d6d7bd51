"""One rank of a job that reads from a web server: prints its digest, its memory, its state.

long_haul_rank.py ADDRESS RANK WORLD_SIZE [--state FILE] [--stop-at STEP]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
from pathlib import Path
from typing import Any

import easydata

KEEP = 200  # steps between two saves


def resident() -> int:
    """Bytes of this process in memory."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("rank", type=int)
    parser.add_argument("world_size", type=int)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--stop-at", type=int, default=-1)
    arguments = parser.parse_args()
    load = {
        "batch_size": 256,
        "rank": arguments.rank,
        "world_size": arguments.world_size,
        "lanes": arguments.world_size,
        "shuffle_buffer_size": None,
        "steps": arguments.steps,
        "num_threads": 1,
    }
    dataset: dict[str, Any] = {"data_files": arguments.address}
    if "://" in arguments.address:
        dataset["storage_options"] = {"retry_delay": 0.01}
    loader = easydata.create_pipeline([dataset], load=load).source().load().build()
    sums: dict[str, int] = {}
    memory: list[int] = []
    step = 0
    if arguments.state.exists():
        saved = json.loads(arguments.state.read_text())
        loader.load_state_dict(saved["loader"])
        step, sums = saved["step"], saved["sums"]
    with loader:
        for batch in loader:
            step += 1
            for text in batch["text"]:
                key = text[:1]
                sums[key] = (sums.get(key, 0) * 31 + int(text[1:9])) % (1 << 61)
            if step % KEEP == 0:
                memory.append(resident())
                part = arguments.state.with_suffix(".part")
                saved = {"loader": loader.state_dict(), "step": step, "sums": sums}
                part.write_text(json.dumps(saved))
                part.replace(arguments.state)
            if step == arguments.stop_at:
                os.kill(os.getpid(), signal.SIGKILL)
        io = loader.stats()["io"]
    print(json.dumps({"step": step, "sums": sums, "memory": memory, "io": io}))


if __name__ == "__main__":
    main()
