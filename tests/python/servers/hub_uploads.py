"""What the stub of the Hub answers to who writes: repositories, uploads, commits, branches."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from fault_answers import Answer
from hub_access import Call, Refusal, empty, revision_and_path, told
from hub_reading import commit_of
from hub_repositories import Blob, Repository, card_of

if TYPE_CHECKING:
    from hub_server import HubServer


class Writing:
    """The routes that change something, or lead up to it."""

    def __init__(self, hub: HubServer) -> None:
        self._hub = hub

    def create(self, call: Call) -> Answer:
        asked = call.json()
        token = self._hub.access.caller(call)
        if token is None:
            raise Refusal(401, "Invalid username or password.")
        namespace = asked.get("organization") or token.user
        kind, name = f"{asked.get('type') or 'model'}s", f"{namespace}/{asked['name']}"
        self._hub.access.check_namespace(token, namespace)
        known = self._hub.access.repositories.get((kind, name))
        if known is not None:
            said = f"You already created this {kind[:-1]} repo: {name}"
            return told({"error": said, "url": self._hub.endpoint + known.web_path}, 409)
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        made = self._hub.repo(kind, name, private=private)
        return told({"url": self._hub.endpoint + made.web_path, "name": name, "id": name})

    def delete(self, call: Call) -> Answer:
        asked = call.json()
        kind = f"{asked.get('type') or 'model'}s"
        name = "/".join(each for each in (asked.get("organization"), asked["name"]) if each)
        self._hub.access.writable(kind, name, call)
        del self._hub.access.repositories[kind, name]
        return empty(200)

    def move(self, call: Call) -> Answer:
        asked = call.json()
        kind = f"{asked.get('type') or 'model'}s"
        repository, token = self._hub.access.writable(kind, asked["fromRepo"], call)
        self._hub.access.check_namespace(token, asked["toRepo"].partition("/")[0])
        self._hub.rename(repository, asked["toRepo"])
        return empty(200)

    def settings(self, repository: Repository, _rest: str, call: Call) -> Answer:
        asked = call.json()
        if "visibility" in asked or "private" in asked:
            repository.private = asked.get("visibility") == "private" or bool(asked.get("private"))
        repository.gated = asked.get("gated", repository.gated)
        return told({"private": repository.private, "gated": repository.gated})

    def validate_yaml(self, call: Call) -> Answer:
        try:
            card = card_of(call.json()["content"])
        except ValueError as error:
            return told({"errors": [{"message": str(error)}], "warnings": []}, 400)
        warnings = []
        if card is None:
            warnings.append({"message": "empty or missing yaml metadata in repo card"})
        return told({"errors": [], "warnings": warnings})

    def preupload(self, repository: Repository, rest: str, call: Call) -> Answer:
        """Says of each file where it is to lie, and which is there already."""
        asked = call.json()
        commit = commit_of(repository, revision_and_path(rest)[0])
        ignored = [line for line in asked.get("gitIgnore", "").splitlines() if line.strip()]

        def shown(path: str, size: int, sample: bytes) -> dict[str, Any]:
            known = commit.files.get(path)
            names = (path, path.rpartition("/")[2])
            return {
                "path": path,
                "uploadMode": "lfs" if repository.is_large(path, size, sample) else "regular",
                "shouldIgnore": any(fnmatchcase(n, each) for n in names for each in ignored),
                "oid": None if known is None else known.etag,
            }

        files = [
            shown(each["path"], each["size"], base64.b64decode(each.get("sample", "")))
            for each in asked["files"]
        ]
        return told({"files": files, "commitOid": commit.sha})

    def batch(self, repository: Repository, call: Call) -> Answer:
        """Where to send what the large store has not yet; a large file in parts."""
        return told(
            {
                "transfer": "multipart",
                "objects": [
                    {"oid": each["oid"], "size": each["size"], "authenticated": True}
                    | self._actions(repository, each["oid"], each["size"])
                    for each in call.json()["objects"]
                ],
            }
        )

    def _actions(self, repository: Repository, sha256: str, size: int) -> dict[str, Any]:
        if sha256 in repository.stored:
            return {}
        store, part_size = self._hub.store, self._hub.part_size
        where = f"/lfs-uploads/{sha256}"
        verify = f"{self._hub.endpoint}{repository.web_path}.git/info/lfs/objects/verify"
        upload: dict[str, Any] = {"href": store.sign("PUT", where), "header": {}}
        if size > part_size:
            upload_id = store.begin_parts(sha256)
            upload["href"] = f"{self._hub.endpoint}/api/complete_multipart?uploadId={upload_id}"
            upload["header"] = {"chunk_size": str(part_size)} | {
                f"{number:05}": store.sign("PUT", f"{where}/{upload_id}/{number}")
                for number in range(1, math.ceil(size / part_size) + 1)
            }
        return {"actions": {"upload": upload, "verify": {"href": verify, "header": {}}}}

    def complete_parts(self, call: Call) -> Answer:
        """Puts the parts together; the address is its own permission."""
        asked = call.json()
        parts = [(each["partNumber"], each["etag"]) for each in asked["parts"]]
        if not self._hub.store.join_parts(call.one("uploadId"), parts):
            raise Refusal(400, "InvalidPart")
        return told({"success": True})

    def verify(self, repository: Repository, call: Call) -> Answer:
        """Takes what was uploaded into the repository's store, if it is what it should be."""
        asked = call.json()
        data = self._hub.store.uploaded.get(asked["oid"])
        if data is None:
            raise Refusal(404, "The file was not uploaded")
        if len(data) != asked["size"] or hashlib.sha256(data).hexdigest() != asked["oid"]:
            raise Refusal(422, "The uploaded file has another size or SHA-256")
        repository.stored[asked["oid"]] = data
        return told({})

    def commit(self, repository: Repository, rest: str, call: Call) -> Answer:
        lines = [json.loads(line) for line in call.body.splitlines() if line.strip()]
        header, operations = lines[0]["value"], lines[1:]
        revision = revision_and_path(rest)[0]
        parent = commit_of(repository, revision)
        ref = revision if revision.startswith("refs/") else f"refs/heads/{revision}"
        if ref not in repository.refs:
            raise Refusal(400, f"{revision} is no branch")
        told_parent = header.get("parentCommit")
        if told_parent is not None and told_parent != parent.sha:
            raise Refusal(412, "A commit has happened since. Please refresh and try again.")
        changes: dict[str, bytes | Blob | None] = {}
        files = dict(parent.files)  # as they are after each operation
        for each in operations:
            for path, blob in self._changed(repository, files, each["key"], each["value"]).items():
                changes[path] = blob
                if blob is None:
                    del files[path]
                else:
                    files[path] = blob
        changes = {path: each for path, each in changes.items() if each or path in parent.files}
        token = self._hub.access.caller(call)
        author = "" if token is None else token.user
        answer = {"success": True, "hookOutput": ""}
        if call.flag("create_pr"):
            number = sum(each.startswith("refs/pr/") for each in repository.refs) + 1
            repository.refs[f"refs/pr/{number}"] = parent.sha
            ref = f"refs/pr/{number}"
            web = self._hub.endpoint + repository.web_path
            answer["pullRequestUrl"] = f"{web}/discussions/{number}"
        made = repository.commit(changes, ref, header["summary"], author)
        answer["commitOid"] = made.sha
        answer["commitUrl"] = f"{self._hub.endpoint}{repository.web_path}/commit/{made.sha}"
        return told(answer)

    def _changed(
        self, repository: Repository, files: dict[str, Blob], key: str, value: dict[str, Any]
    ) -> dict[str, Blob | None]:
        """What one line of a commit changes."""
        path = value["path"].strip("/")
        if key == "file":
            data = base64.b64decode(value["content"])
            if path == "README.md":
                try:
                    card_of(data.decode())
                except ValueError as error:
                    raise Refusal(400, f"Invalid metadata in README.md: {error}") from error
            return {path: Blob(data, False)}
        if key == "lfsFile":
            stored = repository.stored.get(value["oid"])
            if stored is None:
                said = "Your push was rejected because an LFS pointer pointed to a file that does "
                raise Refusal(400, f"{said}not exist. Offending file: {path}")
            return {path: Blob(stored, True)}
        inside = [each for each in files if each.startswith(f"{path}/")]
        found = [path] if key == "deletedFile" and path in files else []
        found = inside if key == "deletedFolder" else found
        if not found:
            said = (
                "A file with this name doesn't exist" if key == "deletedFile" else "No such folder"
            )
            raise Refusal(404, f"{said}: {path}", "EntryNotFound")
        return dict.fromkeys(found)

    def make_branch(self, repository: Repository, rest: str, call: Call) -> Answer:
        name = unquote(rest)
        if f"refs/heads/{name}" in repository.refs:
            raise Refusal(409, f"Reference already exists: refs/heads/{name}")
        begin = (call.json() if call.body else {}).get("startingPoint", "main")
        self._hub.branch(repository, name, begin)
        return empty(200)

    def make_tag(self, repository: Repository, rest: str, call: Call) -> Answer:
        name = call.json()["tag"]
        if f"refs/tags/{name}" in repository.refs:
            raise Refusal(409, f"Tag reference exists already: refs/tags/{name}")
        self._hub.tag(repository, name, unquote(rest))
        return empty(200)

    def drop_branch(self, repository: Repository, rest: str, _call: Call) -> Answer:
        return self._dropped(repository, f"refs/heads/{unquote(rest)}")

    def drop_tag(self, repository: Repository, rest: str, _call: Call) -> Answer:
        return self._dropped(repository, f"refs/tags/{unquote(rest)}")

    def _dropped(self, repository: Repository, ref: str) -> Answer:
        if ref == "refs/heads/main":
            raise Refusal(403, "The branch main cannot be deleted")
        if repository.refs.pop(ref, None) is None:
            raise Refusal(404, f"Invalid rev id: {ref}", "RevisionNotFound")
        return empty(200)
