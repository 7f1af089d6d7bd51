"""Finished outputs, as a push finds them: their metadata, and their files on this machine."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from easydata import _native
from easydata.core.config_class import without_secrets
from easydata.execution.output_paths import path_in
from easydata.sources.arrow import ArrowShardedSource
from easydata.sources.data_files import list_data_files
from easydata.sources.files import FileSource
from easydata.sources.parquet import ParquetShardedSource
from easydata.sources.remote_files import RemoteFileSystem

_METADATA = ".metadata.json"
_KIND = "easydata.output"
_VERSION = 1
_COPIED_AT_ONCE = 8 << 20
# What reads the files that state their columns.
_SOURCES: dict[str, type[FileSource]] = {
    "parquet": ParquetShardedSource,
    "arrow": ArrowShardedSource,
}

# The name of the config where there is one dataset.
DEFAULT_CONFIG = "default"

# Options that are places of the machine that wrote the output.
_PLACES = {"output_path", "output_dir", "save_path", "quarantine_path", "cache_path", "cache_dir"}
# A path from the root or from a home folder, of at least two names, within other text.
_PATH = re.compile(
    r"""(?<![^\s"'=(\[{,])(?:file://)?(?:~|[A-Za-z]:)?[/\\][^\s"'/\\]+[/\\][^\s"']*"""
)

# A text that is a path from the root or from a home folder.
_IS_PATH = re.compile(
    r"(?:(?:file://|~|[A-Za-z]:)[/\\]|/[^\s/][^/\n]*/|\\\\)[^\n]*\Z",
)


@dataclass(frozen=True)
class Shard:
    """One file of an output."""

    name: str
    bytes: int
    rows: int
    tokens: int
    xxh3: str
    # By what the Hub knows the file; "" before it is there.
    identity: str = ""

    @property
    def content(self) -> tuple[str, int, str]:
        """What makes it another file."""
        return (self.name, self.bytes, self.xxh3)


def shards_of(values: Mapping[str, Any]) -> list[Shard]:
    """The files that metadata name, which may be anybody's.

    Raises:
        ValueError: When they are not what we write.
    """
    listed = values.get("shards")
    if not isinstance(listed, list):
        raise ValueError("shards is no list")
    shards = []
    for each in listed:
        try:
            size, rows, tokens = (int(each[key]) for key in ("bytes", "rows", "tokens"))
            shard = Shard(
                each["name"], size, rows, tokens, each["xxh3"], str(each.get("identity", ""))
            )
        except (TypeError, KeyError, ValueError, AttributeError):
            raise ValueError(f"a shard is not described as one: {each!r}") from None
        name = shard.name
        if not isinstance(name, str) or not re.fullmatch(r"[^./\\\0][^/\\\0]*", name):
            raise ValueError(f"{name!r} is not the plain name of a shard")
        shards.append(shard)
    if len({shard.name for shard in shards}) < len(shards):
        raise ValueError("a shard is named twice")
    return shards


class Output:
    """A finished output in a folder, or at a prefix of an object store.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is not one that can be pushed.
    """

    def __init__(self, folder: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self.folder = _native.user_path(folder)
        self.is_remote = "://" in self.folder
        self._options = storage_options
        self._metadata_path = path_in(self.folder, _METADATA)
        try:
            text = RemoteFileSystem(storage_options).cat_file(self._metadata_path)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{folder} holds no finished output of EasyData (no {_METADATA}); push what "
                "save_dataset, .save() or `easydata tokenize` wrote, once it is done"
            ) from None
        self.values = self._read(text)
        self.format = str(self.values.get("format"))
        try:
            self.shards = shards_of(self.values)
        except ValueError as error:
            raise ValueError(f"{self._metadata_path} is damaged: {error}") from None
        if not self.shards:
            raise ValueError(f"{folder} has no shards: there is nothing to push")

    def _path_of(self, shard: Shard) -> str:
        return path_in(self.folder, shard.name)

    def _read(self, text: bytes) -> dict[str, Any]:
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError(f"{self._metadata_path} is damaged: it is not JSON") from None
        if not isinstance(values, dict) or values.get("kind") != _KIND:
            raise ValueError(f"{self._metadata_path} is not one that EasyData wrote")
        if values.get("metadata_version") != _VERSION:
            raise ValueError(
                f"{self._metadata_path} is of another version of EasyData "
                f"(metadata_version {values.get('metadata_version')!r}); push with that one"
            )
        return values

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that are equal for the same files."""
        told = json.dumps([shard.content for shard in self.shards])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def public_values(self) -> dict[str, Any]:
        """The metadata without what is of this machine alone, and without secrets."""
        folders = sorted({*_folders(self.values)}, key=len, reverse=True)
        values: dict[str, Any] = _without_places(without_secrets(self.values), folders)
        return values

    def check_files(self) -> None:
        """Looks whether all shards are there.

        Raises:
            FileNotFoundError: One is not.
            ValueError: One has not the size that the metadata say.
        """
        if self.is_remote:
            listing = self._listing(self.shards)
            sizes = [listing.size_of(number) for number in range(len(listing))]
        else:
            sizes = [Path(self.folder, shard.name).stat().st_size for shard in self.shards]
        for shard, size in zip(self.shards, sizes, strict=True):
            if size != shard.bytes:
                raise ValueError(
                    f"{self._path_of(shard)} has {size:,} bytes, and was written with "
                    f"{shard.bytes:,}; `easydata verify {self.folder}` says what is damaged"
                )

    def _listing(self, shards: Sequence[Shard]) -> _native.FileListing:
        """The files of shards on a store, in their order."""
        names = [self._path_of(shard) for shard in shards]
        listing = list_data_files(names, self._options)
        places = {uri: number for number, uri in enumerate(listing.uris)}
        return listing.in_order([places[name] for name in names])

    def local_files(self, shards: Sequence[Shard], into: Path) -> list[Path]:
        """The files of shards on this machine; those of a store are copied into a folder."""
        if not self.is_remote:
            return [Path(self.folder, shard.name) for shard in shards]
        listing = self._listing(shards)
        paths = [into / shard.name for shard in shards]
        for number, path in enumerate(paths):
            file = listing.open(number)
            with path.open("wb") as copy:
                while copy.tell() < file.size:
                    copy.write(file.read_at(copy.tell(), _COPIED_AT_ONCE))
        return paths

    def schema(self) -> Any:
        """The Arrow schema of the rows; None where the files have none."""
        import pyarrow as pa

        if self.format not in _SOURCES:
            return None
        source = _SOURCES[self.format](
            list_data_files(self._path_of(self.shards[0]), self._options)
        )
        ((schema, _),) = source._source.columns_of_files()
        return pa.ipc.read_schema(pa.py_buffer(schema))


def outputs_in(
    folder: str, storage_options: Mapping[str, Any] | None = None, config: str | None = None
) -> dict[str, Output]:
    """The outputs in a folder, by the config that each is to be: one, or one a dataset.

    Raises:
        FileNotFoundError: There is none.
        ValueError: `config` is given for several.
    """
    try:
        return {config or DEFAULT_CONFIG: Output(folder, storage_options)}
    except FileNotFoundError:
        names = _folders_in(_native.user_path(folder), storage_options)
        if not names:
            raise
    found = {}
    for name in names:
        try:
            found[name] = Output(path_in(folder, name), storage_options)
        except FileNotFoundError:
            continue
    if not found:
        Output(folder, storage_options)  # says so
    if config is not None:
        raise ValueError(
            f"{folder} holds several datasets, which are configs by their names: "
            f"{', '.join(found)}; push the folder of one to call it {config!r}"
        )
    return found


def _folders_in(folder: str, storage_options: Mapping[str, Any] | None) -> list[str]:
    if "://" not in folder:
        path = Path(folder)
        return (
            sorted(each.name for each in path.iterdir() if each.is_dir()) if path.is_dir() else []
        )
    try:
        files = RemoteFileSystem(storage_options).glob(folder)
    except FileNotFoundError:
        return []
    above = folder.rstrip("/") + "/"
    inside = (file[len(above) :] for file in files if file.startswith(above))
    return sorted({name.split("/")[0] for name in inside if "/" in name})


def _folders(value: Any) -> Iterator[str]:
    """The folders of this machine that paths in a value lie in."""
    if isinstance(value, str) and _IS_PATH.match(value):
        folder = re.split(r"[*?\[{]", value)[0].rpartition("/")[0]
        if folder.strip("/"):
            yield folder
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _folders(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _folders(each)


def _without_places(value: Any, folders: Sequence[str]) -> Any:
    if isinstance(value, str):
        if _IS_PATH.match(value):
            return _last_name(value)
        for folder in folders:
            value = value.replace(f"{folder}/", "")
        return _PATH.sub(lambda found: _last_name(found[0]), value)
    if isinstance(value, Mapping):
        return {
            key: _without_places(each, folders) for key, each in value.items() if key not in _PLACES
        }
    if isinstance(value, (list, tuple)):
        return [_without_places(each, folders) for each in value]
    return value


def _last_name(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]
