"""What windows hold: the peak memory of a process that packs text, beyond one without windows.

Run: PYTHONPATH=<build>/python python bench/windows.py --tokenizer FOLDER
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BATCHES = 400  # of 8 rows of 2,048 tokens
_OFF = {"shuffle_packed": False}
# What is set: of the pack stage, of the dataset, of the load stage.
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "no window": (_OFF, {}, {}),
    "no window, one thread": (_OFF, {}, {"num_threads": 1}),
    "packed rows shuffled, 1,000": ({}, {}, {}),
    "packed rows shuffled, 100": ({"shuffle_buffer_factor": 1}, {}, {}),
    "shuffle=rows": (_OFF, {"shuffle": "rows"}, {}),
    "best_fit": ({**_OFF, "strategy": "best_fit"}, {}, {}),
}


def peak() -> float:
    """The most memory of this process so far, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def run_one(name: str, data: str, tokenizer: str) -> None:
    """Prints what a setting takes beyond the imports."""
    from easydata import DatasetConfig, LoadStageConfig, PackStageConfig, Pipeline, PipelineConfig

    pack, dataset, load = SETTINGS[name]
    config = PipelineConfig(
        datasets=[DatasetConfig(data_files=data, tokenizer=tokenizer, **dataset)],
        pack=PackStageConfig(seq_length=2048, **pack),
        load=LoadStageConfig(batch_size=8, **load),
    )
    before = peak()
    with Pipeline(config).source().tokenize().pack().load().build() as loader:
        for step, _ in enumerate(loader):
            if step == BATCHES:
                break
    print(f"{name}: {peak() - before:.0f} MB beyond {before:.0f}")


def main() -> None:
    """Runs each setting in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", required=True, help="folder of a tokenizer.json")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        name, data = arguments.one
        run_one(name, data, arguments.tokenizer)
        return
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(20_000)]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(4):
            with open(f"{folder}/{number}.jsonl", "w") as file:
                for _ in range(8000):
                    text = " ".join(draw.choices(words, k=draw.randint(50, 700)))
                    file.write(json.dumps({"text": text}) + "\n")
        for name in SETTINGS:
            program = [sys.executable, __file__, "--tokenizer", arguments.tokenizer]
            subprocess.run([*program, "--one", name, f"{folder}/*.jsonl"], check=True)


if __name__ == "__main__":
    main()
