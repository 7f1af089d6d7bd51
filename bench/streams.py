"""What a stream of batches costs beside the tokenizer alone, and what each thing adds to it."""

import statistics
import sys
from pathlib import Path

import corpora
from peer_process import PEERS, run_peer

FILES = 16
MEGABYTES = 600
# (what it is, the run, the run it is compared with, what is asked for): tokens per second of both
# cores in the first, divided by those in the second.
ASKED = (
    ("text to packed batches / the tokenizer alone", "packed", "tokenizer", 0.6),
    ("a mix of 16 sources / the same files as one", "mixed", "packed", 0.9),
    ("that and shuffled rows", "shuffled", "packed", 0.9),
    ("and with a state after each batch, too", "everything", "packed", 0.9),
    ("a Python thread spinning beside one worker", "packed, busy", "packed, one", 0.95),
    ("the same / a process spinning beside it", "packed, busy", "packed, beside", 0.95),
)
RUNS = (
    "tokenizer",
    "packed",
    "mixed",
    "shuffled",
    "everything",
    "packed, one",
    "packed, busy",
    "packed, beside",
)


def folder(name: str) -> Path:
    """A corpus in 16 files of about the same size."""
    whole = corpora.corpus(name, MEGABYTES)
    made = whole.with_suffix("")
    if not made.is_dir():
        part = made.with_suffix(".part")
        part.mkdir(exist_ok=True)
        lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
        for i in range(FILES):
            text = "".join(lines[len(lines) * i // FILES : len(lines) * (i + 1) // FILES])
            (part / f"{i:02}.jsonl").write_text(text, encoding="utf-8")
        part.rename(made)
    return made


def run(what: str, texts: Path) -> dict[str, float]:
    """One run, in a process of its own."""
    work, _, mode = what.partition(", ")
    script = PEERS / "easydata_streams.py"
    command = (sys.executable, script, texts, corpora.gpt2(), work, mode)
    return run_peer(what, command, files=texts.glob("*.jsonl"))


def streams(rounds: int) -> list[dict[str, object]]:
    """Runs all in alternation and prints the table."""
    results: list[dict[str, object]] = []
    for name in corpora.available():
        texts = folder(name)
        runs: dict[str, list[dict[str, float]]] = {what: [] for what in (*RUNS, "sources")}
        for _ in range(rounds):
            for what, done in runs.items():
                done.append(run(what, texts))
        print(f"\nstreams, {name}")
        speed = {}
        for what in RUNS:
            speed[what] = statistics.median(r["tokens"] / r["seconds"] for r in runs[what]) / 1e6
            cpu = statistics.median(r["tokens"] / r["cpu_seconds"] for r in runs[what]) / 1e6
            print(f"  {what:14s} {speed[what]:8.1f} Mtok/s {cpu:8.1f} Mtok per CPU second")
        ratios = {}
        for title, ours, other, asked in ASKED:
            ratios[title] = ratio = speed[ours] / speed[other]
            print(f"  {title}: {ratio:.2f} (asked for: {asked:.2f})")
        first = statistics.median(r["first"] for r in runs["sources"])
        handles = max(r["handles"] for r in runs["sources"])
        print(f"  1,000 sources: first batch after {first:.2f} s (asked for: 2), {handles} handles")
        results.append(
            {"benchmark": "streams", "corpus": name, "mtok_per_s": speed, "ratios": ratios}
            | {"thousand_sources_s": first, "handles": handles, "runs": runs}
        )
    return results
