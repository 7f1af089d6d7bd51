"""The same files on a store or a web server, read through a proxy that fails by rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import FaultProxy
from faults import Asked, Rule
from stores import GcsStore, S3Store, WebServer

from easydata import DatasetConfig, create_source

# Of a reader that soon gives up on an attempt, and hardly waits before the next.
HASTY = {"stall_timeout": 0.5, "retry_delay": 0.01}

Server = S3Store | GcsStore | WebServer
# By server: the one bucket that all tests share (SeaweedFS has room for few), and what is in it.
_buckets: dict[str, str] = {}
_folders: dict[tuple[str, Path], str] = {}


@dataclass
class ServedFiles:
    """Files at `root`, behind a proxy; `folder` is the path of them all, bucket and prefix."""

    root: str
    proxy: FaultProxy
    options: dict[str, Any]
    server: Server
    folder: str

    def address(self, name: str) -> str:
        return f"{self.root}/{name}"

    def source(self, data_files: Any, **options: Any) -> Any:
        """A source of files by their names here; `options` are storage options."""
        names = [data_files] if isinstance(data_files, str) else data_files
        given = {**self.options, **HASTY, **options}
        addresses = [self.address(name) for name in names]
        return create_source(DatasetConfig(addresses, storage_options=given))

    def read(self, data_files: Any, **options: Any) -> list[Any]:
        return list(self.source(data_files, **options))

    @property
    def faults(self) -> list[Asked]:
        return [each for each in self.proxy.log if each.fault is not None]

    @property
    def secrets(self) -> list[str]:
        """What no message may say."""
        return [str(self.options[name]) for name in ("secret", "token") if name in self.options]


def folder_of(server: Server, folder: Path) -> str:
    """Where a folder's files are on a server, put there when it is first asked for."""
    if server.url not in _buckets:
        is_web = isinstance(server, WebServer)
        _buckets[server.url] = "certificate" if is_web else server.bucket("certificate")
    known = (server.url, folder)
    if known not in _folders:
        prefix = f"{_buckets[server.url]}/{len(_folders)}"
        for path in folder.iterdir():
            put(server, prefix, path.name, path.read_bytes())
        _folders[known] = prefix
    return _folders[known]


def put(server: Server, folder: str, name: str, data: bytes) -> None:
    """Writes a file behind the library's back."""
    if isinstance(server, WebServer):
        path = server.folder / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    else:
        bucket, _, prefix = folder.partition("/")
        server.put(bucket, f"{prefix}/{name}", data)


@contextmanager
def served_files(
    request: pytest.FixtureRequest, name: str, folder: Path, rules: Sequence[Rule] = (), **how: Any
) -> Iterator[ServedFiles]:
    """The folder's files on the server of a fixture, behind a proxy (`how` is its options)."""
    server: Server = request.getfixturevalue(name)
    there = folder_of(server, folder)
    with FaultProxy(server.url, rules, **how) as proxy:
        if isinstance(server, WebServer):
            root, options = f"{proxy.url}/{there}", {}
        else:
            root, options = f"{server.scheme}://{there}", server.options_at(proxy.url)
        yield ServedFiles(root, proxy, options, server, there)


def bounds(asked: Asked) -> tuple[int, int]:
    """First and last byte of a range that was asked for."""
    assert asked.range is not None
    first, _, last = asked.range.removeprefix("bytes=").partition("-")
    return int(first), int(last)


def identity(asked: Asked) -> str | None:
    """What a request says of the object that it wants: an ETag, a generation."""
    generation = [each for each in asked.query.split("&") if each.startswith("generation=")]
    return generation[0] if generation else asked.if_match


def again(asked: Asked, log: list[Asked]) -> Asked:
    """The request that asked for the rest of what another one did not bring."""
    later = log[log.index(asked) + 1 :]
    last = bounds(asked)[1]
    return next(
        each
        for each in later
        if each.path == asked.path and each.range is not None and bounds(each)[1] == last
    )
