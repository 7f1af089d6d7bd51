"""What mypy sees of the package in a user's program: types, and no Any (C7)."""

import subprocess
import sys
from pathlib import Path

import pytest

import easydata

PROGRAM = """
import easydata
from easydata import AsyncDataLoader, DatasetConfig, Pipeline, PipelineConfig, Tokenizer

config = PipelineConfig([DatasetConfig("a.jsonl")])
reveal_type(Pipeline.from_config(config))
pipeline = Pipeline.from_config(config).source().tokenize().pack().load()
reveal_type(pipeline)
reveal_type(pipeline.build())
reveal_type(pipeline.get_stages())
loader = AsyncDataLoader(easydata.JsonShardedSource("a.jsonl"), batch_size=2)
reveal_type(loader)
for batch in loader:
    reveal_type(batch)
reveal_type(loader.state_dict())
reveal_type(easydata.verify("out").damaged)
reveal_type(Tokenizer("t").encode("text"))
reveal_type(easydata.save_dataset(easydata.JsonShardedSource("a.jsonl"), "out"))
loader.no_such_method()
Pipeline.from_config(7)
"""


def check_types(folder: Path, program: str) -> tuple[list[str], list[str]]:
    """What mypy reveals, and its errors."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    (folder / "program.py").write_text(program)
    done = subprocess.run(
        # What the package imports is read once for all tests.
        [sys.executable, "-m", "mypy", "--cache-dir=../mypy_cache", "--strict", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    revealed = [line.split('"')[1] for line in lines if "Revealed" in line]
    return revealed, [line for line in lines if ": error: " in line]


def test_every_public_name_has_a_type(tmp_path: Path) -> None:
    names = [name for name in easydata.__all__ if name not in ("jax", "torch")]
    program = "import easydata\n" + "".join(f"reveal_type(easydata.{name})\n" for name in names)
    revealed, errors = check_types(tmp_path, program)
    assert errors == []
    assert len(revealed) == len(names)
    assert [n for n, kind in zip(names, revealed, strict=True) if kind == "Any"] == []


def test_a_user_s_program_has_types(tmp_path: Path) -> None:
    revealed, errors = check_types(tmp_path, PROGRAM)
    assert len(revealed) == 10, errors
    assert not [kind for kind in revealed if kind == "Any"], revealed
    for kind, wanted in zip(
        revealed,
        (
            "Pipeline",
            "Pipeline",
            "AsyncDataLoader",
            "list",
            "AsyncDataLoader",
            "dict",
            "dict",
            "list[easydata.execution.verify.VerifiedFile]",
            "ndarray",
            "WriteStats",
        ),
        strict=True,
    ):
        assert wanted in kind, revealed
    assert len(errors) == 2, errors
    assert "no_such_method" in errors[0]
    assert "from_config" in errors[1]
