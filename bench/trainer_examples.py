"""Rows to examples for trainers: beside TRL's own preparation, and rendering beside Jinja2.

TRL's `_prepare_dataset` maps an Arrow file to Arrow files; EasyData reads the same file and writes
Arrow files, too. The ids are compared in the same call: they must be equal. What counts is the
ratio by the clock, of medians, to the best of TRL's runs: with `dataset_num_proc` None, 1 and 2.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

import corpora
import examples_rows
from peer_process import PEERS, run_peer

TIMES_TRL = 50.0
# Chats per second of one core, by template.
RENDERED = {"qwen2.5": 200_000.0, "qwen3": 60_000.0}
# Most that memory may grow by from the first look at it to the last, in MB.
GROWTH = 64.0
ROWS_OF_MEMORY = (100_000, 300_000, 1_000_000)
# Built by the preset dev.
ENGINE_ALONE = corpora.ROOT / "build" / "dev" / "src" / "easydata" / "jinja" / "jinja_benchmark"
PARTS = ("prepare", "render", "memory")

# By name: the work, and the kind of file that is read.
OURS = "easydata, Arrow -> Arrow"
EASYDATA = {
    OURS: ("write", ".arrow"),
    "easydata, Arrow -> batches": ("load", ".arrow"),
    "easydata, JSONL -> Arrow": ("write", ".jsonl"),
}
TRL = {"trl, num_proc None": "0", "trl, num_proc 1": "1", "trl, num_proc 2": "2"}
# EasyData takes parts of a second: it runs so often beside each run of TRL.
REPEATED = 3

# No threads that spin, no questions to the network.
QUIET = {
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}

Runs = dict[str, list[dict[str, Any]]]


def tokenizer() -> Path:
    """The folder of the tokenizer of all runs."""
    return corpora.SHARED / "data" / "tokenizers" / "qwen2.5"


def templates() -> dict[str, str]:
    """Templates by name: the file, or "" for the tokenizer's own."""
    qwen3 = Path(str(distribution("trl").locate_file("trl/chat_templates/qwen3.jinja")))
    return {"qwen2.5": "", "qwen3": str(qwen3)}


def machine() -> dict[str, str]:
    """What the figures hold for."""
    cpu = next(
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    names = ("trl", "transformers", "datasets", "tokenizers", "jinja2", "pyarrow", "torch")
    return {"cpu": cpu, **{name: version(name) for name in names}}


def ours(name: str, corpus: Path, kind: str, template: str) -> dict[str, Any]:
    """One run of EasyData."""
    work, suffix = EASYDATA[name]
    data = corpus.with_suffix(suffix)
    with tempfile.TemporaryDirectory(prefix="easydata-bench-") as folder:
        output = Path(folder, "output")
        script = PEERS / "easydata_examples.py"
        command = (sys.executable, script, data, tokenizer(), kind, template, work, output)
        return run_peer(name, command, files=[data], **QUIET)


def trl(name: str, corpus: Path, kind: str, template: str) -> dict[str, Any]:
    """One run of TRL."""
    with tempfile.TemporaryDirectory(prefix="easydata-bench-") as folder:
        script = PEERS / "trl_examples.py"
        command = (sys.executable, script, corpus, tokenizer(), kind, template, TRL[name])
        return run_peer(name, command, files=[corpus], TMPDIR=folder, **QUIET)


def compare(
    corpus_name: str, kind: str, template_name: str, rows: int, rounds: int
) -> dict[str, object]:
    """All runs of one kind of rows in turn, and their table."""
    corpus = examples_rows.corpus(corpus_name, kind, rows)
    template = templates()[template_name]
    runs: Runs = {name: [] for name in (*EASYDATA, *TRL)}
    for _ in range(rounds):
        for peer in TRL:
            for _ in range(REPEATED):
                for name in EASYDATA:
                    runs[name].append(ours(name, corpus, kind, template))
            runs[peer].append(trl(peer, corpus, kind, template))
    megabytes = corpus.stat().st_size / 1e6
    print(f"\n{kind}, {template_name}, {corpus_name} ({rows} rows, {megabytes:.1f} MB)")
    seconds = {name: statistics.median(r["seconds"] for r in done) for name, done in runs.items()}
    cpu = {name: statistics.median(r["cpu_seconds"] for r in done) for name, done in runs.items()}
    for name, done in runs.items():
        peak = max(r["peak_mb"] for r in done)
        print(
            f"  {name:28s} {rows / seconds[name]:10,.0f} rows/s {rows / cpu[name]:10,.0f} rows per "
            f"CPU second, {seconds[name]:.2f} s, peak {peak:.0f} MB"
        )
    setup = statistics.median(r["setup_seconds"] for r in runs[OURS])
    print(f"  easydata's time has {setup:.2f} s in it that do not grow with the rows")
    digests = {r["digest"] for done in runs.values() for r in done if "digest" in r}
    if len(digests) != 1:
        raise SystemExit(f"{kind}, {template_name}, {corpus_name}: ids differ from TRL's")
    best = min(TRL, key=lambda peer: seconds[peer])
    ratio = seconds[best] / seconds[OURS]
    cpu_ratio = min(cpu[peer] for peer in TRL) / cpu[OURS]
    print(
        f"  {OURS} / {best}: {ratio:.1f} (asked for: {TIMES_TRL:.0f}), by processor time "
        f"{cpu_ratio:.1f}; ids are equal"
    )
    return {
        "benchmark": "examples",
        "kind": kind,
        "template": template_name,
        "corpus": corpus_name,
        "rows": rows,
        "seconds": seconds,
        "best_peer": best,
        "ratio": ratio,
        "cpu_ratio": cpu_ratio,
        "runs": runs,
    }


def engine_alone(template: str) -> float | None:
    """Chats per second of the C++ benchmark, marks kept; None where it is not built."""
    if not ENGINE_ALONE.exists():
        return None
    source = (
        Path(template).read_text(encoding="utf-8")
        if template
        else json.loads((tokenizer() / "tokenizer_config.json").read_text())["chat_template"]
    )
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".jinja") as file:
        file.write(source)
        file.flush()
        done = subprocess.run(
            [ENGINE_ALONE, "--benchmark_filter=Chats/trace:1", "--benchmark_format=json"],
            env={**os.environ, "EASYDATA_TEMPLATE": file.name},
            stdout=subprocess.PIPE,
            check=True,
        )
    return float(json.loads(done.stdout)["benchmarks"][0]["items_per_second"])


def render(rounds: int) -> list[dict[str, object]]:
    """Chats per second of one core: streams of EasyData beside Jinja2's sandbox."""
    chats = examples_rows.short_chats_file()
    results: list[dict[str, object]] = []
    scripts = {
        "easydata": ("easydata_examples_rendering.py", 10),
        "jinja2": ("jinja2_examples.py", 1),
    }
    for template_name, template in templates().items():
        runs: Runs = {name: [] for name in scripts}
        for _ in range(rounds):
            for name, (script, passes) in scripts.items():
                command = (
                    sys.executable,
                    PEERS / script,
                    chats,
                    tokenizer(),
                    template,
                    str(passes),
                )
                runs[name].append(run_peer(name, command, files=[chats], **QUIET))
        speed = {
            name: statistics.median(r["chats"] / r["cpu_seconds"] for r in done)
            for name, done in runs.items()
        }
        if len({r["digest"] for done in runs.values() for r in done}) != 1:
            raise SystemExit(f"rendering, {template_name}: texts differ from Jinja2's")
        print(f"\nrendering, {template_name}, chats of 4 turns and 1.8 KB per CPU second")
        for name, per_second in speed.items():
            print(f"  {name:28s} {per_second:10,.0f}")
        if (alone := engine_alone(template)) is not None:
            print(f"  {'the engine alone, in C++':28s} {alone:10,.0f}")
        print(
            f"  easydata: {speed['easydata']:,.0f} (asked for: {RENDERED[template_name]:,.0f}), "
            f"{speed['easydata'] / speed['jinja2']:.1f} x jinja2; texts are equal"
        )
        results.append(
            {
                "benchmark": "examples, rendering",
                "template": template_name,
                "chats_per_cpu_s": speed,
                "engine_alone_per_s": alone,
                "runs": runs,
            }
        )
    return results


def memory(rows: tuple[int, ...] = ROWS_OF_MEMORY) -> list[dict[str, object]]:
    """What is resident after so many rows of chats, which are read from many files."""
    results: list[dict[str, object]] = []
    for kind in examples_rows.KINDS:
        corpus = examples_rows.corpus("distinct", kind)
        with tempfile.TemporaryDirectory(prefix="easydata-bench-") as folder:
            for i in range(rows[-1] // examples_rows.ROWS * 5 // 4 + 2):  # some rows are left out
                Path(folder, f"{i:05}.arrow").symlink_to(corpus)
            script = PEERS / "easydata_examples_memory.py"
            command: list[str | Path] = [sys.executable, script, folder, tokenizer(), kind, ""]
            command += map(str, rows)
            result = run_peer(f"memory, {kind}", command, files=[corpus])
        seen = {int(after): tuple(looks) for after, looks in result["memory"].items()}
        print(f"\nmemory, {kind}, into batches of 64 rows ({result['seconds']:.0f} s)")
        for after, (resident, peak) in seen.items():
            print(f"  after {after:>9,} rows {resident:6.0f} MB, at most {peak:.0f} MB")
        growth = seen[rows[-1]][1] - seen[rows[0]][1]
        print(f"  the peak grew by {growth:.0f} MB since {rows[0]:,} rows (at most: {GROWTH:.0f})")
        results.append(
            {"benchmark": "examples, memory", "kind": kind, "growth_mb": growth, **result}
        )
    return results


def examples(
    rounds: int, rows: int = examples_rows.ROWS, parts: tuple[str, ...] = PARTS
) -> list[dict[str, object]]:
    """Runs all of it, or some parts."""
    if not examples_rows.available():
        print("examples: the chats of ../shared are not here")
        return []
    on = machine()
    print("\nexamples: " + ", ".join(f"{name} {value}" for name, value in on.items()))
    results: list[dict[str, object]] = []
    if "render" in parts:
        results += render(rounds)
    if "prepare" in parts:
        results += [
            compare(corpus, kind, template, rows, rounds)
            for corpus in examples_rows.available()
            for kind in examples_rows.KINDS
            for template in templates()
        ]
    if "memory" in parts:
        results += memory()
    return [{**result, "machine": on} for result in results]


def main() -> None:
    """Runs this benchmark alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=examples_rows.ROWS)
    parser.add_argument("--save", type=Path, help="write the results as JSON")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    results = examples(arguments.rounds, arguments.rows, tuple(arguments.parts) or PARTS)
    if arguments.save:
        arguments.save.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
