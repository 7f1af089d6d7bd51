"""Warnings that each object gives once."""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("easydata")


class SaidOnce:
    """Gives each kind of warning once."""

    def __init__(self) -> None:
        self._kinds: set[str] = set()

    def warn(self, kind: str, sentence: str) -> None:
        """Warns, unless something of this kind was said."""
        if kind not in self._kinds:
            self._kinds.add(kind)
            _LOGGER.warning("%s", sentence)
