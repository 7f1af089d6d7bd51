"""What people are told where a name on the Hub gives no tokenizer."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from easydata import _native

_FORM = "names on the Hub have the form org/name or org/name@revision"
# Addresses that people copy from their browser, or know from fsspec.
_ADDRESS = re.compile(
    r"(?:hf://(?:models/)?|https?://(?:huggingface\.co|hf\.co)/)([\w.-]+/[\w.-]+)", re.ASCII
)
_GIVE_A_TOKEN = "set HF_TOKEN, or run `hf auth login`"
# How many names an error shows.
_SHOWN = 5


def names_of(name: str) -> str:
    """What a path may have meant of what is in its folder: "; did you mean x?", or nothing."""
    path = Path(_native.user_path(name))
    names = [str(entry) for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    return str(_native.did_you_mean(str(path), names))


def not_there(name: str) -> FileNotFoundError:
    """The error for what is no path of this machine, and no name."""
    text = f"tokenizer {name} does not exist"
    if (address := _ADDRESS.match(name)) is not None:
        return FileNotFoundError(f"{text}: tokenizers of the Hub have names; name it {address[1]}")
    if "://" in name:
        return FileNotFoundError(
            f"{text}: tokenizers are folders of this machine, or names on the Hub; download "
            "it, and give the folder"
        )
    is_path = name.startswith(("/", ".", "~")) or name.count("/") > 1 or name.endswith(".json")
    return FileNotFoundError(f"{text}{'' if is_path else f' ({_FORM})'}{names_of(name)}")


def offline_error(name: str, cache: str, is_there: bool) -> FileNotFoundError:
    """The error for what the cache lacks, where nobody may be asked."""
    lacks = "has not all of its files" if is_there else "does not have it"
    return FileNotFoundError(
        f"tokenizer {name} does not exist here{names_of(name)}, and the Hub is not asked, since "
        f"HF_HUB_OFFLINE is set: its cache, {cache}, {lacks}; load it once without HF_HUB_OFFLINE "
        f"(hf download {name.partition('@')[0]} --include '*token*'), or give the folder"
    )


class HubError:
    """Makes errors about one name."""

    def __init__(self, name: str, repository: str, revision: str, token: str | None) -> None:
        from huggingface_hub import constants

        self._name, self._repository, self._revision = name, repository, revision
        self._token = token
        self._endpoint = _shown_endpoint(constants.ENDPOINT)

    def of(self, error: Exception, cached: str | None) -> Exception:
        """What a failure of huggingface_hub means; `cached`: the commit that the cache has."""
        from huggingface_hub import errors

        # Of a file that cannot be got it says that the cache lacks it, and why as the cause.
        while isinstance(error, errors.LocalEntryNotFoundError):
            cause = error.__cause__
            if not isinstance(cause, Exception):
                return self.unreachable(_short(error), cached)
            error = cause
        if isinstance(error, errors.GatedRepoError):
            return self._gated()
        if isinstance(error, errors.RepositoryNotFoundError):
            return self._unknown()
        if isinstance(error, errors.RevisionNotFoundError):
            return self._no_revision()
        status = _status(error)
        if status is not None and not self._is_of_the_hub(error):
            return self.unreachable(_short(error), cached)
        if status == 401:
            return PermissionError(
                f"tokenizer {self._name}: {self._endpoint} does not accept the token that it was "
                f"given; {_GIVE_A_TOKEN}, with one that is valid"
            )
        if status == 403:
            return PermissionError(
                f"tokenizer {self._name}: {self._endpoint}/{self._repository} may not be read with "
                f"this token ({_short(error)}); {_GIVE_A_TOKEN}, with one that may"
            )
        if status == 404:  # an endpoint that is no Hub
            return self._unknown()
        if status is None and _is_of_this_machine(error):
            return error  # a full disk, a cache that cannot be written
        return self.unreachable(_short(error), cached)

    def unreachable(self, why: str, cached: str | None) -> ConnectionError:
        """The Hub gave no answer, or failed as often as it was asked."""
        cure = (
            f"try again later, or give a folder (hf download {self._repository} tokenizer.json "
            "tokenizer_config.json --local-dir tokenizer makes one where the Hub is reached)"
        )
        if cached is not None:
            cure = (
                f"try again later, or take what its cache has, commit {cached}, by "
                f"{self._repository}@{cached} or HF_HUB_OFFLINE=1"
            )
        return ConnectionError(
            f"tokenizer {self._name}: {self._endpoint} could not be asked for it: {why}; {cure}"
        )

    def _gated(self) -> PermissionError:
        page = f"{self._endpoint}/{self._repository}"
        what = "its terms have to be accepted first"
        if self._is_known():
            cure = f"open {page} with the account of the token that is set, and ask for access"
        else:
            cure = f"open {page}, ask for access, and give a token of that account: {_GIVE_A_TOKEN}"
        return PermissionError(f"tokenizer {self._name} is gated, {what}: {cure}")

    def _unknown(self) -> FileNotFoundError:
        near = self._near_names()
        local = names_of(self._name)
        if "/" not in self._repository:
            meant = f"; did you mean {', '.join(near)}?" if near else ""
            return FileNotFoundError(
                f"tokenizer {self._name} does not exist: it is no folder or file here{local}, and "
                f"not a repository name: names have the form org/name{meant}"
            )
        meant = f"; on the Hub there are {', '.join(near)}" if near else ""
        private = (
            "the token that is set may not see it"
            if self._is_known()
            else f"a private one needs a token: {_GIVE_A_TOKEN}"
        )
        return FileNotFoundError(
            f"tokenizer {self._name} does not exist: it is no folder or file here{local}, and "
            f"{self._endpoint} has no repository {self._repository}{meant} ({private})"
        )

    def _no_revision(self) -> FileNotFoundError:
        text = (
            f"tokenizer {self._name}: {self._endpoint}/{self._repository} has no revision "
            f"{self._revision}"
        )
        try:
            from huggingface_hub import HfApi

            refs = HfApi(token=self._token).list_repo_refs(self._repository)
            names = [ref.name for ref in (*refs.branches, *refs.tags)]
        except Exception:  # it only helps
            names = []
        if names:
            text += f"; its branches and tags: {', '.join(names[:_SHOWN])}"
            text += ", ..." if len(names) > _SHOWN else ""
        return FileNotFoundError(text)

    def _near_names(self) -> list[str]:
        """Repositories whose names are like this one, by the Hub's own search."""
        owner, _, word = self._repository.rpartition("/")
        try:
            from huggingface_hub import HfApi

            api = HfApi(token=self._token)
            found = [
                model.id for model in api.list_models(search=word, sort="downloads", limit=_SHOWN)
            ]
            if owner and not found:
                theirs = {model.id for model in api.list_models(author=owner, limit=100)}
                words = {each.rpartition("/")[2]: each for each in sorted(theirs)}
                near = difflib.get_close_matches(word, words, n=_SHOWN)
                found = [words[each] for each in near]
        except Exception:  # it only helps
            return []
        return found

    def _is_of_the_hub(self, error: Any) -> bool:
        """Whether the Hub itself answered, and not a store that it sent us to."""
        answered = urlsplit(str(error.response.url)).netloc
        return answered.rpartition("@")[2] == urlsplit(self._endpoint).netloc

    def _is_known(self) -> bool:
        """Whether there is a token, of which the Hub knows who asks."""
        from huggingface_hub import get_token

        return bool(self._token or get_token())


def _status(error: Exception) -> int | None:
    """The status of the Hub's answer, where there was one."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def is_broken_off(error: Exception) -> bool:
    """Whether a connection broke, or a body was not whole: it may be so no more."""
    if _status(error) is not None or isinstance(error, FileNotFoundError):
        return False
    of_client = type(error).__module__.startswith("httpx")
    return of_client or (isinstance(error, OSError) and not _is_of_this_machine(error))


def _is_of_this_machine(error: Exception) -> bool:
    is_of_network = isinstance(error, ConnectionError | TimeoutError)
    return isinstance(error, OSError) and error.errno is not None and not is_of_network


def _short(error: Exception) -> str:
    """An error in one line, without what signs addresses."""
    text = re.sub(r"\?[^\s'\"]+", "", " ".join(str(error).split())).rstrip(".")
    kind = type(error).__name__
    return f"{kind}: {text[:300]}" if text else kind


def _shown_endpoint(endpoint: str) -> str:
    """The Hub's address without a user and a password."""
    parts = urlsplit(endpoint)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")
