"""Installs the engine's public headers: those that easydata.h includes, and what these include.

Usage: install_headers.py <the folder src> <the folder to install into>
"""

import re
import shutil
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*"((?:easydata|tokenizers)/[^"]+)"', re.MULTILINE)


def public_headers(source: Path) -> set[str]:
    """The headers that a program which includes easydata.h sees."""
    seen: set[str] = set()
    ahead = ["easydata/easydata.h"]
    while ahead:
        header = ahead.pop()
        if header not in seen:
            seen.add(header)
            ahead += INCLUDE.findall((source / header).read_text(encoding="utf-8"))
    return seen


def main() -> None:
    """Copies them."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    for header in sorted(public_headers(source)):
        (target / header).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / header, target / header)


if __name__ == "__main__":
    main()
