"""B2: a process ends cleanly, whatever its threads are in the middle of."""

from pathlib import Path

import pytest
from byte_tokenizer import write_tokenizer
from programs import run_python

WORKS = ("encode,encode_one,decode", "load,load_one", "rows,call", "save")
STATUS = {"return": 0, "exit": 3, "raise": 1}


def end(folder: Path, works: str, kind: str, how: str) -> None:
    script = Path(__file__).with_name("exits.py")
    done = run_python(script, folder, works, kind, how, status=STATUS[how], timeout=60)
    assert done.stdout == "ends\n", done.stderr
    expected = "RuntimeError: mine\n" if how == "raise" else ""
    # What Python says of a thread of its own that found itself in an ending interpreter is left.
    assert done.stderr.endswith(expected)
    for sign in (
        "terminate",
        "Fatal",
        "Segmentation",
        "panicked",
        "Traceback" if not expected else "\0",
    ):
        assert sign not in done.stderr, done.stderr


@pytest.mark.one_in(3)
@pytest.mark.parametrize("works", WORKS)
@pytest.mark.parametrize("kind", ["daemon", "waits"])
def test_a_busy_process_ends(tmp_path: Path, works: str, kind: str) -> None:
    write_tokenizer(tmp_path)
    for how in STATUS:
        end(tmp_path, works, kind, how)


@pytest.mark.sliced
@pytest.mark.parametrize("works", WORKS)
@pytest.mark.parametrize("kind", ["daemon", "waits"])
@pytest.mark.parametrize("how", STATUS)
def test_a_busy_process_ends_twenty_times(tmp_path: Path, works: str, kind: str, how: str) -> None:
    write_tokenizer(tmp_path)
    for _ in range(20):
        end(tmp_path, works, kind, how)
