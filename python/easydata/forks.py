"""Lets no fork happen in the middle of an import of ours.

Much of easydata imports what it needs when it is first used, on whatever thread that is. A child of
a fork inherits the lock of a module that another thread was importing, and waits for it for ever:
that thread is not in the child. So a fork waits until such imports are done, and none begins until
it is over. os.fork() and what is built upon it (multiprocessing's "fork") ask us; imports of other
packages are left alone.
"""

import _imp
import contextlib
import importlib
import logging as logging  # before us: who asks to hear of forks last, hears first
import os
import sys

# What is imported in the middle of work, with what belongs to it.
_PACKAGES = (
    "datasets",
    "easydata",
    "fsspec",
    "jinja2",
    "numpy",
    "pyarrow",
    "tokenizers",
    "transformers",
    "yaml",
)


def _imports_under_way() -> list[str]:
    # As the import system itself asks: the attribute is its own.
    return [
        name
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _PACKAGES
        and getattr(getattr(module, "__spec__", None), "_initializing", False)
    ]


def _wait_for_imports() -> None:
    """Ends with the lock held that each import takes for a moment when it begins."""
    awaited: set[str] = set()  # this thread's own imports go on: of these nobody waits twice
    while True:
        _imp.acquire_lock()
        names = [name for name in _imports_under_way() if name not in awaited]
        if not names:
            return
        _imp.release_lock()
        for name in names:
            awaited.add(name)
            with contextlib.suppress(Exception):  # it is for who imports it to hear of that
                importlib.import_module(name)


def make_forks_wait() -> None:
    """Asks to hear of forks, for the process."""
    os.register_at_fork(
        before=_wait_for_imports,
        after_in_parent=_imp.release_lock,
        after_in_child=_imp.release_lock,
    )
