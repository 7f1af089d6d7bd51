"""Outputs on stores, and what tests look for in them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fault_proxy import FaultProxy
from faults import Rule
from stores import GcsStore, S3Store

import easydata

Store = S3Store | GcsStore
# What differs from run to run in the metadata of equal outputs.
_OF_A_RUN = ("time", "config", "output_path")


_buckets: dict[int, str] = {}
_numbers = itertools.count(1)


class StoredOutput:
    """A prefix of its own, to write to; SeaweedFS has no room for many buckets."""

    def __init__(self, store: Store) -> None:
        self.store = store
        if id(store) not in _buckets:
            _buckets[id(store)] = store.bucket("saved")
        self.bucket = _buckets[id(store)]
        self.above = f"output-{next(_numbers)}"
        self.prefix = f"{self.above}/some/out"

    @property
    def uri(self) -> str:
        scheme = "s3" if isinstance(self.store, S3Store) else "gs"
        return f"{scheme}://{self.bucket}/{self.prefix}"

    @property
    def options(self) -> dict[str, Any]:
        return self.store.storage_options

    def options_at(self, url: str, **more: Any) -> dict[str, Any]:
        return {**self.store.options_at(url), **more}

    def put(self, name: str, data: bytes) -> None:
        self.store.put(self.bucket, f"{self.prefix}/{name}", data)

    def get(self, name: str) -> bytes:
        return self.store.get(self.bucket, f"{self.prefix}/{name}")

    def names(self) -> list[str]:
        keys = self.store.list(self.bucket, self.prefix + "/")
        return sorted(key.removeprefix(self.prefix + "/") for key in keys)

    def files(self) -> dict[str, bytes]:
        """All there is, metadata without what differs from run to run."""
        return {name: _plain(name, self.get(name)) for name in self.names()}

    def open_uploads(self) -> list[str]:
        if not isinstance(self.store, S3Store):
            return []
        return [key for key in self.store.open_uploads(self.bucket) if self.above in key]

    def is_clean(self) -> bool:
        """Whether nothing is there but what readers may see."""
        return not self.open_uploads() and not any(".easydata" in name for name in self.names())

    def clear(self) -> None:
        for key in self.store.list(self.bucket, self.above):
            self.store.delete(self.bucket, key)


def _plain(name: str, data: bytes) -> bytes:
    if not name.endswith(".metadata.json"):
        return data
    values = json.loads(data)
    return json.dumps({k: v for k, v in values.items() if k not in _OF_A_RUN}).encode()


def local_files(folder: Path) -> dict[str, bytes]:
    """The same of a folder of this machine."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        path.relative_to(folder).as_posix(): _plain(path.name, path.read_bytes()) for path in paths
    }


def small_rows(count: int = 600, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of about 100 bytes."""
    random_ = random.Random(seed)
    return [{"n": i, "text": random_.randbytes(30 + i % 20).hex()} for i in range(count)]


def big_rows(megabytes: int) -> list[dict[str, Any]]:
    """Rows of a megabyte that no codec makes smaller."""
    return [{"n": i, "text": random.Random(i).randbytes(1 << 19).hex()} for i in range(megabytes)]


def save(rows: list[dict[str, Any]], uri: Any, **options: Any) -> easydata.WriteStats:
    """Writes shards of about 15 kB, five for small_rows()."""
    options.setdefault("max_shard_size", 15_000)
    return easydata.save_dataset(rows, uri, options.pop("format", "jsonl"), **options)


def impatient(**options: Any) -> dict[str, Any]:
    """Storage options for stores that fail for good."""
    return {"retries": 2, "retry_delay": 0.01, "stall_timeout": 2, **options}


@contextmanager
def proxied(output: StoredOutput, *rules: Rule, seed: int = 0) -> Iterator[FaultProxy]:
    with FaultProxy(output.store.url, rules, seed) as proxy:
        yield proxy
