"""The order of the modules of python/easydata, which check_layers.py checks.

A package uses packages of lower floors, never its neighbours. Modules import the modules that
define what they need, never a face (a package's `__init__.py`): faces are generated tables that
name modules of all floors. Own modules are imported at the top of a file; one that is imported
within a function for the sake of time says so in a comment, `# lazy: why`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = "easydata"

# Packages, and modules beside them, of one line are neighbours.
FLOORS = (
    ("engines",),
    ("_native", "forks"),
    ("arguments",),
    ("keywords",),
    ("lazy_names",),
    ("core", "tokenizers"),
    ("transforms",),
    ("sources",),
    ("cache", "legacy", "reports", "utils"),
    ("execution",),
    ("cli", "distributed", "grain_data_processing", "jax", "torch", "trainers"),
    ("__main__",),
)
FLOOR = {package: floor for floor, packages in enumerate(FLOORS) for package in packages}


@dataclass(frozen=True)
class Module:
    """A module of the package.

    Attributes:
        name: Its full name.
        path: Its file; None for the native module.
        is_face: Whether it is a package's `__init__.py`.
    """

    name: str
    path: Path | None
    is_face: bool

    @property
    def package(self) -> str:
        """What has a floor: the package below easydata, or the module beside packages."""
        return self.name.split(".")[1] if "." in self.name else ""


@dataclass(frozen=True)
class Import:
    """An import of one own module in another one, type checkers' ones too.

    Attributes:
        target: The full name of what is imported: a module, or what a module does not have.
        line: The line of its statement.
        in_function: Whether it runs with a function, and no comment says why.
    """

    target: str
    line: int
    in_function: bool


def modules(root: Path) -> dict[str, Module]:
    """The modules of python/easydata by name, faces among them."""
    folder = root / "python"
    found = {f"{TOP}._native": Module(f"{TOP}._native", None, is_face=False)}
    for path in sorted((folder / TOP).rglob("*.py")):
        parts = list(path.relative_to(folder).with_suffix("").parts)
        is_face = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_face else parts)
        found[name] = Module(name, path, is_face)
    return found


def imports(module: Module, known: dict[str, Module]) -> list[Import]:
    """The own modules that a module imports, wherever in the file it does."""
    if module.path is None:
        return []
    text = module.path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = text.splitlines()
    within = {
        inner
        for outer in ast.walk(tree)
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for inner in ast.walk(outer)
    }
    found = []
    excused = 0  # the line up to which a comment speaks
    for node in sorted(
        (node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))),
        key=lambda node: node.lineno,
    ):
        above = lines[node.lineno - 2].strip() if node.lineno > 1 else ""
        if above.startswith("# lazy: ") or node.lineno == excused + 1:
            excused = node.end_lineno or node.lineno
        for target in _targets(node, module, known):
            in_function = node in within and excused < node.lineno
            found.append(Import(target, node.lineno, in_function))
    return found


def _targets(
    node: ast.Import | ast.ImportFrom, module: Module, known: dict[str, Module]
) -> Iterator[str]:
    """The full names of the own modules that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (item.name for item in node.names if item.name.split(".")[0] == TOP)
        return
    origin = node.module or ""
    if node.level:
        above = module.name.split(".")
        kept = len(above) - node.level + (1 if module.is_face else 0)
        origin = ".".join([*above[:kept], *([origin] if origin else [])])
    if origin.split(".")[0] != TOP:
        return
    for item in node.names:
        inner = f"{origin}.{item.name}"
        yield inner if inner in known else origin


def problems(root: Path) -> Iterator[str]:
    """Yields one line for every import that breaks a rule, and for every circle."""
    known = modules(root)
    graph: dict[str, set[str]] = {}
    for module in known.values():
        if module.path is None or module.is_face:
            continue
        where = module.path.relative_to(root)
        if module.package not in FLOOR:
            yield f"{where}: '{module.package}' has no place in python_layers.py"
            continue
        graph[module.name] = set()
        for item in imports(module, known):
            problem = check(module, item, known)
            if problem:
                yield f"{where}:{item.line}: {problem}"
            if item.target != module.name:
                graph[module.name].add(item.target)
    for circle in circles(graph):
        yield f"modules import each other in a circle: {' → '.join([*circle, circle[0]])}"


def check(module: Module, item: Import, known: dict[str, Module]) -> str | None:
    """Says what is wrong with an import in a module, or None."""
    target = known.get(item.target)
    if target is None:
        return f"there is no module '{item.target}'"
    if target.is_face:
        return f"'{item.target}' is a face; import from the module that defines the name"
    own, other = module.package, target.package
    if other != own and other in FLOOR:
        if FLOOR[other] == FLOOR[own]:
            return f"'{item.target}': '{other}' is a neighbour of '{own}'"
        if FLOOR[other] > FLOOR[own]:
            return f"'{item.target}': '{other}' stands above '{own}'"
    if item.in_function:
        return f"'{item.target}': import it at the top of the file, or say '# lazy: why' above"
    return None


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """A shortest circle through each knot of modules that all reach each other."""
    reached = {name: _reached(graph, name) for name in graph}
    found = []
    done: set[str] = set()
    for name in sorted(graph):
        if name in done or name not in reached[name]:
            continue
        done |= {other for other in reached[name] if name in reached.get(other, ())}
        found.append(_way_back(graph, name))
    return found


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """All modules that a module imports, at once or through others."""
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        for target in graph.get(ahead.pop(), ()):
            if target not in seen:
                seen.add(target)
                ahead.append(target)
    return seen


def _way_back(graph: dict[str, set[str]], start: str) -> list[str]:
    """The shortest way from a module back to itself, without its end."""
    ways = [[start]]
    for way in ways:  # grows as it goes
        for target in sorted(graph.get(way[-1], ())):
            if target == start:
                return way
            if not any(target in other for other in ways):
                ways.append([*way, target])
    raise AssertionError(f"{start} is in no circle")
