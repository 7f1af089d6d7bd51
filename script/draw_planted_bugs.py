#!/usr/bin/env python3
"""Draws the sites and kinds of planted bugs, from a seed, out of what git has at a commit.

    script/draw_planted_bugs.py --seed 14 [--commit HEAD] [--count 60] [--json FILE]

The same seed and commit give the same list on every machine. Rooms (those of src/easydata,
src/tokenizers, the bindings, the Python package) get bugs in proportion to their lines of code,
each at least one; inside a module each line is as likely as any other. Blank lines, comments,
docstrings, includes and imports, lines without a letter or digit, generated tables, tests,
benchmarks and what only tests use are no lines of code. Kinds come equally often, in a drawn order.

tests/planted/README.md says how a bug is made of a line and a kind, and how it is hunted.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import subprocess
import sys
import tokenize
from dataclasses import asdict, dataclass

KINDS = (
    "bound",
    "sign",
    "swapped arguments",
    "dropped branch or reset",
    "wrong address",
    "wrong count",
    "lost error",
    "missed cancel",
)

_CPP = re.compile(r"^(src/easydata|src/tokenizers|python/bindings|python/operators)/.*\.(h|cc)$")
_PYTHON = re.compile(r"^python/easydata/.*\.py$")
# Tests, what only tests and benchmarks include, and what was once the reference implementation.
_TESTS = re.compile(
    r"_(test|benchmark)\.(h|cc)$|/test_\w+\.h$|_test_\w+\.(h|cc)$|_for_tests\.h$"
    r"|/stage_contract\.(h|cc)$|/recorded_values\.h$|/literal/|/fault_point\.(h|cc)$|/planted\."
)
_GENERATED = re.compile(r"(unicode_tables|character_set_tables)\.cc$|/generated/|/config/docs\.cc$")
_CPP_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
_CPP_RAW = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
_INCLUDE = re.compile(r"^\s*(#|using namespace|namespace\b|\}\s*//\s*namespace)")
_IMPORT = re.compile(r"^\s*(import|from)\s")
_WORD = re.compile(r"\w")


@dataclass(frozen=True)
class Site:
    """A line that a bug goes to, at it or behind it."""

    number: int
    module: str
    file: str
    line: int
    kind: str
    text: str


def git(*arguments: str) -> str:
    """What git prints."""
    return subprocess.run(
        ["git", *arguments], check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout


def module_of(file: str) -> str:
    """The module that a file counts for."""
    parts = file.split("/")
    if parts[0] == "python":
        return "bindings" if parts[1] in ("bindings", "operators") else "python"
    if parts[1] == "tokenizers":
        return "tokenizers"
    return parts[2] if len(parts) > 3 else "top"


def is_drawn_from(file: str) -> bool:
    """Whether bugs go into this file."""
    known = _CPP.match(file) or _PYTHON.match(file)
    return bool(known) and not _TESTS.search(file) and not _GENERATED.search(file)


def cpp_lines(text: str) -> list[int]:
    """Numbers of the lines that hold code, from 1."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] in "\"'" else re.sub(r"[^\n]", " ", found)

    # What a raw string holds is no code, its first line is.
    text = _CPP_RAW.sub(lambda match: "_" + "\n" * match[0].count("\n"), text)
    lines = _CPP_TEXT.sub(blank, text).splitlines()
    return [
        number
        for number, line in enumerate(lines, 1)
        if _WORD.search(line) and not _INCLUDE.match(line)
    ]


def python_lines(text: str) -> list[int]:
    """Numbers of the lines that hold code, from 1."""
    code: set[int] = set()
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    layout = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type in layout or token.type == tokenize.ENDMARKER:
            continue
        # A string that begins a statement is a docstring.
        begins = before is None or before.type in layout
        if token.type == tokenize.STRING and begins and token.line.strip()[:1] in "\"'rR":
            continue
        code.update(range(token.start[0], token.end[0] + 1))
    lines = text.splitlines()
    return sorted(
        number
        for number in code
        if _WORD.search(lines[number - 1]) and not _IMPORT.match(lines[number - 1])
    )


def code_lines(commit: str) -> dict[str, list[tuple[str, int, str]]]:
    """By module: file, number and text of each line of code, in git's order."""
    modules: dict[str, list[tuple[str, int, str]]] = {}
    for file in git("ls-tree", "-r", "--name-only", commit).splitlines():
        if not is_drawn_from(file):
            continue
        text = git("show", f"{commit}:{file}")
        numbers = python_lines(text) if file.endswith(".py") else cpp_lines(text)
        lines = text.splitlines()
        for number in numbers:
            line = (file, number, lines[number - 1].strip())
            modules.setdefault(module_of(file), []).append(line)
    return modules


def shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """How many of `count` each module gets: at least one, the rest by the largest remainder."""
    left = count - len(sizes)
    if left < 0:
        raise SystemExit(f"there are {len(sizes)} modules: draw at least as many bugs")
    total = sum(sizes.values())
    exact = {module: size * count / total for module, size in sizes.items()}
    given = {module: max(1, int(share)) for module, share in exact.items()}
    by_remainder = sorted(sizes, key=lambda module: (-(exact[module] - given[module]), module))
    while sum(given.values()) < count:
        for module in by_remainder[: count - sum(given.values())]:
            given[module] += 1
    while sum(given.values()) > count:
        several = [module for module in given if given[module] > 1]
        given[max(several, key=lambda module: (given[module] - exact[module], module))] -= 1
    return given


def draw(commit: str, seed: int, count: int) -> list[Site]:
    """The sites, by module and line."""
    modules = code_lines(commit)
    given = shares({module: len(lines) for module, lines in modules.items()}, count)
    sites = []
    for module in sorted(modules):
        drawn = random.Random(f"{seed}/{module}").sample(range(len(modules[module])), given[module])
        sites += [(module, *modules[module][index]) for index in sorted(drawn)]
    kinds = [KINDS[number % len(KINDS)] for number in range(count)]
    random.Random(f"{seed}/kinds").shuffle(kinds)
    return [
        Site(number, module, file, line, kind, text)
        for number, ((module, file, line, text), kind) in enumerate(
            zip(sites, kinds, strict=True), 1
        )
    ]


def main() -> int:
    """Prints the list."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--json", metavar="FILE", help="write the list there, too")
    arguments = parser.parse_args()
    commit = git("rev-parse", arguments.commit).strip()
    sites = draw(commit, arguments.seed, arguments.count)
    print(f"seed {arguments.seed}, commit {commit}")
    for site in sites:
        print(f"{site.number:3}  {site.kind:24} {site.file}:{site.line}  {site.text[:60]}")
    if arguments.json:
        drawn = {"seed": arguments.seed, "commit": commit, "places": list(map(asdict, sites))}
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(drawn, file, ensure_ascii=False, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
