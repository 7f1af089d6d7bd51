"""What is kept beside a cached value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from easydata.cache import ages

__all__ = ["CacheMetadata"]


@dataclass
class CacheMetadata:
    """What a cached value was made of, to tell whether it still holds.

    Attributes:
        version: Of what is kept here; yours to choose.
        created_at: Seconds since 1970 at which it was made.
        source_hash: Tells the source's data from others.
        tokenizer_hash: Tells the tokenizer from others.
        transform_hash: Tells the transforms from others.
        num_examples: Examples in the value.
        config_hash: Tells the config from others.
        extra: Whatever else there is to say: any values that a cache keeps.
    """

    version: str = "1.0"
    created_at: float = field(default_factory=lambda: ages.now())
    source_hash: str = ""
    tokenizer_hash: str | None = None
    transform_hash: str | None = None
    num_examples: int = 0
    config_hash: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """All fields by their names."""
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(CacheMetadata)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CacheMetadata:
        """What `to_dict()` gave; fields that are not there get their defaults, others are left."""
        known = {each.name for each in dataclasses.fields(CacheMetadata)}
        return cls(**{name: value for name, value in data.items() if name in known})

    def is_valid_for(self, config_hash: str, source_hash: str | None = None) -> bool:
        """Whether it is of this config and, where one is given, of this source."""
        return self.config_hash == config_hash and source_hash in (None, self.source_hash)
