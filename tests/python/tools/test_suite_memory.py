"""script/suite_memory finds what tests leave behind."""

import subprocess
from pathlib import Path

import pytest
from programs import ROOT, environment

KEEPS = {
    "nothing": "def test_it(): pass\n",
    "memory": "kept = []\ndef test_it(): kept.append(bytearray(b'x') * (1100 << 20))\n",
    "a thread": """
import easydata as ed
kept = []
def test_it(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\\n' * 1000)
    kept.append(ed.AsyncDataLoader(ed.JsonShardedSource(tmp_path / "a.jsonl"), 1))
    next(iter(kept[0]))
""",
}


@pytest.mark.sliced
@pytest.mark.parametrize("what", KEEPS)
def test_what_stays_is_a_failure(tmp_path: Path, what: str) -> None:
    (tmp_path / "test_quiet.py").write_text(KEEPS["nothing"])
    (tmp_path / "test_that_keeps.py").write_text(KEEPS[what])
    done = subprocess.run(
        [ROOT / "script" / "suite_memory", tmp_path],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (what != "nothing"), done.stdout
    assert "MB  the begin, 0 threads of the engine's" in done.stdout
    if what == "memory":
        assert "+1100 MB  test_that_keeps.py" in done.stdout
    if what == "a thread":
        assert "the end, 0 threads" not in done.stdout
