"""Programs in a network of their own, where Ray finds this machine alone.

Ray puts this machine's outward address in place of 127.0.0.1, so that clusters would be reached
from outside, and would find each other; in a namespace with the loopback device alone there is no
other address. What was started in it ends with it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from programs import environment

_ENTER = ("unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_memory_monitor_refresh_ms": "0",
}


@cache
def why_not() -> str:
    """What keeps this process from making a namespace; "": nothing."""
    for program in ("unshare", "ip"):
        if shutil.which(program, path=_path()) is None:
            return f"the program {program} is not installed"
    tried = subprocess.run(
        [*_ENTER, "ip", "link", "set", "lo", "up"],
        capture_output=True,
        env={"PATH": _path()},
        check=False,
    )
    return "" if tried.returncode == 0 else "this process may not make network namespaces (root)"


def _path() -> str:
    return os.environ.get("PATH", "") + os.pathsep + "/usr/sbin:/sbin"


@contextmanager
def ray_settings() -> Iterator[dict[str, str]]:
    """Variables for programs that use Ray, with a short folder for its sockets."""
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    try:
        yield {**_SETTINGS, "RAY_TMPDIR": folder, "PATH": _path()}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_apart(
    arguments: Sequence[str], modules: Sequence[Path] = (), timeout: float = 500
) -> subprocess.CompletedProcess[str]:
    """Runs Python in a namespace of its own."""
    shell = 'ip link set lo up && exec "$@"'
    with ray_settings() as settings:
        known = environment(modules)
        return subprocess.run(
            [*_ENTER, "sh", "-c", shell, "sh", sys.executable, *arguments],
            capture_output=True,
            text=True,
            env={**{k: v for k, v in known.items() if k != "RAY_ADDRESS"}, **settings},
            timeout=timeout,
            check=False,
        )
