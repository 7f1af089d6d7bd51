"""Threads of the engine have names, and end with what they work for."""

import json
from pathlib import Path

from programs import run_python


def test_all_threads_have_a_name_and_none_stays(tmp_path: Path) -> None:
    done = run_python(Path(__file__).with_name("thread_names.py"), tmp_path)
    found = json.loads(done.stdout)
    assert not [name for name in found["seen"] if not name.startswith("easydata-")]
    assert {"easydata-call", "easydata-http", "easydata-loader", "easydata-worker"} <= set(
        found["seen"]
    )
    assert found["left"] == []
    assert found["most"] >= 3
    assert found["at the end"] == 0
