"""What no cache keeps."""

from __future__ import annotations

from typing import Any

# Of what is asked for most, what to give in its place.
_CURES = {
    **dict.fromkeys(("generator", "map", "filter", "zip", "range"), "make it a list"),
    **dict.fromkeys(("dict_keys", "dict_values", "dict_items"), "make it a list"),
    **dict.fromkeys(("OrderedDict", "defaultdict", "Counter"), "make it a dict"),
    "memoryview": "make it bytes",
    "Tensor": "give its .numpy()",
    "DataFrame": "give pyarrow.Table.from_pandas() of it",
    **dict.fromkeys(("Dataset", "DatasetDict"), "DatasetCache keeps datasets"),
    "memmap": "give numpy.array() of it",
    "MaskedArray": "give its data and its mask",
}


class Refused(TypeError):
    """A value that would not come back as it is; `places` lead to it, the last one first."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.places: list[str] = []


def _what(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def refusal(value: Any) -> Refused:
    """For what no cache keeps."""
    cure = _CURES.get(type(value).__name__)
    return Refused(
        f"is {_what(value)}, which would not come back the same" + (f": {cure}" if cure else "")
    )
