"""Bases of the classes that take the engine's options, by the names of `signatures.pyi`.

The stub has a class with an `__init__` for each of them. When a program runs they are one class,
which makes the same signatures of the engine's declarations.
"""

from easydata.core.takes_options import TakesOptions


def __getattr__(name: str) -> type[TakesOptions]:
    if name.endswith("Signature"):
        return TakesOptions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
