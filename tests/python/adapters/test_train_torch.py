"""The torch example runs, and goes on where it stopped, on another number of processes too."""

from pathlib import Path

import pytest
from programs import run_python
from small_corpus import write_corpus

pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/python/train_torch.py"


@pytest.mark.sliced
def test_the_example_goes_on_where_it_stopped(tmp_path: Path, gpt2: str) -> None:
    write_corpus(tmp_path / "texts")

    def train(checkpoint: str, steps: int, *launcher: str) -> list[str]:
        options = (
            f"--data={tmp_path}/texts/prose/*.jsonl",
            f"--tokenizer={gpt2}",
            f"--checkpoint={tmp_path / checkpoint}",
            f"--steps={steps}",
            "--batch-size=4",
            "--seq-length=64",
        )
        done = run_python(*launcher, EXAMPLE, *options, variables={"OMP_NUM_THREADS": "1"})
        return [line for line in done.stdout.splitlines() if line.startswith("step ")]

    # Longer than one pass over the texts.
    undisturbed = train("whole.pt", 100)
    assert [line.split(":")[0] for line in undisturbed] == [f"step {n}" for n in range(1, 101)]
    assert train("parts.pt", 40) == undisturbed[:40]
    assert train("parts.pt", 100) == undisturbed[40:]
    two = train(
        "parts.pt", 103, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"
    )
    assert [line.split(":")[0] for line in two] == ["step 101", "step 102", "step 103"]
