"""Rows that are kept on an object store, which machines share."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest
from easydata.sources import CachedShardedSource
from stores import S3Store

from easydata import JsonShardedSource, _native


@pytest.fixture
def rows(tmp_path: Path) -> JsonShardedSource[Any]:
    for letter in "ab":
        lines = [json.dumps({"text": f"{letter}{i}", "n": i}) for i in range(500)]
        (tmp_path / f"{letter}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return JsonShardedSource(str(tmp_path / "*.jsonl"))


def read(rows: JsonShardedSource[Any], address: str, store: S3Store) -> dict[str, int]:
    """Reads all, as a machine of its own does: what its store says at the end."""
    source = rows.cache(address, storage_options=store.storage_options)
    assert isinstance(source, CachedShardedSource)
    assert list(source) == list(rows)
    held = source._store
    assert held is not None
    held.native.flush()
    stats = held.native.stats()
    del source, held
    gc.collect()
    return stats


def test_machines_share_what_is_kept(seaweed: S3Store, rows: JsonShardedSource[Any]) -> None:
    bucket = seaweed.bucket("kept")
    address = f"s3://{bucket}/some/tokens"
    first = read(rows, address, seaweed)
    assert first["written_blocks"] == first["misses"] > 0
    assert first["hits"] == 0
    names = seaweed.list(bucket)
    assert "some/tokens/token_store.json" in names
    assert sum(name.endswith(".tokens") for name in names) >= 1
    assert not any(name.endswith((".tmp", "/index", "/locks")) for name in names)
    second = read(rows, address, seaweed)
    assert second["misses"] == second["written_blocks"] == 0
    assert second["hits"] == first["misses"]
    assert seaweed.list(bucket) == names, "nothing was added"


def test_looks_into_it(seaweed: S3Store, rows: JsonShardedSource[Any]) -> None:
    bucket = seaweed.bucket("kept")
    address = f"s3://{bucket}/tokens"
    read(rows, address, seaweed)
    options = seaweed.storage_options
    (plan,) = _native.list_store(address, storage_options=options)
    assert plan["rows"] == 1000
    assert json.loads(plan["json"])
    assert _native.verify_store(address, storage_options=options) == []
    with pytest.raises(NotImplementedError, match="nothing is removed from a cache on an object"):
        _native.prune_store(address, max_bytes=0)


def test_damaged_files_are_left_and_made_again(
    seaweed: S3Store, rows: JsonShardedSource[Any]
) -> None:
    bucket = seaweed.bucket("kept")
    address = f"s3://{bucket}/tokens"
    first = read(rows, address, seaweed)
    (name,) = [each for each in seaweed.list(bucket) if each.endswith(".tokens")]
    whole = seaweed.get(bucket, name)
    seaweed.put(bucket, name, whole[:160] + bytes(32) + whole[192:])
    (problem,) = _native.verify_store(address, storage_options=seaweed.storage_options)
    assert problem[0] == name.split("/")[1]
    stats = read(rows, address, seaweed)
    assert stats["damaged_blocks"] == 1
    assert stats["misses"] == first["misses"]
    seaweed.put(bucket, name, whole[:-100])
    assert read(rows, address, seaweed)["misses"] == first["misses"]


def test_a_later_version_is_left_alone(seaweed: S3Store) -> None:
    bucket = seaweed.bucket("kept")
    seaweed.put(bucket, "token_store.json", b'{"version": 2}')
    with pytest.raises(ValueError, match="made by a later EasyData"):
        _native.TokenStore(f"s3://{bucket}", storage_options=seaweed.storage_options)
