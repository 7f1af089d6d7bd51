"""What the command `easydata` calls."""

import sys
from collections.abc import Sequence

from easydata.cli.app import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line.

    Returns:
        The exit status: 0 done, 1 failed on data or I/O, 2 wrong use, 130 interrupted.
    """
    return run(list(sys.argv[1:] if arguments is None else arguments))
