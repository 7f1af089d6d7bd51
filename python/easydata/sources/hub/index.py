"""What is in a repository of the Hugging Face Hub, as huggingface_hub tells it.

The engine calls `HubIndex` from threads of its own, once for a repository and revision. It reads
the files by itself.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

INSTALL = "pip install 'easydata[hf]'"

# Path in the repository, bytes, and the hash of what is there.
Entry = tuple[str, int, str]

_TYPES = {"datasets": "dataset", "models": "model", "spaces": "space"}
_NEAR_NAMES = 5
_WHO = "say who you are (hf auth login, HF_TOKEN, or storage_options token)"
_KEPT_TREES = 8

_logger = logging.getLogger("easydata")


class HubIndex:
    """The Hub, as the environment or `storage_options` reach it.

    Args:
        options: Of `storage_options`: `token`, `endpoint_url`, `anonymous`, `cache_dir`.

    Raises:
        NotImplementedError: huggingface_hub is not installed.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        try:
            import huggingface_hub  # noqa: F401
        except ImportError:
            raise NotImplementedError(
                f"hf:// is read with the package huggingface_hub, which is not installed: {INSTALL}"
            ) from None
        self._options = dict(options)

    def access(self) -> tuple[str, str, bool]:
        """Where the Hub is, the token that says who asks or "", and whether it may not be asked."""
        from huggingface_hub import constants, get_token

        endpoint = self._options.get("endpoint_url") or constants.ENDPOINT
        token = "" if self._options.get("anonymous") else self._options.get("token") or get_token()
        return str(endpoint).rstrip("/"), token or "", is_offline()

    @property
    def _cache(self) -> str:
        """The folder of huggingface_hub's cache."""
        from huggingface_hub import constants

        return os.path.expanduser(self._options.get("cache_dir") or constants.HF_HUB_CACHE)

    @property
    def api(self) -> Any:
        """What asks the Hub."""
        from huggingface_hub import HfApi

        endpoint, token, _ = self.access()
        return HfApi(endpoint=endpoint, token=token or False, library_name="easydata")

    def list(self, kind: str, name: str, revision: str) -> tuple[str, list[Entry]]:
        """The commit that a revision is, and all files there.

        Offline these are what the cache knows of.

        Raises:
            FileNotFoundError: There is no such repository or revision.
            PermissionError: It is not for us.
            OSError: The Hub did not answer.
        """
        if is_offline():
            return _cached_tree(kind, name, revision, self._cache)
        api = self.api
        try:
            commit = revision
            if not re.fullmatch("[0-9a-f]{40}", revision):
                info = api.repo_info(name, repo_type=_TYPES[kind], revision=revision or None)
                commit = str(info.sha)
            return commit, _tree(api, kind, name, commit)
        except Exception as error:
            raise_hub_error(error, api, kind, name, revision)

    def cached(self, kind: str, name: str, commit: str, path: str) -> str:
        """The path of the cache's copy of a file, or ""."""
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(
            name, path, revision=commit or None, repo_type=_TYPES[kind], cache_dir=self._cache
        )
        return found if isinstance(found, str) else ""


# What is at a commit stays there: the trees that were listed last, by endpoint and token as well.
_trees: OrderedDict[tuple[str, ...], list[Entry]] = OrderedDict()
_lock = threading.Lock()


def _tree(api: Any, kind: str, name: str, commit: str) -> list[Entry]:
    """All files of a repository at a commit, sorted."""
    key = (api.endpoint, str(api.token), kind, name, commit)
    with _lock:
        if key in _trees:
            _trees.move_to_end(key)
            return _trees[key]
    listed = api.list_repo_tree(name, repo_type=_TYPES[kind], revision=commit, recursive=True)
    entries = sorted(_entry(file) for file in listed if hasattr(file, "blob_id"))
    with _lock:
        _trees[key] = entries
        while len(_trees) > _KEPT_TREES:
            _trees.popitem(last=False)
    return entries


def is_offline() -> bool:
    """Whether HF_HUB_OFFLINE is set: then nothing is asked of the Hub."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def raise_hub_error(
    error: Exception, api: Any, kind: str, name: str, revision: str | None
) -> NoReturn:
    """Raises what an error of huggingface_hub is to our users: an OSError that says what to do."""
    from huggingface_hub import errors

    page = page_of(api.endpoint, kind, name)
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.HFValidationError):
        raise FileNotFoundError(
            errno.ENOENT, f"{name!r} is no name of a repository: names have the form org/name"
        ) from None
    if isinstance(error, errors.GatedRepoError):
        raise PermissionError(
            errno.EACCES,
            f"{name} is gated, and its owner lets in who asks: open {page} and ask, then {_WHO}",
        ) from None
    if isinstance(error, errors.RevisionNotFoundError):
        raise FileNotFoundError(
            errno.ENOENT, f"{name} has no revision {revision}; see {page}/tree/main"
        ) from None
    if isinstance(error, errors.RepositoryNotFoundError):
        raise FileNotFoundError(
            errno.ENOENT,
            f"there is no {_TYPES[kind]} {name} on the Hub{_near(api, kind, name)}, or it is "
            f"private: then {_WHO}",
        ) from None
    if status in (401, 403):
        raise PermissionError(
            errno.EACCES,
            f"{page} is not for us (status {status}); {_WHO}",
        ) from None
    if status is not None and status < 500 and status not in (408, 429):
        raise OSError(errno.EPROTO, f"the Hub answers with status {status} to {page}") from None
    if isinstance(error, errors.HfHubHTTPError) and status is not None:
        raise OSError(errno.EIO, f"the Hub answers with status {status} to {page}") from None
    if isinstance(error, OSError) or _is_of_transport(error):
        number = errno.ECONNREFUSED if "Connect" in type(error).__name__ else errno.EIO
        said = f"the Hub at {api.endpoint} did not answer ({type(error).__name__}: {error})"
        raise OSError(
            number, f"{said}; with HF_HUB_OFFLINE=1 what its cache on this machine has is read"
        ) from None
    raise error


def page_of(endpoint: str, kind: str, name: str) -> str:
    """The page of a repository, for people."""
    return f"{endpoint}/{name}" if kind == "models" else f"{endpoint}/{kind}/{name}"


def _is_of_transport(error: Exception) -> bool:
    # The library under huggingface_hub has exceptions of its own, and its name changes.
    names = {each.__name__ for each in type(error).__mro__}
    return "TransportError" in names or "HTTPError" in names


def _near(api: Any, kind: str, name: str) -> str:
    """Names of the Hub that are like one that is not there."""
    look = api.list_datasets if kind == "datasets" else api.list_models
    try:
        found = [each.id for each in look(search=name.split("/")[-1], limit=_NEAR_NAMES)]
    except Exception as error:
        _logger.debug("names like %s were not found: %s", name, error)
        return ""
    return f" (there is {', '.join(found)})" if found else ""


def _entry(file: Any) -> Entry:
    return file.path, file.size, file.lfs.sha256 if file.lfs is not None else file.blob_id


def _cached_tree(kind: str, name: str, revision: str, cache: str) -> tuple[str, list[Entry]]:
    """What the cache of huggingface_hub knows of a repository."""
    from huggingface_hub import get_cached_repo_tree
    from huggingface_hub.errors import CachedRepoTreeNotFoundError
    from huggingface_hub.file_download import repo_folder_name

    folder = Path(cache) / repo_folder_name(repo_id=name, repo_type=_TYPES[kind])
    ref = folder / "refs" / (revision or "main")
    commit = ref.read_text().strip() if ref.is_file() else revision
    snapshot = folder / "snapshots" / commit
    if not commit or not snapshot.is_dir():
        raise FileNotFoundError(
            errno.ENOENT,
            f"HF_HUB_OFFLINE is set, and this machine's cache ({cache}) has no "
            f"{name}{'@' + revision if revision else ''}; download it first "
            f"(hf download --repo-type {_TYPES[kind]} {name}), or unset that",
        )
    held = {path: _cached_entry(snapshot, path) for path in _files_below(snapshot)}
    try:
        tree = get_cached_repo_tree(name, repo_type=_TYPES[kind], revision=commit, cache_dir=cache)
    except CachedRepoTreeNotFoundError:
        _logger.warning(
            "HF_HUB_OFFLINE is set: what %s has at %s is not known but for the %d files of it that "
            "this machine's cache has",
            name,
            commit,
            len(held),
        )
        return commit, sorted(held.values())
    entries = [held.get(file.path, (file.path, file.size, file.blob_id)) for file in tree]
    return commit, sorted(entries)


def _files_below(folder: Path) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        for name in names:
            yield Path(root, name).relative_to(folder).as_posix()


def _cached_entry(snapshot: Path, path: str) -> Entry:
    # The cache calls a file's content by the hash that the Hub has of it.
    content = (snapshot / path).resolve()
    tag = content.name if content.parent.name == "blobs" else ""
    return path, content.stat().st_size, tag
