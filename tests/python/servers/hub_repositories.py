"""Repositories as the Hub keeps them: blobs, commits, revisions, and what is told of a tree."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import pairwise
from typing import Any

import yaml

KINDS = ("datasets", "models", "spaces")

# Names of files that lie in the large store, as the Hub's own .gitattributes have it, and the size
# from which any file does.
LFS_NAMES = tuple(
    f"*.{ending}"
    for ending in (
        *("7z", "arrow", "avro", "bin", "bz2", "gz", "h5", "lz4", "msgpack", "npy", "npz", "onnx"),
        *("parquet", "pickle", "pkl", "pt", "pth", "safetensors", "tar", "tgz", "zip", "zst"),
        *("flac", "mp3", "ogg", "wav", "bmp", "gif", "png", "jpg", "jpeg", "webp", "mp4"),
    )
)
LFS_SIZE = 10_000_000

_FIRST_DAY = datetime(2026, 1, 1)


def attributes(names: Iterable[str]) -> bytes:
    """The .gitattributes that each repository begins with."""
    return "".join(f"{name} filter=lfs diff=lfs merge=lfs -text\n" for name in names).encode()


def git_hash(data: bytes, kind: str = "blob") -> str:
    return hashlib.sha1(b"%b %d\0%b" % (kind.encode(), len(data), data)).hexdigest()


@dataclass(frozen=True)
class Blob:
    """A file's content, in git itself or in the large store."""

    data: bytes
    is_lfs: bool

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def pointer(self) -> bytes:
        """What git has of a file of the large store."""
        told = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\n"
        return f"{told}size {len(self.data)}\n".encode()

    @cached_property
    def oid(self) -> str:
        return git_hash(self.pointer if self.is_lfs else self.data)

    @property
    def xet_hash(self) -> str:
        """Not what Xet computes, but of its form."""
        return hashlib.sha256(b"xet" + self.sha256.encode()).hexdigest()

    @property
    def etag(self) -> str:
        """What /resolve/ tells of it."""
        return self.sha256 if self.is_lfs else self.oid


@dataclass(frozen=True)
class Commit:
    """All files at one time, in the order of their paths."""

    sha: str
    files: dict[str, Blob]
    parent: str | None
    title: str
    date: str
    author: str

    @cached_property
    def folders(self) -> dict[str, str]:
        """The id of every folder's tree."""
        listed: dict[str, list[str]] = {"": []}
        for path, blob in self.files.items():
            parts = path.split("/")[:-1]
            for depth in range(len(parts) + 1):
                listed.setdefault("/".join(parts[:depth]), []).append(f"{blob.oid} {path}")
        return {path: git_hash("\n".join(each).encode(), "tree") for path, each in listed.items()}

    def entries(self, folder: str, is_recursive: bool) -> list[str]:
        """The paths of files and folders in a folder, by name."""
        prefix = f"{folder}/" if folder else ""
        paths = [*self.files, *(each for each in self.folders if each)]
        inside = (path for path in paths if path.startswith(prefix))
        return sorted(path for path in inside if is_recursive or "/" not in path[len(prefix) :])

    def card(self) -> dict[str, Any] | None:
        """The YAML that the README begins with."""
        readme = self.files.get("README.md")
        return None if readme is None else card_of(readme.data.decode())


def card_of(readme: str) -> dict[str, Any] | None:
    """The YAML between the first two lines of dashes; ValueError where it is none."""
    lines = readme.splitlines()
    if not lines or lines[0].strip() != "---" or "---" not in (each.strip() for each in lines[1:]):
        return None
    end = [each.strip() for each in lines].index("---", 1)
    try:
        told = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if told is not None and not isinstance(told, dict):
        raise ValueError("the metadata are no mapping")
    return told


class Repository:
    """A dataset's or a model's repository. `allowed` are the users to whom a gated one is open."""

    def __init__(
        self,
        kind: str,
        name: str,
        private: bool = False,
        gated: str | bool = False,
        allowed: Iterable[str] = (),
        lfs: Iterable[str] = LFS_NAMES,
    ) -> None:
        assert kind in KINDS, kind
        self.kind = kind
        self.name = name
        self.private = private
        self.gated = gated
        self.allowed = set(allowed)
        self.lfs = tuple(lfs)
        self.commits: dict[str, Commit] = {}
        # By full name, as "refs/heads/main", "refs/tags/v1", "refs/convert/parquet", "refs/pr/1".
        self.refs: dict[str, str] = {}
        # The large store: what was uploaded, committed or not yet.
        self.stored: dict[str, bytes] = {}
        self.disabled = False

    @property
    def namespace(self) -> str:
        return self.name.partition("/")[0] if "/" in self.name else ""

    @property
    def web_path(self) -> str:
        return f"/{self.name}" if self.kind == "models" else f"/{self.kind}/{self.name}"

    @property
    def singular(self) -> str:
        return self.kind[:-1]

    def is_large(self, path: str, size: int, sample: bytes = b"") -> bool:
        """Whether a file belongs into the large store; a binary one always does."""
        names = (path, path.rpartition("/")[2])
        matches = any(fnmatchcase(name, each) for name in names for each in self.lfs)
        return size > 0 and (matches or size >= LFS_SIZE or b"\0" in sample)

    def blob(self, path: str, data: bytes) -> Blob:
        return Blob(data, self.is_large(path, len(data), data[:512]))

    def resolved(self, revision: str) -> Commit | None:
        """The commit of a branch, a tag, another ref, or an id of at least seven digits."""
        for ref in (f"refs/heads/{revision}", f"refs/tags/{revision}", revision):
            if ref in self.refs:
                return self.commits[self.refs[ref]]
        found = [sha for sha in self.commits if len(revision) >= 7 and sha.startswith(revision)]
        return self.commits[found[0]] if len(found) == 1 else None

    def commit(
        self,
        changes: Mapping[str, bytes | Blob | None],
        ref: str = "refs/heads/main",
        title: str = "Upload files",
        author: str = "tests",
        base: str | None = None,
    ) -> Commit:
        """Adds files, or removes them (None), onto a ref's commit (or `base`); returns its commit.

        A ref that is not there begins empty. The same changes in the same order give the same ids.
        """
        parent = self.refs.get(ref) if base is None else base
        files = dict(self.commits[parent].files) if parent is not None else {}
        for path, data in changes.items():
            if data is None:
                del files[path]
            else:
                files[path] = data if isinstance(data, Blob) else self.blob(path, data)
        files = dict(sorted(files.items()))
        number = len(self.commits)
        date = (_FIRST_DAY + timedelta(minutes=number)).isoformat(timespec="milliseconds") + "Z"
        tree = "\n".join(f"{blob.oid} {path}" for path, blob in files.items())
        text = f"{self.kind} {self.name} {parent} {number} {title} {author}\n{tree}"
        made = Commit(git_hash(text.encode(), "commit"), files, parent, title, date, author)
        self.commits[made.sha] = made
        self.refs[ref] = made.sha
        self.stored.update((each.sha256, each.data) for each in files.values() if each.is_lfs)
        return made

    def history(self, commit: Commit) -> list[Commit]:
        """A commit and those before it, the newest first."""
        found = [commit]
        while (parent := found[-1].parent) is not None:
            found.append(self.commits[parent])
        return found

    def last_change(self, commit: Commit, path: str) -> Commit:
        """The newest commit that changed a file or something in a folder."""

        def seen(at: Commit) -> object:
            return at.files[path].oid if path in at.files else at.folders.get(path)

        history = self.history(commit)
        for each, before in pairwise(history):
            if seen(each) != seen(before):
                return each
        return history[-1]
