"""What a class of sources may say of itself: few names, each of which docs explain."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from easydata.sources.rows_in_shards import RowsInShards
from easydata.sources.sharded_source import PlannedSource, ShardedDataSource, WrapperSource

import easydata

_BASES = (RowsInShards, ShardedDataSource, PlannedSource, WrapperSource)
_DOCS = Path(__file__).parents[3] / "docs" / "developing" / "own_source.md"

HOOKS = {"_counts_steps", "_inputs", "_make_plan", "_passes_on", "_rewritten", "_shown"}


def _import_sources() -> None:
    """Imports all modules that may define a source; what they need beside that may be absent."""
    for module in pkgutil.walk_packages(easydata.__path__, "easydata."):
        spec = importlib.util.find_spec(module.name)
        assert spec is not None
        if module.ispkg or not str(spec.origin).endswith(".py"):
            continue
        if not re.search(r"^class \w+\(.*Source", Path(str(spec.origin)).read_text(), re.MULTILINE):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if str(error.name).startswith("easydata"):
                raise


def _classes(of: type) -> Iterator[type]:
    for each in of.__subclasses__():
        yield each
        yield from _classes(each)


def _names_said(by: type) -> set[str]:
    """Names that the text of a class defines, and those that its methods give to `self`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(by))).body[0]
    assert isinstance(tree, ast.ClassDef)
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names | {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def _names_overridden(by: type) -> set[str]:
    """Private names that a class has of its bases, and says anew."""
    inherited = {name for base in _BASES if issubclass(by, base) for name in _names_said(base)}
    return {name for name in _names_said(by) & inherited if re.match(r"_[a-z]", name)}


def test_six_names_are_all_that_a_source_may_override() -> None:
    _import_sources()
    of_package = {
        each
        for each in _classes(RowsInShards)
        if each not in _BASES and each.__module__.startswith("easydata.")
    }
    assert len(of_package) > 25
    assert set().union(*map(_names_overridden, of_package)) == HOOKS


def test_docs_explain_each_of_them() -> None:
    table = _DOCS.read_text(encoding="utf-8").split("## All that a class may override")[1]
    assert set(re.findall(r"^\| `(_\w+)", table, re.MULTILINE)) == HOOKS
