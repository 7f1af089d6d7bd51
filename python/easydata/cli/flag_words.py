"""Messages of configs and of the engine in the words of the command line."""

import logging
import re
from collections.abc import Mapping

# What follows an option's name where a message says a value for it.
_VALUE = r"""(True|False|None|"[^"\s]*"|'[^'\s]*'|-?\d[\d_.]*(?![\w/]))?(?![\w\[{(/])"""


class FlagWords(logging.Filter):
    """Turns options into the flags that they are given by.

    Args:
        flags: The flags of the command by option.
        paths: The paths of options that flags have set, such as "pack.seq_length", and the flags.
    """

    def __init__(self, flags: Mapping[str, str], paths: Mapping[str, str]) -> None:
        super().__init__()
        self._flags = dict(flags)
        self._paths = paths
        names = "|".join(map(re.escape, sorted(self._flags, key=len, reverse=True)))
        self._assigned = re.compile(rf"(\bset )?(?<![\w/.\-{{(])(?:\w+\.)?({names})={_VALUE}")

    def filter(self, record: logging.LogRecord) -> bool:
        """Words a notice; none is left out."""
        record.msg, record.args = self.said(record.getMessage()), ()
        return True

    def said(self, text: str) -> str:
        """A message with flags in it."""
        if self._paths:
            found = "|".join(map(re.escape, sorted(self._paths, key=len, reverse=True)))
            text = re.sub(
                rf"(?<![\w.])({found})(?![\w\[.])", lambda each: self._paths[each[1]], text
            )
        if self._flags:
            text = self._assigned.sub(self._flag, text)
        return re.sub(r"(--[\w-]+) \(\1\)", r"\1", text)

    def _flag(self, found: re.Match[str]) -> str:
        flag, value = self._flags[found[2]], found[3]
        verb = "give " if found[1] else ""
        if value in (None, "True"):
            return verb + flag
        if value == "False":
            return verb + "--no-" + flag.removeprefix("--")
        if value == "None":
            return f"no {flag}"
        return f"{verb}{flag} {value.strip(chr(34) + chr(39))}"
