"""A mixture of easydel.data's first API, which builds itself."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from easydata.legacy.build import build_dataset
from easydata.legacy.types import MixtureOptions

if TYPE_CHECKING:
    import datasets


@dataclass
class DatasetMixture(MixtureOptions):
    """Several datasets, and how they become one; see build_dataset(), and MixtureOptions."""

    def build(self) -> "datasets.Dataset | datasets.IterableDataset":
        """What build_dataset() makes of it."""
        return build_dataset(self)

    def to_json_string(self) -> str:
        """The mixture as JSON."""
        return self.to_json()

    def save_mixture(self, json_file_path: str | os.PathLike[str]) -> None:
        """Writes the mixture to a JSON file."""
        Path(json_file_path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load_mixture(cls, json_file: str | os.PathLike[str]) -> "DatasetMixture":
        """Reads what save_mixture() wrote."""
        return cls.from_json(Path(json_file).read_text(encoding="utf-8"))
