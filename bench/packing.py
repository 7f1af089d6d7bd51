"""Documents that are tokens already, packed into batches: beside Grain and beside a bare memmap.

What counts is tokens per second of processor time, all threads together.
"""

import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from corpora import CACHE
from peer_process import PEERS, run_peer

EOS = 2

# By name: the runner, what it reads and its argument.
RUNNERS = {
    "easydata greedy": ("easydata_packing.py", "arrow", "greedy"),
    "easydata first_fit": ("easydata_packing.py", "arrow", "first_fit"),
    "easydata best_fit": ("easydata_packing.py", "arrow", "best_fit"),
    "easydata greedy, Parquet": ("easydata_packing.py", "parquet", "greedy"),
    "grain first fit": ("grain_packing.py", "arrow", "first_fit"),
    "grain concat then split": ("grain_packing.py", "arrow", "concat"),
    "numpy memmap": ("memmap_packing.py", "bin", ""),
}
# (ours, the peer, what is asked for).
ASKED = (
    ("easydata greedy", "grain concat then split", 50.0),
    ("easydata first_fit", "grain first fit", 50.0),
    ("easydata greedy", "numpy memmap", 1.5),
)


def corpus(million_tokens: int) -> Path:
    """Documents of lognormal lengths (597 tokens on average), in three formats."""
    stem = CACHE / f"documents-{million_tokens}"
    if stem.with_suffix(".bin").exists():
        return stem
    CACHE.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    count = million_tokens * 1_000_000 // 597
    lengths = np.maximum(1, random.lognormal(np.log(597) - 0.5, 1.0, count).astype(np.int64))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = random.integers(3, 50_000, offsets[-1], np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(tokens))
    table = pa.table({"input_ids": lists})
    with pa.ipc.new_file(stem.with_suffix(".arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    pyarrow.parquet.write_table(table, stem.with_suffix(".parquet"), row_group_size=4000)
    tokens.tofile(stem.with_suffix(".bin"))
    return stem


def run(name: str, stem: Path) -> dict[str, float]:
    """One run of one runner."""
    script, suffix, argument = RUNNERS[name]
    path = stem.with_suffix(f".{suffix}")
    return run_peer(name, (sys.executable, PEERS / script, path, argument), files=[path])


def packing(rounds: int, million_tokens: int = 240) -> list[dict[str, object]]:
    """Runs all in alternation and prints the table."""
    stem = corpus(million_tokens)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in RUNNERS}
    for _ in range(rounds):
        for name in RUNNERS:
            runs[name].append(run(name, stem))
    per_core = {
        name: statistics.median(r["tokens"] / r["cpu_seconds"] for r in done) / 1e6
        for name, done in runs.items()
    }
    print(f"\npacking {million_tokens} million tokens into batches of 64 x 2048")
    for name, done in runs.items():
        wall = statistics.median(r["tokens"] / r["seconds"] for r in done) / 1e6
        print(f"  {name:26s} {per_core[name]:8.1f} Mtok per CPU second {wall:8.1f} Mtok/s")
    ratios = {}
    for ours, peer, asked in ASKED:
        ratios[f"{ours} / {peer}"] = ratio = per_core[ours] / per_core[peer]
        print(f"  {ours} / {peer}: {ratio:.1f} (asked for: {asked:.1f})")
    parquet = reading_parquet(stem.with_suffix(".parquet"), rounds)
    ratios["Parquet / pyarrow reading it"] = ratio = per_core["easydata greedy, Parquet"] / parquet
    print(f"  {'pyarrow reading Parquet':26s} {parquet:8.1f} Mtok per CPU second")
    print(f"  easydata greedy, Parquet / pyarrow reading it: {ratio:.2f} (asked for: 0.80)")
    return [{"benchmark": "packing", "mtok_per_cpu_s": per_core, "ratios": ratios, "runs": runs}]


def reading_parquet(path: Path, rounds: int) -> float:
    """Million tokens per CPU second that pyarrow takes to read the column, with one thread."""
    rates = []
    for _ in range(rounds):
        start = time.process_time()
        table = pyarrow.parquet.read_table(path, use_threads=False, pre_buffer=False)
        values = sum(len(chunk.values) for chunk in table.column("input_ids").chunks)
        rates.append(values / (time.process_time() - start) / 1e6)
    return statistics.median(rates)
