"""What a package's face is made of: names that are imported when they are first used (PEP 562)."""

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from easydata.forks import make_forks_wait

make_forks_wait()


def lazy_names(
    face: str, path: str, adapters: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Makes the `__getattr__` and `__dir__` of a face, whose `__all__` is made so, too.

    Its names are those that the stub beside it imports for type checkers, so that each stands
    there alone, with the module that defines it.

    Args:
        face: The package whose names they are.
        path: Its file.
        adapters: Modules of the package, each to the library of its own name: attributes where
            that is installed, and not part of `__all__`.
    """

    @functools.cache
    def homes() -> dict[str, str | None]:
        # lazy: `import easydata` takes no time
        ast = importlib.import_module("ast")
        stub = ast.parse(Path(path).with_suffix(".pyi").read_text(encoding="utf-8"))
        imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
        return {each.name: node.module for node in imports for each in node.names}

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(homes().keys() - adapters)
        home = homes().get(name)
        if home is None:
            # Imported for the message alone: `import easydata` loads no engine.
            native = importlib.import_module("easydata._native")
            hint = "" if name.startswith("_") else native.did_you_mean(name, list(homes()))
            raise AttributeError(f"module {face!r} has no attribute {name!r}{hint}")
        if home == face:
            try:
                return importlib.import_module(f"{face}.{name}")
            except ModuleNotFoundError as error:
                if name not in adapters:
                    raise
                # hasattr(), getmembers() and help() look, and take this alone for "is not there".
                raise AttributeError(
                    f"module {face!r} has no attribute {name!r}: {error}"
                ) from error
        # lazy: `import easydata` takes no time
        keywords = importlib.import_module("easydata.keywords")
        value = keywords.answering(getattr(importlib.import_module(home), name))
        setattr(sys.modules[face], name, value)  # the next look finds it there
        return value

    def names() -> list[str]:
        absent = {name for name in adapters if importlib.util.find_spec(name) is None}
        return sorted({"__all__", *vars(sys.modules[face]), *homes()} - absent)

    return get, names
