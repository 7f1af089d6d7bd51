r"""Rules by which a server or a proxy of tests fails, and the log of what it was asked.

    Rule("status", status=503, times=2)                          # the first two GETs
    Rule("lost", method="PUT|POST", path=r"\.parquet$")           # done, and never answered
    Rule("reset", at=70_000, probability=0.1, method="")         # any method, one in ten
    Rule("latency", seconds=0.02, method="")                     # together with other faults

The first rule that is due decides; "latency" and "bandwidth" act beside it and beside each other.
What a probability decides depends on the seed and on the request (and how often it came), not on
the order in which requests arrive, so that a seed gives the same faults with many connections.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# What a rule may do.
FAULTS = (
    "refuse",  # the connection, before anything is read: counts connections, matches no request
    "close",  # before any answer
    "status",  # another status, with the rule's headers and body
    "expired",  # 403 ExpiredToken as S3 says it, 401 as Google does
    "redirect",
    "headless",  # no HEAD: 405
    "stall_headers",
    "stall_body",  # after `at` bytes
    "cut",  # ends a body after `at` bytes, though its length was told
    "reset",  # the same by RST
    "longer",  # Content-Length says `at` bytes more than come
    "short",  # Content-Length agrees with a body that is shorter than Content-Range says
    "shifted",  # another range than was asked for, and says so
    "whole",  # 200 and all of the file
    "encoded",  # Content-Encoding: gzip
    "flip",  # one bit of the body, at byte `at`
    "drop_key",  # a list answer lacks one key: `key`, or the last
    "replaced",  # from now on another file: `body`
    "trickle",  # `rate` bytes a second for this answer
    "lost",  # done, then closed without an answer
    "cut_request",  # reset when `at` bytes of the request's body have come
    "latency",  # `seconds` before the first byte
    "bandwidth",  # `rate` bytes a second for all that the rule matches, both ways
)
SLOW = ("latency", "bandwidth")

# Names that a store makes up, in queries: no seed can foretell them.
_MADE_UP = re.compile(r"(?:uploadId|upload_id|X-Amz-\w+|X-Goog-\w+)=[^&]*")


@dataclass
class Rule:
    """A fault, for matching requests from the `skip`-th on, `times` times, by a probability.

    `method` is a regular expression for the whole method ("" matches all), `path` and `query`
    are found anywhere in the path and query as they were sent (encoded); `header` must be there.
    """

    fault: str
    status: int = 503
    headers: Mapping[str, str] = field(default_factory=dict)
    at: int = 1000
    seconds: float = 60.0
    body: bytes = b""
    location: str = ""
    method: str = "GET"
    skip: int = 0
    times: int = 1 << 30
    probability: float = 1.0
    path: str = ""
    query: str = ""
    header: str = ""
    rate: float = 1000.0
    key: str = ""

    def __post_init__(self) -> None:
        assert self.fault in FAULTS, self.fault

    def matches(self, request: Request) -> bool:
        return (
            (not self.method or re.fullmatch(self.method, request.method) is not None)
            and re.search(self.path, request.path) is not None
            and re.search(self.query, request.query) is not None
            and (not self.header or self.header.lower() in request.headers)
        )


@dataclass
class Request:
    """The head of a request; `headers` by lower-case names, `lines` as they were sent."""

    method: str
    target: str
    headers: dict[str, str]
    lines: list[str]

    @classmethod
    def parsed(cls, head: bytes) -> Request:
        first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        pairs = (line.split(":", 1) for line in lines)
        return cls(method, target, {name.lower(): value.strip() for name, value in pairs}, lines)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def identity(self) -> str:
        """What makes it the same request when it comes again."""
        query = _MADE_UP.sub("", self.query)
        return f"{self.method} {self.path}?{query} {self.headers.get('range', '')}"


@dataclass
class Asked:
    """A request, and what was done with it."""

    method: str
    path: str
    range: str | None
    if_match: str | None
    fault: str | None
    query: str = ""
    if_none_match: str | None = None
    host: str | None = None
    authorized: bool = False  # it has an Authorization header
    token: bool = False  # it has x-amz-security-token, in its headers or its query
    status: int | None = None  # None: no answer was begun
    attempt: int = 1  # how often the same was asked until now
    slowed: tuple[str, ...] = ()  # latency, bandwidth
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    server: str = ""  # whom it was asked, where several share a log
    time: float = field(default_factory=time.monotonic)


class Pace:
    """A speed that all who wait for it share."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._free_at = 0.0

    async def wait(self, size: int) -> None:
        """Returns when so many bytes may be handed on."""
        now = time.monotonic()
        self._free_at = max(now, self._free_at) + size / self.rate
        await asyncio.sleep(self._free_at - now)


@dataclass
class Fate:
    """What is to happen to a request."""

    asked: Asked
    rule: Rule | None = None
    latency: float = 0.0
    paces: list[Pace] = field(default_factory=list)

    @property
    def fault(self) -> str | None:
        return None if self.rule is None else self.rule.fault


class _Watched:
    """A rule, and how many requests it has matched."""

    def __init__(self, rule: Rule, seed: str) -> None:
        self.rule = rule
        self.pace = Pace(rule.rate)
        self._seed = seed
        self._seen = 0

    def is_due(self, what: str) -> bool:
        self._seen += 1
        rule = self.rule
        if not rule.skip < self._seen <= rule.skip + rule.times:
            return False
        if rule.probability >= 1:
            return True
        return random.Random(f"{self._seed} {what}").random() < rule.probability


class Faults:
    """The rules in force, and the log."""

    def __init__(self, rules: Sequence[Rule] = (), seed: int = 0) -> None:
        self.log: list[Asked] = []
        self._seed = seed
        self._connections = 0
        self._attempts: Counter[str] = Counter()
        self.rules = rules

    @property
    def rules(self) -> Sequence[Rule]:
        return [each.rule for each in self._watched]

    @rules.setter
    def rules(self, rules: Sequence[Rule]) -> None:
        self._watched = [
            _Watched(rule, f"{self._seed} {number}") for number, rule in enumerate(rules)
        ]

    def refuses(self) -> bool:
        """Whether a new connection is to be refused; if so, logged under no method."""
        self._connections += 1
        for each in self._watched:
            if each.rule.fault == "refuse" and each.is_due(f"connection {self._connections}"):
                self.log.append(Asked("", "", None, None, "refuse"))
                return True
        return False

    def fate(self, request: Request) -> Fate:
        """Logs a request and decides what happens to it."""
        identity = request.identity
        self._attempts[identity] += 1
        attempt = self._attempts[identity]
        given = request.headers
        token = "x-amz-security-token"
        asked = Asked(
            request.method,
            request.path,
            given.get("range"),
            given.get("if-match"),
            None,
            query=request.query,
            if_none_match=given.get("if-none-match"),
            host=given.get("host"),
            authorized="authorization" in given,
            token=token in given or f"{token}=" in request.query.lower(),
            attempt=attempt,
            headers=given,
        )
        fate = Fate(asked)
        for each in self._watched:
            rule = each.rule
            is_slow = rule.fault in SLOW
            if rule.fault == "refuse" or (fate.rule and not is_slow) or not rule.matches(request):
                continue
            if not each.is_due(f"{identity} {attempt}"):
                continue
            if not is_slow:
                fate.rule = rule
                asked.fault = rule.fault
                continue
            asked.slowed += (rule.fault,)
            if rule.fault == "latency":
                fate.latency += rule.seconds
            else:
                fate.paces.append(each.pace)
        self.log.append(asked)
        return fate
