"""Functions and transforms of a module, which other processes find."""

from collections.abc import Iterator
from typing import Any

from easydata.transforms import ExpandTransform

from easydata import Transform


def loud(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "text": row["text"].upper()}


def unversioned(row: dict[str, Any]) -> dict[str, Any]:
    return row


def not_short(row: dict[str, Any]) -> bool:
    return len(row["text"]) > 3


class Suffix(Transform):
    """Puts a word behind a text."""

    version = "1"

    def __init__(self, word: str) -> None:
        self._word = word

    def __call__(self, example: dict[str, Any]) -> dict[str, Any]:
        return {**example, "text": f"{example['text']} {self._word}"}


class Unversioned(Transform):
    """Gives rows as they are."""

    def __call__(self, example: dict[str, Any]) -> dict[str, Any]:
        return example


class Twice(ExpandTransform):
    """Each row two times."""

    version = 3

    def __call__(self, example: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield example
        yield example
