"""Data sets of the library `datasets` in a cache."""

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from full_disk import small_disk

from easydata import DatasetCache

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def no_progress_bars() -> None:
    datasets.disable_progress_bars()


def rows(count: int = 3) -> Any:
    return datasets.Dataset.from_dict({"text": [f"t{n}" for n in range(count)]})


def data_files(folder: Path) -> list[Path]:
    return sorted((folder / "easydata_datasets").glob("*-*/*"))


def test_data_sets_come_back(tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path)
    assert cache.get("absent") is None
    assert not cache.contains("absent")
    plain = rows()
    both = datasets.DatasetDict(train=rows(2), test=rows(0))
    formatted = rows().with_format("numpy").select([2, 0])
    for key, each in {"a/b": plain, "": both, "ü" * 300: formatted}.items():
        cache.put(key, each)
        for reader in (cache, DatasetCache(str(tmp_path))):
            assert reader.contains(key)
            found = reader.get(key)
            assert type(found) is type(each)
            parts = each if isinstance(each, dict) else {"": each}
            assert list(found if isinstance(found, dict) else {"": found}) == list(parts)
            for name, part in parts.items():
                got = found[name] if isinstance(found, dict) else found
                assert (got.features, got.format) == (part.features, part.format)
                assert list(got["text"]) == list(part["text"])
    assert cache.stats == {
        "cache_dir": str(tmp_path), "hits": 3, "misses": 1, "damaged": 0, "failed_writes": 0,
    }  # fmt: skip
    assert cache.cache_dir == tmp_path


def test_an_empty_data_set_is_one(tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path)
    cache.put("k", rows(0))
    found = cache.get("k")
    assert found is not None
    assert len(found) == 0


def test_putting_again_replaces_and_removing_removes(tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path)
    cache.put("k", rows(2))
    old = cache.get("k")
    cache.put("k", rows(5))
    new = cache.get("k")
    assert (len(old), len(new)) == (2, 5)
    assert old["text"][1] == "t1"  # what is mapped stays
    cache.put("k", new.select([1, 2]))  # of itself
    assert cache.get("k")["text"][:] == ["t1", "t2"]
    assert len({each.parent for each in data_files(tmp_path)}) == 1
    (tmp_path / "notes.txt").write_text("theirs")
    folder = tmp_path / "easydata_datasets"
    (folder / "theirs").mkdir()
    cache.put("other", rows(1))
    cache.invalidate("k")
    cache.invalidate("never there")
    assert not cache.contains("k")
    assert cache.contains("other")
    cache.invalidate()
    assert cache.get("other") is None
    assert data_files(tmp_path) == []
    assert (folder / "theirs").is_dir()
    assert (tmp_path / "notes.txt").read_text() == "theirs"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rows().to_iterable_dataset(), "keeps no IterableDataset, which may never end"),
        (
            lambda: datasets.IterableDatasetDict(train=rows().to_iterable_dataset()),
            "keeps no IterableDatasetDict",
        ),
        (lambda: [{"text": "a"}], "a Dataset or DatasetDict of `datasets`, not a list: other"),
        (lambda: None, "not a NoneType"),
        (lambda: rows().with_transform(lambda batch: batch), "JSON"),
    ],
)
def test_what_cannot_be_kept_is_refused(make: Any, message: str, tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path)
    cache.put("k", rows())
    with pytest.raises(TypeError, match=message):
        cache.put("k", make())
    assert len(cache.get("k")) == 3
    assert len({each.parent for each in data_files(tmp_path)}) == 1
    with pytest.raises(TypeError, match="a cache's key is text"):
        cache.put(3, rows())  # type: ignore[arg-type]


def test_damage_is_a_miss(tmp_path: Path) -> None:
    kinds = len(_put(tmp_path / "count"))
    assert kinds >= 3  # the rows, and what describes them
    for number in range(kinds):
        for change in ("flip", "cut", "remove"):
            folder = tmp_path / f"{number}{change}"
            file = _put(folder)[number]
            data = file.read_bytes()
            if change == "flip":
                file.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
            elif change == "cut":
                file.write_bytes(data[:-1])
            else:
                file.unlink()
            cache = DatasetCache(folder)
            assert not cache.contains("k") if number % 2 else cache.get("k") is None
            assert cache.get("k") is None
            assert cache.stats["damaged"] == 1
            cache.put("k", rows(4))
            assert len(cache.get("k")) == 4
            assert len({each.parent for each in data_files(folder)}) == 1


def _put(folder: Path) -> list[Path]:
    DatasetCache(folder).put("k", rows())
    return data_files(folder)


def test_who_reads_while_another_one_writes_gets_one_of_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = DatasetCache(tmp_path)
    made = [datasets.Dataset.from_dict({"n": [size] * size}) for size in (1, 2, 3)]
    ends = threading.Event()

    def write() -> None:
        for number in range(60):
            writer.put("k", made[number % 3])
            if number % 7 == 6:
                writer.invalidate("k")
        ends.set()

    thread = threading.Thread(target=write)
    thread.start()
    reader = DatasetCache(tmp_path)
    while not ends.is_set():
        found = reader.get("k")
        assert found is None or found["n"][:] == [len(found)] * len(found)
    thread.join()
    assert reader.stats["hits"] > 0
    assert reader.stats["damaged"] == 0
    assert caplog.records == []


def test_what_a_killed_process_wrote_is_no_data_set_and_goes(tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path)
    cache.put("k", rows())
    (entry,) = (tmp_path / "easydata_datasets").glob("*.data")
    whole = data_files(tmp_path)[0].parent
    left = whole.with_name(whole.name[:33] + "0" * 16)
    shutil.copytree(whole, left)
    entry.unlink()
    assert not cache.contains("k")
    cache.put("k", rows())
    assert not left.exists()
    assert not whole.exists()
    assert len(cache.get("k")) == 3


def test_a_full_disk_costs_the_data_set(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with small_disk(tmp_path / "disk", "200k") as disk:
        cache = DatasetCache(disk)
        cache.put("k", rows())
        cache.put("k", datasets.Dataset.from_dict({"text": ["x" * 1000] * 1000}))
        assert cache.get("k") is None  # the old one is not what was put
        assert cache.stats["failed_writes"] == 1
        assert data_files(disk) == []
        assert "cannot be written" in caplog.text
        cache.put("k", rows())
        assert len(cache.get("k")) == 3
