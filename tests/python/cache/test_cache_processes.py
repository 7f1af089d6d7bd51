"""Several processes and threads with one folder, some of which die."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cache_worker
import pytest
from easydata.cache.said_once import SaidOnce
from programs import environment, run_python

from easydata import MemoryCache, TreeCacheManager
from easydata.cache import memory, single_flight

WORKER = Path(cache_worker.__file__)
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a worker, which ends with the test at the latest."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: object) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, str(WORKER), *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _run(what: str, folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(run_python(WORKER, what, folder).stdout)
    return made


def test_four_processes_never_get_what_was_not_put(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "notes.txt").write_text("theirs")
    done = _run("hammers", folder)
    assert done["statuses"] == [0, -signal.SIGKILL, -signal.SIGKILL, -signal.SIGKILL, 0, 0, 0]
    assert sum(each[0] for each in done["counts"]) > 200
    # Nobody's death is another one's damage, or trouble.
    assert [each[1:] for each in done["counts"]] == [[0, 0, 0]] * 4
    assert (folder / "notes.txt").read_text() == "theirs"
    cache = TreeCacheManager(folder)
    for key in cache_worker.KEYS:
        cache_worker.check(key, cache.get(key))
        cache.put(key, cache_worker.value(key, 5))
        assert cache.contains(key)


def test_a_process_that_is_killed_leaves_an_entry_or_none(tmp_path: Path) -> None:
    points = _run("stop", tmp_path)["points"]
    assert [each["status"] for each in points] == [9] * (len(points) - 1) + [0]
    assert len(points) > 12
    assert {each["found"] for each in points} == {None, 999, 998, 997}
    assert {each["damaged"] for each in points} == {0}
    assert all(each["then"] for each in points)


def test_each_key_is_computed_once_among_processes(tmp_path: Path) -> None:
    done = _run("compute", tmp_path / "cache")
    assert done == {"statuses": [0] * 4, "computed": cache_worker.KEYS}
    assert list((tmp_path / "cache/easydata_entries/locks").iterdir()) == []


@pytest.mark.parametrize("forks", ["", "forks"])
def test_a_lock_goes_with_its_process(forks: str, start: Start, tmp_path: Path) -> None:
    worker = start("hang", tmp_path, forks)
    cache = TreeCacheManager(tmp_path)
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(cache.get_or_compute("key", lambda: 2)))
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()  # it waits
    worker.kill()
    thread.join(10)
    assert got == [2]


def test_a_lock_file_that_a_killed_process_left_is_removed(start: Start, tmp_path: Path) -> None:
    worker = start("hang", tmp_path, "")
    locks = tmp_path / "easydata_entries/locks"
    cache = TreeCacheManager(tmp_path)
    cache.invalidate()
    assert len(list(locks.iterdir())) == 1  # it is held
    worker.kill()
    worker.wait()
    cache.invalidate()
    assert list(locks.iterdir()) == []


def _together(count: int, call: Callable[[], Any]) -> list[Any]:
    barrier = threading.Barrier(count)
    got: list[Any] = []

    def run() -> None:
        barrier.wait()
        got.append(call())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


@pytest.mark.parametrize("has_locks", [True, False])
def test_each_key_is_computed_once_among_threads(
    has_locks: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if not has_locks:

        def flock(*_: Any) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(single_flight.fcntl, "flock", flock)
    cache = TreeCacheManager(tmp_path)
    computed = []

    def compute() -> int:
        computed.append(1)
        time.sleep(0.05)
        return len(computed)

    assert _together(8, lambda: cache.get_or_compute("k", compute)) == [1] * 8
    assert _together(8, lambda: cache.get_or_compute("l", compute)) == [2] * 8
    assert single_flight._seats == {}
    said = [each for each in caplog.records if "cannot be locked" in each.getMessage()]
    assert len(said) == (0 if has_locks else 1)


def test_who_waited_for_a_lock_has_the_file_that_others_will_ask_for(tmp_path: Path) -> None:
    path, said = tmp_path / "lock", SaidOnce()
    first = single_flight._locked(path, said)
    got: list[int | None] = []
    waiting = threading.Thread(target=lambda: got.append(single_flight._locked(path, said)))
    waiting.start()
    time.sleep(0.05)
    assert got == []
    single_flight._release(path, single_flight._Seat(descriptor=first))
    waiting.join()
    (second,) = got
    assert second is not None
    assert os.path.samestat(os.stat(path), os.fstat(second))
    single_flight._release(path, single_flight._Seat(descriptor=second))
    assert not path.exists()


def test_the_next_one_computes_when_one_fails(tmp_path: Path) -> None:
    cache = TreeCacheManager(tmp_path)
    computed = []

    def compute() -> int:
        computed.append(1)
        time.sleep(0.02)
        if len(computed) == 1:
            raise RuntimeError("the first one")
        return 7

    def ask() -> Any:
        try:
            return cache.get_or_compute("k", compute)
        except RuntimeError as error:
            return str(error)

    assert sorted(map(str, _together(4, ask))) == ["7", "7", "7", "the first one"]
    assert len(computed) == 2


def test_a_fork_has_locks_of_its_own(tmp_path: Path) -> None:
    cache = MemoryCache()
    cache.put("k", 1)
    tree = TreeCacheManager(tmp_path)
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with memory._lock:
            is_held.set()
            is_over.wait()

    with ThreadPoolExecutor(1) as another:
        another.submit(hold)
        is_held.wait()
        pid = os.fork()
        if pid == 0:
            signal.alarm(10)
            is_right = cache.get("k") == (1, None) and tree.get_or_compute("k", lambda: 2) == 2
            os._exit(0 if is_right else 1)
        is_over.set()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
