"""Tokenizers by name: the files that a name on the Hub means, in huggingface_hub's cache."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import importlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from easydata import _native
from easydata.tokenizers.hub_errors import (
    HubError,
    is_broken_off,
    names_of,
    not_there,
    offline_error,
)
from easydata.tokenizers.older_files import OLDER_FILES

# What a tokenizer is read from, as far as a repository has it.
FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "additional_chat_templates/*.jinja",
    "config.json",
)

_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"(?:\w[\w.-]*\b/)?\w[\w.-]{0,95}\b", re.ASCII)
_REVISION = re.compile(r"\w[\w./-]*", re.ASCII)
# Attempts after the first one, at what huggingface_hub does not ask again for by itself.
_RETRIES = 3

_lock = threading.Lock()
# What was found out, for all of this process: a name means one commit, and is asked for once.
_commits: dict[tuple[str, str, str], str] = {}


@dataclass(frozen=True)
class NamedTokenizer:
    """A tokenizer's name, and how the Hub is asked for it.

    Attributes:
        name: A path, or a name on the Hub.
        token: Who asks; None: HF_TOKEN, or who is logged in.
        cache_dir: Where files are kept; None: huggingface_hub's cache.
    """

    name: str
    token: str | None = field(default=None, repr=False)
    cache_dir: str | os.PathLike[str] | None = None


@dataclass(frozen=True)
class HubFiles:
    """The files of a tokenizer at one commit.

    Attributes:
        repository: Name of the repository.
        commit: Which state of it.
        folder: Where the files are, in the cache.
        listed: All files that the repository has; None: the cache does not know.
    """

    repository: str
    commit: str
    folder: Path
    listed: tuple[str, ...] | None


def repository_of(name: str) -> tuple[str, str] | None:
    """Repository and revision that a name means on the Hub; None: it has another form."""
    repository, mark, revision = name.partition("@")
    if mark and (not _REVISION.fullmatch(revision) or ".." in revision):
        return None
    if not _REPOSITORY.fullmatch(repository) or repository.endswith((".json", ".git")):
        return None
    if "--" in repository or ".." in repository:
        return None
    return repository, revision or "main"


def path_of(name: str | os.PathLike[str]) -> Path | None:
    """The folder or file that is meant; None: a name that the Hub is to be asked for.

    Raises:
        FileNotFoundError: There is no such path, and it is no name either.
    """
    path = Path(_native.user_path(os.fspath(name)))
    if path.exists():
        return path
    if isinstance(name, str) and repository_of(name) is not None:
        return None
    raise not_there(os.fspath(name))


def hub_files(named: NamedTokenizer, *, older: bool = False) -> HubFiles:
    """The files of a name on the Hub, downloaded where the cache lacks them.

    Args:
        named: The name, of the form that `repository_of` takes.
        older: With the files that transformers makes a tokenizer of.

    Raises:
        FileNotFoundError: There is no such repository or revision, or HF_HUB_OFFLINE is set and the
            cache lacks it.
        PermissionError: It is gated or private.
        ConnectionError: The Hub cannot be reached, or fails.
        ImportError: Without huggingface_hub.
    """
    parts = repository_of(named.name)
    assert parts is not None, named.name
    try:
        from huggingface_hub import constants
    except ImportError:
        raise ImportError(
            f"tokenizer {named.name} does not exist here{names_of(named.name)}, and to look for it "
            "on the Hub takes huggingface_hub: pip install 'easydata[hf]'"
        ) from None
    repository, revision = parts
    cache = str(Path(named.cache_dir or constants.HF_HUB_CACHE).expanduser().resolve())
    with _lock:
        return _Asking(named, repository, revision, cache).files(older)


def commits_of(names: Iterable[Any]) -> dict[str, str]:
    """The commits that names on the Hub mean in this process; what is no such name is left out."""
    found = {}
    for name in names:
        if isinstance(name, str) and repository_of(name) and path_of(name) is None:
            found[name] = hub_files(NamedTokenizer(name)).commit
    return found


def pin(commits: Mapping[str, str]) -> None:
    """Takes commits for what names mean, as another process has found them out."""
    for name, commit in commits.items():
        parts = repository_of(name)
        if parts is None or not _COMMIT.fullmatch(commit):
            raise ValueError(f"{commit!r} is no commit of {name!r}")
        with _lock:
            _commits[(*parts, "")] = commit


class _Asking:
    """One name, and how it becomes files."""

    def __init__(self, named: NamedTokenizer, repository: str, revision: str, cache: str) -> None:
        self._named = named
        self._repository, self._revision, self._cache = repository, revision, cache
        self._error = HubError(named.name, repository, revision, named.token)

    def files(self, older: bool) -> HubFiles:
        from huggingface_hub import constants

        patterns = [*FILES, *(OLDER_FILES if older else ())]
        if constants.is_offline_mode():
            return self._cached(patterns)
        try:
            commit = self._commit()
            folder = self._snapshot_again(commit, patterns)
        except (KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:  # of several libraries for HTTP, by version
            raise self._error.of(error, self._commit_in_cache()) from None
        tree = self._tree(commit)
        if tree is None:  # the files of the cache were given instead, which may be some of them
            raise self._error.unreachable("its files could not be listed", self._commit_in_cache())
        if damaged := self._damaged(folder, tree, patterns):
            for name in damaged:
                self._download_again(commit, name)
            self._refuse_damaged(folder, tree, patterns)
        self._keep_ref(commit)
        return HubFiles(self._repository, commit, folder, tuple(tree))

    def _commit(self) -> str:
        """The commit that the revision means, asked for once in this process."""
        if _COMMIT.fullmatch(self._revision):
            return self._revision
        for cache in ("", self._cache):
            known = _commits.get((self._repository, self._revision, cache))
            if known is not None:
                return known
        from huggingface_hub import constants

        utils: Any = importlib.import_module("huggingface_hub.utils")
        address = f"{constants.ENDPOINT}/api/models/{self._repository}"
        answer = utils.http_backoff(
            "GET",
            f"{address}/revision/{quote(self._revision, safe='')}",
            headers=utils.build_hf_headers(token=self._named.token, library_name="easydata"),
            max_retries=_RETRIES,
            timeout=constants.HF_HUB_ETAG_TIMEOUT,
        )
        utils.hf_raise_for_status(answer)
        commit = answer.json().get("sha")
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise ConnectionError(f"{constants.ENDPOINT} answers without a commit")
        _commits[(self._repository, self._revision, self._cache)] = commit
        return commit

    def _snapshot_again(self, commit: str, patterns: list[str]) -> Path:
        """The folder of the files, also where a connection breaks within one: the others are kept.

        huggingface_hub asks again where there was no answer, or a status that may pass.
        """
        for attempt in range(_RETRIES):
            try:
                return self._snapshot(commit, patterns)
            except Exception as error:
                if not is_broken_off(error):
                    raise
                time.sleep(2**attempt)
        return self._snapshot(commit, patterns)

    def _snapshot(self, commit: str, patterns: list[str], offline: bool = False) -> Path:
        from huggingface_hub import snapshot_download

        return Path(
            snapshot_download(
                self._repository,
                revision=commit,
                cache_dir=self._cache,
                token=self._named.token,
                library_name="easydata",
                allow_patterns=patterns,
                local_files_only=offline,
                tqdm_class=_silent(),
            )
        )

    def _cached(self, patterns: list[str]) -> HubFiles:
        """What the cache has, without asking anybody."""
        from huggingface_hub.errors import LocalEntryNotFoundError

        pinned = _commits.get((self._repository, self._revision, ""), self._revision)
        try:
            folder = self._snapshot(pinned, patterns, offline=True)
        except LocalEntryNotFoundError as error:
            is_there = getattr(error, "snapshot_path", None) is not None
            raise offline_error(self._named.name, self._cache, is_there) from None
        tree = self._tree(folder.name)
        if tree is not None:
            self._refuse_damaged(folder, tree, patterns)
        listed = None if tree is None else tuple(tree)
        return HubFiles(self._repository, folder.name, folder, listed)

    def _damaged(self, folder: Path, tree: Mapping[str, str], patterns: list[str]) -> list[str]:
        """The files that are not those of the commit: nobody else looks at more than their size."""
        return [
            name
            for name, oid in tree.items()
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
            and not _is_sound(folder / name, oid)
        ]

    def _refuse_damaged(self, folder: Path, tree: Mapping[str, str], patterns: list[str]) -> None:
        if damaged := self._damaged(folder, tree, patterns):
            raise OSError(
                f"tokenizer {self._named.name}: {', '.join(damaged)} in {folder} is damaged: it is "
                f"not what {self._repository} lists at commit {folder.name}; remove it there, and "
                "load it again"
            )

    def _download_again(self, commit: str, name: str) -> None:
        from huggingface_hub import hf_hub_download

        try:
            hf_hub_download(
                self._repository,
                name,
                revision=commit,
                cache_dir=self._cache,
                token=self._named.token,
                library_name="easydata",
                force_download=True,
                tqdm_class=_silent(),
            )
        except (KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            raise self._error.of(error, None) from None

    def _tree(self, commit: str) -> dict[str, str] | None:
        """All files of a commit, with their ids in git; None: the cache does not know."""
        from huggingface_hub import get_cached_repo_tree
        from huggingface_hub.errors import CachedRepoTreeNotFoundError

        try:
            tree = get_cached_repo_tree(self._repository, revision=commit, cache_dir=self._cache)
        except CachedRepoTreeNotFoundError:
            return None
        return {entry.path: entry.blob_id for entry in tree}

    def _ref(self) -> Path:
        """The file of the cache that keeps which commit a revision was."""
        from huggingface_hub.file_download import repo_folder_name

        folder = repo_folder_name(repo_id=self._repository, repo_type="model")
        return Path(self._cache, folder, "refs", *self._revision.split("/"))

    def _commit_in_cache(self) -> str | None:
        with contextlib.suppress(OSError):
            return self._ref().read_text().strip()
        return None

    def _keep_ref(self, commit: str) -> None:
        """Keeps which commit the revision is, for when nobody can be asked.

        huggingface_hub does so as it resolves a revision; it was given the commit.
        """
        ref = self._ref()
        if self._revision == commit or self._commit_in_cache() == commit:
            return
        with contextlib.suppress(OSError):  # a cache that cannot be written
            ref.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=ref.parent, delete=False) as file:
                file.write(commit)
            os.replace(file.name, ref)


def _is_sound(file: Path, oid: str) -> bool:
    """Whether a file has the id that git has of it, or of the pointer to it in the large store."""
    try:
        data = file.read_bytes()
    except OSError:
        return False
    if _git_id(data) == oid:
        return True
    told = f"oid sha256:{hashlib.sha256(data).hexdigest()}\nsize {len(data)}\n"
    return _git_id(f"version https://git-lfs.github.com/spec/v1\n{told}".encode()) == oid


def _git_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def _silent() -> Any:
    """huggingface_hub's progress bar, which shows nothing: the files are small."""
    utils: Any = importlib.import_module("huggingface_hub.utils")

    class Silent(utils.tqdm):  # type: ignore[misc]
        monitor_interval = 0  # else each class of bars starts a thread, for good

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})

    return Silent


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
