"""Memory and disk caches; they come with a later issue."""

from typing import Any, NoReturn

__all__ = [
    "CacheLayer",
    "CacheMetadata",
    "DatasetCache",
    "DiskCache",
    "MemoryCache",
    "TreeCacheManager",
]


def _refuse(self: object) -> NoReturn:
    raise NotImplementedError(
        f"{type(self).__name__} is not there yet: caching comes with a later release; "
        "until then save with .save() and read the files"
    )


class CacheLayer:
    """One layer of a cache."""

    def __init__(self) -> None:
        _refuse(self)


class CacheMetadata:
    """What a cache keeps beside a value."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(self)


class MemoryCache:
    """The values used last, in memory."""

    def __init__(self, max_size: int = 1000) -> None:
        _refuse(self)


class DiskCache:
    """Values in files."""

    def __init__(
        self, cache_dir: str, compression: str = "none", expiry_seconds: int | None = None
    ) -> None:
        _refuse(self)


class TreeCacheManager:
    """A memory cache before a disk cache."""

    def __init__(
        self,
        cache_dir: str,
        memory_size: int = 100,
        disk_expiry: int = 86400,
        compression: str = "none",
    ) -> None:
        _refuse(self)


class DatasetCache:
    """Hugging Face datasets in files."""

    def __init__(self, cache_dir: str) -> None:
        _refuse(self)
