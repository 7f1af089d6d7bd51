"""The examples run, and say what they promise."""

from pathlib import Path

from programs import run_python

ROOT = Path(__file__).resolve().parents[3]


def test_demo_ends_with_identical_batches_after_a_restart(tmp_path: Path) -> None:
    options = ("--output", tmp_path / "demo", "--megabytes", 3)
    done = run_python(ROOT / "examples/python/demo.py", *options)
    assert "bit for bit: identical" in done.stdout
    assert "EasyData: JSONL to Parquet" in done.stdout
    assert (tmp_path / "demo" / "packed" / ".metadata.json").exists()
    assert list((tmp_path / "demo" / "packed").glob("shard-*.parquet"))
