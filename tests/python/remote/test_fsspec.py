"""Files at schemes that the engine does not speak, read through fsspec, which is not trusted."""

from __future__ import annotations

import errno
import gzip
import importlib.util
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from programs import run_python
from small_files import loader
from stores import SECRET, FtpServer

import easydata
from easydata import DatasetConfig, create_source, expand_data_files

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

HASTY = {"retry_delay": 0.001}
ROWS = 40_000  # some 9 MB: several ranges


class Faulty(MemoryFileSystem):  # type: ignore[misc]
    """fsspec's files in memory, with faults."""

    protocol = "faulty"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    # What is done with the bytes of a read, with a description, and before any call.
    on_read: Callable[[str, int, int, bytes], bytes] | None = None
    on_info: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    before: Callable[[str], None] | None = None
    calls: ClassVar[list[str]] = []
    under_way = 0
    most_under_way = 0

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.replace("faulty://", "memory://")))

    def _call(self, name: str) -> None:
        type(self).calls.append(name)
        if self.before is not None:
            type(self).before(name)  # type: ignore[misc]

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        self._call("info")
        info: dict[str, Any] = super().info(path, **kwargs)
        return info if self.on_info is None else type(self).on_info(info)  # type: ignore[misc]

    def ls(self, path: str, **kwargs: Any) -> list[Any]:
        self._call("ls")
        return list(super().ls(path, **kwargs))

    def cat_file(self, path: str, start: Any = None, end: Any = None, **kwargs: Any) -> bytes:
        cls = type(self)
        cls.under_way += 1
        cls.most_under_way = max(cls.most_under_way, cls.under_way)
        try:
            self._call("read")
            time.sleep(0.001)  # for others, if they are let in
            data = bytes(self.store[self._strip_protocol(path)].getbuffer()[start:end])
            return data if cls.on_read is None else cls.on_read(path, start, end, data)
        finally:
            cls.under_way -= 1


@pytest.fixture
def faulty() -> Iterator[type[Faulty]]:
    fsspec.register_implementation("faulty", Faulty, clobber=True)
    Faulty.store.clear()
    Faulty.calls.clear()
    Faulty.on_read = Faulty.on_info = Faulty.before = None
    Faulty.most_under_way = 0
    Faulty("").pipe_file("/b/a.jsonl", lines())
    yield Faulty
    Faulty.store.clear()


def rows() -> list[dict[str, Any]]:
    return [{"id": i, "text": f"row {i} " + "x" * 200} for i in range(ROWS)]


def lines() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows()).encode()


def source(address: str = "faulty://b/a.jsonl", **options: Any) -> Any:
    return create_source(DatasetConfig(address, storage_options={**HASTY, **options}))


def read(address: str = "faulty://b/a.jsonl", **options: Any) -> list[Any]:
    return list(iter(source(address, **options)))


def test_what_is_not_trusted_is_read_right(faulty: type[Faulty]) -> None:
    assert read() == rows()
    # fsspec does not say of these files that two threads may use them.
    assert faulty.most_under_way == 1
    assert faulty.calls.count("read") >= 2
    # One look when it is listed, and one after each range.
    assert faulty.calls.count("info") == faulty.calls.count("read") + 1


def short(share: float) -> Callable[[str, int, int, bytes], bytes]:
    return lambda path, begin, end, data: data[: max(1, int(len(data) * share))]


def failing(times: int, error: Exception, among: str = "read") -> Callable[[str], None]:
    left = [times]

    def fail(name: str) -> None:
        if name in among and left[0] > 0:
            left[0] -= 1
            raise error

    return fail


def counted(found: Any) -> tuple[int, dict[str, Any]]:
    """Rows that a loader gave, and its account of reading."""
    with easydata.AsyncDataLoader(found, batch_size=8, drop_last=False) as made:
        count = sum(len(batch["id"]) for batch in made)
        return count, made.stats()["io"]


def test_short_answers_are_gone_on_with(faulty: type[Faulty]) -> None:
    faulty.on_read = staticmethod(short(0.4))
    assert read() == rows()
    count, io = counted(source())
    assert count == ROWS
    assert io["retries"].keys() == {"short answer"}
    assert io["retries"]["short answer"] > 5
    assert io["bytes"] >= len(lines())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("among", ["read", "info", "read info"])
@pytest.mark.parametrize(
    "error",
    [OSError("closed"), ConnectionResetError(104, "reset"), TimeoutError(), RuntimeError("odd")],
)
def test_errors_that_pass(error: Exception, among: str, faulty: type[Faulty]) -> None:
    found = source()
    faulty.before = staticmethod(failing(5, error, among))
    count, io = counted(found)
    assert count == ROWS
    assert io["retries"] == {"failed": 5}


def test_errors_that_stay(faulty: type[Faulty]) -> None:
    found = source(retries=3)
    faulty.before = staticmethod(failing(10**9, ConnectionError("it is no good")))
    began = time.monotonic()
    with pytest.raises(OSError, match=r"faulty://b/a\.jsonl") as failed:
        list(iter(found))
    assert time.monotonic() - began < 5
    text = str(failed.value)
    assert "at byte 0: fsspec says ConnectionError: it is no good, after 4 attempts in" in text
    assert "storage_options: retries, retry_timeout" in text


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (PermissionError("no"), errno.EACCES),
        (FileNotFoundError("gone"), errno.ENOENT),
        (OSError(errno.EACCES, "no"), errno.EACCES),
        (TypeError("no argument of that name"), errno.EPROTO),
        (ValueError("no account"), errno.EPROTO),
    ],
)
def test_errors_that_no_patience_helps(error: Exception, number: int, faulty: type[Faulty]) -> None:
    found = source()
    faulty.before = staticmethod(failing(10**9, error))
    with pytest.raises(OSError, match="after 1 attempt in") as failed:
        list(iter(found))
    assert failed.value.errno == number
    assert type(error).__name__ in str(failed.value)


def test_more_than_was_asked_for_is_refused(faulty: type[Faulty]) -> None:
    faulty.on_read = staticmethod(lambda path, begin, end, data: lines())
    with pytest.raises(OSError, match="no ranges can be read from there"):
        read()


def test_an_end_that_is_not_there(faulty: type[Faulty]) -> None:
    faulty.on_read = staticmethod(lambda path, begin, end, data: b"")
    with pytest.raises(OSError, match=r"nothing came, after 3 attempts"):
        read(retries=2)


@pytest.mark.parametrize("when", ["before", "while"])
@pytest.mark.parametrize("what", ["size", "time"])
def test_an_exchanged_file_is_refused(what: str, when: str, faulty: type[Faulty]) -> None:
    found = source()
    other = lines() if what == "time" else lines()[:-9]
    reads = [0]

    def exchange(path: str, begin: int, end: int, data: bytes) -> bytes:
        reads[0] += 1
        if reads[0] == (1 if when == "before" else 3):
            faulty("").pipe_file("/b/a.jsonl", other)
        return data

    faulty.on_read = staticmethod(exchange)
    with pytest.raises(OSError, match="is not the file any more that was listed"):
        list(iter(found))
    assert reads[0] >= (1 if when == "before" else 3)


@pytest.mark.parametrize("tag", ["ETag", "generation", "sha"])
def test_a_tag_tells_files_apart(tag: str, faulty: type[Faulty]) -> None:
    faulty.on_info = staticmethod(lambda info: {**info, "created": None, tag: "one"})
    assert read() == rows()
    found = source()
    faulty.on_info = staticmethod(lambda info: {**info, "created": None, tag: "two"})
    with pytest.raises(OSError, match=f"tag {tag} one, now it has tag {tag} two"):
        list(iter(found))


def test_a_file_that_does_not_tell_its_size(faulty: type[Faulty]) -> None:
    faulty.on_info = staticmethod(lambda info: {**info, "size": None})
    with pytest.raises(OSError, match=r"the size of faulty://b/a\.jsonl is not known"):
        read(retries=1)


def test_damage_is_read_once_more(faulty: type[Faulty]) -> None:
    text = lines()[: lines().index(b"\n", 500_000) + 1]
    packed = gzip.compress(text)
    faulty("").pipe_file("/b/a.jsonl.gz", packed)
    harmed = []

    def harm(path: str, begin: int, end: int, data: bytes) -> bytes:
        middle = len(packed) // 2 - begin
        if harmed or not 0 <= middle < len(data):
            return data
        harmed.append(begin)
        return data[:middle] + bytes([data[middle] ^ 8]) + data[middle + 1 :]

    faulty.on_read = staticmethod(harm)
    found = read("faulty://b/a.jsonl.gz")
    assert found == rows()[: len(found)]
    assert len(found) == text.count(b"\n")
    assert harmed


def test_a_lost_file_is_left_out(faulty: type[Faulty], tmp_path: Path) -> None:
    faulty("").pipe_file("/b/b.jsonl", lines())
    config = DatasetConfig(
        "faulty://b/{a,b}.jsonl",
        storage_options={**HASTY, "retries": 1},
        on_missing="quarantine",
        quarantine_path=str(tmp_path / "bad.jsonl"),
    )
    found = create_source(config)

    def lose(path: str, begin: int, end: int, data: bytes) -> bytes:
        if path.endswith("/a.jsonl"):
            raise ConnectionError("lost")
        return data

    faulty.on_read = staticmethod(lose)
    assert list(iter(found)) == rows()
    (lost,) = map(json.loads, (tmp_path / "bad.shards.jsonl").read_text().splitlines())
    assert lost["shard"] == "faulty://b/a.jsonl"


def test_secrets_stand_in_no_error(faulty: type[Faulty]) -> None:
    hush = {"fsspec": {"account_key": "hush1234", "more": {"token": "hush"}}}
    found = source(retries=1, **hush)
    text = "https://host/a?sig=hush1234 with hush"
    faulty.before = staticmethod(failing(10**9, RuntimeError(text)))
    with pytest.raises(OSError, match=re.escape("sig=*** with ***")) as failed:
        list(iter(found))
    assert "hush" not in str(failed.value)
    faulty.before = None
    with loader("faulty://b/a.jsonl", storage_options=hush) as made:
        state = made.state_dict()
    assert "hush" not in repr(found) + repr(made) + json.dumps(state)


def test_passwords_are_no_part_of_an_address() -> None:
    config = DatasetConfig("ftp://me:hush@host/a.jsonl")
    with pytest.raises(ValueError, match="a password is no part of an address") as failed:
        create_source(config)
    assert "hush" not in str(failed.value) + repr(config)


@pytest.mark.parametrize(
    ("address", "error", "says"),
    [
        ("zzz://a/b.jsonl", NotImplementedError, "no scheme that EasyData reads: it knows s3, gs"),
        ("zip://a.jsonl::memory://b.zip", ValueError, "chained addresses"),
        ("memory://no/such.jsonl", FileNotFoundError, "there is nothing"),
        ("memory://no/such", FileNotFoundError, "there is nothing"),
    ],
)
def test_what_cannot_be_read(address: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        expand_data_files(address)


def test_a_missing_package_is_named() -> None:
    if importlib.util.find_spec("adlfs") is not None:
        pytest.skip("adlfs is there")
    with pytest.raises(NotImplementedError, match="lacks a package: Install adlfs"):
        expand_data_files("abfs://container/a.jsonl")


def test_outputs_do_not_go_through_it(faulty: type[Faulty]) -> None:
    with pytest.raises(NotImplementedError, match="outputs go to s3://, gs:// and local folders"):
        easydata.save_dataset(source(), "faulty://b/out")
    assert set(faulty.store) == {"/b/a.jsonl"}


def test_it_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys, easydata; assert 'fsspec' not in sys.modules;"
        "easydata.expand_data_files(sys.argv[1]); assert 'fsspec' not in sys.modules"
    )
    run_python("-c", code, __file__)


# A real server.


@pytest.fixture
def folder(ftp: FtpServer) -> Iterator[Path]:
    folder = ftp.folder / "rows"
    folder.mkdir(exist_ok=True)
    (folder / "a.jsonl").write_bytes(lines())
    yield folder
    for path in folder.iterdir():
        path.unlink()


def at(ftp: FtpServer, name: str = "rows/a.jsonl") -> Any:
    return create_source(
        DatasetConfig(f"{ftp.url}/{name}", storage_options={**HASTY, **ftp.storage_options})
    )


def test_a_copy_in_another_process_reads_on(ftp: FtpServer, folder: Path) -> None:
    found = at(ftp)
    assert list(iter(found)) == rows()
    copied = pickle.dumps(found)
    code = "import pickle, sys; print(sum(1 for _ in iter(pickle.load(sys.stdin.buffer))))"
    done = subprocess.run(
        [sys.executable, "-c", code], input=copied, capture_output=True, check=True
    )
    assert int(done.stdout) == ROWS
    # A fork has connections of its own: both read at once.
    child = os.fork()
    if child == 0:
        os._exit(0 if list(iter(found)) == rows() else 1)
    assert list(iter(found)) == rows()
    assert os.waitpid(child, 0)[1] == 0


def test_a_wrong_password(ftp: FtpServer, folder: Path) -> None:
    wrong = {"fsspec": {"username": "EASYDATAKEY", "password": "wrong-password"}, "retries": 1}
    with pytest.raises(OSError, match="fsspec says") as failed:
        create_source(DatasetConfig(f"{ftp.url}/rows/a.jsonl", storage_options=wrong))
    assert "wrong-password" not in str(failed.value)


def test_a_file_that_was_exchanged_on_the_server(ftp: FtpServer, folder: Path) -> None:
    found = at(ftp)
    (folder / "a.jsonl").write_bytes(lines()[:-9])
    with pytest.raises(OSError, match="is not the file any more that was listed"):
        list(iter(found))


def test_states_move_between_locations(ftp: FtpServer, folder: Path) -> None:
    """By content and by size a file is known wherever it lies."""
    for identity in ("content", "size"):
        here = loader(str(folder / "a.jsonl"), identity=identity)
        away = loader(
            f"{ftp.url}/rows/a.jsonl", identity=identity, storage_options=ftp.storage_options
        )
        with here, away:
            for _, _ in zip(range(5), here, strict=False):
                pass
            state = here.state_dict()
            away.load_state_dict(state)
            rest_here = [batch["id"].tolist() for batch in here]
            assert [batch["id"].tolist() for batch in away] == rest_here


def test_threads_share_it(ftp: FtpServer, folder: Path) -> None:
    for number in range(4):
        (folder / f"part-{number}.jsonl").write_bytes(lines())
    found = at(ftp, "rows/part-*.jsonl")
    counts = []

    def run() -> None:
        counts.append(sum(1 for _ in iter(found)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [4 * ROWS] * 4
    assert SECRET not in repr(found)
