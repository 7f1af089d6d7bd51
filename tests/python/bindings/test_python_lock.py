"""When the engine lets go of Python's lock, and when it does not."""

import functools
import itertools
import operator
import sys
import threading
import time
from pathlib import Path

import pytest
from packed_tokens import packed

from easydata import AsyncDataLoader

pytestmark = pytest.mark.alone


def test_a_ready_batch_is_taken_without_letting_go_of_python_s_lock(tmp_path: Path) -> None:
    with AsyncDataLoader(packed(tmp_path), batch_size=8, prefetch_buffer_size=4) as loader:
        next(iter(loader))
        while loader.stats()["queue"]["batches"] < 4:
            time.sleep(0.01)
        ticks = itertools.count()
        stop = threading.Event()

        def tick() -> None:
            while not stop.is_set():
                next(ticks)

        thread = threading.Thread(target=tick)
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        thread.start()
        try:
            # All of this runs in C, which gives the lock to nobody by itself. While numbers are
            # added up the other thread asks for it: whoever lets go of it then must wait for that
            # thread to have had it, and it ticks.
            add = functools.partial(sum, range(300_000))
            calls = [add, ticks.__reduce__, *[loader._native.next] * 3, loader._native.state]
            done = list(map(operator.call, [*calls, ticks.__reduce__]))
        finally:
            sys.setswitchinterval(before)
            stop.set()
            thread.join()
        assert done[1] == done[-1]
        assert [batch["input_ids"].shape for batch in done[2:5]] == [(8, 128)] * 3
        assert done[5]["step"] == 4
