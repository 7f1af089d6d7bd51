#!/usr/bin/env python3
"""Checks that what stands in unnamed namespaces has names of its own within a module.

Sanitized builds compile several files of a module as one (CMakePresets.json, "unity"): a function
of one file would take the calls of another file's that is called the same, and a second constant or
type of the same name would not compile.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
# A module beside the engine, for tests only, whose headers are included from above it.
REFERENCE = ROOT / "tests" / "cpp" / "reference_tokenizer"
PYTHON = ROOT / "python"
UNNAMED = re.compile(r"namespace \{\n(.*?)\n\}  // namespace\n", re.DOTALL)
FUNCTION = re.compile(
    r"^(?!TEST|TYPED_TEST|INSTANTIATE|BENCHMARK|using|return|static_assert)"
    r"[A-Za-z_][^\n;=(){}]*[ *&>]([A-Za-z_]\w*)\(",
    re.MULTILINE,
)
CONSTANT = re.compile(r"^(?:inline )?(?:constexpr|const) [^\n=({]*?\b(k[A-Z]\w*)", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|enum) ([A-Z]\w*)[^;\n]*\{", re.MULTILINE)
ALIAS = re.compile(r"^using ([A-Z]\w*) =", re.MULTILINE)
INCLUDE = re.compile(
    r'^#include "((?:easydata|tokenizers|reference_tokenizer)/[^"]+)"', re.MULTILINE
)


def names_in(text: str) -> list[str]:
    """The functions, constants and types that are defined in the outermost lines of a text."""
    return [name for kind in (FUNCTION, CONSTANT, TYPE) for name in kind.findall(text)]


def compiled_together(module: Path) -> dict[str, list[Path]]:
    """The module's files by what they are compiled for; kernels are compiled one by one."""
    together = defaultdict(list)
    inner = [path.parent for path in module.rglob("CMakeLists.txt") if path.parent != module]
    for path in sorted(module.rglob("*.cc")):
        if any(path.is_relative_to(folder) for folder in inner):
            continue
        if re.search(r"_(avx\d+|shani)\.cc$|_benchmark\.cc$", path.name) or "fuzz" in path.parts:
            continue
        test = "test" in path.stem
        if path.name == "stage_contract.cc":  # a library of its own
            continue
        together["tests" if test else "library"].append(path)
    return together


def header_path(name: str) -> Path:
    """The file that an include of ours names."""
    return (REFERENCE.parent if name.startswith(f"{REFERENCE.name}/") else SOURCE) / name


def reached_from(headers: set[Path]) -> set[Path]:
    """The headers and all that they include in turn."""
    reached: set[Path] = set()
    ahead = set(headers)
    while ahead:
        header = ahead.pop()
        reached.add(header)
        ahead |= {header_path(name) for name in INCLUDE.findall(header.read_text())} - reached
    return reached


def problems(files: list[Path]) -> list[str]:
    """What is called the same in two of the files, or in a file and a header of theirs."""
    found = []
    homes: dict[str, set[Path]] = defaultdict(set)
    functions: set[str] = set()
    headers: set[Path] = set()
    for path in files:
        text = path.read_text()
        headers |= {header_path(name) for name in INCLUDE.findall(text)}
        for block in UNNAMED.findall(text):
            functions |= set(FUNCTION.findall(block))
            for name in names_in(block):
                homes[name].add(path)
    for header in sorted(headers):
        for name in FUNCTION.findall(header.read_text()):
            if name in functions:
                homes[name].add(header)
    for header in sorted(reached_from(headers)):
        text = header.read_text() if header.is_relative_to(SOURCE) else ""
        for name in TYPE.findall(text) + ALIAS.findall(text):
            if name in homes:
                homes[name].add(header)
    for name, paths in sorted(homes.items()):
        if len(paths) > 1:
            where = ", ".join(str(path.relative_to(ROOT)) for path in sorted(paths))
            found.append(f"{name} is in {where}: give each a name of its own")
    return found


def main() -> int:
    """Prints what is called the same; 1 where something is."""
    found = []
    modules = sorted(path.parent for path in SOURCE.rglob("CMakeLists.txt"))
    for module in [*modules, REFERENCE, PYTHON]:
        for files in compiled_together(module).values():
            found += problems(files)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
