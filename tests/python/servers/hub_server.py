"""A stub of the Hugging Face Hub on 127.0.0.1, with which the real libraries of its users work.

    with HubServer() as hub:
        repo = hub.repo("datasets", "org/name", {"README.md": b"...", "data/train.parquet": data})
        sha = hub.commit(repo, {"data/train.parquet": other, "old.txt": None})   # None: removed
        hub.commit(repo, {"default/train/0000.parquet": data}, "refs/convert/parquet")
        hub.tag(repo, "v1", sha); hub.branch(repo, "dev")
        token = hub.token("ann", "write", orgs=["org"])                 # or "read", "none"
        api = HfApi(endpoint=hub.endpoint, token=token)
        subprocess.run(..., env=os.environ | hub.environment(home, token))

In tests take the fixtures `hub` (a new one for each test) and `hub_here` (the same, with the
libraries of this process pointed at it, and caches of their own): see hub_libraries.py.

There are two hosts: the Hub (`hub.endpoint`, 127.0.0.1) and the large store (`hub.cdn`, localhost).
Files whose names .gitattributes has (`lfs=` of `repo`), large and binary ones lie in the store: for
these the Hub answers 302 to a signed address, which lives for `hub.lifetime` seconds (3600);
`hub.advance(seconds)` moves the clock of both. One that has expired or is changed gets 403. A token
that reaches the store is an offence, as is a failure of the stub: see `hub.check()`.

    hub.repo(..., private=True, gated="auto", allowed=["ann"], lfs=["*.jsonl"])
    hub.rename(repo, "org/other")       # the old name answers 307
    hub.rewrite(repo, sha, path, data)  # what must never happen: a commit's file is another now
    hub.xet = True                      # X-Xet-Hash and its links (needs HF_HUB_DISABLE_XET=1)
    hub.resolve_cache = True            # small files by a relative redirect, as the Hub does today
    hub.page_size = 2                   # entries in a page of a tree
    hub.limit("resolvers", requests=5, seconds=2)    # then 429 with RateLimit; also "api", "pages"
    hub.rules = [Rule("reset", at=999, path=STORE)]  # faults.py; HUB, STORE: which host
    hub.rules = [nth_write(3, "lost")]  # the third request that writes is done and not answered
    hub.before_write = lambda n, call: ...  # called at each; may kill the client; see after_write
    hub.part_size = 1 << 20             # larger files are uploaded in parts

Xet itself is not spoken: HF_HUB_DISABLE_XET=1 is in `hub.environment`, with which huggingface_hub
uploads a folder in one commit. With Xet on it makes many; here that works for small text only.

`hub.log` has what both were asked, in order, as `Asked` (faults.py): `server` is "hub" or "cdn".
`hub.asked(server, method, path)`, `hub.listings`, `.resolves` and `.writings` are parts of it.
"""

from __future__ import annotations

import re
import threading
import time
import traceback
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from fault_answers import Answer, file_answer
from faults import Asked, Faults, Rule
from hub_access import Access, Call, Limit, Moved, Refusal, Token, empty, told
from hub_hosts import Host
from hub_reading import PAGE, Reading, commit_of
from hub_repositories import LFS_NAMES, Blob, Repository, attributes
from hub_store import Store
from hub_uploads import Writing

__all__ = ["HUB", "STORE", "HubServer", "Rule", "nth_write"]

# The paths of one host, for rules.
STORE = r"^/(?:xet-bridge|lfs-uploads)/"
HUB = r"^/(?!xet-bridge/|lfs-uploads/)"

_API = re.compile(
    r"/api/(datasets|models|spaces)/([^/]+(?:/[^/]+)??)"
    r"(?:/(revision|tree|refs|commits|paths-info|xet-read-token|auth-check|settings"
    r"|preupload|commit|branch|tag)(?:/(.*))?)?"
)
_RESOLVE = re.compile(r"/(?:(datasets|spaces)/)?([^/]+(?:/[^/]+)??)/resolve/(.+)")
_RESOLVE_CACHE = re.compile(r"/api/resolve-cache/(datasets|models|spaces)/(.+)/([0-9a-f]{40}/.+)")
_LFS = re.compile(
    r"/(?:(datasets|spaces)/)?([^/]+(?:/[^/]+)??)\.git/info/lfs/objects/(batch|verify)"
)
_WRITES = "POST|PUT|DELETE"
_WRITTEN = r"^(?!.*/paths-info/)"
_LISTING = re.compile(r"^/api/(?:datasets|models|spaces)/.+/(?:tree|paths-info)/")


class HubServer:
    """The Hub and its large store, while it is entered."""

    def __init__(self, rules: Sequence[Rule] = (), seed: int = 0) -> None:
        self.xet = False
        self.resolve_cache = False
        self.page_size = PAGE
        self.lifetime = 3600
        self.part_size = 16 << 20
        self.before_write: Callable[[int, Call], None] | None = None
        self.after_write: Callable[[int, Call], None] | None = None
        self.access = Access()
        self.offences: list[str] = []
        self._lock = threading.RLock()
        self._ahead = 0.0
        self._answered = 0
        self._written_until_now = 0
        self._replaced: dict[str, bytes] = {}
        self.store = Store(self)
        self._reading = Reading(self)
        self._writing = Writing(self)
        self._faults = Faults(rules, seed)
        self._hosts = {name: Host(self, name, self._faults, self._lock) for name in ("hub", "cdn")}
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        for host in self._hosts.values():
            self._entered.enter_context(host)
        return self

    def __exit__(self, *error: object) -> None:
        self._entered.close()

    @property
    def endpoint(self) -> str:
        return self._hosts["hub"].url

    @property
    def cdn(self) -> str:
        return self._hosts["cdn"].url.replace("127.0.0.1", "localhost")

    def repo(
        self,
        kind: str,
        name: str,
        files: Mapping[str, bytes] | None = None,
        *,
        private: bool = False,
        gated: str | bool = False,
        allowed: Iterable[str] = (),
        lfs: Iterable[str] = LFS_NAMES,
    ) -> Repository:
        """Makes a repository of "datasets", "models" or "spaces", with files on main."""
        with self._lock:
            assert (kind, name) not in self.access.repositories, name
            made = Repository(kind, name, private, gated, allowed, lfs)
            self.access.repositories[kind, name] = made
            self.access.moved.pop((kind, name), None)
            first = {".gitattributes": attributes(made.lfs), **(files or {})}
            made.commit(first, title="initial commit")
            return made

    def commit(
        self,
        repository: Repository,
        changes: Mapping[str, bytes | None],
        branch: str = "main",
        title: str = "Upload files",
    ) -> str:
        """Commits onto a branch or "refs/..."; its id. A new branch begins at main, a ref empty."""
        with self._lock:
            if branch.startswith("refs/"):
                return repository.commit(changes, branch, title).sha
            base = None if f"refs/heads/{branch}" in repository.refs else head(repository)
            return repository.commit(changes, f"refs/heads/{branch}", title, base=base).sha

    def branch(self, repository: Repository, name: str, revision: str = "main") -> None:
        with self._lock:
            repository.refs[f"refs/heads/{name}"] = commit_of(repository, revision).sha

    def tag(self, repository: Repository, name: str, revision: str = "main") -> None:
        with self._lock:
            repository.refs[f"refs/tags/{name}"] = commit_of(repository, revision).sha

    def rename(self, repository: Repository, name: str) -> None:
        """Gives another name; the old one redirects."""
        with self._lock:
            del self.access.repositories[repository.kind, repository.name]
            self.access.moved[repository.kind, repository.name] = name
            self.access.moved.pop((repository.kind, name), None)
            repository.name = name
            self.access.repositories[repository.kind, name] = repository

    def rewrite(self, repository: Repository, sha: str, path: str, data: bytes) -> None:
        """Changes a file of a commit, whose id stays."""
        with self._lock:
            files = repository.commits[sha].files
            files[path] = Blob(data, files[path].is_lfs)

    def token(self, user: str, rights: str = "read", orgs: Iterable[str] = ()) -> str:
        """Makes a token: "read", "write", or "none", which opens nothing that is not public."""
        with self._lock:
            value = f"hf_{user}{rights}{len(self.access.tokens):04}{'x' * 20}"
            self.access.tokens[value] = Token(value, user, rights, tuple(orgs))
            return value

    def limit(self, kind: str, requests: int, seconds: int) -> None:
        """Lets so many "resolvers", "api" or "pages" requests pass in a window."""
        self.access.limits[kind] = Limit(requests, seconds)

    def environment(self, home: Path | str, token: str = "") -> dict[str, str]:
        """What points a new process at this Hub, with caches under `home`."""
        return {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(home),
            "HF_TOKEN": token,
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules in force at both hosts; setting them counts from nought."""
        return self._faults.rules

    @rules.setter
    def rules(self, rules: Sequence[Rule]) -> None:
        with self._lock:
            self._faults.rules = rules

    @property
    def log(self) -> list[Asked]:
        return self._faults.log

    def asked(self, server: str = "", method: str = "", path: str = "") -> list[Asked]:
        """The part of the log of one host ("hub", "cdn"), a method, and paths (found anywhere)."""
        return [
            each
            for each in self.log
            if server in ("", each.server)
            and method in ("", each.method)
            and re.search(path, each.path)
        ]

    @property
    def listings(self) -> list[Asked]:
        """Requests for trees, pages of trees, and what is known of paths."""
        return self.asked("hub", path=_LISTING.pattern)

    @property
    def resolves(self) -> list[Asked]:
        """Requests for files at the Hub, by HEAD and GET."""
        return self.asked("hub", path="/resolve/")

    @property
    def writings(self) -> list[Asked]:
        """Requests that write or lead up to it, at both hosts."""
        return [each for each in self.log if is_writing(each.method, each.path)]

    def check(self) -> None:
        """Fails where a token reached the store, or the stub itself failed."""
        assert not self.offences, "\n".join(self.offences)

    def now(self) -> float:
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Moves the clock of both hosts: what was signed before may have expired."""
        self._ahead += seconds

    def replace(self, path: str, body: bytes) -> None:
        self._replaced[path] = body

    def answer(self, server: str, call: Call) -> Answer:
        """What a host answers."""
        with self._lock:
            self._answered += 1
            is_write = is_writing(call.method, call.path)
            self._written_until_now += is_write
            if is_write and self.before_write is not None:
                self.before_write(self._written_until_now, call)
            headers = {"X-Request-Id": f"Root=1-stub-{self._answered:08}"}
            try:
                if call.path in self._replaced and call.method in ("GET", "HEAD"):
                    answer = file_answer(self._replaced[call.path], call.request)
                elif server == "cdn":
                    answer = self.store.answer(call)
                else:
                    headers |= self.access.limited(call.path)
                    answer = self._routed(call)
            except Refusal as refusal:
                answer = refusal.answer()
            except Moved as moved:
                answer = empty(307, {"Location": moved.location})
            except Exception:
                self.offences.append(f"{call.method} {call.path}\n{traceback.format_exc()}")
                answer = told({"error": "Internal Error - the stub failed"}, 500)
            if is_write and self.after_write is not None:
                self.after_write(self._written_until_now, call)
        for name, value in headers.items():
            answer.headers.setdefault(name, value)
        return answer

    def _routed(self, call: Call) -> Answer:
        reading, path = self._reading, call.path
        method = "GET" if call.method == "HEAD" else call.method
        if method == "GET" and (found := _RESOLVE_CACHE.fullmatch(path)):
            name = urllib.parse.unquote(found[2])
            return reading.resolve(self.access.content(found[1], name, call), found[3], call)
        if method == "GET" and (found := _RESOLVE.fullmatch(path)):
            opened = self.access.content(found[1] or "models", found[2], call)
            return reading.resolve(opened, found[3], call)
        if path == "/api/whoami-v2":
            return reading.whoami(call)
        if path.startswith("/api/telemetry/"):
            return empty(200)
        if method == "GET" and (found := re.fullmatch(r"/api/(datasets|models|spaces)", path)):
            return reading.search(found[1], call)
        written = self._written(method, path, call)
        if written is not None:
            return written
        found = _API.fullmatch(path)
        routes = {
            ("GET", None): reading.info,
            ("GET", "revision"): reading.info,
            ("GET", "tree"): reading.tree,
            ("POST", "paths-info"): reading.paths_info,
            ("GET", "refs"): reading.refs,
            ("GET", "commits"): reading.commits,
            ("GET", "auth-check"): reading.auth_check,
            ("GET", "xet-read-token"): reading.xet_token,
        }
        if found is not None and (method, found[3]) in routes:
            opened = self.access.repository(found[1], found[2], call)
            return routes[method, found[3]](opened, found[4] or "", call)
        raise Refusal(404, "Sorry, we can't find the page you are looking for.")

    def _written(self, method: str, path: str, call: Call) -> Answer | None:
        """The answer to what writes."""
        writing = self._writing
        alone = {
            ("POST", "/api/repos/create"): writing.create,
            ("DELETE", "/api/repos/delete"): writing.delete,
            ("POST", "/api/repos/move"): writing.move,
            ("POST", "/api/validate-yaml"): writing.validate_yaml,
            ("POST", "/api/complete_multipart"): writing.complete_parts,
        }
        if (method, path) in alone:
            return alone[method, path](call)
        if method == "POST" and (found := _LFS.fullmatch(path)):
            opened, _ = self.access.writable(found[1] or "models", found[2], call)
            return (writing.batch if found[3] == "batch" else writing.verify)(opened, call)
        routes = {
            ("PUT", "settings"): writing.settings,
            ("POST", "preupload"): writing.preupload,
            ("POST", "commit"): writing.commit,
            ("POST", "branch"): writing.make_branch,
            ("DELETE", "branch"): writing.drop_branch,
            ("POST", "tag"): writing.make_tag,
            ("DELETE", "tag"): writing.drop_tag,
        }
        found = _API.fullmatch(path)
        if found is None or (method, found[3]) not in routes:
            return None
        if call.flag("create_pr"):  # which who may read may do
            opened = self.access.content(found[1], found[2], call)
        else:
            opened, _ = self.access.writable(found[1], found[2], call)
        return routes[method, found[3]](opened, found[4] or "", call)


def is_writing(method: str, path: str) -> bool:
    return re.fullmatch(_WRITES, method) is not None and re.search(_WRITTEN, path) is not None


def nth_write(number: int, fault: str = "close", times: int = 1, **options: Any) -> Rule:
    """A rule for the n-th request that writes or leads up to it (from 1), at either host."""
    skip = number - 1
    return Rule(fault, method=_WRITES, path=_WRITTEN, skip=skip, times=times, **options)


def head(repository: Repository) -> str:
    return commit_of(repository, "main").sha
