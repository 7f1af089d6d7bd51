"""Hugging Face datasets in folders."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import secrets
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.cache.entry_file import (
    DamagedEntry,
    NewerEntry,
    entry_bytes,
    read_head,
    read_payload,
)
from easydata.cache.entry_folder import EntryFolder, Seen, cache_path, entry_name, seen
from easydata.cache.layer import checked_key
from easydata.cache.said_once import SaidOnce
from easydata.cache.single_flight import alone
from easydata.cache.values import decode_value, encode_value

if TYPE_CHECKING:
    import datasets

__all__ = ["DatasetCache"]

_FOLDER = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}")
_NO_METADATA = encode_value(None).data
# Another process may put a new dataset in its place meanwhile.
_TRIES = 5
# Files are hashed in pieces.
_PIECE = 16 << 20


class DatasetCache:
    """Datasets of the library `datasets`, in files that it writes and maps.

    A dataset is written to a folder of its own by `save_to_disk()`, then an entry names the folder
    and its files, with their hashes. They are compared when a process first asks for them.

    Attributes:
        cache_dir: The folder.
    """

    def __init__(self, cache_dir: str | os.PathLike[str]) -> None:
        """Makes the folder.

        Args:
            cache_dir: A folder of this machine. Datasets are in `easydata_datasets` in it; what
                else is there is left alone.

        Raises:
            ValueError: It is a file, or on a store.
        """
        self.cache_dir = cache_path(cache_dir)
        self._folder = EntryFolder(self.cache_dir, "easydata_datasets")
        self._counts: Counter[str] = Counter()
        self._said = SaidOnce()
        self._verified: set[tuple[int, int, int]] = set()
        # Entries that could not be removed.
        self._outdated: dict[str, tuple[int, int, int]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self.cache_dir),)

    @property
    def stats(self) -> dict[str, Any]:
        """`cache_dir`, `hits`, `misses`, `damaged` (of the misses), `failed_writes`."""
        names = ("hits", "misses", "damaged", "failed_writes")
        return {"cache_dir": str(self.cache_dir), **{each: self._counts[each] for each in names}}

    def get(self, key: str) -> datasets.Dataset | datasets.DatasetDict | None:
        """The dataset of a key, its files mapped; None where there is none."""
        name = entry_name(checked_key(key))
        loaded = None
        for _ in range(_TRIES):
            entry = self._folder.look(name)
            found = self._whole(name, key)
            if found is None:
                break
            try:
                loaded = importlib.import_module("datasets").load_from_disk(str(found))
                break
            except Exception as error:
                if self._folder.look(name) == entry:  # of another version of datasets, say
                    self._tell("load", f"has a dataset that cannot be loaded: {error!r}")
                    break
        self._counts["misses" if loaded is None else "hits"] += 1
        return loaded

    def put(self, key: str, dataset: datasets.Dataset | datasets.DatasetDict) -> None:
        """Writes a dataset, in place of what the key had.

        Raises:
            TypeError: It is none, or a stream, or has a format that cannot be written.
        """
        name = entry_name(checked_key(key))
        _check(dataset)
        with alone(self._folder.path / "locks", name, self._said):
            made = self._folder.path / f"{name}-{secrets.token_hex(8)}"
            try:
                self._folder.part("writing")
                dataset.save_to_disk(str(made), num_shards=_shards(dataset))
                files = {
                    str(each.relative_to(made)): (each.stat().st_size, _hash_of(each))
                    for each in sorted(made.rglob("*"))
                    if each.is_file()
                }
                payload = encode_value({"folder": made.name, "files": files}).data
                self._folder.write(name, entry_bytes(key, _NO_METADATA, payload, "none"))
            except OSError as error:
                shutil.rmtree(made, ignore_errors=True)
                self._counts["failed_writes"] += 1
                self._tell("written", f"cannot be written, and does not keep it: {error}")
                self._remove_entry(name)
                made = Path()
            except BaseException:
                shutil.rmtree(made, ignore_errors=True)
                raise
            self._remove_folders(name, but=made.name)

    def contains(self, key: str) -> bool:
        """Whether `get()` finds something; reads the files if this process has not yet."""
        return self._whole(entry_name(checked_key(key)), key) is not None

    def invalidate(self, key: str | None = None) -> None:
        """Removes the dataset of a key, or all of them; of other files none."""
        if key is None:
            names = {each.name[:32] for each in self._folders()}
            names |= {each.name[:32] for each in self._folder.entries()}
            with contextlib.suppress(OSError):
                self._folder.remove_all()
        else:
            names = {entry_name(checked_key(key))}
        for name in sorted(names):
            with alone(self._folder.path / "locks", name, self._said):
                self._remove_entry(name)
                self._remove_folders(name)

    def _whole(self, name: str, key: str) -> Path | None:
        """The folder of an entry, all of whose files are as they were written."""
        found = None
        for _ in range(_TRIES):
            found = self._folder.look(name)
            if found is None or self._outdated.get(name) == found.identity:
                return None
            try:
                return self._verified_folder(name, key, found)
            except DamagedEntry as error:
                now = self._folder.look(name)
                if now is not None and now.identity == found.identity:
                    self._counts["damaged"] += 1
                    self._folder.set_aside(name, found)
                    self._tell("damaged", f"has a damaged dataset, {name}: {error}")
                    return None
            except FileNotFoundError:
                continue  # it was removed just now
            except (NewerEntry, OSError) as error:
                self._tell("read", f"has a dataset, {name}, that cannot be read: {error}")
                return None
        return None

    def _verified_folder(self, name: str, key: str, found: Seen) -> Path:
        with self._folder.open(name) as file:
            now = seen(os.fstat(file.fileno()))
            said = decode_value(read_payload(file, read_head(file, now.size, key)))
        folder: Path = self._folder.path / said["folder"]
        for path, (size, digest) in said["files"].items():
            each = folder / path
            try:
                found = seen(each.stat())
                if found.size != size:
                    raise DamagedEntry(f"{path} has {found.size} bytes, not {size}")
                if found.identity not in self._verified:
                    if _hash_of(each) != digest:
                        raise DamagedEntry(f"the hash of {path} is another one")
                    self._verified.add(found.identity)
            except FileNotFoundError:
                raise DamagedEntry(f"{path} is not there") from None
        return folder

    def _folders(self) -> list[Path]:
        try:
            found = os.listdir(self._folder.path)
        except OSError:
            return []
        return [self._folder.path / each for each in found if _FOLDER.fullmatch(each)]

    def _remove_folders(self, name: str, but: str = "") -> None:
        """Removes the folders of a key, whose lock we have: no one writes them."""
        for each in self._folders():
            if each.name[:32] == name and each.name != but:
                shutil.rmtree(each, ignore_errors=True)

    def _remove_entry(self, name: str) -> None:
        try:
            self._folder.remove(name)
        except OSError as error:
            now = self._folder.look(name)
            if now is not None:
                self._outdated[name] = now.identity
            self._tell("emptied", f"cannot be emptied; what is there is not read any more: {error}")

    def _tell(self, kind: str, what: str) -> None:
        self._said.warn(kind, f"the cache {self._folder.path} {what}")


def _check(dataset: Any) -> None:
    library = importlib.import_module("datasets")
    if isinstance(dataset, (library.Dataset, library.DatasetDict)):
        return
    if isinstance(dataset, (library.IterableDataset, library.IterableDatasetDict)):
        raise TypeError(
            f"a DatasetCache keeps no {type(dataset).__name__}, which may never end: give "
            "datasets.Dataset.from_list(list(it)), or keep its rows with easydata's .save()"
        )
    raise TypeError(
        f"a DatasetCache keeps a Dataset or DatasetDict of `datasets`, not a "
        f"{type(dataset).__name__}: other values go into a DiskCache"
    )


def _shards(dataset: Any) -> Any:
    """One where there are no rows, for which save_to_disk() writes what cannot be loaded."""
    if isinstance(dataset, dict):
        return {name: _shards(each) for name, each in dataset.items()}
    return None if len(dataset) else 1


def _hash_of(path: Path) -> int:
    """Of a file of up to one piece its hash; of a longer one that of its pieces' hashes."""
    with open(path, "rb") as file:
        pieces = iter(lambda: file.read(_PIECE), b"")
        hashes = [_native.hash_bytes(piece) for piece in pieces] or [_native.hash_bytes(b"")]
    if len(hashes) == 1:
        return hashes[0]
    return _native.hash_bytes(b"".join(each.to_bytes(8, "little") for each in hashes))
