"""Virtual environments for peers whose requirements clash with ours."""

import subprocess
import sys
from pathlib import Path

from corpora import ROOT


def peer_python(venv: str, requirements: str) -> Path:
    """The Python of a virtual environment of the checkout, made when a benchmark first asks for it.

    It is made again when the file of its requirements changes.
    """
    folder = ROOT / venv
    python = folder / "bin" / "python"
    stamp = folder / f".stamp-{(ROOT / requirements).stat().st_mtime_ns}"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "-r", str(ROOT / requirements)]
        subprocess.run(install, check=True)
        stamp.touch()
    return python
