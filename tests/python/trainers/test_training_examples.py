"""The examples of training run, and go on where they were stopped."""

import math
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from programs import run_python

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/python"
LOSS = re.compile(r"(?:step \d+: )?loss (\S+)")


def losses(
    name: str, wanted: list[str], *options: str, launcher: tuple[str, ...] = ()
) -> list[str]:
    """What an example prints of its losses; skips where one of the packages is missing."""
    for package in wanted:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install -r requirements-extra.txt")
    variables = {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    done = run_python(*launcher, EXAMPLES / name, *options, variables=variables)
    lines = [line for line in done.stdout.splitlines() if LOSS.fullmatch(line)]
    for line in lines:
        found = LOSS.fullmatch(line)
        assert found is not None
        assert math.isfinite(float(found[1])), line
        assert float(found[1]) > 0, line
    return lines


@pytest.mark.parametrize(
    "kind",
    ["sft", *(pytest.param(kind, marks=pytest.mark.sliced) for kind in ("dpo", "kto", "reward"))],
)
def test_trainers_of_trl(kind: str) -> None:
    assert len(losses(f"train_trl_{kind}.py", ["trl", "torch"])) == 1


def steps(lines: list[str]) -> list[int]:
    return [int(line.split(":")[0].removeprefix("step ")) for line in lines]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("train_torch_loop.py", ["torch", "tokenizers"]),
        pytest.param("train_jax_loop.py", ["jax", "tokenizers"], marks=pytest.mark.sliced),
        pytest.param("train_grain_loop.py", ["jax", "tokenizers"], marks=pytest.mark.sliced),
        pytest.param(
            "train_accelerate.py", ["accelerate", "torch", "tokenizers"], marks=pytest.mark.sliced
        ),
    ],
)
def test_a_loop_goes_on_where_it_stopped(name: str, wanted: list[str], tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "runs/parts"  # which the example makes
    undisturbed = losses(name, wanted, f"--folder={whole}", "--steps=6")
    assert steps(undisturbed) == [1, 2, 3, 4, 5, 6]
    assert len({line.split()[-1] for line in undisturbed}) == 6
    assert losses(name, wanted, f"--folder={parts}", "--steps=3") == undisturbed[:3]
    assert losses(name, wanted, f"--folder={parts}", "--steps=6") == undisturbed[3:]


@pytest.mark.sliced
def test_the_hugging_face_trainer_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """From its checkpoint of the fourth step: the first eight log lines are of both runs."""
    name, wanted = "train_hf_trainer.py", ["transformers", "accelerate", "torch"]
    undisturbed = losses(name, wanted)
    assert steps(undisturbed) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert len({line.split()[-1] for line in undisturbed}) == 8
    folder = f"--folder={tmp_path / 'runs/parts'}"
    assert losses(name, wanted, folder, "--steps=4") == undisturbed[:4]
    assert losses(name, wanted, folder, "--steps=8") == undisturbed


@pytest.mark.sliced
def test_the_hugging_face_trainer_runs_on_two_processes(tmp_path: Path) -> None:
    """The first one reads, and the rows of both have one length."""
    two = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    given = (f"--folder={tmp_path}", "--steps=3")
    found = losses(
        "train_hf_trainer.py", ["transformers", "accelerate", "torch"], *given, launcher=two
    )
    assert sorted(steps(found)) == [1, 1, 2, 2, 3, 3]  # each process prints
    assert len(set(found)) == 3


@pytest.mark.sliced
def test_accelerate_goes_on_with_two_processes(tmp_path: Path) -> None:
    """What one process began two go on with: each gets half of each batch."""
    name, wanted = "train_accelerate.py", ["accelerate", "torch", "tokenizers"]
    folder = tmp_path / "run"
    assert steps(losses(name, wanted, f"--folder={folder}", "--steps=2")) == [1, 2]
    two = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    given = (f"--folder={folder}", "--steps=4")
    assert steps(losses(name, wanted, *given, launcher=two)) == [3, 4]
    assert len(list(folder.glob("checkpoint/random_states_*"))) == 2  # one of each process
