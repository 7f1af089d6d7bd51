"""A dataset repository of the Hub: who may write there, what it holds, and what is done to it."""

from __future__ import annotations

import contextlib
import json
import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")

_log = logging.getLogger("easydata")

CARD, METADATA = "README.md", "_metadata.json"
_KIND = "easydata.push"
_VERSION = 1
# How often a commit is sent, and the seconds before the first time that it is sent again.
_ATTEMPTS = 5
_FIRST_WAIT = 1.0
_LONGEST_WAIT = 300.0
# Seconds without a byte after which a connection is given up; the library waits for ever.
_SILENCE = 300.0


@dataclass(frozen=True)
class File:
    """A file of a repository: its size, and what it is known by as long as it stays the same."""

    size: int
    identity: str


@dataclass(frozen=True)
class Snapshot:
    """A repository at one commit.

    Attributes:
        sha: The commit.
        private: Whether only its owners see it.
        files: Its files, by path.
        card: README.md; empty where there is none.
        pushed: What `_metadata.json` says of earlier pushes, by config.
    """

    sha: str
    private: bool
    files: dict[str, File]
    card: str
    pushed: dict[str, dict[str, Any]] = field(default_factory=dict)


def metadata_text(pushed: dict[str, dict[str, Any]]) -> str:
    """What `_metadata.json` says of some configs."""
    values = {"kind": _KIND, "version": _VERSION, "configs": pushed}
    return json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _pushed(text: str) -> dict[str, dict[str, Any]]:
    """What `_metadata.json` says, which may be anybody's.

    Raises:
        ValueError: It is none of ours.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or values.get("kind") != _KIND:
        raise ValueError(
            f"{METADATA} in it is not one that EasyData pushed, and would be overwritten; rename it"
        )
    if values.get("version") != _VERSION:
        raise ValueError(
            f"{METADATA} in it is of another version of EasyData ({values.get('version')!r}); "
            "push with that one"
        )
    configs = values.get("configs")
    if not isinstance(configs, dict) or not all(isinstance(v, dict) for v in configs.values()):
        raise ValueError(f"{METADATA} in it is damaged: configs is no mapping; mend or delete it")
    return configs


class HubRepository:
    """The repository `repo_id`, as one who has `token` sees it; None: whom the machine knows.

    Every error names the repository and says what to do; none has the token.

    Raises:
        ImportError: huggingface_hub is not installed.
    """

    def __init__(self, repo_id: str, token: str | None = None) -> None:
        try:
            import huggingface_hub
        except ImportError:
            raise ImportError(
                "pushing to the Hub needs huggingface_hub: pip install 'easydata[hf]'",
                name="huggingface_hub",
            ) from None
        self.repo_id = repo_id
        self._hub = huggingface_hub
        self._has_token = bool(token or huggingface_hub.get_token())
        self._api = huggingface_hub.HfApi(token=token, library_name="easydata")

    def __repr__(self) -> str:
        return f"HubRepository({self.repo_id!r})"

    @property
    def url(self) -> str:
        """Its page."""
        return f"{self._api.endpoint}/datasets/{self.repo_id}"

    def check_rights(self) -> None:
        """Asks the Hub who we are.

        Raises:
            PermissionError: There is no token, or it may not write there.
        """
        if not self._has_token:
            raise PermissionError(
                f"{self.repo_id}: there is no token to push with; set hub_token (--token), "
                "HF_TOKEN, or run `hf auth login`"
            )
        who = self._asked("asking the Hub who the token is of", self._api.whoami)
        owner = self.repo_id.partition("/")[0]
        access = (who.get("auth") or {}).get("accessToken") or {}
        scopes = (access.get("fineGrained") or {}).get("scoped")
        if access.get("role") == "fineGrained" and scopes is not None:
            # Its rights are told one by one, whoever owns it.
            may_write = any(
                "repo.write" in (each.get("permissions") or ())
                and _same((each.get("entity") or {}).get("name"), owner, self.repo_id)
                for each in scopes
            )
        else:
            self._check_member(who, owner)
            may_write = access.get("role") != "read"
        if not may_write:
            raise PermissionError(
                f"{self.repo_id}: the token may only read there; make one that may write: "
                f"{self._api.endpoint}/settings/tokens"
            )

    def _check_member(self, who: dict[str, Any], owner: str) -> None:
        name = str(who.get("name"))
        if _same(name, owner):
            return
        orgs = who.get("orgs") or ()
        org = next((each for each in orgs if _same(each.get("name"), owner)), None)
        if org is None:
            known = ", ".join([name, *(str(each.get("name")) for each in orgs)])
            raise PermissionError(
                f"{self.repo_id}: the token is of {name!r}, who is no member of {owner!r}; it may "
                f"push to: {known}"
            )
        if org.get("roleInOrg") == "read":
            raise PermissionError(
                f"{self.repo_id}: {name!r} may only read there; ask an administrator of the "
                "organization for the role write"
            )

    def look(self) -> Snapshot | None:
        """What it holds now; None where there is no such repository.

        Raises:
            ValueError: It holds a `_metadata.json` of somebody else.
        """
        info = self._info()
        if info is None:
            return None

        def list_files() -> dict[str, File]:
            listed = self._api.list_repo_tree(
                self.repo_id, repo_type="dataset", revision=info.sha, recursive=True
            )
            return {each.path: _file(each) for each in listed if hasattr(each, "size")}

        files = self._asked("listing its files", list_files)
        card = self.read(CARD, info.sha) if CARD in files else ""
        try:
            pushed = _pushed(self.read(METADATA, info.sha)) if METADATA in files else {}
        except ValueError as error:
            raise ValueError(f"{self.repo_id}: {error}") from None
        return Snapshot(str(info.sha), bool(info.private), files, card, pushed)

    def read(self, path: str, revision: str) -> str:
        """The text of a file, its line ends as they are."""

        def download() -> str:
            with tempfile.TemporaryDirectory() as folder:
                local = self._api.hf_hub_download(
                    self.repo_id, path, repo_type="dataset", revision=revision, local_dir=folder
                )
                return Path(local).read_bytes().decode("utf-8", "surrogateescape")

        return self._asked(f"reading its {path}", download)

    def waiting_in(self, folder: str, revision: str) -> dict[str, dict[str, Any]]:
        """What the `_metadata.json` of a folder says, by config; nothing where it is not ours."""
        try:
            return _pushed(self.read(f"{folder}/{METADATA}", revision))
        except ValueError:
            return {}

    def create(self, *, private: bool) -> None:
        """Makes the repository where it is not there; what is there keeps who sees it."""
        # None: what the organization has for new ones.
        visible = private or None
        self._asked(
            "making the repository",
            lambda: self._api.create_repo(
                self.repo_id, repo_type="dataset", private=visible, exist_ok=True
            ),
        )

    def addition(self, path: str, source: Path | bytes) -> Any:
        """A file that is to be added: one on this machine, or its bytes."""
        return self._hub.CommitOperationAdd(path_in_repo=path, path_or_fileobj=source)

    def upload(self, additions: Sequence[Any]) -> None:
        """Sends the content of files that are kept apart from git, but what is there already.

        These files are not looked at any more: `is_sent()`.
        """
        self._asked(
            "uploading",
            lambda: self._api.preupload_lfs_files(self.repo_id, additions, repo_type="dataset"),
        )

    @staticmethod
    def is_sent(addition: Any) -> bool:
        """Whether upload() has sent all that a commit needs of a file."""
        return not isinstance(addition.path_or_fileobj, str)

    def change(
        self,
        parent: str,
        added: Sequence[tuple[str, bytes]],
        moved: Sequence[tuple[str, str]],
        deleted: Sequence[str],
        title: str,
    ) -> bool:
        """One commit on top of `parent`, or none; false: somebody else committed since.

        Args:
            parent: The commit that the changes were thought out for.
            added: Paths and what they hold.
            moved: Paths from and to; content that is kept apart from git is not sent for it.
            deleted: Paths.
            title: Of the commit.
        """
        hub = self._hub
        operations = [
            *(hub.CommitOperationDelete(path, is_folder=False) for path in deleted),
            *(hub.CommitOperationCopy(source, path) for source, path in moved),
            *(hub.CommitOperationDelete(source, is_folder=False) for source, _ in moved),
            *(self.addition(path, content) for path, content in added),
        ]
        try:
            self.commit(operations, title, parent)
        except _MovedOnError:
            return False
        return True

    def commit(self, operations: Sequence[Any], title: str, parent: str | None = None) -> None:
        """Commits what is added, moved and deleted, where it has to be on top of `parent`.

        Raises:
            _MovedOnError: There are newer commits than `parent`.
        """

        def send() -> object:
            return self._api.create_commit(
                self.repo_id,
                operations,
                commit_message=title,
                repo_type="dataset",
                parent_commit=parent,
            )

        self._asked("committing", send, parent)

    def _info(self) -> Any:
        """What the Hub tells of the repository; None where there is none."""

        def ask() -> Any:
            try:
                return self._api.repo_info(self.repo_id, repo_type="dataset")
            except self._hub.errors.RepositoryNotFoundError:
                return None

        return self._asked("looking at the repository", ask)

    def _asked(self, doing: str, ask: Callable[[], _T], parent: str | None = None) -> _T:
        """What the Hub answers, asked some times where it is busy or not reached.

        Args:
            doing: What is done, for errors, which say what to do about it.
            ask: Calls the library.
            parent: Of a commit that is for this one alone.

        Raises:
            PermissionError: The Hub knows us, or our right, not.
            OSError: Anything else went wrong.
            _MovedOnError: There are newer commits than `parent`.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self._bounded():
                    return ask()
            except Exception as error:
                status, wait = _status_of(error)
                if parent is not None and status in (409, 412):
                    raise _MovedOnError from None
                named = self._named(error, doing, status)
                if attempt == _ATTEMPTS or not _may_pass(error, status):
                    raise named from error
            # The answer to a commit that was made may be lost.
            is_lost = parent is not None and status != 429
            if is_lost and getattr(self._info(), "sha", None) != parent:
                raise _MovedOnError
            seconds = min(max(wait, _FIRST_WAIT * 2 ** (attempt - 1)), _LONGEST_WAIT)
            _log.warning("%s; again in %.0f s", named, seconds)
            time.sleep(seconds)
        raise AssertionError  # the last attempt returns or raises

    @contextlib.contextmanager
    def _bounded(self) -> Iterator[None]:
        """Lets no dead connection hold us."""
        library: Any = self._hub.utils
        client = library.get_session()
        before = client.event_hooks
        client.event_hooks = {**before, "request": [*before["request"], _bound]}
        try:
            yield
        finally:
            client.event_hooks = before

    def _named(self, error: Exception, doing: str, status: int | None) -> OSError:
        kind: type[OSError] = PermissionError if status in (401, 403) else OSError
        return kind(
            f"{self.repo_id}: {doing} failed: {_in_short(error, status)}{_cure(status, error)}"
        )


class _MovedOnError(Exception):
    """Somebody else committed in the meantime."""


def _bound(request: Any) -> None:
    """Sets how long a request of the library may wait where nobody has said it."""
    said = request.extensions.get("timeout") or {}
    waits = {each: said.get(each) for each in ("connect", "read", "write", "pool")}
    request.extensions["timeout"] = {
        each: _SILENCE if seconds is None else seconds for each, seconds in waits.items()
    }


def _file(listed: Any) -> File:
    return File(int(listed.size), str(listed.lfs.sha256 if listed.lfs else listed.blob_id))


def _same(name: object, *others: str) -> bool:
    """Whether names of the Hub are one: they differ by more than case."""
    return str(name).lower() in (other.lower() for other in others)


def _status_of(error: BaseException | None) -> tuple[int | None, float]:
    """The status of the Hub's answer, where there is one, and the seconds that it asks to wait."""
    while error is not None:
        response = getattr(error, "response", None)
        if response is not None:
            return int(response.status_code), _wait_of(response.headers)
        error = error.__cause__
    return None, 0.0


def _wait_of(headers: Any) -> float:
    from huggingface_hub import utils

    with contextlib.suppress(ValueError):
        return float(headers.get("retry-after") or "")
    library: Any = utils
    limit = library.parse_ratelimit_headers(headers)
    return 0.0 if limit is None else float(limit.reset_in_seconds)


def _may_pass(error: Exception, status: int | None) -> bool:
    """Whether the same may go well a moment later."""
    if status is None:
        is_ours = isinstance(error, (ValueError, TypeError, NotImplementedError, MemoryError))
        return not is_ours and not _is_offline(error)
    return status == 429 or status >= 500


def _is_offline(error: BaseException) -> bool:
    return type(error).__name__ == "OfflineModeIsEnabled"


def _in_short(error: BaseException, status: int | None) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith("For more information")]
    told = " ".join([f"{type(error).__name__}:", *lines[:3]])
    return told if status is None else f"the Hub answered {status} ({told})"


def _cure(status: int | None, error: Exception) -> str:
    if _is_offline(error):
        return "; HF_HUB_OFFLINE is set: unset it to push"
    if status == 401:
        return "; the token is not valid: set hub_token (--token) or HF_TOKEN, or `hf auth login`"
    if status == 403:
        return "; the token may not write there: it needs the right to write to this repository"
    if status == 404:
        return "; there is no such repository, or the token does not see it"
    if _may_pass(error, status):
        return "; run it again to resume: what is uploaded stays"
    return ""
