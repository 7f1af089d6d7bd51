"""Where a job was made: what relative paths and imports mean on other machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class JobPlace:
    """Where a job was made.

    Attributes:
        folder: The working directory.
        paths: Where modules are imported from.
    """

    folder: str
    paths: Sequence[str]

    @classmethod
    def here(cls) -> JobPlace:
        """That of this process."""
        return cls(os.getcwd(), [os.path.abspath(path) for path in sys.path])

    def enter(self) -> None:
        """Makes it this process's, as far as this machine has it."""
        if os.path.isdir(self.folder):
            os.chdir(self.folder)
        known = set(sys.path)
        sys.path += [path for path in self.paths if path not in known]
