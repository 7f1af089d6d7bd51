"""Runs EasyData and its peers on the same work, in alternation, and prints the ratios.

Each run is a process of its own, so that nobody's imports, caches or threads help or hinder
another. Times start after imports. What counts is the ratio within one call: machines differ, and
one machine differs from hour to hour.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import corpora
import packing
import remote_reading
import streams
import token_cache
import tokenizer
import trainer_examples
from peer_environment import peer_python
from peer_process import PEERS, run_peer

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Benchmark:
    """One kind of work: who does it, EasyData first."""

    title: str
    runners: tuple[str, ...]
    megabytes: int
    target: float


BENCHMARKS = {
    "w1": Benchmark(
        "W1: JSONL -> GPT-2 ids -> Parquet",
        ("easydata_w1", "pyarrow_tokenizers", "datasets_map", "datatrove_tokens"),
        150,
        45.0,
    ),
    "w2": Benchmark(
        "W2: JSONL -> GPT-2 ids -> packed batches of 8 x 2048",
        ("easydata_w2", "torch_packed"),
        150,
        100.0,
    ),
}


def interpreter(runner: str) -> Path:
    """The Python that a runner needs: datatrove's requirements clash with ours."""
    if runner != "datatrove_tokens":
        return Path(sys.executable)
    return peer_python(".venv-bench", "requirements-bench.txt")


def run(runner: str, corpus: Path) -> dict[str, float]:
    """One run of one runner."""
    script = PEERS / f"{runner}.py"
    with tempfile.TemporaryDirectory(
        prefix="easydata-bench-", ignore_cleanup_errors=True
    ) as folder:
        output = Path(folder, "output")
        return run_peer(
            runner,
            (interpreter(runner), script, corpus, corpora.gpt2(), output),
            files=[corpus],
            TOKENIZERS_PARALLELISM="true",
            HF_HUB_OFFLINE="1",
            PYTHONDONTWRITEBYTECODE="",  # modules are compiled once, as on anyone's machine
        )


def compare(name: str, rounds: int) -> list[dict[str, object]]:
    """Runs one benchmark on every corpus and prints its table."""
    benchmark = BENCHMARKS[name]
    results: list[dict[str, object]] = []
    for corpus_name in corpora.available():
        corpus = corpora.corpus(corpus_name, benchmark.megabytes)
        runs: dict[str, list[dict[str, float]]] = {runner: [] for runner in benchmark.runners}
        for _ in range(rounds):
            for runner in benchmark.runners:
                runs[runner].append(run(runner, corpus))
        speed = {
            runner: statistics.median(r["tokens"] / r["seconds"] for r in done) / 1e6
            for runner, done in runs.items()
        }
        ours, *peers = benchmark.runners
        best = max(peers, key=lambda runner: speed[runner])
        ratio = speed[ours] / speed[best]
        print(f"\n{benchmark.title}, {corpus_name} ({corpus.stat().st_size >> 20} MB of JSONL)")
        for runner in benchmark.runners:
            last = runs[runner][-1]
            extra = "".join(
                f", {key} {last[key]:.2f}" for key in ("first", "peak_mb") if key in last
            )
            print(f"  {runner:20s} {speed[runner]:8.2f} Mtok/s{extra}")
        print(f"  ratio to the best peer ({best}): {ratio:.1f} (asked for: {benchmark.target:.0f})")
        results.append(
            {
                "benchmark": name,
                "corpus": corpus_name,
                "mtok_per_s": speed,
                "best_peer": best,
                "ratio": ratio,
                "runs": runs,
            }
        )
    return results


def rows(rounds: int) -> list[dict[str, object]]:
    """Rows to Python as dicts, beside pyarrow's to_pylist; bench/rows.py alternates by itself."""
    command = (sys.executable, HERE / "rows.py", "--json", "--repeat", str(rounds))
    result = run_peer("rows", command)
    rates, ratios = result["rows_per_second"], result["ratios"]
    assert isinstance(rates, dict)
    assert isinstance(ratios, dict)
    print("\nrows to Python as dicts")
    for name, rate in rates.items():
        print(f"  {name:30s} {rate:12,.0f} rows/s")
    for name, ratio in ratios.items():
        print(f"  ratio for {name}: {ratio:.1f} (asked for, of Parquet: 5)")
    return [{"benchmark": "rows", **result}]


def callables(rounds: int) -> list[dict[str, object]]:
    """Rows through Python functions; bench/callables.py takes them in turn by itself."""
    command = (sys.executable, HERE / "callables.py", "--json", "--repeat", str(rounds))
    result = run_peer("callables", (*command, "--tokenizer", corpora.gpt2()))
    rates, first = result["rows_per_second"], result["first_batch_s"]
    assert isinstance(rates, dict)
    assert isinstance(first, dict)
    print("\nrows through Python functions")
    for name, rate in rates.items():
        print(f"  {name:34s} {rate:12,.0f} rows/s")
    for name, seconds in first.items():
        print(f"  {name}, 10 ms a row: first batch of 32 after {seconds:.2f} s (asked for: 0.7)")
    return [{"benchmark": "callables", **result}]


def array_record(rounds: int) -> list[dict[str, object]]:
    """ArrayRecord files and Grain's pipelines; bench/grain_records.py alternates by itself."""
    command = (sys.executable, HERE / "grain_records.py", "--json", "--repeat", str(rounds))
    result = run_peer("grain_records", command)
    works = result["works"]
    assert isinstance(works, list)
    print("\nArrayRecord and Grain")
    for work in works:
        print(
            f"  {work['work']:44s} {work['easydata']:14,.0f}/s {work['peer']:12,.0f}/s"
            f" {work['ratio']:8.1f} x"
        )
    return [{"benchmark": "array_record", "works": works}]


def machine() -> dict[str, object]:
    """What a reader needs to know of the machine and the versions."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    packages = ("pyarrow", "tokenizers", "datasets", "torch", "numpy")
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
    }


def main() -> None:
    """Runs the benchmarks named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [
        *BENCHMARKS,
        "rows",
        "callables",
        "packing",
        "streams",
        "tokenizer",
        "examples",
        "io",
        "array_record",
        "cache",
    ]
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--megabytes", type=int, default=32, help="of each text for the tokenizer benchmark"
    )
    parser.add_argument(
        "--save",
        type=Path,
        default=HERE / "results" / f"{time.strftime('%Y-%m-%d-%H%M%S')}.json",
        help="file for all runs, as JSON; default: a new one in bench/results",
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(names):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    results: list[dict[str, object]] = []
    for name in arguments.names or names:
        if name == "rows":
            results += rows(arguments.rounds)
        elif name == "callables":
            results += callables(arguments.rounds)
        elif name == "packing":
            results += packing.packing(arguments.rounds)
        elif name == "streams":
            results += streams.streams(arguments.rounds)
        elif name == "tokenizer":
            results += tokenizer.tokenizers(arguments.rounds, arguments.megabytes, [])
        elif name == "examples":
            results += trainer_examples.examples(arguments.rounds)
        elif name == "array_record":
            results += array_record(arguments.rounds)
        elif name == "io":
            results += remote_reading.remote(arguments.rounds)
        elif name == "cache":
            results += token_cache.token_cache(arguments.rounds)
        else:
            results += compare(name, arguments.rounds)
    record = {"machine": machine(), "results": results}
    arguments.save.parent.mkdir(parents=True, exist_ok=True)
    arguments.save.write_text(json.dumps(record, indent=1) + "\n")
    print(f"\nAll runs: {arguments.save}")


if __name__ == "__main__":
    main()
