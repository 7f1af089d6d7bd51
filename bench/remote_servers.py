"""The servers of the tests of remote files, for benchmarks: nginx, SeaweedFS, a proxy far away."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from corpora import ROOT


def _module(name: str) -> Any:
    """A module of the servers of the tests."""
    folder = str(ROOT / "tests" / "python" / "servers")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


@contextmanager
def web_server() -> Iterator[Any]:
    """Nginx, which serves the files of a new folder: `url` and `folder`."""
    with _module("stores").web_server() as server:
        yield server


def as_bucket(web: Any, folder: Path) -> str:
    """Serves a folder as a bucket that everybody may read and list, and returns its name.

    The list is a file that nginx answers with, whatever is asked for: a store that takes next to
    none of the processor that it shares with those who read.
    """
    name = folder.name
    bucket = web.folder / name
    bucket.mkdir()
    entries = []
    for path in sorted(folder.iterdir()):
        (bucket / path.name).symlink_to(path)
        found = path.stat()
        tag = f"&quot;{int(found.st_mtime):x}-{found.st_size:x}&quot;"
        time = datetime.fromtimestamp(int(found.st_mtime), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        entries.append(
            f"<Contents><Key>{path.name}</Key><LastModified>{time}</LastModified>"
            f"<ETag>{tag}</ETag><Size>{found.st_size}</Size></Contents>"
        )
    text = f"<ListBucketResult>{''.join(entries)}</ListBucketResult>"
    (bucket / "index.html").write_text(text, encoding="utf-8")
    return name


@contextmanager
def s3_store() -> Iterator[Any]:
    """SeaweedFS, which checks signatures: an S3Store of the tests."""
    with _module("stores").seaweed_server() as store:
        yield store


def upload(store: Any, bucket: str, paths: list[Path]) -> None:
    """Puts files into a bucket under their names."""
    for path in paths:
        store.own_client.upload_file(str(path), bucket, path.name)


@contextmanager
def far_away(url: str, seconds: float) -> Iterator[Any]:
    """A proxy before a server, behind which every answer begins so much later: `url` and a log."""
    rule = _module("faults").Rule("latency", seconds=seconds, method="")
    with _module("fault_proxy").FaultProxy(url, [rule]) as proxy:
        yield proxy
