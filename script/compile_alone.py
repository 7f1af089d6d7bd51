#!/usr/bin/env python3
"""Checks that each C++ file of the engine and its bindings compiles by itself.

    script/compile_alone.py [K/N]    the K-th of N parts of the files

CI compiles many files as one, where a file may lean on what another one includes. This reads each
file alone, as the preset dev compiles it, warnings being errors, and makes no code. Not tests.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from slice import read_part

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/alone"
NOT_ENGINE = re.compile(r"/\.venv/|/tests/|_(test|for_tests|benchmark)[a-z_]*\.cc$")


def compile_errors(entry: dict[str, str]) -> str:
    """Returns why the file of an entry of compile_commands.json does not compile; "" if it does."""
    words = [word for word in shlex.split(entry["command"]) if Path(word).name != "ccache"]
    del words[words.index("-o") : words.index("-o") + 2]
    words[words.index("-c")] = "-fsyntax-only"
    done = subprocess.run(
        words, cwd=entry["directory"], capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""


def main() -> int:
    """Prints the errors of the files of a part."""
    try:
        part, parts = read_part(sys.argv[1] if len(sys.argv) > 1 else "1/1")
    except ValueError as error:
        print(f"usage: script/compile_alone.py [K/N]; {error}", file=sys.stderr)
        return 2
    cmake = [str(ROOT / ".venv/bin/cmake"), "--preset", "dev", "-B", str(BUILD)]
    subprocess.run(cmake, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    entries = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    ours = {entry["file"]: entry for entry in entries if NOT_ENGINE.search(entry["file"]) is None}
    files = sorted(ours)[part - 1 :: parts]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(compile_errors, (ours[file] for file in files))
    errors = [error for error in said if error]
    print("".join(errors), end="", file=sys.stderr)
    print(f"{len(files) - len(errors)} of {len(files)} files compile alone")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
