"""What the manual's page on caching says and shows, where no other test has it by itself."""

import inspect
import itertools
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from easydata.core.config import config_hash
from easydata.sources import CachedShardedSource
from easydata.transforms import compute_tokenizer_hash
from kept_data import texts
from same_value import is_same

from easydata import (
    CacheLayer,
    CacheMetadata,
    CacheStageConfig,
    DatasetCache,
    DatasetConfig,
    DiskCache,
    MemoryCache,
    Pipeline,
    PipelineConfig,
    Tokenizer,
    TreeCacheManager,
)

LAYERS = (CacheLayer, MemoryCache, DiskCache, TreeCacheManager)
# Those of methods, by name and default; "" for none.
METHODS = {
    "get": {"key": ""},
    "put": {"key": "", "value": "", "metadata": None},
    "contains": {"key": ""},
    "invalidate": {"key": None},
    "get_metadata": {"key": ""},
}


def parameters(method: Any) -> dict[str, Any]:
    found = inspect.signature(method).parameters.values()
    return {
        each.name: "" if each.default is inspect.Parameter.empty else each.default
        for each in found
        if each.name != "self"
    }


def test_methods_take_what_the_manual_gives_them() -> None:
    for layer in LAYERS:
        for name, wanted in METHODS.items():
            assert parameters(getattr(layer, name)) == wanted, (layer, name)
    assert parameters(TreeCacheManager.get_or_compute) == {
        "key": "", "compute_fn": "", "metadata": None, "validate_fn": None,
    }  # fmt: skip
    assert isinstance(inspect.getattr_static(TreeCacheManager, "compute_key"), staticmethod)
    assert parameters(TreeCacheManager.compute_key) == {
        "config": "", "prefix": "", "include_content_hash": False, "content": None,
    }  # fmt: skip
    assert parameters(CacheMetadata().is_valid_for) == {"config_hash": "", "source_hash": None}
    assert list(parameters(DatasetCache.put)) == ["key", "dataset"]
    for name in ("get", "contains", "invalidate"):
        assert list(parameters(getattr(DatasetCache, name))) == ["key"]


def layers(folder: Path) -> Iterator[Any]:
    yield MemoryCache()
    yield DiskCache(folder / "disk")
    yield TreeCacheManager(folder / "tree")


def test_values_and_keys_of_the_page(tmp_path: Path) -> None:
    batch = {"input_ids": np.arange(32).reshape(8, 4), "attention_mask": np.ones((8, 4), np.int8)}
    values: dict[str, Any] = {
        "dataset/tokens": {"input_ids": [[1, 2, 3], [4]], "attention_mask": [[1, 1, 1], [1]]},
        "my key, with anything in it": [5, 6, 50256],
        **{f"batch_{shard}_{row}": batch for shard in ("data/a.jsonl", "0") for row in (0, 10)},
    }
    for cache in layers(tmp_path):
        for key, value in values.items():
            cache.put(key, value)
        for key, value in values.items():
            assert is_same(cache.get(key)[0], value)


def older_than(folder: Path, seconds: float) -> None:
    """Removes folders and files by age, as users of the page do."""
    now = time.time()
    for each in folder.iterdir():
        if now - each.stat().st_mtime > seconds:
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink()


def make_old(folder: Path) -> None:
    for each in (folder, *folder.rglob("*")):
        os.utime(each, (0, 0))


def test_users_clean_up_old_caches_by_age(tmp_path: Path) -> None:
    cache = TreeCacheManager(tmp_path / "c")
    cache.put("old", [1])
    make_old(tmp_path / "c")
    older_than(tmp_path / "c", 86400)
    assert list((tmp_path / "c").iterdir()) == []
    assert cache.get("old") is None
    assert cache.get_or_compute("old", lambda: [2]) == [2]
    older_than(tmp_path / "c", 86400)
    assert TreeCacheManager(tmp_path / "c").get("old") == ([2], None)


def source_of(tiny: str, chain: str = "source tokenize", **options: Any) -> Any:
    """What a pipeline gives, with a cache that is given."""
    datasets = [
        DatasetConfig(texts(name, files), name=name, tokenizer=tiny)
        for name, files in (("one", "ab"), ("two", "cd"))[: 2 if "mix" in chain else 1]
    ]
    pipeline = Pipeline(PipelineConfig(datasets, cache=CacheStageConfig(**options)))
    for stage in chain.split():
        getattr(pipeline, stage)()
    (source,) = pipeline.get_data().values()
    return source


def counts_of(source: Any) -> tuple[int, int]:
    """Hits and misses of its store, when all is written."""
    source._store.native.flush()
    stats = source._store.native.stats()
    return stats["hits"], stats["misses"]


def test_users_clean_up_old_tokens_by_age(folder: Path, tiny: str) -> None:
    where = folder / ".cache" / "easydel_pipeline"
    source = source_of(tiny, cache_type="disk")
    wanted = list(source)
    assert counts_of(source) == (0, 2)
    make_old(where)
    assert list(where.glob("*.tokens"))
    older_than(where, 7 * 86400)
    assert list(where.iterdir()) == []
    assert list(source) == wanted
    assert counts_of(source) == (0, 4)
    del source
    later = source_of(tiny)
    assert list(later) == wanted
    assert counts_of(later) == (2, 0)


def test_the_chain_of_the_docstring(folder: Path, tiny: str) -> None:
    """Source, tokenize, cache, mix, which a docstring of the code shows."""
    mixed = source_of(tiny, "source tokenize cache mix")
    assert all(isinstance(source, CachedShardedSource) for source in mixed._inputs)
    plain = source_of(tiny, "source tokenize mix", enabled=False)
    assert not any(isinstance(source, CachedShardedSource) for source in plain._inputs)
    first = list(itertools.islice(mixed, 100))
    assert first == list(itertools.islice(plain, 100))


def test_stale_entries_are_told_by_hashes_of_config_and_tokenizer(
    tmp_path: Path, tiny: str, own_tokenizers: Path
) -> None:
    cache = TreeCacheManager(tmp_path / "c")
    made: list[str] = []

    def tokens(tokenizer: str, seed: int) -> Any:
        config = PipelineConfig([DatasetConfig("a.jsonl", tokenizer=tokenizer)], seed=seed)
        hashes = config_hash(config), compute_tokenizer_hash(tokenizer)

        def make() -> list[int]:
            made.append(tokenizer)
            return list(Tokenizer(tokenizer).encode("hello"))

        return cache.get_or_compute(
            "tokens",
            make,
            CacheMetadata(config_hash=hashes[0], tokenizer_hash=hashes[1]),
            lambda found: found.is_valid_for(hashes[0]) and found.tokenizer_hash == hashes[1],
        )

    other = str(own_tokenizers / "byte-level")
    shutil.copytree(tiny, tmp_path / "t")
    copy = str(tmp_path / "t")
    assert tokens(copy, 1) == tokens(copy, 1)
    assert made == [copy]
    tokens(copy, 2)  # another config
    assert made == [copy] * 2
    shutil.rmtree(copy)
    shutil.copytree(other, copy)  # another tokenizer of that name
    assert tokens(copy, 2) == list(Tokenizer(other).encode("hello"))
    assert made == [copy] * 3


@pytest.mark.parametrize("compression", ["none", "gzip", "lz4", "zstd"])
def test_every_compression_of_the_page_keeps_tokens(
    folder: Path, tiny: str, compression: str
) -> None:
    runs = []
    for wanted in ((0, 2), (2, 0)):
        source = source_of(tiny, cache_dir="c", cache_type="disk", compression=compression)
        runs.append(list(source))
        assert counts_of(source) == wanted
        del source
    assert runs[0] == runs[1]
