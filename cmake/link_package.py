"""Links the Python sources of the package beside a freshly built native module.

A build tree then holds a complete package: PYTHONPATH=<build>/python is all that a test run needs.
"""

import sys
from pathlib import Path

source, target = Path(sys.argv[1]), Path(sys.argv[2])
target.mkdir(parents=True, exist_ok=True)
wanted = {p.name for p in source.iterdir() if p.name != "__pycache__" and p.suffix != ".so"}
for entry in target.iterdir():
    if entry.is_symlink() and entry.name not in wanted:
        entry.unlink()
for name in wanted:
    link = target / name
    if not link.is_symlink():
        link.symlink_to(source / name)
