"""What is in a repository of the Hugging Face Hub, as huggingface_hub tells it.

The engine calls `HubIndex` from threads of its own, once for a repository and revision. It reads
the files by itself.
"""

from __future__ import annotations

import errno
import functools
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from easydata.sources.hub.client import HubClient, HubIsSilent, unless_stopped

INSTALL = "pip install 'easydata[hf]'"

# Path in the repository, bytes, and the hash of what is there.
Entry = tuple[str, int, str]
Entries = list[Entry]

_TYPES = {"datasets": "dataset", "models": "model", "spaces": "space"}
_NEAR_NAMES = 5
_NEAR_NAMES_WITHIN = 2.0  # seconds; an error does without
# As the options of storage have them.
_STALL_TIMEOUT = 15.0
_RETRY_TIMEOUT = 300.0
_WHO = "log in (hf auth login, HF_TOKEN, or storage_options token)"
_KEPT_TREES = 8

_logger = logging.getLogger("easydata")


class HubIndex:
    """The Hub, as the environment or `storage_options` reach it.

    Args:
        options: Of `storage_options`: `token`, `endpoint_url`, `anonymous`, `cache_dir`,
            `stall_timeout`, `retry_timeout` (seconds).

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
        """Where the Hub is, the token or "", and whether it may not be asked."""
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

    def list(
        self,
        kind: str,
        name: str,
        revision: str,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[str, Entries]:
        """The commit that a revision is, and all files there.

        Offline these are what the cache knows of.

        Raises:
            InterruptedError: `is_stopped` said so.
            FileNotFoundError: There is no such repository or revision.
            PermissionError: It is not for us.
            OSError: The Hub did not answer.
        """
        if is_offline():
            return _cached_tree(kind, name, revision, self._cache)
        api = self.api
        patience = self._options.get("retry_timeout", _RETRY_TIMEOUT)
        try:
            return unless_stopped(
                lambda: self._list(api, kind, name, revision), is_stopped, patience
            )
        except TimeoutError as error:
            said = f"the Hub at {api.endpoint} did not answer ({error})"
            raise HubIsSilent(errno.EIO, said) from None

    def _list(self, api: Any, kind: str, name: str, revision: str) -> tuple[str, Entries]:
        stall_timeout = self._options.get("stall_timeout", _STALL_TIMEOUT)
        try:
            commit = revision
            if not re.fullmatch("[0-9a-f]{40}", revision):
                info = api.repo_info(
                    name,
                    repo_type=_TYPES[kind],
                    revision=revision or None,
                    timeout=stall_timeout,
                )
                commit = str(info.sha)
            return commit, _tree(api.endpoint, api.token or "", kind, name, commit, stall_timeout)
        except Exception as error:
            raise_hub_error(error, api, kind, name, revision)

    def cached(self, kind: str, name: str, commit: str, path: str) -> str:
        """The path of the cache's copy of a file, or ""."""
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(
            name, path, revision=commit or None, repo_type=_TYPES[kind], cache_dir=self._cache
        )
        return found if isinstance(found, str) else ""


# What is at a commit stays there: the trees that were listed last are kept.
@functools.lru_cache(_KEPT_TREES)
def _tree(
    endpoint: str, token: str, kind: str, name: str, commit: str, stall_timeout: float
) -> list[Entry]:
    """All files of a repository at a commit, sorted."""
    client = HubClient(endpoint, token, stall_timeout)
    pages = client.pages(f"/api/{kind}/{name}/tree/{commit}", {"recursive": True, "expand": False})
    return sorted(_entry(each) for page in pages for each in page if each["type"] == "file")


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
            f"{name} is gated: its owner grants access on request: open {page} and request "
            f"it, then {_WHO}",
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
    if status is not None:
        said = f"the Hub answers with status {status} to {page}"
        raise HubIsSilent(errno.EIO, said, getattr(error, "response", None)) from None
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        raise OSError(
            errno.EPROTO,
            f"the certificate of {api.endpoint} is not trusted here (SSL_CERT_FILE): {error}",
        ) from None
    if isinstance(error, OSError) or _is_of_transport(error):
        number = errno.ECONNREFUSED if "Connect" in type(error).__name__ else errno.EIO
        said = f"the Hub at {api.endpoint} did not answer ({type(error).__name__}: {error})"
        raise HubIsSilent(
            number, f"{said}; with HF_HUB_OFFLINE=1 what its cache on this machine has is read"
        ) from None
    if isinstance(error, (ValueError, KeyError, TypeError)):
        # A part of a list, or a page of a proxy.
        said = f"the Hub answers with what is no list ({type(error).__name__}: {error})"
        raise HubIsSilent(errno.EIO, said) from None
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
    client = HubClient(api.endpoint, api.token or "", _NEAR_NAMES_WITHIN)
    wanted = {"search": name.split("/")[-1], "limit": _NEAR_NAMES}
    try:
        found = [str(each["id"]) for each in next(client.pages(f"/api/{kind}", wanted))]
    except Exception as error:
        _logger.debug("names like %s were not found: %s", name, error)
        return ""
    return f" (there is {', '.join(found)})" if found else ""


def _entry(file: Mapping[str, Any]) -> Entry:
    lfs = file.get("lfs")
    return str(file["path"]), int(file["size"]), str((lfs or file)["oid"])


def _cached_tree(kind: str, name: str, revision: str, cache: str) -> tuple[str, Entries]:
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
    held = {entry[0]: entry for entry in _cached_entries(snapshot)}
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


def _cached_entries(snapshot: Path) -> Iterator[Entry]:
    for file in snapshot.rglob("*"):
        if not file.is_dir():
            # The cache calls a file's content by the hash that the Hub has of it.
            content = file.resolve()
            tag = content.name if content.parent.name == "blobs" else ""
            yield file.relative_to(snapshot).as_posix(), content.stat().st_size, tag
