"""Outputs with damaged progress, metadata or shards: refused, found, or made whole."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

SCRIPT = Path(__file__).with_name("damaged_outputs.py")
CASES = 60  # times --rounds


def test_damaged_outputs(rounds: int) -> None:
    count = CASES * rounds
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "0", str(count)],
        capture_output=True,
        text=True,
        timeout=120 + count,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    verdicts = [json.loads(x.removeprefix("result ")) for x in lines if x.startswith("result ")]
    assert len(verdicts) == count
    assert [case for case in verdicts if case[2].startswith("wrong")] == []
    counts = Counter(f"{kind}: {verdict}" for _, kind, verdict in verdicts)
    print(f"\noutputs: {dict(counts)}")
    # The damages did something, and not everything was refused.
    assert counts["progress: refused"] > count // 20
    assert counts["progress: whole"] > 0
    assert counts["verified: found"] > count // 10
