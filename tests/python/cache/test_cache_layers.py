"""The classes of the manual's page on caching, as it uses them."""

import json
import pickle
from pathlib import Path
from typing import Any

import easydata.execution.cache as execution_cache
import pytest

import easydata.cache
from easydata import CacheLayer, CacheMetadata, DiskCache, MemoryCache, TreeCacheManager
from easydata.cache import ages


class Clock:
    """What the caches take for the time; starts at the real one."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self._now = ages.now

    def __call__(self) -> float:
        return self._now() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(ages, "now", clock)
    return clock


def test_metadata_as_the_manual_has_it(clock: Clock) -> None:
    clock.ahead = 1e6
    metadata = CacheMetadata()
    fields = metadata.to_dict()
    assert abs(fields.pop("created_at") - clock()) < 60
    assert fields == {
        "version": "1.0",
        "source_hash": "",
        "tokenizer_hash": None,
        "transform_hash": None,
        "num_examples": 0,
        "config_hash": "",
        "extra": {},
    }
    assert CacheMetadata.from_dict(metadata.to_dict()) == metadata
    old = CacheMetadata.from_dict({"config_hash": "c", "of a later version": 1})
    assert (old.config_hash, old.version, old.extra) == ("c", "1.0", {})
    assert old.is_valid_for("c")
    assert old.is_valid_for("c", source_hash="")
    assert not old.is_valid_for("c", source_hash="s")
    assert not old.is_valid_for("")


def test_compute_key_is_the_original(shared: Path) -> None:
    golden = json.loads((shared / "data/golden/easydel/cache_keys.json").read_text("utf-8"))
    assert len(golden["cases"]) > 20
    for case in golden["cases"]:
        content = case["content"]
        if case["content_is_bytes"]:
            content = content.encode("latin-1")
        key = TreeCacheManager.compute_key(
            case["config"],
            prefix=case["prefix"],
            include_content_hash=content is not None,
            content=content,
        )
        assert key == case["key"], case


def test_files_are_named_as_the_original_names_them(shared: Path, tmp_path: Path) -> None:
    golden = json.loads((shared / "data/golden/easydel/cache_keys.json").read_text("utf-8"))
    names = golden["disk_files_for_keys"]
    cache = DiskCache(tmp_path)
    for key in names["keys"]:
        cache.put(key, key)
    files = [each.name for each in (tmp_path / "easydata_entries").glob("*.data")]
    assert sorted(files) == sorted(names["files"])


def test_keys_depend_on_values_alone() -> None:
    key = TreeCacheManager.compute_key
    assert key({"p": Path("a")}) == key({"p": "a"})
    assert key({"a": 1}, include_content_hash=True, content=b"x") == key(
        {"a": 1}, include_content_hash=True, content="x"
    )
    assert key({"a": 1}, include_content_hash=True, content="") != key({"a": 1})
    assert key({}, include_content_hash=True, content="\ud800") != key({})
    with pytest.raises(TypeError, match="a function makes no key: its text says where it lies"):
        key({"f": lambda: 1})
    with pytest.raises(TypeError, match="a object makes no key"):
        key({"f": [object()]})
    with pytest.raises(TypeError, match="a set makes no key: it has no order"):
        key({"f": {"a", "b"}})
    with pytest.raises(TypeError, match="a ndarray makes no key: its text leaves out values"):
        key({"f": __import__("numpy").zeros(3)})
    with pytest.raises(ValueError, match="include_content_hash=True takes a content"):
        key({}, include_content_hash=True)
    with pytest.raises(TypeError, match="config is a list: give a dict"):
        key([1])  # type: ignore[arg-type]


def test_memory_keeps_the_values_used_last() -> None:
    cache = MemoryCache(max_size=2)
    assert cache.stats == {"hits": 0, "misses": 0, "hit_rate": 0.0, "size": 0, "max_size": 2}
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == (1, None)  # used: b goes first
    cache.put("c", 3)
    assert cache.get("b") is None
    assert cache.contains("a")
    assert cache.contains("c")
    cache.contains("a")  # that is no use
    cache.put("a", 4)  # in place of what was there
    assert cache.get("a") == (4, None)
    assert cache.stats == {"hits": 2, "misses": 1, "hit_rate": 2 / 3, "size": 2, "max_size": 2}
    cache.invalidate("a")
    cache.invalidate("never there")
    assert not cache.contains("a")
    cache.invalidate()
    assert cache.stats["size"] == 0
    nothing = MemoryCache(max_size=0)
    nothing.put("a", 1)
    assert nothing.get("a") is None


@pytest.mark.parametrize("value", [0, 0.0, False, None, "", b"", [], {}, ()])
def test_falsy_values_are_values(value: Any, tmp_path: Path) -> None:
    for cache in (MemoryCache(), DiskCache(tmp_path / "d"), TreeCacheManager(tmp_path / "t")):
        cache.put("", value)  # and so is an empty key
        assert cache.get("") == (value, None)
        assert cache.contains("")
    manager = TreeCacheManager(tmp_path / "t")
    computed = []
    for _ in range(2):
        assert manager.get_or_compute("k", lambda: computed.append(1) or value) == value  # type: ignore[func-returns-value]
    assert len(computed) == 1


@pytest.mark.parametrize(
    "key", ["a/b/../c", "x" * 100_000, "\x00\n", "ünï 😀", "\ud800", "CON", " ", "a\\b", "~"]
)
def test_keys_are_any_text(key: str, tmp_path: Path) -> None:
    for cache in (MemoryCache(), DiskCache(tmp_path / "d"), TreeCacheManager(tmp_path / "t")):
        assert cache.get(key) is None
        cache.put(key, [key])
        assert cache.get(key) == ([key], None)
        assert not cache.contains(key + "x")
        for bad in (None, 1, b"k"):
            for call in (cache.get, cache.contains, cache.get_metadata):
                with pytest.raises(TypeError, match="a cache's key is text"):
                    call(bad)  # type: ignore[operator]


def test_expiry_counts_from_the_last_use_in_every_layer(clock: Clock, tmp_path: Path) -> None:
    memory = MemoryCache(expiry_seconds=1000)
    disk = DiskCache(tmp_path / "d", expiry_seconds=1000)
    tree = TreeCacheManager(tmp_path / "t", disk_expiry=1000)
    bare = TreeCacheManager(tmp_path / "b", disk_expiry=1000, memory_size=0)
    for cache in (memory, disk, tree, bare):
        clock.ahead = 0.0
        cache.put("used", 1)
        cache.put("unused", 2, CacheMetadata())
        for clock.ahead in (500.0, 1300.0, 2200.0):
            assert cache.contains("used")
            assert cache.get("used") == (1, None), clock.ahead
            # contains() and get_metadata() are no use.
            is_alive = clock.ahead < 1000
            assert cache.contains("unused") == is_alive
            assert (cache.get_metadata("unused") is not None) == is_alive
        assert cache.get("unused") is None
        clock.ahead = 3300.0
        assert not cache.contains("used")
        assert cache.get("used") is None
    assert disk.stats["expired"] == 2
    # What is too old is deleted.
    assert list((tmp_path / "d/easydata_entries").glob("*.data")) == []


def test_expiry_of_none_zero_and_nonsense(clock: Clock, tmp_path: Path) -> None:
    for number, (make, name) in enumerate(
        [
            (lambda path, seconds: MemoryCache(10, seconds), "expiry_seconds"),
            (lambda path, seconds: DiskCache(path, "none", seconds), "expiry_seconds"),
            (lambda path, seconds: TreeCacheManager(path, 10, seconds), "disk_expiry"),
        ]
    ):
        clock.ahead = 0.0
        kept, never = make(tmp_path / f"k{number}", None), make(tmp_path / f"n{number}", 0)
        kept.put("k", 1)
        never.put("k", 1)
        assert not never.contains("k")
        assert never.get("k") is None
        clock.ahead = 1e9
        assert kept.get("k") == (1, None)
        for bad in (-1, float("nan")):
            with pytest.raises(ValueError, match=f"{name} is {bad}: give 0"):
                make(tmp_path / "x", bad)
        for wrong in (True, "1"):
            with pytest.raises(TypeError, match=f"{name} is {wrong!r}: give seconds"):
                make(tmp_path / "x", wrong)
    assert not (tmp_path / "x").exists()


def test_clocks_that_differ_make_no_entry_eternal(clock: Clock, tmp_path: Path) -> None:
    writer, reader = (DiskCache(tmp_path, expiry_seconds=7200) for _ in range(2))
    clock.ahead = 3600.0  # of the writer's machine
    writer.put("k", 1)
    clock.ahead = 0.0
    assert reader.contains("k")
    assert reader.get("k") == (1, None)  # an hour ahead is no slip: the writer's time stays
    clock.ahead = 3600.0 + 7100.0
    assert reader.contains("k")
    clock.ahead = 3600.0 + 7300.0
    assert reader.get("k") is None

    clock.ahead = 1e9  # a clock that is wrong by decades
    writer.put("k", 2)
    clock.ahead = 0.0
    assert reader.get("k") == (2, None)
    clock.ahead = 7300.0
    assert not reader.contains("k")
    assert reader.get("k") is None
    # One that stands still behind.
    clock.ahead = -1e9
    writer.put("k", 3)
    assert writer.get("k") == (3, None)
    clock.ahead = 0.0
    assert reader.get("k") is None


def test_options_are_checked_when_a_cache_is_made(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="compression is 'xz': choose one of none, gzip, lz4, zst"):
        DiskCache(tmp_path, compression="xz")
    with pytest.raises(ValueError, match="max_size is -1: give 0"):
        MemoryCache(-1)
    with pytest.raises(ValueError, match="memory_size is -1: give 0"):
        TreeCacheManager(tmp_path, memory_size=-1)
    with pytest.raises(TypeError, match=r"max_size is 1\.5: give a number of values"):
        MemoryCache(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a cache's folder must be on this machine"):
        DiskCache("s3://bucket/cache")
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="which is a file: give a folder"):
        TreeCacheManager(tmp_path / "file")


def test_a_codec_that_arrow_lacks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa

    class Without:
        @staticmethod
        def is_available(name: str) -> bool:
            return name != "lz4"

    monkeypatch.setattr(pa, "Codec", Without)
    DiskCache(tmp_path, compression="zstd")
    with pytest.raises(ValueError, match="compression='lz4': this pyarrow was built without it"):
        TreeCacheManager(tmp_path, compression="lz4")


def test_the_manager_promotes_and_tells(tmp_path: Path) -> None:
    writer = TreeCacheManager(tmp_path, compression="zstd")
    writer.put("k", [1] * 1000)
    cache = TreeCacheManager(str(tmp_path))
    assert cache.cache_dir == tmp_path
    assert cache.get("k") == cache.get("k") == ([1] * 1000, None)
    stats = cache.stats
    assert stats["memory"] == {
        "hits": 1, "misses": 1, "hit_rate": 0.5, "size": 1, "max_size": 100,
    }  # fmt: skip
    assert stats["disk"]["cache_dir"] == str(tmp_path)
    assert stats["disk"]["compression"] == "none"
    assert (stats["disk"]["hits"], stats["disk"]["misses"]) == (1, 0)
    assert cache.get("absent") is None
    assert cache.stats["disk"]["misses"] == 1


def test_memory_does_not_outlive_the_file(tmp_path: Path) -> None:
    one, other = TreeCacheManager(tmp_path), TreeCacheManager(tmp_path)
    one.put("k", "old")
    assert one.get("k") == ("old", None)
    other.put("k", "new")
    assert one.get("k") == ("new", None)
    other.invalidate("k")
    assert not one.contains("k")
    assert one.get("k") is None


def test_get_or_compute_as_the_manual_uses_it(tmp_path: Path) -> None:
    cache = TreeCacheManager(tmp_path)
    computed: list[str] = []

    def compute(what: str) -> str:
        computed.append(what)
        return what

    def ask(wanted: str) -> Any:
        return cache.get_or_compute(
            key="k",
            compute_fn=lambda: compute(wanted),
            metadata=CacheMetadata(config_hash=wanted),
            validate_fn=lambda meta: meta.config_hash == wanted,
        )

    assert [ask("a"), ask("a"), ask("b"), ask("b")] == ["a", "a", "b", "b"]
    assert computed == ["a", "b"]
    assert cache.get("k") == ("b", cache.get_metadata("k"))

    # Without metadata nothing says that it holds: never a value that was not judged.
    for _ in range(2):
        cache.get_or_compute("bare", lambda: compute("c"), validate_fn=lambda meta: True)
    assert computed == ["a", "b", "c", "c"]

    def fail() -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        cache.get_or_compute("fails", fail)
    assert cache.get_or_compute("fails", lambda: 1) == 1
    with pytest.raises(TypeError, match="value is a generator"):
        cache.get_or_compute("refused", lambda: (i for i in ()))
    # A computation may ask for other keys, and for its own.
    assert cache.get_or_compute("x", lambda: cache.get_or_compute("y", lambda: 5)) == 5
    assert cache.get_or_compute("z", lambda: cache.get_or_compute("z", lambda: 6)) == 6


def test_a_layer_of_ones_own() -> None:
    class Mine(CacheLayer):
        def __init__(self) -> None:
            self.values: dict[str, tuple[Any, CacheMetadata | None]] = {}

        def get(self, key: str) -> tuple[Any, CacheMetadata | None] | None:
            return self.values.get(key)

        def put(self, key: str, value: Any, metadata: CacheMetadata | None = None) -> None:
            self.values[key] = (value, metadata)

        def contains(self, key: str) -> bool:
            return key in self.values

        def invalidate(self, key: str | None = None) -> None:
            self.values.clear()

    cache = Mine()
    metadata = CacheMetadata(num_examples=3)
    cache.put("k", 1, metadata)
    assert cache.get_metadata("k") is metadata
    assert cache.get_metadata("absent") is None
    with pytest.raises(TypeError, match="abstract"):
        CacheLayer()  # type: ignore[abstract]
    for each in (MemoryCache, DiskCache, TreeCacheManager):
        assert issubclass(each, CacheLayer)


def test_caches_go_to_other_processes_as_their_options(tmp_path: Path) -> None:
    tree = TreeCacheManager(tmp_path, 7, None, "zstd")
    tree.put("k", 1)
    again = pickle.loads(pickle.dumps(tree))
    assert again.get("k") == (1, None)
    assert again.stats["memory"]["max_size"] == 7
    assert again.stats["disk"]["compression"] == "zstd"
    memory = pickle.loads(pickle.dumps(MemoryCache(3, 5)))
    assert (memory.max_size, memory.expiry_seconds) == (3, 5)


def test_importing_easydata_loads_none_of_it() -> None:
    from programs import run_python

    program = "import sys, easydata, easydata.cache; print(*sorted(sys.modules))"
    loaded = run_python("-c", program).stdout.split()
    assert [each for each in loaded if each.startswith("easydata.cache.")] == []
    program = "import sys, easydata; easydata.DiskCache; easydata.DatasetCache; print(*sys.modules)"
    loaded = run_python("-c", program).stdout.split()
    assert {"datasets", "transformers", "jax", "torch", "tokenizers"}.isdisjoint(loaded)
    assert execution_cache.DiskCache is easydata.cache.DiskCache is DiskCache
