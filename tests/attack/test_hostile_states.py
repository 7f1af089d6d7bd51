"""Damaged states of loaders: a named error, or a stream that goes on; never a crash or a hang."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

SCRIPT = Path(__file__).with_name("load_damaged_states.py")
CASES = 40  # times --rounds


def test_damaged_states(rounds: int) -> None:
    count = CASES * rounds
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "0", str(count)],
        capture_output=True,
        text=True,
        timeout=120 + count,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1], done.stderr[-2000:])
    verdicts = [json.loads(x.removeprefix("result ")) for x in lines if x.startswith("result ")]
    assert len(verdicts) == count
    assert [case for case in verdicts if case[1].startswith("wrong")] == []
    counts = Counter(verdict for _, verdict in verdicts)
    print(f"\nstates: {dict(counts)}")
    assert counts["refused"] > count // 4
