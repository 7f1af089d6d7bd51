"""What `split` asks for: "train", "train+test", "train[:1%]", "train[100:200]"."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PART = re.compile(
    r"(?P<split>\w+(?:[.\-]\w+)*)"
    r"(?:\[(?:(?P<begin>-?[\d_]+)(?P<begin_percent>%)?)?:"
    r"(?:(?P<end>-?[\d_]+)(?P<end_percent>%)?)?\])?"
    r"(?:\((?P<rounding>[^)]*)\))?"
)
_ROUNDINGS = (None, "closest", "pct1_dropremainder")


@dataclass(frozen=True)
class SplitPart:
    """Rows of one split: all of them, or a slice by rows or by percent."""

    split: str
    begin: int | None = None
    end: int | None = None
    is_percent: bool = False
    rounding: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is all rows, however many there are."""
        return self.begin is None and self.end is None

    def rows_of(self, num_rows: int) -> tuple[int, int]:
        """The first row, and the one after the last, of a split of so many rows.

        As `datasets.ReadInstruction.to_absolute()` has them.
        """
        begin = self._row(self.begin, num_rows, 0)
        end = self._row(self.end, num_rows, num_rows)
        return begin, max(begin, end)

    def _row(self, bound: int | None, num_rows: int, default: int) -> int:
        if bound is None:
            return default
        if self.is_percent and self.rounding == "pct1_dropremainder":
            if num_rows < 100:
                raise ValueError(
                    f"split {self.split}: of {num_rows} rows pct1_dropremainder leaves none"
                )
            bound *= num_rows // 100
        elif self.is_percent:
            bound = round(bound * num_rows / 100)
        return min(max(bound + num_rows, 0) if bound < 0 else bound, num_rows)


def parse_split(text: str) -> list[SplitPart]:
    """The parts of a split, in order.

    Raises:
        ValueError: It is not written so.
    """
    parts = []
    for item in re.split(r"\s*\+\s*", text.strip()):
        found = _PART.fullmatch(item)
        if found is None or found["rounding"] not in _ROUNDINGS:
            raise ValueError(
                f'split: {text!r} is none; splits are written "train", "train+test", '
                '"train[100:200]" or "train[:1%]"'
            )
        is_percent = bool(found["begin_percent"] or found["end_percent"])
        begin, end = (None if found[key] is None else int(found[key]) for key in ("begin", "end"))
        if is_percent and max(abs(begin or 0), abs(end or 0)) > 100:
            raise ValueError(f"split: {text!r} has a bound beyond 100 %")
        if found["rounding"] and not is_percent:
            raise ValueError(f"split: {text!r} rounds what is no percentage")
        parts.append(SplitPart(found["split"], begin, end, is_percent, found["rounding"]))
    return parts
