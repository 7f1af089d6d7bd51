"""Ends a process whose threads are busy: exits.py FOLDER WORKS daemon|waits return|exit|raise."""

import random
import sys
import time
from pathlib import Path

import busy


def main(folder: str, works: str, kind: str, end: str) -> None:
    until = time.monotonic() + 0.2
    daemon = kind == "daemon"
    busy.start(Path(folder), works, daemon, lambda: daemon or time.monotonic() < until)
    time.sleep(random.random() * 0.1)
    print("ends", flush=True)
    if end == "exit":
        sys.exit(3)
    if end == "raise":
        raise RuntimeError("mine")


main(*sys.argv[1:])
