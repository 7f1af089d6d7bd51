"""A fork while another thread imports what easydata needs: its child can go on."""

from __future__ import annotations

from pathlib import Path

from programs import run_python

# A module that takes long to import, in the place of a real one. It asks for a logger, as most do:
# a fork takes the lock of logging, too, and must not hold it while it waits.
SLOW = """
import logging, time
begun = True
time.sleep(1)
logging.getLogger(__name__)
whole = True
"""

PROGRAM = """
import os, sys, threading, time
sys.path.insert(0, {folder!r})
import easydata

def first_use():
    import pyarrow

thread = threading.Thread(target=first_use)
thread.start()
while not hasattr(sys.modules.get("pyarrow"), "begun"):
    time.sleep(0.001)
child = os.fork()
if child == 0:
    import pyarrow, imported_later
    os._exit(7 if pyarrow.whole else 8)
thread.join()
import imported_later   # imports begin again in the parent, too
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sys.modules["pyarrow"].whole)
"""

WITHIN = """
import os, sys
sys.path.insert(0, {folder!r})
import easydata
import pyarrow   # which forks while it is imported: it waits for nobody
print(os.waitstatus_to_exitcode(os.waitpid(pyarrow.child, 0)[1]))
"""


def test_a_fork_waits_for_an_import_of_another_thread(tmp_path: Path) -> None:
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text(SLOW)
    (tmp_path / "imported_later.py").touch()
    done = run_python("-c", PROGRAM.format(folder=str(tmp_path)), timeout=60)
    assert done.stdout.split() == ["7", "True"]


def test_an_import_may_fork_itself(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text(
        "import os\nchild = os.fork()\nif child == 0:\n    import wave\n    os._exit(5)\n"
    )
    done = run_python("-c", WITHIN.format(folder=str(tmp_path)), timeout=60)
    assert done.stdout.split() == ["5"]
