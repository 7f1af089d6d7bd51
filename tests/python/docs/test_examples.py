"""The examples run, and say what they promise."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_demo_ends_with_identical_batches_after_a_restart(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "examples/python/demo.py",
            "--output",
            tmp_path / "demo",
            "--megabytes",
            "3",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bit for bit: identical" in done.stdout
    assert "EasyData: JSONL to Parquet" in done.stdout
    assert (tmp_path / "demo" / "packed" / "_metadata.json").exists()
    assert list((tmp_path / "demo" / "packed").glob("shard-*.parquet"))
