"""Records orders of mixes: NumPy's generators applied to the rule that the manual states.

    .venv/bin/python tests/data/record_mixture.py [--check]

Block b of a mix is a list of the sources' indices, each as often as its weight says (whole numbers
here), in the order that `numpy.random.default_rng(seed + b).shuffle` gives it; sources that end
begin anew, or end the stream. The file golden/mixture.json has the form of EasyDeL's recorded
values in ../shared/data/golden/easydel.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROWS = 90

CASES: list[tuple[list[int], list[float] | None, int, int]] = [
    ([13, 42], [0.5, 0.5], 4, 1),
    ([9, 30, 5], [0.5, 0.25, 0.25], 8, 0),
    ([100, 100], [0.9, 0.1], 10, 7),
    ([7], [1.0], 5, 3),
    ([20, 20, 20, 20], None, 16, 2**31),
    ([3, 50], [1, 3], 20, 42),
    ([11, 12, 13], [0.2, 0.3, 0.5], 10, 2**40),
    ([40, 1], [0.75, 0.25], 1000, 5),
]


def order_of(
    lengths: list[int], weights: list[float], block_size: int, seed: int, stop: str
) -> tuple[list[int], list[int], bool]:
    """Sources' indices and their row numbers, and whether the stream ended by itself."""
    shares = [round(weight / sum(weights) * block_size) for weight in weights]
    assert sum(shares) == block_size
    used = [0] * len(lengths)
    order: list[int] = []
    rows: list[int] = []
    block = 0
    while True:
        indices = [index for index, share in enumerate(shares) for _ in range(share)]
        np.random.default_rng(seed + block).shuffle(indices)
        for index in indices:
            if len(order) == ROWS:
                return order, rows, False
            if stop == "first_exhausted" and used[index] == lengths[index]:
                return order, rows, True
            order.append(index)
            rows.append(used[index] % lengths[index])
            used[index] += 1
        block += 1


def cases() -> list[dict[str, Any]]:
    found = []
    for lengths, weights, block_size, seed in CASES:
        names = "abcdefgh"[: len(lengths)]
        given = weights or [1.0] * len(lengths)
        for api in ("MixedShardedSource", "block_mixture_interleave"):
            for stop in ("restart", "first_exhausted"):
                order, rows, ended = order_of(lengths, given, block_size, seed, stop)
                found.append(
                    {
                        "api": api,
                        "sources": [list(pair) for pair in zip(names, lengths, strict=True)],
                        "weights": weights and list(map(list, zip(names, weights, strict=True))),
                        "block_size": block_size,
                        "seed": seed,
                        "stop": stop,
                        "schedule": None,
                        "exact_counts": True,
                        "float_edge": False,
                        "ended": ended,
                        "order": order,
                        "rows": rows,
                    }
                )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is checked in")
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases())
    text = f'{{"made_with":"numpy {np.__version__}","cases":[\n{lines}\n]}}\n'
    path = HERE / "golden" / "mixture.json"
    if not parser.parse_args().check:
        path.write_text(text)
        return 0
    same = path.read_text() == text
    if not same:
        print(f"{path.name} would come out otherwise", file=sys.stderr)
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
