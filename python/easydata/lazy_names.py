"""What a package's face is made of: names that are imported when they are first used (PEP 562)."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from easydata.forks import make_forks_wait

make_forks_wait()


def lazy_names(
    face: str, homes: Mapping[str, str], submodules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Makes the `__getattr__` and `__dir__` of a face.

    Args:
        face: The package whose names they are.
        homes: The module that defines each name.
        submodules: Modules of the package that are attributes of it without having been imported.
    """

    def get(name: str) -> Any:
        if name in submodules:
            return importlib.import_module(f"{face}.{name}")
        home = homes.get(name)
        if home is None:
            # Imported for the message alone: `import easydata` loads no engine.
            native = importlib.import_module("easydata._native")
            hint = "" if name.startswith("_") else native.did_you_mean(name, list(homes))
            raise AttributeError(f"module {face!r} has no attribute {name!r}{hint}")
        value = getattr(importlib.import_module(home), name)
        setattr(sys.modules[face], name, value)  # the next look finds it there
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[face]), *homes, *submodules})

    return get, names
