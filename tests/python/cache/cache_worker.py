"""Processes that share a cache: cache_worker.py WHAT FOLDER.

Forks them of one that has imported everything, and prints what came of it as JSON. A wrong value
ends a process with status 3.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from easydata import CacheMetadata, TreeCacheManager

KEYS = [f"key/{number}" for number in range(6)]


def value(key: str, number: int) -> dict[str, Any]:
    """What is put for a key; longer ones take several writes."""
    size = (number * 7919) % 60_000
    return {"key": key, "number": number, "data": np.full(size, number, np.int32)}


def check(key: str, found: tuple[Any, CacheMetadata | None] | None) -> None:
    """Ends the process if this was never put for the key."""
    if found is None:
        return
    got, metadata = found
    wanted = value(key, got["number"])
    if (
        got["key"] != key
        or not np.array_equal(got["data"], wanted["data"])
        or metadata is None
        or metadata.num_examples != got["number"]
    ):
        print("WRONG", key, got["key"], got["number"], flush=True)
        os._exit(3)


def fork(call: Callable[[], Any], output: Path | None = None) -> int:
    """The id of a process that calls something, and writes what came into a file."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        made = call()
        if output is not None:
            output.write_text(json.dumps(made))
        status = 0
    finally:
        os._exit(status)


def wait(pid: int) -> int:
    """The exit status of a process, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def hammer(folder: Path, seed: int, seconds: float) -> list[int]:
    """Does anything to a few keys, and checks what it gets."""
    draw = random.Random(seed)
    cache = TreeCacheManager(folder, memory_size=3, compression=draw.choice(["none", "zstd"]))
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        key, number = draw.choice(KEYS), draw.randrange(1000)
        metadata = CacheMetadata(num_examples=number)
        choice = draw.random()
        if choice < 0.3:
            cache.put(key, value(key, number), metadata)
        elif choice < 0.4:
            cache.invalidate(key)
        elif choice < 0.41 and seed == 0:
            cache.invalidate()
        elif choice < 0.6:

            def compute(key: str = key, number: int = number) -> Any:
                return value(key, number)

            got = cache.get_or_compute(key, compute, metadata)
            check(key, (got, CacheMetadata(num_examples=got["number"])))
        elif choice < 0.7:
            cache.contains(key)
            cache.get_metadata(key)
        else:
            check(key, cache.get(key))
        count += 1
    stats = cache.stats["disk"]
    return [count, stats["damaged"], stats["failed_reads"], stats["failed_writes"]]


def hammers(folder: Path) -> dict[str, Any]:
    """Four processes, of which three are killed and replaced in the midst of it."""
    results = folder.parent / "results"
    results.mkdir()

    def begin(seed: int, seconds: float) -> int:
        return fork(lambda: hammer(folder, seed, seconds), results / str(seed))

    running = [begin(seed, 1.4) for seed in range(4)]
    for seed in (1, 2, 3):
        time.sleep(0.1)
        os.kill(running[seed], signal.SIGKILL)
        running.append(begin(10 + seed, 0.8))
    statuses = [wait(pid) for pid in running]
    return {
        "statuses": statuses,
        "counts": [json.loads(each.read_text()) for each in sorted(results.iterdir())],
    }


def compute_together(folder: Path) -> dict[str, Any]:
    """Four processes want the same keys, which take a while."""
    log = folder.parent / "log"

    def run() -> None:
        cache = TreeCacheManager(folder)
        for key in KEYS:

            def compute(key: str = key) -> str:
                with open(log, "a") as out:
                    out.write(key + "\n")
                time.sleep(0.03)
                return "of " + key

            if cache.get_or_compute(key, compute) != "of " + key:
                os._exit(3)

    statuses = [wait(pid) for pid in [fork(run) for _ in range(4)]]
    return {"statuses": statuses, "computed": sorted(log.read_text().split())}


def hang(folder: Path, forks: bool) -> None:
    """Never ends computing a key; with a child that outlives it."""

    def compute() -> None:
        if forks and os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        print("ready", flush=True)
        time.sleep(60)

    TreeCacheManager(folder).get_or_compute("key", compute)


def put_until(folder: Path, point: int) -> None:
    """Puts values, and is not there any more at the so many-th thing that it does with files."""
    cache = TreeCacheManager(folder)
    seen = 0

    def count(event: str, *_: Any) -> None:
        nonlocal seen
        if event in ("open", "os.rename", "os.utime", "os.remove", "os.mkdir", "fsync"):
            seen += 1
            if seen == point:
                os._exit(9)

    sys.addaudithook(count)
    real = os.fsync

    def fsync(file: int) -> None:
        count("fsync")
        real(file)

    os.fsync = fsync
    cache.get_or_compute("key", lambda: value("key", 999), CacheMetadata(num_examples=999))
    cache.put("key", value("key", 998), CacheMetadata(num_examples=998))
    cache.invalidate("key")
    cache.put("key", value("key", 997), CacheMetadata(num_examples=997))


def stop_everywhere(folder: Path) -> dict[str, Any]:
    """A process that ends at each thing that it does with files, and what another one finds."""
    points = []
    for point in range(1, 100):
        place = folder / str(point)
        status = wait(fork(lambda place=place, point=point: put_until(place, point)))  # type: ignore[misc]
        cache = TreeCacheManager(place)
        got = cache.get("key")
        check("key", got)
        # What it held goes with it, and the next one writes what it likes.
        cache.get_or_compute("key", lambda: 1, validate_fn=lambda meta: False)
        points.append(
            {
                "status": status,
                "found": None if got is None else got[0]["number"],
                "damaged": cache.stats["disk"]["damaged"],
                "then": cache.get("key") == (1, None),
            }
        )
        if status != 9:
            break
    return {"points": points}


if __name__ == "__main__":
    what, place = sys.argv[1], Path(sys.argv[2])
    if what == "hang":
        hang(place, sys.argv[3] == "forks")
    else:
        do = {"hammers": hammers, "compute": compute_together, "stop": stop_everywhere}[what]
        print(json.dumps(do(place)))
