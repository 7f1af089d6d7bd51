"""Writers that are killed, and writers that meet: one output, whole, with nothing beside it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import FaultProxy
from faults import Fate, Request, Rule
from programs import environment
from store_outputs import StoredOutput, big_rows, local_files, proxied, save, small_rows
from stores import S3Store

import easydata

ANY = ""  # method of a request

WRITER = """
import json, sys
from store_outputs import big_rows, save, small_rows
uri, rows, options = json.loads(sys.argv[1])
print("ready", flush=True)
data = big_rows(rows) if rows < 100 else small_rows(rows, seed=1)
save(data, uri, **options)
print("done", flush=True)
"""


@contextlib.contextmanager
def writer(uri: str, rows: int, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that writes small_rows(rows), or fewer than 100 big ones; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, json.dumps([uri, rows, options])],
        env=environment([Path(__file__).parent]),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def wait_for(is_so: Any, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it does not come to that"
        time.sleep(0.005)


@pytest.fixture(params=["seaweed", "gcs"])
def output(request: pytest.FixtureRequest) -> StoredOutput:
    return StoredOutput(request.getfixturevalue(request.param))


def killed_at(output: StoredOutput, request: int, **options: Any) -> bool:
    """Kills a writer while its request of this number is under way; false: it had fewer."""
    stall = Rule("stall_headers", method=ANY, skip=request, times=1, seconds=600)
    with proxied(output, stall) as proxy:
        given = output.options_at(proxy.url, stall_timeout=600.0)
        with writer(output.uri, 300, storage_options=given, **options) as process:
            wait_for(lambda: process.poll() is not None or any(each.fault for each in proxy.log))
            was_running = process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert was_running or process.returncode == 0
    return was_running


def check_kills(output: StoredOutput, requests: range, tmp_path: Path) -> None:
    save(small_rows(300, seed=1), tmp_path / "new")
    after = local_files(tmp_path / "new")
    for overwrite in (False, True):
        for request in requests:
            output.clear()
            output.prefix = f"{output.above}/{request}-{overwrite}"
            if overwrite:
                save(small_rows(), output.uri, storage_options=output.options)
            if not killed_at(output, request, overwrite=overwrite):
                break
            begin = time.monotonic()
            with contextlib.suppress(FileExistsError):  # killed at its very end
                save(
                    small_rows(300, seed=1),
                    output.uri,
                    overwrite=overwrite,
                    storage_options=output.options,
                )
            assert time.monotonic() - begin < 10, "nobody waits for the dead"
            assert output.files() == after, request
            assert output.is_clean(), request


def test_killed_writers_are_gone_on_with(output: StoredOutput, tmp_path: Path) -> None:
    first = random.Random().randrange(7)
    print("requests from", first)
    check_kills(output, range(first, 60, 7), tmp_path)


@pytest.mark.sliced
def test_killed_at_any_request_a_writer_is_gone_on_with(
    output: StoredOutput, tmp_path: Path
) -> None:
    check_kills(output, range(60), tmp_path)


def test_uploads_of_killed_writers_are_ended(seaweed: S3Store, tmp_path: Path) -> None:
    output = StoredOutput(seaweed)
    rows = big_rows(40)
    save(rows, tmp_path / "out", max_shard_size=10**9)
    client = seaweed.own_client
    others = [
        f"{output.prefix}/notes",
        f"{output.prefix}/deep/shard-00000.jsonl",
        f"{output.above}/shard-00000",
    ]
    for key in others:
        client.create_multipart_upload(Bucket=output.bucket, Key=key)
    slow = Rule("bandwidth", rate=20e6, method=ANY)
    with proxied(output, slow) as proxy:
        options = output.options_at(proxy.url)
        with writer(output.uri, 40, max_shard_size=10**9, storage_options=options) as process:
            wait_for(lambda: any("partNumber=2" in each.query for each in proxy.log))
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert f"{output.prefix}/shard-00000.jsonl" in output.open_uploads()
    assert not any("shard" in name for name in output.names())
    save(rows, output.uri, max_shard_size=10**9, storage_options=output.options)
    assert output.files() == local_files(tmp_path / "out")
    assert sorted(output.open_uploads()) == sorted(others), "what is not ours is left alone"


def test_an_interrupted_writer_leaves_nothing_open(seaweed: S3Store) -> None:
    output = StoredOutput(seaweed)
    slow = Rule("bandwidth", rate=20e6, method=ANY)
    with proxied(output, slow) as proxy:
        options = output.options_at(proxy.url)
        with writer(output.uri, 40, max_shard_size=10**9, storage_options=options) as process:
            wait_for(lambda: any("partNumber=2" in each.query for each in proxy.log))
            assert output.open_uploads()
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait() != 0
            assert time.monotonic() - begin < 3
    assert output.names() == []
    assert not output.open_uploads()


@pytest.mark.parametrize("fault", ["stall_headers", "status"])
def test_an_interruption_does_not_wait_for_a_store(output: StoredOutput, fault: str) -> None:
    dead = Rule(fault, method=ANY, skip=14)
    with proxied(output, dead) as proxy:
        options = output.options_at(proxy.url)
        with writer(output.uri, 600, storage_options=options) as process:
            wait_for(lambda: any(each.fault for each in proxy.log))
            time.sleep(0.3)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait() != 0
            assert time.monotonic() - begin < 3, "a second each to tidy up and to tell what is kept"
    save(small_rows(600, seed=1), output.uri, storage_options=output.options)
    assert output.is_clean()


def test_a_second_writer_is_refused(output: StoredOutput) -> None:
    slow = Rule("latency", seconds=0.3, method=ANY)
    with proxied(output, slow) as proxy:
        options = output.options_at(proxy.url)
        with writer(output.uri, 300, storage_options=options) as process:
            wait_for(lambda: any("progress" in name for name in output.names()))
            for overwrite in (False, True):
                with pytest.raises(OSError, match="another process is writing") as error:
                    save(
                        small_rows(),
                        output.uri,
                        overwrite=overwrite,
                        storage_options=output.options,
                    )
                said = str(error.value)
                assert f"process {process.pid} on host {os.uname().nodename}, since 20" in said
                assert f"{output.uri}/.easydata/lock lapses 30 s after" in said
            assert process.wait(60) == 0
    assert output.is_clean()


def foreign_lock(renewal: int = 0) -> bytes:
    """The lock of a process of another machine."""
    values = {"token": "00ff", "host": "elsewhere", "machine": "another boot", "pid": 7}
    return json.dumps({**values, "started": 1, "since": "then", "renewal": renewal}).encode()


def test_a_writer_on_another_machine_is_waited_for(output: StoredOutput) -> None:
    output.put(".easydata/lock", foreign_lock())
    ended = threading.Event()

    def renew() -> None:
        for renewal in range(100):
            if ended.wait(1.5):
                return
            output.put(".easydata/lock", foreign_lock(renewal))

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        begin = time.monotonic()
        with pytest.raises(OSError, match="process 7 on host elsewhere, since then"):
            save(small_rows(), output.uri, storage_options=output.options)
        assert time.monotonic() - begin < 10
    finally:
        ended.set()
        thread.join()
    assert output.names() == [".easydata/lock"]


@pytest.mark.sliced
@pytest.mark.parametrize("lock", [foreign_lock(), b"", b"what is this"])
def test_a_lock_that_nobody_renews_lapses(
    output: StoredOutput, lock: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    output.put(".easydata/lock", lock)
    begin = time.monotonic()
    with caplog.at_level(logging.INFO, "easydata"):
        save(small_rows(), output.uri, storage_options=output.options)
    assert 30 < time.monotonic() - begin < 40
    assert "was not renewed for 30 s, and is taken over" in caplog.text
    assert output.is_clean()


def test_who_lost_the_lock_writes_nothing_more(output: StoredOutput) -> None:
    rows = small_rows()

    def taking_over() -> Iterator[dict[str, Any]]:
        yield from rows[:300]
        output.put(".easydata/lock", foreign_lock())
        time.sleep(12)  # longer than until the lock is renewed
        yield from rows[300:]

    with pytest.raises(OSError, match=r"has no longer the lock .*elsewhere.*writes nothing more"):
        easydata.save_iterator(
            taking_over(), output.uri, "jsonl", 15_000, storage_options=output.options
        )
    assert json.loads(output.get(".easydata/lock"))["host"] == "elsewhere"
    assert ".metadata.json" not in output.names()


class _Forgetful(FaultProxy):
    """Before a store that knows no conditions of writes, and does not say so."""

    async def answer(self, request: Request, fate: Fate, client: Any) -> Any:
        request.lines = [
            line for line in request.lines if not line.lower().startswith("if-none-match")
        ]
        return await super().answer(request, fate, client)


@pytest.mark.parametrize("says_so", [False, True])
def test_a_store_without_conditions_is_told_of(
    moto: S3Store, says_so: bool, caplog: pytest.LogCaptureFixture
) -> None:
    output = StoredOutput(moto)
    unknown = Rule("status", status=501, method="PUT", header="if-none-match")
    proxy = FaultProxy(moto.url, [unknown]) if says_so else _Forgetful(moto.url)
    with proxy, caplog.at_level(logging.INFO, "easydata"):
        save(small_rows(), output.uri, storage_options=output.options_at(proxy.url))
    assert "does not honour conditional writes" in caplog.text
    assert output.is_clean()
    with caplog.at_level(logging.INFO, "easydata"):
        caplog.clear()
        save(small_rows(), output.uri, overwrite=True, storage_options=output.options)
    assert caplog.text == ""
