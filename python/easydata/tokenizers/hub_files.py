"""Tokenizers by name: the files that a name on the Hub means, in huggingface_hub's cache."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from easydata import _native
from easydata.tokenizers.hub_errors import HubError, names_of, not_there, offline_error
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
# Attempts after the first one to learn a revision's commit; huggingface_hub waits between them.
_RETRIES = 3

_lock = threading.Lock()
# What was found out, for all of this process: a name means one commit, and is asked for once.
_commits: dict[tuple[str, str, str], str] = {}
_found: dict[tuple[str, str, str, bool], HubFiles] = {}


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
        key = (repository, revision, cache, older)
        if key not in _found:
            _found[key] = _Asking(named, repository, revision, cache).files(older)
        return _found[key]


def commit_of(name: str) -> str:
    """The commit that a name on the Hub means in this process, as `hub_files` found it."""
    return hub_files(NamedTokenizer(name)).commit


def pin(name: str, commit: str) -> None:
    """Takes a commit for what a name means, which another process has found out."""
    parts = repository_of(name)
    if parts is None or not _COMMIT.fullmatch(commit):
        raise ValueError(f"{name!r} at {commit!r} is no commit of a repository")
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
            folder = self._snapshot(commit, patterns)
        except (KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:  # of several libraries for HTTP, by version
            raise self._error.of(error, self._commit_in_cache()) from None
        listed = self._listed(commit)
        if listed is None:  # the files of the cache were given instead, which may be some of them
            raise self._error.unreachable("its files could not be listed", self._commit_in_cache())
        self._keep_ref(commit)
        return HubFiles(self._repository, commit, folder, listed)

    def _commit(self) -> str:
        """The commit that the revision means, asked for once in this process."""
        if _COMMIT.fullmatch(self._revision):
            return self._revision
        for cache in ("", self._cache):
            known = _commits.get((self._repository, self._revision, cache))
            if known is not None:
                return known
        from huggingface_hub import constants
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, http_backoff

        address = f"{constants.ENDPOINT}/api/models/{self._repository}"
        answer = http_backoff(
            "GET",
            f"{address}/revision/{quote(self._revision, safe='')}",
            headers=build_hf_headers(token=self._named.token, library_name="easydata"),
            max_retries=_RETRIES,
            timeout=constants.HF_HUB_ETAG_TIMEOUT,
        )
        hf_raise_for_status(answer)
        commit = answer.json().get("sha")
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise ConnectionError(f"{constants.ENDPOINT} answers without a commit")
        _commits[(self._repository, self._revision, self._cache)] = commit
        return commit

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
        return HubFiles(self._repository, folder.name, folder, self._listed(folder.name))

    def _listed(self, commit: str) -> tuple[str, ...] | None:
        from huggingface_hub import get_cached_repo_tree
        from huggingface_hub.errors import CachedRepoTreeNotFoundError

        try:
            tree = get_cached_repo_tree(self._repository, revision=commit, cache_dir=self._cache)
        except CachedRepoTreeNotFoundError:
            return None
        return tuple(entry.path for entry in tree)

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


def _silent() -> Any:
    """huggingface_hub's progress bar, which shows nothing: the files are small."""
    from huggingface_hub.utils import tqdm

    class Silent(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})

    return Silent


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
