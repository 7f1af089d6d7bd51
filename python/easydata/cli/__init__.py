"""The command `easydata`."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line.

    Returns:
        The exit status: 0 done, 1 failed on data or I/O, 2 wrong use, 130 interrupted.
    """
    from easydata.cli.app import run

    return run(list(sys.argv[1:] if arguments is None else arguments))
