"""How old entries are, and when they are too old.

The last use of an entry is a time that some machine's clock said, and clocks differ. An entry whose
last use has not come yet, by this clock, has not expired; one that is ahead by more than what
entries may live is taken for a slip and counts from its next use here, so none lives for ever.
"""

from __future__ import annotations

import math
import time
from typing import Any

# Uses of one entry are written down once in so many seconds, or a tenth of what it may live.
_NOTED_EVERY = 60.0
_DAY = 86_400.0


def now() -> float:
    """Seconds since 1970."""
    return time.time()


class Expiry:
    """How long entries live after their last use.

    Attributes:
        seconds: For so long; None for ever; with 0 an entry is over when it is made.
    """

    def __init__(self, seconds: Any, name: str) -> None:
        """Args: `seconds`, and the `name` of the option for what is said of it."""
        if seconds is not None:
            if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
                raise TypeError(f"{name} is {seconds!r}: give seconds, or None for no end")
            if math.isnan(seconds) or seconds < 0:
                raise ValueError(
                    f"{name} is {seconds!r}: give 0 (nothing is ever found), more, or None for no "
                    "end"
                )
        self.seconds: float | None = seconds

    def is_over(self, last_use: float) -> bool:
        """Whether an entry that was used then is too old now."""
        if self.seconds is None:
            return False
        return bool(self.seconds == 0 or now() - last_use > self.seconds)

    def is_worth_noting(self, last_use: float) -> bool:
        """Whether a use now is to be written over that one."""
        age = now() - last_use
        if age < 0:
            return -age > (_DAY if self.seconds is None else self.seconds)
        lives = math.inf if self.seconds is None else self.seconds
        return age > min(_NOTED_EVERY, lives / 10)
