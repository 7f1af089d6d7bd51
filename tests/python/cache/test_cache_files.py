"""Entries in files: damage, full disks, other files beside them, other options later."""

import logging
import os
import pickle
import shutil
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full_disk import make_read_only, small_disk
from same_value import is_same
from test_cache_values import VALUES

from easydata import CacheMetadata, DiskCache, TreeCacheManager, _native
from easydata.cache import ages

VALUE = {"input_ids": [1, 2, 50256], "mask": np.array([True, False]), "text": "ü" * 40}
CODECS = ("none", "gzip", "lz4", "zstd")


def entry_file(folder: Path) -> Path:
    """The only entry of a cache."""
    (found,) = (folder / "easydata_entries").glob("*.data")
    return found


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_damaged_entry_is_a_miss_and_never_another_value(codec: str, tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, compression=codec)
    cache.put("k", VALUE, CacheMetadata(num_examples=3))
    file = entry_file(tmp_path)
    whole = file.read_bytes()
    damaged = [whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :] for at in range(len(whole))]
    damaged += [whole[:at] for at in range(len(whole))]
    damaged += [whole + b"\0", b"", whole[100:], whole * 2]
    aside = file.parent / "damaged" / file.name
    for number, data in enumerate(damaged, 1):
        file.write_bytes(data)
        if number % 2:
            assert not cache.contains("k"), number
            assert cache.get("k") is None
        else:
            assert cache.get("k") is None, number
            assert not cache.contains("k")
        assert cache.stats["damaged"] == number
        assert not file.exists()
        assert aside.read_bytes() == data
        aside.unlink()
    file.write_bytes(whole)
    assert cache.contains("k")
    found = cache.get("k")
    assert found is not None
    assert is_same(found[0], VALUE)
    file.write_bytes(whole[:-1])
    assert cache.get("k") is None
    cache.invalidate()
    assert not aside.exists()


def test_damage_is_told_once_with_the_entry(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = TreeCacheManager(tmp_path, memory_size=0)
    for key in "ab":
        cache.put(key, VALUE)
        entry_file(tmp_path).write_bytes(b"EASYCACHE of another kind")
        assert cache.get_or_compute(key, lambda: 5) == 5
        cache.invalidate(key)
    (said,) = [each.getMessage() for each in caplog.records if each.name == "easydata"]
    assert "has a damaged entry, " in said
    assert str(tmp_path) in said


def test_the_entry_of_another_key_is_no_hit(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.put("a", "of a")
    file = entry_file(tmp_path)
    cache.put("b", "of b")
    (other,) = [each for each in file.parent.glob("*.data") if each != file]
    shutil.copy(file, other)
    assert cache.get("b") is None
    assert cache.get("a") == ("of a", None)


def test_the_head_alone_is_read_for_metadata(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.put("k", np.zeros(1 << 20, np.uint8), CacheMetadata(num_examples=9))
    file = entry_file(tmp_path)
    # The value's bytes are gone, the size is not: nobody who does not read them can tell.
    head = file.read_bytes()[:1000]
    size = file.stat().st_size
    with open(file, "r+b") as out:
        out.truncate(len(head) // 2)
        out.truncate(size)
    with open(file, "r+b") as out:
        out.write(head)
    metadata = cache.get_metadata("k")
    assert metadata is not None
    assert metadata.num_examples == 9
    with open(file, "r+b") as out:
        out.seek(size - 5)
        out.write(b"x")
    assert cache.get_metadata("k") is not None
    assert cache.get("k") is None


def test_an_entry_of_a_later_version_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = DiskCache(tmp_path)
    cache.put("k", 1)
    payload = 9  # a tag and eight bytes
    file = entry_file(tmp_path)
    data = file.read_bytes()
    head = data[:8] + struct.pack("<I", 2) + data[12:32]
    digest = _native.hash_bytes(head + data[40:-payload])
    file.write_bytes(head + struct.pack("<Q", digest) + data[40:])
    assert cache.get("k") is None
    assert cache.stats["damaged"] == 0
    assert file.exists()
    assert "of a newer easydata" in caplog.text


def test_the_format_is_as_its_page_says(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.put("key", True)
    data = entry_file(tmp_path).read_bytes()
    magic, version, details_size, size, digest = struct.unpack_from("<8sIIQQ", data)
    (head_digest,) = struct.unpack_from("<Q", data, 32)
    assert (magic, version, size) == (b"EASYCACH", 1, 1)
    assert data[-1:] == b"T"
    assert len(data) == 40 + details_size + size
    assert digest == _native.hash_bytes(b"T")
    assert head_digest == _native.hash_bytes(data[:32] + data[40 : 40 + details_size])
    xxhash = pytest.importorskip("xxhash")
    assert digest == xxhash.xxh3_64_intdigest(b"T")


def test_an_entry_of_the_first_release_is_read(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.put("golden/1", None)
    shutil.copyfile(Path(__file__).with_name("entry_version_1.data"), entry_file(tmp_path))
    found = cache.get("golden/1")
    assert found is not None
    assert len(found[0]) > 30
    wrong = [name for name, each in found[0].items() if not is_same(each, VALUES[name])]
    assert wrong == []
    extra = {1: (2, "\ud800")}
    assert found[1] == CacheMetadata(created_at=1.5, num_examples=len(found[0]), extra=extra)


def test_entries_stay_readable_when_the_codec_changes(tmp_path: Path) -> None:
    value = {"ids": [7] * 10_000, "noise": os.urandom(100)}
    for codec in CODECS:
        DiskCache(tmp_path, compression=codec).put(codec, value)
        DiskCache(tmp_path, compression=codec).put("noise of " + codec, os.urandom(1000))
    for reader in CODECS:
        cache = DiskCache(tmp_path, compression=reader)
        for codec in CODECS:
            assert cache.get(codec) == (value, None)
            assert cache.contains("noise of " + codec)
    sizes = sorted(each.stat().st_size for each in (tmp_path / "easydata_entries").glob("*.data"))
    assert sizes[-1] > 10_000
    assert sizes[-2] < 2_000  # those of the other codecs, and noise that no codec made longer


def test_blocks_of_a_long_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from easydata.cache import compression

    monkeypatch.setattr(compression, "_BLOCK", 1000)
    for size in (999, 1000, 1001, 5000, 5001):
        value = bytes(range(256)) * 20
        for codec in CODECS:
            cache = DiskCache(tmp_path, compression=codec)
            cache.put("k", value[:size])
            assert cache.get("k") == (value[:size], None)


def test_only_what_is_ours_is_ever_deleted(tmp_path: Path) -> None:
    cache = TreeCacheManager(tmp_path)
    cache.put("k", 1)
    folder = tmp_path / "easydata_entries"
    (folder / "sub").mkdir()
    theirs = [
        tmp_path / "notes.txt",
        tmp_path / f"{'0' * 32}.data",  # of easydel.data, say
        folder / "notes.txt",
        folder / f"{'0' * 31}g.data",
        folder / f"{'0' * 32}.data.bak",
        folder / "sub" / f"{'0' * 32}.data",
        folder / "writing" / "notes.txt",
    ]
    for each in theirs:
        each.write_text("theirs")
    (folder / f"{'1' * 32}.data").symlink_to(tmp_path / "notes.txt")
    for call in (lambda: cache.invalidate("k"), cache.invalidate):
        cache.put("k", 1)
        call()
        assert not cache.contains("k")
        assert [each for each in theirs if each.read_text() != "theirs"] == []
    left = {each.name for each in folder.glob("*.data")}
    assert left == {f"{'0' * 31}g.data", f"{'1' * 32}.data"}
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d17")


def test_what_a_killed_process_left_is_removed_when_it_is_old(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    writing = tmp_path / "easydata_entries/writing"
    for name, age in (("0" * 32 + "." + "1" * 16, 0), ("0" * 32 + "." + "2" * 16, 90_000)):
        (writing / name).write_bytes(b"cut")
        os.utime(writing / name, (time.time() - age,) * 2)
    cache.invalidate()
    assert [each.name[-1] for each in writing.iterdir()] == ["1"]


def test_a_folder_that_is_deleted_in_mid_run_costs_hits(tmp_path: Path) -> None:
    cache = TreeCacheManager(tmp_path / "cache")
    cache.put("k", 1)
    shutil.rmtree(tmp_path / "cache")
    assert not cache.contains("k")
    assert cache.get("k") is None
    assert cache.get_or_compute("k", lambda: 2) == 2
    assert TreeCacheManager(tmp_path / "cache").get("k") == (2, None)
    assert cache.stats["disk"]["failed_writes"] == 0


def test_a_full_disk_costs_the_cache_and_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "disk", "200k") as disk:
        cache = TreeCacheManager(disk, memory_size=1)
        cache.put("k", "old")
        cache.put("small", "kept")
        for number in range(3):
            data = os.urandom(300_000)
            assert cache.get_or_compute(f"long {number}", lambda data=data: data) == data  # type: ignore[misc]
        assert cache.stats["disk"]["failed_writes"] == 3
        # What could not be replaced is not there any more: the old value would be wrong.
        cache.put("k", data)
        assert cache.get("k") == (data, None)  # of memory
        cache.put("other", 1)
        assert cache.get("k") is None
        assert cache.get("small") == ("kept", None)
        assert list((disk / "easydata_entries/writing").iterdir()) == []
        (said,) = [each for each in caplog.records if each.levelno == logging.WARNING]
        assert "No space left on device" in said.getMessage()


def test_a_disk_that_cannot_be_written_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "disk", "200k") as disk:
        DiskCache(disk).put("k", "old")
        make_read_only(disk)
        cache = TreeCacheManager(disk, disk_expiry=None)
        assert cache.get("k") == ("old", None)
        assert cache.get_or_compute("absent", lambda: 1) == 1
        assert cache.get_or_compute("absent", lambda: 2) == 1  # of memory
        bare = DiskCache(disk)
        bare.put("k", "new")
        assert bare.get("k") is None  # the old value is there, but it is not what was put
        cache.invalidate()
        assert not cache.contains("k")
        assert cache.get("k") is None
        never = DiskCache(disk, expiry_seconds=0)
        assert never.get("k") is None
        fresh = DiskCache(disk / "sub")
        fresh.put("k", 1)
        assert fresh.get("k") is None
        assert fresh.stats["failed_writes"] == 1
    text = caplog.text
    assert text.count("cannot be locked") == 1
    assert text.count("cannot be emptied") == 1
    assert text.count("cannot be made") == 1


def test_the_bytes_of_all_entries_are_limited(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "easydata_entries"
    others = DiskCache(tmp_path)
    for number in range(10):
        others.put(f"old {number}", os.urandom(10_000))
    (folder / "theirs.bin").write_bytes(bytes(1 << 20))
    ahead = 0.0
    real = ages.now
    monkeypatch.setattr(ages, "now", lambda: real() + ahead)
    cache = TreeCacheManager(tmp_path, max_bytes=50_000)
    cache.put("used", os.urandom(9_000))
    for number in range(30):
        assert cache.get("used") is not None
        ahead += 100.0  # uses are written down once in a minute
        cache.put(f"new {number}", os.urandom(4_000))
        assert sum(each.stat().st_size for each in folder.glob("*.data")) <= 50_000
        assert cache.contains(f"new {number}")
    assert [others.contains(f"old {number}") for number in range(10)] == [False] * 10
    assert cache.get("used") is not None
    assert not cache.contains("new 0")
    assert cache.stats["disk"]["evicted"] > 20
    assert (folder / "theirs.bin").exists()

    cache.put("used", os.urandom(60_000))
    assert others.get("used") is None
    assert "bytes are more than max_bytes=50000" in caplog.text
    assert pickle.loads(pickle.dumps(cache))._disk.max_bytes == 50_000
    assert pickle.loads(pickle.dumps(DiskCache(tmp_path, max_bytes=9))).max_bytes == 9
    with pytest.raises(ValueError, match="max_bytes is 0: give 1 or more"):
        DiskCache(tmp_path, max_bytes=0)
    with pytest.raises(TypeError, match="max_bytes is '1GB': give a number of bytes"):
        TreeCacheManager(tmp_path, max_bytes="1GB")  # type: ignore[arg-type]


def test_values_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    cache = TreeCacheManager(tmp_path)
    cache.put("k", 1)
    with pytest.raises(TypeError):
        cache.put("k", {"a": (i for i in ())})
    assert cache.get("k") == (1, None)


def test_a_value_whose_library_is_gone_is_a_miss_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    value = np.zeros(3, ml_dtypes.bfloat16)
    cache = DiskCache(tmp_path)
    cache.put("k", value)

    def gone(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("easydata.cache.numpy_types.importlib.import_module", gone)
    assert cache.get("k") is None
    assert cache.stats["hits"] == 0
    assert "take a library which is not here: No module named 'ml_dtypes'" in caplog.text
    monkeypatch.undo()
    found = cache.get("k")
    assert found is not None
    assert is_same(found[0], value)
