"""EasyDeL's own trainers take our sources, and train on them as on their own data sets."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_folders import tokenizer_folder
from easydata.trainers.easydel import source

import easydata
from easydata import AsyncDataLoader

ROOT = Path(__file__).resolve().parents[3]
TRAINING = Path(__file__).with_name("easydel_training.py")
# EasyDeL needs torch and pillow, and does not say so; the last ones are ours.
REQUIRED = ("easydel==0.3.0", "pillow", "torch==2.13.0", "pyarrow==25.0.1")


@pytest.fixture(scope="module")
def easydel_python() -> Path:
    """The Python of a virtual environment with EasyDeL: three gigabytes, made once a checkout."""
    folder = ROOT / "build" / "venv-easydel"
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = "\n".join(REQUIRED)
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", *REQUIRED]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"EasyDeL 0.3.0 cannot be installed: {done.stderr[-300:]}")
        stamp.write_text(wanted)
    return python


def write_rows(folder: Path) -> None:
    """Sums as prompts, with good and bad answers: JSONL, and two Parquet files; a tokenizer."""
    rows = [
        {
            "prompt": f"{n} + {n} = ",
            "completion": f"{n + n}",
            "chosen": f"{n + n}",
            "rejected": f"{n + n + 1}",
        }
        for n in range(24)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for part in range(2):
        pq.write_table(pa.Table.from_pylist(rows[12 * part :][:12]), folder / f"{part}.parquet")
    for path in tokenizer_folder("split").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())


@pytest.mark.sliced
@pytest.mark.parametrize("kind", ["sft", "dpo"])
def test_losses_on_a_source_are_those_on_its_rows(
    kind: str, easydel_python: Path, tmp_path: Path
) -> None:
    write_rows(tmp_path)
    package = Path(easydata.__file__).parents[1]
    done = subprocess.run(
        [str(easydel_python), str(TRAINING), kind, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(package), "JAX_PLATFORMS": "cpu"},
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [each["form"] for each in found] == ["parquet", "jsonl", "mixed"]
    for each in found:
        assert len(each["source"]) == 2
        assert each["source"] == pytest.approx(each["data set"], rel=1e-6)
        # The step changed the model.
        assert each["source"][0] != each["source"][1]
    parquet, jsonl, mixed = (each["source"] for each in found)
    assert parquet == pytest.approx(jsonl, rel=1e-6)
    assert mixed != pytest.approx(jsonl, rel=1e-6)


def test_other_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"n": 1}\n' * 4)
    rows = easydata.JsonShardedSource(tmp_path / "rows.jsonl")
    other: Any = [{"n": 1}]
    with pytest.raises(TypeError, match=r"takes a source of EasyData.*got list"):
        source(other)
    with AsyncDataLoader(rows, batch_size=2) as loader:
        loaded: Any = loader
        with pytest.raises(TypeError, match=r"make batches themselves.*got AsyncDataLoader"):
            source(loaded)


@pytest.mark.skipif(find_spec("easydel") is not None, reason="EasyDeL is installed here")
def test_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"n": 1}\n')
    with pytest.raises(ModuleNotFoundError, match=r"needs EasyDeL; pip install easydel==0\.3\.0"):
        source(easydata.JsonShardedSource(tmp_path / "rows.jsonl"))
