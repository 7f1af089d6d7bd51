"""Where rows are kept that were made of files, and the open stores of this process."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from easydata import _native
from easydata.core.config import CacheStageConfig
from easydata.core.sizes import size_of_option

DEFAULT_FOLDER = CacheStageConfig().cache_dir
"""Where rows are kept when nobody says where."""


@dataclass(frozen=True)
class Keeping:
    """How rows are kept; options as `_native.TokenStore` takes them.

    Attributes:
        folder: Of the files; "": there are none.
        max_bytes: Of all files; None: as much as the disk allows.
        expiry_seconds: After which files that nobody uses are removed; None: never.
        compression: Of files that are written.
        memory_blocks: Blocks that are kept in memory.
        storage_options: How a folder on an object store is reached.
    """

    folder: str
    max_bytes: int | None = None
    expiry_seconds: int | None = None
    compression: str = "none"
    memory_blocks: int = 0
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def is_here(self) -> bool:
        """Whether it is in files of this machine."""
        return bool(self.folder) and "://" not in self.folder

    @classmethod
    def of_stage(cls, config: CacheStageConfig) -> Keeping:
        """As a pipeline's config says."""
        in_memory = 0 if config.cache_type == "disk" else config.memory_cache_size
        if config.cache_type == "memory":
            return cls("", memory_blocks=in_memory)
        return cls(
            _folder(config.cache_dir),
            size_of_option("cache.max_bytes", config.max_bytes),
            config.disk_cache_expiry,
            config.compression,
            in_memory,
        )

    @classmethod
    def at(
        cls,
        path: str | os.PathLike[str] | None,
        stage: CacheStageConfig | None = None,
        *,
        max_bytes: str | int | None = None,
        compression: str = "none",
        memory_blocks: int = 0,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Keeping:
        """In a folder of its own, for ever; the rest is as a stage says, where there is one."""
        folder = _folder(DEFAULT_FOLDER if path is None else path)
        is_elsewhere = "://" in folder
        if is_elsewhere and max_bytes is not None:
            raise ValueError(
                "max_bytes is for a folder of this machine: nothing is removed from an object "
                "store; leave it out, and give the bucket a rule that removes old objects"
            )
        if stage is not None:
            memory_blocks = 0 if stage.cache_type == "disk" else stage.memory_cache_size
            max_bytes = None if is_elsewhere else stage.max_bytes
            compression = stage.compression
        return cls(
            folder,
            size_of_option("max_bytes", max_bytes),
            None,
            compression,
            memory_blocks,
            storage_options,
        )

    def open(self) -> OpenStore:
        """The store, one for all of this process; it is open as long as somebody holds it."""
        key = (os.getpid(), self)
        with _lock:
            held = _open_stores.get(key)
            if held is None:
                options = {each.name: getattr(self, each.name) for each in fields(self)}
                _open_stores[key] = held = OpenStore(_native.TokenStore(**options))
                if not self.folder:
                    _in_memory[key] = held
            return held


class OpenStore:
    """A store of the engine's that is open."""

    def __init__(self, store: _native.TokenStore) -> None:
        self.native = store


# Of this process: those that somebody holds, and those in memory, which nobody could open again.
_open_stores: weakref.WeakValueDictionary[tuple[int, Keeping], OpenStore] = (
    weakref.WeakValueDictionary()
)
_in_memory: dict[tuple[int, Keeping], OpenStore] = {}
_lock = threading.Lock()


def _folder(path: str | os.PathLike[str]) -> str:
    text = _native.user_path(os.fspath(path))
    return text if "://" in text else os.path.abspath(text)
