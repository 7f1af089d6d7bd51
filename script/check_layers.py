#!/usr/bin/env python3
"""Checks that every file of the engine includes what its module may use, and nothing else.

A module uses modules of lower rank, never its neighbours: no store uses another one. Nothing under
src/ knows Python, and the Parquet library is known to the modules that read and write files only.
Base, files and outputs alone ask the system about files. Of the modules up to storage, which reach
files here and elsewhere, all others use four. The tokenizers are a library of their own, which
knows two of the engine's modules and is known to those that run it. A few things are done in one
file alone: see CALLS. The packages of Python keep an order, too; see python_layers.py.
The bindings hide no object from Python's garbage collector; see binding_lifetimes.py.

Usage: check_layers.py [root of the repository]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import binding_lifetimes
import python_layers

# Modules of one line are neighbours. A folder within a module's is a module of its own, called by
# its last name in namespaces and targets.
RANKS = (
    ("base",),
    ("config", "exec"),
    ("files", "json", "jinja"),
    ("http",),
    ("stores",),
    ("stores/credentials",),
    ("stores/s3", "stores/gcs", "stores/web", "stores/foreign", "outputs"),
    ("stores/hub",),
    ("storage",),
    ("stream", "chat", "record_file"),
    ("order",),
    ("source", "cache", "transform", "trainer", "mix", "pack", "sink"),
    ("loader", "verify"),
    ("plan",),
    ("configs",),
)
RANK = {module: rank for rank, modules in enumerate(RANKS) for module in modules}
# What calls Python; bindings bind it, and what the engine has.
OPERATORS = "python/operators"
BINDINGS = "python/bindings"
# Of the modules up to storage, those above it, the bindings and tests across modules use these.
FACES = ("files", "outputs", "storage", "stores/foreign")
INNER = {one for one in RANK if one == "http" or one.split("/")[0] == "stores"} - {*FACES}
OUTSIDE = (BINDINGS, OPERATORS, "tests/cpp", "examples", "bench")
WITHIN = "fuzz"  # its targets feed a module's own parsers
PARQUET_MODULES = ("source", "sink")
TOKENIZERS = "tokenizers"
TOKENIZERS_USE = ("base", "exec")
TOKENIZERS_USERS = ("transform", "trainer", "plan")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
# Calls that open, look at or walk files are for these; tests make files as they like.
FILE_MODULES = ("base", "files", "outputs")
FILE_HEADERS = re.compile(
    r"^(fcntl\.h|unistd\.h|dirent\.h|glob\.h|ftw\.h|filesystem|sys/(stat|file|mman)\.h)$"
)
TEST_FILE = re.compile(r"(_test\.cc|_benchmark\.cc|/test_\w+\.h|_for_(tests|benchmarks)\.h)$")
FILE_EXCEPTIONS = {
    "exec/child_program.cc": "starts programs, and reads what they print",
    "exec/environment.cc": "getuid: whose home folder it is",
    "exec/thread_pool.cc": "getpid: a fork makes threads of its own",
    "exec/work_gate.cc": "getpid: a fork has gates of its own",
    "tokenizers/encode_workers.cc": "getpid: a fork has workers of its own",
    "sink/plan_inputs.cc": "follows links, to tell inputs that lie in the output folder",
    "verify/expected_files.cc": "takes paths apart",
    "verify/verify_output.cc": "takes paths apart",
}
# What is done in one file alone: the words, the modules that are held to it (all: None), the
# files, and what others do.
CALLS = (
    (
        re.compile(r"\b[jJ]son::parse\("),
        None,
        ("json/bounded_json.cc", "base/recorded_values.h"),  # the latter is for tests
        "a text may be nested too deep; use json/bounded_json.h",
    ),
    (
        re.compile(r"\bIOErrorFromErrno\("),
        INNER,
        ("http/server_error.h",),
        "the words of servers are shown escaped; use http/server_error.h",
    ),
    (
        re.compile(r"\bstd::(j?thread\(|async\()|\bpthread_create\(|\bstd::j?thread \w+[({]"),
        None,
        ("exec/start_thread.h",),
        "the engine's threads have names; use exec/start_thread.h",
    ),
)
# Their names are everybody's; the names of a module are otherwise in a namespace like it.
NAMESPACE_LESS = ("base", "stream")
NAMESPACE = re.compile(r"^namespace easydata(?:::(\w+))?[\w:]* \{$")
FORWARD = re.compile(r"^(class|struct) \w+;$")
PYTHON = re.compile(r"^(Python\.h|nanobind/|pybind11/|arrow/python/|numpy/)")


def problems(root: Path) -> Iterator[str]:
    """Yields one line for every include and namespace that breaks a rule."""
    engine = root / "src" / "easydata"
    tokenizers = root / "src" / TOKENIZERS
    for folder in OUTSIDE:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc") and path.parent.name != WITHIN:
                yield from check_outside(path, root)
    for path in [*sorted(engine.rglob("*")), *sorted(tokenizers.rglob("*"))]:
        if path.suffix not in (".h", ".cc"):
            continue
        if path.is_relative_to(tokenizers):
            name = path.relative_to(root / "src")
            module = TOKENIZERS
        else:
            name = path.relative_to(engine)
            module = module_of(name.parts[:-1])
        if module and module not in RANK and module != TOKENIZERS:
            yield f"{path.relative_to(root)}: the module '{module}' has no place in check_layers.py"
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            problem = check_namespace(module, lines, number)
            if problem:
                yield f"{path.relative_to(root)}:{number}: {problem}"
            problem = check_calls(name, module, line)
            if problem:
                yield f"{path.relative_to(root)}:{number}: {problem}"
            match = INCLUDE.match(line)
            if match:
                problem = check(module, match[1]) or check_files(name, module, match[1])
                if match[1].startswith("reference_tokenizer/") and not path.stem.endswith("_test"):
                    problem = f"'{match[1]}': it is there for tests alone"
                if problem:
                    yield f"{path.relative_to(root)}:{number}: {problem}"


def module_of(folders: tuple[str, ...]) -> str:
    """The module of a file in these folders; "" at the top."""
    has_inner = any(module.startswith(f"{folders[0]}/") for module in RANK) if folders else False
    return "/".join(folders[: 2 if has_inner else 1])


def check_outside(path: Path, root: Path) -> Iterator[str]:
    """Yields what a file outside of the engine includes of modules that are not for it."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        is_operator = path.parent == root / OPERATORS
        if is_operator and match and (root / BINDINGS / match[1]).exists():
            yield f"{path.relative_to(root)}:{number}: '{match[1]}': {BINDINGS} binds operators"
        problem = check_faces(match[1]) if match else None
        if problem:
            yield f"{path.relative_to(root)}:{number}: {problem}"


def check_faces(header: str) -> str | None:
    """Says that a header is not for those who only read and write files, or None."""
    if not header.startswith("easydata/"):
        return None
    other = module_of(tuple(header.split("/")[1:-1]))
    if other not in INNER:
        return None
    faces = f"{', '.join(FACES[:-1])} and {FACES[-1]}"
    return f"'{header}': '{other}' is for the stores and storage; others use {faces}"


def check(module: str, header: str) -> str | None:
    """Says what is wrong with `header` in a file of `module` ("" for the top), or None."""
    if PYTHON.match(header):
        return f"'{header}': the engine knows nothing of Python; put this into python/operators"
    if header.startswith("parquet/") and module not in PARQUET_MODULES:
        return f"'{header}': only {' and '.join(PARQUET_MODULES)} know Parquet"
    if header.startswith(("python/", "bindings", "operators/")):
        return f"'{header}': the engine knows nothing of its bindings"
    if not module:
        return None
    if header.startswith(f"{TOKENIZERS}/"):
        if module in (TOKENIZERS, *TOKENIZERS_USERS):
            return None
        users = f"{', '.join(TOKENIZERS_USERS[:-1])} and {TOKENIZERS_USERS[-1]}"
        return f"'{header}': only {users} know the tokenizers"
    if not header.startswith("easydata/"):
        return None
    other = module_of(tuple(header.split("/")[1:-1]))
    if module == TOKENIZERS:
        if other in TOKENIZERS_USE:
            return None
        return f"'{header}': the tokenizers use {' and '.join(TOKENIZERS_USE)} alone"
    if other == module:
        return None
    if other not in RANK:
        return f"'{header}': there is no module '{other}'"
    if RANK[other] == RANK[module]:
        meeting = "stream/" if RANK[module] > RANK["stream"] else "what is below both"
        return f"'{header}': '{other}' is a neighbour of '{module}'; they meet through {meeting}"
    if RANK[other] > RANK[module]:
        return f"'{header}': '{other}' stands above '{module}'"
    return check_faces(header) if RANK[module] > RANK["storage"] else None


def check_namespace(module: str, lines: list[str], number: int) -> str | None:
    """Says that line `number` opens another module's namespace, or None.

    To declare a class that another module defines is allowed.
    """
    match = NAMESPACE.match(lines[number - 1])
    if not match or not module:
        return None
    wanted = None if module in NAMESPACE_LESS else module.rsplit("/", 1)[-1]
    if match[1] == wanted or (number < len(lines) and FORWARD.match(lines[number])):
        return None
    return f"the names of this module belong into easydata{'::' + wanted if wanted else ''}"


def check_files(path: Path, module: str, header: str) -> str | None:
    """Says that a file of the engine may not call the system about files, or None."""
    name = path.as_posix()
    if not FILE_HEADERS.match(header) or module in FILE_MODULES:
        return None
    if name in FILE_EXCEPTIONS or TEST_FILE.search("/" + name):
        return None
    modules = f"{', '.join(FILE_MODULES[:-1])} and {FILE_MODULES[-1]}"
    return (
        f"<{header}>: only {modules} call the system about files; use "
        "files/file_system.h or files/file_calls.h"
    )


def check_calls(path: Path, module: str, line: str) -> str | None:
    """Says that a line does what another file is for, or None."""
    name = path.as_posix()
    if module == TOKENIZERS or TEST_FILE.search("/" + name) or line.lstrip().startswith("//"):
        return None
    for words, modules, homes, instead in CALLS:
        found = words.search(line)
        if found and name not in homes and (modules is None or module in modules):
            return f"'{found[0]}': {instead}"
    return None


def main() -> int:
    """Prints the problems and returns the exit status."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    found = [
        *problems(root),
        *python_layers.problems(root),
        *binding_lifetimes.problems(root),
    ]
    for problem in found:
        print(problem)
    if found:
        print(
            f"{len(found)} lines break the order of modules (docs/architecture.md), or hide what "
            "they hold from Python's garbage collector"
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
