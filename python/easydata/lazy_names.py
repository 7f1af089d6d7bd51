"""What a package's face is made of: names that are imported when they are first used (PEP 562)."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from easydata.forks import make_forks_wait

make_forks_wait()


def lazy_names(
    face: str,
    homes: Mapping[str, str],
    submodules: Sequence[str] = (),
    adapters: Sequence[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Makes the `__getattr__` and `__dir__` of a face.

    Args:
        face: The package whose names they are.
        homes: The module that defines each name.
        submodules: Modules of the package that are attributes of it without having been imported.
        adapters: Such modules, each to the library of its own name: attributes where that is
            installed.
    """

    def get(name: str) -> Any:
        if name in submodules:
            return importlib.import_module(f"{face}.{name}")
        if name in adapters:
            try:
                return importlib.import_module(f"{face}.{name}")
            except ModuleNotFoundError as error:
                # hasattr(), getmembers() and help() look, and take this alone for "is not there".
                raise AttributeError(
                    f"module {face!r} has no attribute {name!r}: {error}"
                ) from error
        home = homes.get(name)
        if home is None:
            # Imported for the message alone: `import easydata` loads no engine.
            native = importlib.import_module("easydata._native")
            hint = "" if name.startswith("_") else native.did_you_mean(name, list(homes))
            raise AttributeError(f"module {face!r} has no attribute {name!r}{hint}")
        # lazy: `import easydata` takes no time
        keywords = importlib.import_module("easydata.keywords")
        value = keywords.answering(getattr(importlib.import_module(home), name))
        setattr(sys.modules[face], name, value)  # the next look finds it there
        return value

    def names() -> list[str]:
        there = [name for name in adapters if importlib.util.find_spec(name) is not None]
        return sorted({*vars(sys.modules[face]), *homes, *submodules, *there})

    return get, names
