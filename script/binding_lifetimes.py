"""Checks that Python's garbage collector sees every Python object that the bindings hold.

What it does not see is never freed where a circle goes through it. So types are bound by
BindOwner() and BindPlain() alone (python/operators/bound_type.h), and what refers to Python objects
borrows them (lending.h). HOLDERS has the files whose classes hold some themselves, and why that
keeps nothing alive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

FOLDERS = (Path("python/bindings"), Path("python/operators"))
HOLDERS = {
    "lending.h": "what owns: the collector sees it",
    "lending.cc": "what owns: the collector sees it",
    "engine_gil.h": "WithoutGil holds what is in use on the stack",
    "json_values.cc": "json.loads, and keys of dicts",
    "rows.cc": "names of columns, and values made of Arrow's",
    "plain_columns.cc": "names of columns",
    "rows_from_python.cc": "names of columns",
    "python_messages.cc": "PythonMessages holds what is being read, on the stack",
    "huggingface_encoder.h": "a Tokenizer made of JSON, which refers to no object of Python's",
    "fsspec_store.cc": "FsspecFiles made of JSON",
    "hub_index.cc": "HubIndex made of JSON",
}
BINDER = "bound_type.h"
SHARER = ("engine_gil.h", "engine_gil.cc")  # SharedArgument()

CLASS = re.compile(r"\bnb::class_<[^;{}]*>\s*\w*\(\s*m\b")
SHARED = re.compile(r"\bSharedObject\(|\bshared_ptr<nb::object>")
CAPTURE = re.compile(r"\[[^\[\]]*=\s*nb::(?:object|borrow|steal)\b")
PYTHON = re.compile(
    r"\bnb::(?:object|list|dict|tuple|str|bytes|set|callable|iterator|capsule|args|kwargs|typed)\b"
    r"|\bPyObject\s*\*|\bpython_error\b"
)
TYPE = re.compile(r"\b(?:class|struct|union)\b(?![^<]*>\s*\w)[^;(){}=]*$")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
LABEL = re.compile(r"\b(?:public|private|protected)\s*:")


def problems(root: Path) -> Iterator[str]:
    """Yields one line for each way around the two."""
    for path in sorted(path for folder in FOLDERS for path in (root / folder).glob("*")):
        if path.suffix in (".h", ".cc"):
            name = path.relative_to(root).as_posix()
            for line, problem in problems_of(path.name, path.read_text(encoding="utf-8")):
                yield f"{name}:{line}: {problem}"


def problems_of(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines of a file that go around the two, and what is wrong."""
    code = NOISE.sub(lambda match: " " + "\n" * match[0].count("\n"), text)
    for words, homes, instead in (
        (CLASS, (BINDER,), "types are bound by BindOwner() and BindPlain()"),
        (SHARED, SHARER, "the garbage collector does not see this; use lending.h"),
        (CAPTURE, (), "the garbage collector does not see what a lambda holds; use lending.h"),
    ):
        for match in words.finditer(code):
            if name not in homes:
                yield code.count("\n", 0, match.start()) + 1, f"'{match[0]}': {instead}"
    if name not in HOLDERS:
        for at, member in members(code):
            if PYTHON.search(member):
                yield (
                    code.count("\n", 0, at) + 1,
                    f"'{member}': the garbage collector does not see this member; use lending.h",
                )


def members(code: str) -> Iterator[tuple[int, str]]:
    """Yields where the members of classes end, and each as it is written, without functions."""
    is_type: list[bool] = []
    begin = 0
    for match in re.finditer(r"[{};]", code):
        statement = LABEL.sub(" ", code[begin : match.start()])
        begin = match.end()
        opens_type = match[0] == "{" and bool(TYPE.search(statement))
        if is_type and is_type[-1] and match[0] in "{;" and not opens_type:
            said = " ".join(statement.split())
            if said and "(" not in said and not said.startswith(("using ", "friend ", "enum ")):
                yield match.start(), said
        if match[0] == "{":
            is_type.append(opens_type)
        elif match[0] == "}" and is_type:
            is_type.pop()
