"""The manual's options for remote files, and what it calls them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from easydata.legacy import DatasetMixture, TextDatasetInform, build_dataset
from easydata.utils import get_cached_filesystem
from fault_proxy import FaultProxy
from fault_server import FaultServer, Rule
from stores import S3Store

import easydata
from easydata import SourceStageConfig


def lines(count: int = 20) -> bytes:
    return "".join(json.dumps({"text": f"row {i}"}) + "\n" for i in range(count)).encode()


def rows_of(address: str, **options: Any) -> list[str]:
    mixture = DatasetMixture(
        informs=[TextDatasetInform(type="json", data_files=address, content_field="text")],
        streaming=False,
        **options,
    )
    return [row["text"] for row in build_dataset(mixture)]


EXPECTED = [f"row {i}" for i in range(20)]


def test_a_mixture_reads_from_a_store(seaweed: S3Store) -> None:
    bucket = seaweed.bucket("mixture")
    seaweed.put(bucket, "rows.jsonl", lines())
    address = f"s3://{bucket}/rows.jsonl"
    assert rows_of(address, dask_storage_options=seaweed.storage_options) == EXPECTED


def test_attempts_of_a_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer({"/rows.jsonl": lines()}, [Rule("status", status=500)]) as server:
        begin = time.monotonic()
        with pytest.raises(OSError, match="after 2 attempts"):
            rows_of(server.url + "/rows.jsonl", cloud_max_retries=1, cloud_retry_delay=0.5)
        assert 0.25 <= time.monotonic() - begin < 5


def test_copies_of_a_mixture(tmp_path: Path) -> None:
    with FaultServer({"/rows.jsonl": lines()}) as server:
        address = server.url + "/rows.jsonl"
        cached = {"cache_dir": tmp_path / "cache"}
        assert rows_of(address, **cached) == EXPECTED
        asked = len(server.asked())
        assert rows_of(address, **cached) == EXPECTED
        assert len(server.asked()) == asked  # read from the copy
        (copy,) = (tmp_path / "cache").rglob("rows.jsonl")
        assert copy.read_bytes() == lines()
        # Too old: fetched anew.
        os.utime(copy, (0, 0))
        assert rows_of(address, **cached) == EXPECTED
        assert len(server.asked()) > asked
        # Another file under the name: another copy.
        server.files["/rows.jsonl"] = lines(5)
        assert rows_of(address, **cached) == EXPECTED[:5]
        # Not wanted, or nowhere to keep them.
        assert rows_of(address, cache_remote_files=False, **cached) == EXPECTED[:5]
        assert rows_of(address) == EXPECTED[:5]
    assert not list((tmp_path / "cache").rglob("*.part"))


def source_of(address: str, **options: Any) -> list[Any]:
    datasets = [{"data_files": address}]
    pipeline = easydata.create_pipeline(datasets, source=SourceStageConfig(**options))
    return [row["text"] for row in pipeline.source().build()]


def test_options_of_the_source_stage(seaweed: S3Store) -> None:
    bucket = seaweed.bucket("stage")
    seaweed.put(bucket, "rows.jsonl", lines())
    address = f"s3://{bucket}/rows.jsonl"
    with FaultProxy(seaweed.url) as proxy:
        options = seaweed.options_at(proxy.url)
        assert source_of(address, dask_storage_options=options) == EXPECTED
        proxy.rules = [Rule("status", status=500, method="")]
        with pytest.raises(OSError, match="after 3 attempts"):
            source_of(
                address, dask_storage_options=options, cloud_max_retries=2, cloud_retry_delay=0.01
            )
    with pytest.raises(ValueError, match=r"dask_storage_options.*kye"):
        source_of(address, dask_storage_options={"kye": "x"})


def test_a_file_system_of_the_manual(seaweed: S3Store) -> None:
    bucket = seaweed.bucket("system")
    seaweed.put(bucket, "a/rows.jsonl", lines())
    options = seaweed.storage_options
    system = get_cached_filesystem(f"s3://{bucket}", options)
    assert system is get_cached_filesystem(f"s3://{bucket}/a", dict(options))
    assert system is not get_cached_filesystem(f"s3://{bucket}")
    address = f"s3://{bucket}/a/rows.jsonl"
    assert system.glob(f"s3://{bucket}/a/*") == [address]
    assert system.exists(address)
    assert not system.exists(f"s3://{bucket}/b.jsonl")
    assert system.size(address) == len(lines())
    assert system.cat_file(address) == lines()
    assert system.cat_file(address, 5, 9) == lines()[5:9]
