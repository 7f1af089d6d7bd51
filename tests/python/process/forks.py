"""Forks again and again while threads are busy: forks.py FOLDER WORKS FORKS."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import busy

import easydata as ed

# A child that takes longer hangs.
LONGEST = 20


def in_child(
    folder: Path, tokenizer: ed.Tokenizer, data: object, loader: ed.AsyncDataLoader
) -> int:
    """What a child does: objects of its own and its parent's, made before the fork."""
    expected = ed.Tokenizer(str(folder)).encode_batch(busy.TEXTS[:50]).to_pylist()
    if tokenizer.encode_batch(busy.TEXTS[:50]).to_pylist() != expected:
        return 2
    fresh = ed.AsyncDataLoader(data, batch_size=4, num_threads=2)
    for _, batch in zip(range(3), fresh, strict=False):
        if batch["input_ids"].shape != (4, 128):
            return 3
    # The parent's loader goes on from where it stood at the fork.
    step = loader.state_dict()["step"]
    if next(iter(loader), None) is None and next(iter(loader), None) is None:
        return 4
    if loader.state_dict()["step"] <= step:
        return 5
    loader.stats()
    loader.digest()
    return 0


def main(name: str, works: str, forks: str) -> None:
    folder = Path(name)
    tokenizer = ed.Tokenizer(str(folder))
    data = busy.source(folder)
    loader = ed.AsyncDataLoader(data, batch_size=4, num_threads=2)
    next(iter(loader))
    stop = False
    busy.start(folder, works, True, lambda: not stop)
    # One that other threads take from while the process forks.
    busy.start_with(lambda: next(iter(loader), None), True, lambda: not stop)
    slowest = 0.0
    for number in range(int(forks)):
        begin = time.monotonic()
        child = os.fork()
        if child == 0:
            status = 9
            try:
                # Ends a child that hangs: no handler is there to be waited for.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(LONGEST)
                status = in_child(folder, tokenizer, data, loader)
            finally:
                if number % 2 == 0:
                    os._exit(status)
                sys.exit(status)  # all that ends a process in order
        slowest = max(slowest, time.monotonic() - begin)
        ended = os.waitpid(child, 0)[1]
        if ended != 0:
            print(f"fork {number}: {ended}", flush=True)
            os._exit(1)
    stop = True
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(20)
    print(f"slowest fork: {slowest:.3f} s", flush=True)


main(*sys.argv[1:])
