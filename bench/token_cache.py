"""What keeping tokens costs the first epoch, and what it spares the others."""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import corpora
from peer_process import PEERS, run_peer

MEGABYTES = 150
# Their ids fit 16 bits, or do not.
TOKENIZERS = ("gpt2", "qwen2.5")
WORKS = ("rows", "packed")
WAYS = ("text", "kept", "warm", "arrow")


def run(way: str, work: str, corpus: Path, tokenizer: str, folder: Path) -> dict[str, Any]:
    """One run, in a process of its own."""
    kept, saved = folder / "kept", folder / "saved"
    if way == "kept":
        shutil.rmtree(kept, ignore_errors=True)
    command = (sys.executable, PEERS / "easydata_cache.py", corpus,
               corpora.gpt2().parent / tokenizer, kept, saved, way, work)  # fmt: skip
    return run_peer(f"{way}, {work}", command, files=[corpus])


def token_cache(rounds: int) -> list[dict[str, object]]:
    """Runs all in alternation, on a disk in memory, and prints the table."""
    results: list[dict[str, object]] = []
    memory = Path("/dev/shm")
    for name in corpora.available():
        corpus = corpora.corpus(name, MEGABYTES)
        for tokenizer in TOKENIZERS:
            with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
                folder = Path(made)
                command = (sys.executable, PEERS / "easydata_cache.py", corpus,
                           corpora.gpt2().parent / tokenizer, folder / "kept", folder / "saved",
                           "save", "rows")  # fmt: skip
                run_peer("save", command, files=[corpus])
                for work in WORKS:
                    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
                    for _ in range(rounds):
                        for way, done in runs.items():
                            done.append(run(way, work, corpus, tokenizer, folder))
                    results.append(told(name, tokenizer, work, runs))
    return results


def told(
    corpus: str, tokenizer: str, work: str, runs: dict[str, list[dict[str, Any]]]
) -> dict[str, object]:
    """Prints the seconds of a work, all ways."""
    dropped = sum(each["stats"]["dropped_blocks"] for each in runs["kept"])
    assert dropped == 0, f"{dropped} blocks were not kept"
    cpu = {way: statistics.median(r["cpu_seconds"] for r in done) for way, done in runs.items()}
    wall = {way: statistics.median(r["seconds"] for r in done) for way, done in runs.items()}
    print(f"\ntokens that are kept: {corpus}, {tokenizer}, {work}")
    for way in WAYS:
        print(f"  {way:6s} {cpu[way]:7.3f} s of CPU {wall[way]:7.3f} s")
    ratios = {
        "first epoch, kept / from text": (cpu["kept"] / cpu["text"], "< 1.05, < 1.10 of 32 bits"),
        "from text / warm": (cpu["text"] / cpu["warm"], "> 5"),
        "our Arrow output / warm": (cpu["arrow"] / cpu["warm"], "> 0.9"),
    }
    for title, (ratio, asked) in ratios.items():
        print(f"  {title}: {ratio:.2f} (asked for: {asked})")
    return {"benchmark": "cache", "corpus": corpus, "tokenizer": tokenizer, "work": work} | {
        "cpu_seconds": cpu, "seconds": wall, "ratios": {k: v for k, (v, _) in ratios.items()}
    }  # fmt: skip
