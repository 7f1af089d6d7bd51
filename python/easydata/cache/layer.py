"""What every layer of a cache can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from easydata.cache.metadata import CacheMetadata

__all__ = ["CacheLayer"]


class CacheLayer(ABC):
    """A place where values are kept by keys; derive from it for one of your own.

    Values go in and come out as copies: what a caller does to one changes nothing that is kept.
    """

    @abstractmethod
    def get(self, key: str) -> tuple[Any, CacheMetadata | None] | None:
        """The value and its metadata (None where none was given), or None where there is none."""

    @abstractmethod
    def put(self, key: str, value: Any, metadata: CacheMetadata | None = None) -> None:
        """Keep a value, in place of what the key had."""

    @abstractmethod
    def contains(self, key: str) -> bool:
        """Whether `get()` would find something."""

    @abstractmethod
    def invalidate(self, key: str | None = None) -> None:
        """Forget a key, or all of them."""

    def get_metadata(self, key: str) -> CacheMetadata | None:
        """The metadata alone; None where there is no entry, or it has none."""
        found = self.get(key)
        return None if found is None else found[1]


def checked_key(key: Any) -> str:
    """The key, which must be text, of any length and characters."""
    if not isinstance(key, str):
        raise TypeError(f"a cache's key is text, not {key!r}")
    return str(key)


def asked(counts: Mapping[str, int]) -> dict[str, Any]:
    """Hits, misses and their rate, for the stats of a layer."""
    hits, misses = counts["hits"], counts["misses"]
    rate = hits / (hits + misses) if hits + misses else 0.0
    return {"hits": hits, "misses": misses, "hit_rate": rate}
