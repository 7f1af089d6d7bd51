"""Who may do what at the stub of the Hub, how often, and how it says no."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote

from fault_answers import Answer
from faults import Request
from hub_repositories import Repository


class Call:
    """A request with its body, taken apart."""

    def __init__(self, request: Request, body: bytes) -> None:
        self.method = request.method
        self.path = request.path  # as it was sent
        self.raw_query = request.query
        self.query = parse_qs(request.query, keep_blank_values=True)
        self.headers = request.headers
        self.body = body
        self.request = request

    def json(self) -> Any:
        return json.loads(self.body)

    def one(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[-1]

    def flag(self, name: str) -> bool:
        return self.one(name).lower() in ("1", "true")


class Refusal(Exception):
    """An answer that is an error, as the Hub tells it."""

    def __init__(
        self, status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})

    def answer(self) -> Answer:
        headers = {"X-Error-Message": self.message, **self.headers}
        if self.code:
            headers["X-Error-Code"] = self.code
        if self.status == 401:
            headers["WWW-Authenticate"] = 'Bearer realm="Authentication required", charset="UTF-8"'
        return told({"error": self.message}, self.status, headers)


class Moved(Exception):
    """The repository has another name now."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


def told(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """JSON as an answer."""
    body = json.dumps(data).encode()
    about = {"Content-Type": "application/json; charset=utf-8", "Content-Length": str(len(body))}
    return Answer(status, {**about, **(headers or {})}, body)


def empty(status: int, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, {"Content-Length": "0", **(headers or {})}, b"")


def revision_and_path(rest: str) -> tuple[str, str]:
    """Parts a quoted "revision/path"; refs/convert/x and refs/pr/1 may stand unquoted."""
    found = re.fullmatch(r"(refs/(?:convert|pr)/[^/]+|[^/]+)(?:/(.*))?", rest)
    if found is None:
        raise Refusal(404, "Not Found")
    return unquote(found[1]), unquote(found[2] or "").strip("/")


@dataclass(frozen=True)
class Token:
    """A user's token. `rights`: "read", "write", or "none", which opens only what is public."""

    value: str
    user: str
    rights: str = "read"
    orgs: tuple[str, ...] = ()

    def may_read(self, repository: Repository) -> bool:
        return self.rights != "none" and repository.namespace in (self.user, *self.orgs)

    def may_write(self, namespace: str) -> bool:
        return self.rights == "write" and namespace in (self.user, *self.orgs)

    def is_let_in(self, repository: Repository) -> bool:
        """Whether a gated repository is open to it."""
        is_named = self.user in repository.allowed and self.rights != "none"
        return is_named or self.may_read(repository)


@dataclass
class Limit:
    """At most `requests` in each window of `seconds`, for one kind of request."""

    requests: int
    seconds: int
    used: int = 0
    since: float = field(default_factory=time.monotonic)

    def take(self) -> tuple[bool, int, int]:
        """Whether this one may pass, how many remain, and in how many seconds all are back."""
        now = time.monotonic()
        if now >= self.since + self.seconds:
            self.since, self.used = now, 0
        self.used += 1
        left = max(1, int(self.since + self.seconds - now + 0.999))
        return self.used <= self.requests, max(0, self.requests - self.used), left


def limit_headers(kind: str, limit: Limit, remaining: int, left: int) -> dict[str, str]:
    policy = f'"fixed window";"{kind}";q={limit.requests};w={limit.seconds}'
    return {"RateLimit": f'"{kind}";r={remaining};t={left}', "RateLimit-Policy": policy}


class Access:
    """The tokens and limits of a Hub, and its repositories as one who calls sees them."""

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.moved: dict[tuple[str, str], str] = {}
        self.tokens: dict[str, Token] = {}
        self.limits: dict[str, Limit] = {}

    def limited(self, path: str) -> dict[str, str]:
        """Counts a request; the headers that tell how many remain."""
        is_resolve = "/resolve/" in path or "/api/resolve-cache/" in path
        kind = "resolvers" if is_resolve else "api" if path.startswith("/api/") else "pages"
        limit = self.limits.get(kind)
        if limit is None:
            return {}
        passes, remaining, left = limit.take()
        headers = limit_headers(kind, limit, remaining, left)
        if not passes:
            raise Refusal(429, "We had to rate limit you", headers=headers)
        return headers

    def caller(self, call: Call) -> Token | None:
        """Whose token came; None: no token."""
        given = call.headers.get("authorization")
        if given is None:
            return None
        token = self.tokens.get(given.removeprefix("Bearer ").strip())
        if token is None:
            raise Refusal(401, "Invalid credentials in Authorization header")
        return token

    def shows_token(self, request: Request) -> bool:
        """Whether a request has a token, wherever in its head."""
        lines = (request.target, *request.lines)
        is_known = any(token in line for token in self.tokens for line in lines)
        return is_known or "authorization" in request.headers

    def repository(self, kind: str, name: str, call: Call) -> Repository:
        """A repository that the caller may see."""
        token = self.caller(call)
        new_name = self.moved.get((kind, name))
        if new_name is not None:
            query = f"?{call.raw_query}" if call.raw_query else ""
            raise Moved(call.path.replace(f"/{name}", f"/{new_name}", 1) + query)
        found = self.repositories.get((kind, name))
        is_hidden = found is None or (
            found.private and not (token is not None and token.may_read(found))
        )
        if found is None or is_hidden:
            if token is None:
                raise Refusal(401, "Invalid username or password.", "RepoNotFound")
            raise Refusal(404, "Repository not found", "RepoNotFound")
        if found.disabled:
            raise Refusal(403, "Access to this resource is disabled.")
        return found

    def content(self, kind: str, name: str, call: Call) -> Repository:
        """A repository whose files the caller may read."""
        found = self.repository(kind, name, call)
        if not found.gated:
            return found
        token = self.caller(call)
        what = f"Access to {found.singular} {name} is restricted"
        if token is None:
            ask = "You must have access to it and be authenticated to access it. Please log in."
            raise Refusal(401, f"{what}. {ask}", "GatedRepo")
        if not token.is_let_in(found):
            ask = f"Visit https://huggingface.co{found.web_path} to ask for access."
            told = f"{what} and you are not in the authorized list. {ask}"
            raise Refusal(403, told, "GatedRepo")
        return found

    def writable(self, kind: str, name: str, call: Call) -> tuple[Repository, Token]:
        """A repository that the caller may change, and who that is."""
        found = self.repository(kind, name, call)
        token = self.caller(call)
        if token is None:
            raise Refusal(401, "Invalid username or password.")
        self.check_namespace(token, found.namespace)
        return found, token

    def check_namespace(self, token: Token, namespace: str) -> None:
        if token.may_write(namespace):
            return
        if token.rights != "write":
            said = "you must use a write token to upload to a repository."
        else:
            said = f'You don\'t have the required permissions to write under "{namespace}".'
        raise Refusal(403, f"Forbidden: {said}")
