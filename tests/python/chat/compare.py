"""A template and its variables, in the native engine and in Jinja2; and the least that differs.

The rules:

- the same text in both, or an error in both (any exception of Jinja2, ValueError of the engine);
- the engine refuses a template when it compiles it only where Jinja2 does;
- NotImplementedError of the engine is no difference: the caller takes Jinja2 then;
- a text with the address of an object in it is nobody's: the engine must raise
  NotImplementedError.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from easydata.tokenizers.template_engine import compile_template
from engine_parts import JinjaTemplate

# What of a value, not of a template, sends it to Jinja2 though templates of models may do it.
KNOWN_OUTSIDE = "lower case of letters beyond ASCII"

_ADDRESS = re.compile(r"at 0x[0-9a-f]+>")
# Steps of shrinking that are tried; each takes two renders.
_TRIES = 4000


@dataclass(frozen=True)
class Outcome:
    """What came of a template: kind is "text", "refused" (compiling), "error" or "outside"."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.value if self.kind != 'text' else repr(self.value)}"


@dataclass(frozen=True)
class Difference:
    """A template that the engine renders otherwise."""

    source: str
    variables: dict[str, Any]
    expected: Outcome
    actual: Outcome

    @property
    def kind(self) -> tuple[str, str]:
        """Which outcomes differ; the same for a difference and its smaller form."""
        return self.expected.kind, self.actual.kind

    def __str__(self) -> str:
        return (
            f"template:  {self.source!r}\nvariables: {self.variables!r}\n"
            f"jinja2:    {self.expected}\nnative:    {self.actual}"
        )


def by_jinja2(source: str, variables: dict[str, Any]) -> Outcome:
    """What the reference makes of it."""
    kind = "refused"
    try:
        template = compile_template(source)
        kind = "error"
        return Outcome("text", template.render(**variables))
    except Exception as error:
        return Outcome(kind, f"{type(error).__name__}: {error}")


def by_engine(source: str, variables: dict[str, Any]) -> Outcome:
    """What the native engine makes of it; an exception that was not agreed is of kind "bug"."""
    kind = "refused"
    try:
        template = _native_template(source)
        kind = "error"
        return Outcome("text", template.render(variables))
    except NotImplementedError as error:
        return Outcome("outside", str(error))
    except ValueError as error:
        return Outcome(kind, str(error))
    except Exception as error:
        return Outcome("bug", f"{type(error).__name__}: {error}")


@functools.lru_cache(maxsize=64)
def _native_template(source: str) -> JinjaTemplate:
    return JinjaTemplate(source)


def agree(expected: Outcome, actual: Outcome) -> bool:
    """Whether the rules above hold."""
    if actual.kind == "outside":
        return True
    if expected.kind == "text":
        has_address = _ADDRESS.search(expected.value) is not None
        return actual == expected and not has_address
    return actual.kind == expected.kind or (expected.kind, actual.kind) == ("refused", "error")


def compare(
    source: str, variables: dict[str, Any], counts: Counter[str] | None = None
) -> Difference | None:
    """Renders by both.

    Args:
        source: the template.
        variables: what it may read.
        counts: counts "renders", those that end in a text or an error ("text", "error"), and
            "outside"; and for each thing outside of the subset, "outside: " and what.

    Returns:
        None where they agree.
    """
    actual = by_engine(source, variables)
    expected = by_jinja2(source, variables)
    same = agree(expected, actual)
    if not same and "strftime_now" in source:
        # Midnight may have passed between the two.
        actual, expected = by_engine(source, variables), by_jinja2(source, variables)
        same = agree(expected, actual)
    if counts is not None:
        counts["renders"] += 1
        counts["text" if expected.kind == "text" else "error"] += 1
        if actual.kind == "outside":
            counts["outside"] += 1
            counts[f"outside: {re.sub(r'[0-9]+', 'N', actual.value)}"] += 1
    return None if same else Difference(source, variables, expected, actual)


def shrink(difference: Difference) -> Difference:
    """A smaller template, and fewer variables, that differ in the same way."""
    tries = 0
    best = difference

    def still(source: str, variables: dict[str, Any]) -> bool:
        nonlocal tries, best
        tries += 1
        found = compare(source, variables) if tries <= _TRIES else None
        if found is None or found.kind != difference.kind:
            return False
        best = found
        return True

    size = -1
    while size != _size(best):
        size = _size(best)
        _shrink_statements(lambda: best, still)
        _shrink_variables(lambda: best, still)
        _shrink_tokens(lambda: best, still)
    return best


def _size(difference: Difference) -> int:
    return len(difference.source) + len(repr(difference.variables))


_PIECES = re.compile(r"(\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\})", re.DOTALL)
_WORD = re.compile(r"\{%[-+]?\s*(\w+)(.*?)[-+]?%\}", re.DOTALL)
_BLOCKS = {"for", "if", "macro", "raw", "generation"}
_Still = Callable[[str, dict[str, Any]], bool]


def _blocks(pieces: list[str]) -> Iterator[list[int]]:
    """Indices of the tags of each block: its first, those in between (else), its last."""
    open_blocks: list[tuple[str, list[int]]] = []
    for at, piece in enumerate(pieces):
        match = _WORD.fullmatch(piece)
        word = match[1] if match else ""
        is_set_block = match and word == "set" and "=" not in match[2].partition("|")[0]
        if word in _BLOCKS or is_set_block:
            open_blocks.append((word, [at]))
        elif word in ("elif", "else") and open_blocks:
            open_blocks[-1][1].append(at)
        elif word.startswith("end") and open_blocks and open_blocks[-1][0] == word[3:]:
            yield [*open_blocks.pop()[1], at]


def _shrink_statements(best: Callable[[], Difference], still: _Still) -> None:
    """Takes away whole blocks, then blocks around what they hold, then single pieces."""
    again = True
    while again:
        again = False
        pieces = [piece for piece in _PIECES.split(best().source) if piece]
        blocks = sorted(_blocks(pieces), key=lambda indices: indices[0] - indices[-1])
        smaller: list[list[str]] = []
        for indices in blocks:
            first, last = indices[0], indices[-1]
            smaller.append(pieces[:first] + pieces[last + 1 :])
            for begin, end in itertools.pairwise(indices):
                smaller.append(pieces[:first] + pieces[begin + 1 : end] + pieces[last + 1 :])
                if begin != first:
                    smaller.append(pieces[:begin] + pieces[end:])
        smaller += [pieces[:at] + pieces[at + 1 :] for at in range(len(pieces))]
        for candidate in smaller:
            if still("".join(candidate), best().variables):
                again = True
                break


def _shrink_variables(best: Callable[[], Difference], still: _Still) -> None:
    for name in list(best().variables):
        rest = {key: value for key, value in best().variables.items() if key != name}
        if not still(best().source, rest):
            for smaller in _smaller_values(best().variables[name]):
                if still(best().source, {**best().variables, name: smaller}):
                    break


def _smaller_values(value: Any) -> Iterator[Any]:
    """Simpler values, the simplest first."""
    if isinstance(value, list | tuple | str):
        yield value[:0]
        yield from (value[at : at + 1] for at in range(min(len(value), 40)))
        yield value[: len(value) // 2]
        yield value[len(value) // 2 :]
    if isinstance(value, dict):
        yield {}
        yield from ({key: item} for key, item in value.items())
        for name in value:
            yield {key: item for key, item in value.items() if key != name}
    if isinstance(value, list):
        for at, item in enumerate(value):
            for smaller in _smaller_values(item):
                yield [*value[:at], smaller, *value[at + 1 :]]


def _shrink_tokens(best: Callable[[], Difference], still: _Still) -> None:
    """Takes away runs of words and signs, shorter and shorter ones."""
    tokens = _tokens(best().source)
    width = len(tokens) // 2
    while width:
        at = 0
        while at + width <= len(tokens):
            fewer = tokens[:at] + tokens[at + width :]
            if still("".join(fewer), best().variables):
                tokens = fewer
            else:
                at += max(1, width // 2)
        width //= 2


def _tokens(source: str) -> list[str]:
    return re.findall(r"\{%|%\}|\{\{|\}\}|\w+|\s+|.", source, re.DOTALL)
