"""What the stub of the Hub answers to who reads: repositories, trees, refs, searches and files."""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fault_answers import Answer, file_answer
from hub_access import Call, Refusal, empty, revision_and_path, told
from hub_repositories import Blob, Commit, Repository

if TYPE_CHECKING:
    from hub_server import HubServer

# Entries in a page of a tree: 1,000 as at the Hub, or 50 with what each commit changed.
PAGE = 1000
EXPANDED_PAGE = 50

# What one repository tells of itself where nothing else is asked for; `expand` asks for some.
_TOLD_OF_ALL = ("author", "private", "gated", "disabled", "lastModified", "createdAt", "sha")
_TOLD_OF_ONE = (*_TOLD_OF_ALL, "tags", "downloads", "likes", "cardData", "siblings")


def commit_of(repository: Repository, revision: str) -> Commit:
    found = repository.resolved(revision)
    if found is None:
        raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    return found


class Reading:
    """The routes that change nothing."""

    def __init__(self, hub: HubServer) -> None:
        self._hub = hub

    def whoami(self, call: Call) -> Answer:
        token = self._hub.access.caller(call)
        if token is None:
            raise Refusal(401, "Invalid username or password.")
        orgs = [
            {"type": "org", "id": f"id-{org}", "name": org, "fullname": org, "roleInOrg": "write"}
            for org in token.orgs
        ]
        shown = {"displayName": "tests", "role": "write" if token.rights == "write" else "read"}
        return told(
            {
                "type": "user",
                "id": f"id-{token.user}",
                "name": token.user,
                "fullname": token.user,
                "isPro": False,
                "orgs": orgs,
                "auth": {"type": "access_token", "accessToken": shown},
            }
        )

    def search(self, kind: str, call: Call) -> Answer:
        """Repositories that the caller may see, whose name has all that is searched for."""
        token = self._hub.access.caller(call)
        words = [each.lower() for each in call.query.get("search", [])]
        author = call.one("author")
        found = [
            each
            for (of, _), each in self._hub.access.repositories.items()
            if of == kind
            and not (each.private and not (token is not None and token.may_read(each)))
            and all(word in each.name.lower() for word in words)
            and author in ("", each.namespace)
        ]
        wanted = call.query.get("expand")
        if wanted is None:
            wanted = [*_TOLD_OF_ALL, "tags", "downloads", "likes"]
            wanted += ["cardData", "siblings"] if call.flag("full") else []
        listed = [self._about(each, commit_of(each, "main"), wanted, False) for each in found]
        return self._paged(listed, int(call.one("limit", str(PAGE))), call)

    def info(self, repository: Repository, rest: str, call: Call) -> Answer:
        commit = commit_of(repository, urllib.parse.unquote(rest) if rest else "main")
        wanted = call.query.get("expand") or _TOLD_OF_ONE
        return told(self._about(repository, commit, wanted, call.flag("blobs")))

    def auth_check(self, repository: Repository, rest: str, call: Call) -> Answer:
        if rest == "write":
            self._hub.access.writable(repository.kind, repository.name, call)
        else:
            self._hub.access.content(repository.kind, repository.name, call)
        return told({})

    def tree(self, repository: Repository, rest: str, call: Call) -> Answer:
        revision, folder = revision_and_path(rest)
        commit = commit_of(repository, revision)
        is_expanded = call.flag("expand")
        if folder not in commit.folders:
            said = f'{folder} does not exist on "{revision}"'
            raise Refusal(404, said, "EntryNotFound", {"X-Repo-Commit": commit.sha})
        paths = commit.entries(folder, call.flag("recursive"))
        page = int(call.one("limit") or (EXPANDED_PAGE if is_expanded else PAGE))
        return self._paged(
            paths,
            min(page, self._hub.page_size),
            call,
            lambda path: self._entry(repository, commit, path, is_expanded),
        )

    def paths_info(self, repository: Repository, rest: str, call: Call) -> Answer:
        commit = commit_of(repository, revision_and_path(rest)[0])
        if "json" in call.headers.get("content-type", ""):
            asked = call.json()
        else:
            form = urllib.parse.parse_qs(call.body.decode())
            asked = {"paths": form.get("paths", []), "expand": form.get("expand", [""])[0]}
        is_expanded = str(asked.get("expand", "")).lower() == "true"
        paths = [each.strip("/") for each in asked["paths"]]
        found = [
            path for path in paths if path in commit.files or (path and path in commit.folders)
        ]
        return told([self._entry(repository, commit, path, is_expanded) for path in found])

    def refs(self, repository: Repository, _rest: str, call: Call) -> Answer:
        def under(prefix: str) -> list[dict[str, str]]:
            return [
                {"name": ref.removeprefix(prefix), "ref": ref, "targetCommit": sha}
                for ref, sha in repository.refs.items()
                if ref.startswith(prefix)
            ]

        listed = {
            "branches": under("refs/heads/"),
            "converts": under("refs/convert/"),
            "tags": under("refs/tags/"),
        }
        if call.flag("include_prs"):
            listed["pullRequests"] = under("refs/pr/")
        return told(listed)

    def commits(self, repository: Repository, rest: str, call: Call) -> Answer:
        history = repository.history(commit_of(repository, revision_and_path(rest)[0]))
        listed = [
            {
                "id": each.sha,
                "title": each.title,
                "message": "",
                "date": each.date,
                "authors": [{"user": each.author}],
            }
            for each in history
        ]
        return self._paged(listed, int(call.one("limit", "50")), call)

    def xet_token(self, repository: Repository, _rest: str, call: Call) -> Answer:
        raise Refusal(501, "the stub does not speak Xet: set HF_HUB_DISABLE_XET=1")

    def resolve(self, repository: Repository, rest: str, call: Call) -> Answer:
        """A file, or where it is: what is large lies at the other host."""
        revision, path = revision_and_path(rest)
        commit = commit_of(repository, revision)
        headers = {"X-Repo-Commit": commit.sha, "Accept-Ranges": "bytes"}
        blob = commit.files.get(path)
        if blob is None:
            raise Refusal(404, "Entry not found", "EntryNotFound", headers)
        linked = {"X-Linked-Size": str(len(blob.data)), "X-Linked-Etag": f'"{blob.etag}"'}
        if blob.is_lfs:
            location = self._hub.store.signed(blob, path)
            headers |= {**linked, **self._xet_headers(repository, commit, blob)}
            return empty(302, {**headers, "Location": location, "Vary": "Accept, Origin"})
        if self._hub.resolve_cache and "/api/resolve-cache/" not in call.path:
            where = urllib.parse.quote(f"{repository.name}/{commit.sha}/{path}")
            location = f"/api/resolve-cache/{repository.kind}/{where}?etag=%22{blob.etag}%22"
            return empty(307, {**headers, **linked, "Location": location})
        answer = file_answer(blob.data, call.request, f'"{blob.oid}"')
        answer.headers.update(headers)
        answer.headers["Content-Disposition"] = disposition(path)
        answer.headers["Content-Type"] = "text/plain; charset=utf-8"
        return answer

    def _xet_headers(self, repository: Repository, commit: Commit, blob: Blob) -> dict[str, str]:
        if not self._hub.xet:
            return {}
        route = f"/api/{repository.kind}/{repository.name}/xet-read-token/{commit.sha}"
        auth = f'<{self._hub.endpoint}{route}>; rel="xet-auth"'
        about = f'<{self._hub.cdn}/reconstructions/{blob.xet_hash}>; rel="xet-reconstruction-info"'
        return {"X-Xet-Hash": blob.xet_hash, "Link": f"{auth}, {about}"}

    def _about(
        self, repository: Repository, commit: Commit, wanted: Any, has_blobs: bool
    ) -> dict[str, Any]:
        known: dict[str, Callable[[], Any]] = {
            "author": lambda: repository.namespace or None,
            "private": lambda: repository.private,
            "gated": lambda: repository.gated,
            "disabled": lambda: repository.disabled,
            "lastModified": lambda: commit.date,
            "createdAt": lambda: repository.history(commit)[-1].date,
            "sha": lambda: commit.sha,
            "tags": lambda: [],
            "downloads": lambda: 0,
            "likes": lambda: 0,
            "cardData": commit.card,
            "siblings": lambda: [
                self._sibling(path, blob, has_blobs) for path, blob in commit.files.items()
            ],
        }
        shown: dict[str, Any] = {"_id": repository.name, "id": repository.name}
        if repository.kind == "models":
            shown["modelId"] = repository.name
        return shown | {name: known[name]() for name in wanted if name in known}

    def _sibling(self, path: str, blob: Blob, has_blobs: bool) -> dict[str, Any]:
        shown: dict[str, Any] = {"rfilename": path}
        if has_blobs:
            shown |= {"size": len(blob.data), "blobId": blob.oid}
        if has_blobs and blob.is_lfs:
            pointer = {"sha256": blob.sha256, "pointerSize": len(blob.pointer)}
            shown["lfs"] = {"size": len(blob.data), **pointer}
        return shown

    def _entry(
        self, repository: Repository, commit: Commit, path: str, is_expanded: bool
    ) -> dict[str, Any]:
        """A line of a tree."""
        blob = commit.files.get(path)
        if blob is None:
            shown = {"type": "directory", "oid": commit.folders[path], "size": 0, "path": path}
        else:
            size = len(blob.data)
            shown = {"type": "file", "oid": blob.oid, "size": size, "path": path}
            if blob.is_lfs:
                pointer = {"oid": blob.sha256, "pointerSize": len(blob.pointer)}
                shown["lfs"] = {"size": size, **pointer}
            if blob.is_lfs and self._hub.xet:
                shown["xetHash"] = blob.xet_hash
        if is_expanded:
            last = repository.last_change(commit, path)
            shown["lastCommit"] = {"id": last.sha, "title": last.title, "date": last.date}
            if blob is not None:
                scans = {"avScan": None, "pickleImportScan": None}
                shown["securityFileStatus"] = {"status": "safe", **scans}
        return shown

    def _paged(
        self, items: list[Any], size: int, call: Call, shown: Callable[[Any], Any] = lambda x: x
    ) -> Answer:
        """A page, with where the next is in a Link."""
        cursor = call.one("cursor")
        begin = json.loads(base64.urlsafe_b64decode(cursor))["begin"] if cursor else 0
        end = begin + size
        headers = {}
        if end < len(items):
            query = [
                (name, value)
                for name, values in call.query.items()
                for value in values
                if name not in ("cursor", "limit")
            ]
            next_cursor = base64.urlsafe_b64encode(json.dumps({"begin": end}).encode()).decode()
            query += [("limit", str(size)), ("cursor", next_cursor)]
            url = f"{self._hub.endpoint}{call.path}?{urllib.parse.urlencode(query)}"
            headers["Link"] = f'<{url}>; rel="next"'
        return told([shown(each) for each in items[begin:end]], 200, headers)


def disposition(path: str) -> str:
    name = urllib.parse.quote(path.rpartition("/")[2])
    plain = re.sub(r"[^ -~]|\"", "_", path.rpartition("/")[2])
    return f"inline; filename*=UTF-8''{name}; filename=\"{plain}\";"
