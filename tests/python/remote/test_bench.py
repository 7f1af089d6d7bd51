"""The bench itself: stores start and keep objects; the proxy hands on, fails and logs as told."""

from __future__ import annotations

import pytest
from stores import GcsStore, S3Store

ODD_KEYS = [
    "a b/c+d=e%20f#g?h.jsonl",
    "ünïcödé/名前.txt",
    "quotes \"double\" 'single' & ~;*[x]{y}.csv",
    "date=2024-01-01/part-0.parquet",
    "dot./.hidden",
]


@pytest.mark.parametrize("name", ["seaweed", "moto", "gcs"])
def test_a_store_keeps_objects(name: str, request: pytest.FixtureRequest) -> None:
    store: S3Store | GcsStore = request.getfixturevalue(name)
    bucket = store.bucket("keeps")
    for number, key in enumerate(ODD_KEYS):
        store.put(bucket, key, b"%d" % number)
    assert sorted(store.list(bucket)) == sorted(ODD_KEYS)
    assert [store.get(bucket, key) for key in ODD_KEYS] == [b"%d" % i for i in range(len(ODD_KEYS))]
    store.delete(bucket, ODD_KEYS[0])
    assert ODD_KEYS[0] not in store.list(bucket)
    assert store.bucket("keeps") != bucket
