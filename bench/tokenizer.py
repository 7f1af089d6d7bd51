"""Tokenizers side by side: EasyData, `tokenizers` and the fastest others, per core, on many texts.

Every run is a process of its own, on one core: one engine, one tokenizer, one text. What counts is
megabytes of UTF-8 per second of CPU time of the whole process, threads included; cold is the first
pass over the text in a fresh process, warm the best later one. The ids are compared with those of
`tokenizers` in the same call: an engine with other ids does not count. The reference itself runs
once, one pass.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import corpora
import languages
import pyarrow as pa
from peer_environment import peer_python
from peer_process import PeerFailed, run_peer

from easydata import Tokenizer

HERE = Path(__file__).resolve().parent

OURS = "easydata"
REFERENCE = "tokenizers"
PEERS = (REFERENCE, "gigatoken", "fastokens", "splintr")
ENGINES = (OURS, *PEERS)

BYTE_LEVEL = ("gpt2", "llama3.1", "qwen2.5")
SCRIPTS = ("zh", "ja", "ko", "ru", "ar", "hi", "th")


@dataclass(frozen=True)
class Target:
    """What issue 4 asks for: times the best peer, cold and warm; None: nothing."""

    cold: float
    warm: float | None = None


def plan() -> list[tuple[str, str, Target]]:
    """Tokenizer, text and target of every line of the table."""
    latin = ("english", "code")
    lines = [(name, text, Target(2.0, 1.3)) for name in BYTE_LEVEL for text in latin]
    lines += [(name, text, Target(2.0)) for name in BYTE_LEVEL for text in SCRIPTS]
    lines += [
        (name, text, Target(3.0)) for name in ("llama2", "gemma") for text in (*latin, "zh", "ja")
    ]
    lines += [
        (name, text, Target(2.0)) for name in ("bert-base-uncased", "t5-small") for text in latin
    ]
    return lines


def interpreter(engine: str) -> Path:
    """The Python that an engine needs: the peers have a virtual environment of their own."""
    if engine == OURS:
        return Path(sys.executable)
    return peer_python(".venv-bench-tokenizers", "requirements-bench-tokenizers.txt")


def run(engine: str, tokenizer: str, text: Path, passes: int) -> dict[str, object]:
    """One run of one engine: its result, or why there is none."""
    folder = corpora.SHARED / "data" / "tokenizers" / tokenizer
    script = HERE / "tokenizer_engines.py"
    try:
        return run_peer(
            f"{engine} on {tokenizer}, {text.stem}",
            (interpreter(engine), script, engine, folder, text, str(passes)),
            TOKENIZERS_PARALLELISM="false",
            RAYON_NUM_THREADS="1",
            HF_HUB_OFFLINE="1",
        )
    except PeerFailed as failure:
        if engine in (OURS, REFERENCE):
            raise
        said = failure.said.splitlines()
        told = [line for line in said if "rror" in line or "panicked" in line] or said
        return {"refused": told[-1].strip()[:200]}


def compare(
    tokenizer: str, name: str, target: Target, megabytes: int, rounds: int
) -> dict[str, object]:
    """Runs all engines in turn on one text and prints a line for each."""
    text = languages.text(name, megabytes)
    size = sum(len(json.loads(line)["text"].encode()) for line in text.open(encoding="utf-8"))
    runs: dict[str, list[dict[str, object]]] = {engine: [] for engine in ENGINES}
    for _ in range(rounds):
        for engine in ENGINES:
            if runs[engine] and (engine == REFERENCE or "refused" in runs[engine][0]):
                continue  # the reference takes a hundred times as long: once, for its ids
            runs[engine].append(run(engine, tokenizer, text, 1 if engine == REFERENCE else 5))
    expected = runs[REFERENCE][0]["ids"]
    print(f"\n{tokenizer}, {name} ({size / 1e6:.1f} MB)")
    speed: dict[str, dict[str, float]] = {}
    for engine in ENGINES:
        first = runs[engine][0]
        if "refused" in first:
            print(f"  {engine:12s} does not take it: {first['refused']}")
            continue
        found = {
            kind: size / 1e6 / statistics.median(float(str(r[kind])) for r in runs[engine])
            for kind in ("cold", "warm")
        }
        equal = all(r["ids"] == expected for r in runs[engine])
        if engine == OURS and not equal:
            raise SystemExit(f"easydata's ids of {tokenizer}, {name} are not those of tokenizers")
        if equal:
            speed[engine] = found
        print(
            f"  {engine:12s} cold {found['cold']:8.1f}  warm {found['warm']:8.1f} MB per CPU second"
            + ("" if equal else "  (other ids: does not count)")
        )
    ratios: dict[str, object] = {}
    missed: list[str] = []
    for kind, wanted in (("cold", target.cold), ("warm", target.warm)):
        best = max((e for e in speed if e != OURS), key=lambda e: speed[e][kind])
        ratio = speed[OURS][kind] / speed[best][kind]
        ratios[kind] = {"best_peer": best, "ratio": ratio, "target": wanted}
        line = f"{kind}: {ratio:.2f} × the best peer, {best}"
        if wanted is not None:
            line += f"; asked for: {wanted:g}"
            if ratio < wanted:
                missed.append(f"{tokenizer} on {name}, {line}")
                line += "  MISSED"
        print(f"  {line}")
    return {
        "tokenizer": tokenizer,
        "text": name,
        "megabytes": size / 1e6,
        "mb_per_cpu_second": speed,
        "ratios": ratios,
        "missed": missed,
        "runs": runs,
    }


def check(tokenizers: list[str]) -> None:
    """Says on the smallest texts which engines take which tokenizers."""
    with tempfile.TemporaryDirectory(prefix="easydata-bench-") as folder:
        text = Path(folder) / "small.jsonl"
        text.write_text('{"text": "A few words, 1234 of them.\\n  Caf\\u00e9!"}\n' * 3)
        for tokenizer in tokenizers:
            found = {engine: run(engine, tokenizer, text, passes=1) for engine in ENGINES}
            expected = found[REFERENCE]["ids"]
            said = {
                engine: result.get("refused")
                or ("same ids" if result["ids"] == expected else "other ids")
                for engine, result in found.items()
            }
            print(tokenizer, said)


def threads(tokenizer: str, megabytes: int) -> dict[str, object]:
    """Two threads against one on a whole column, by the clock, warm, in alternation."""
    with languages.text("english", megabytes).open(encoding="utf-8") as file:
        texts = pa.array([json.loads(line)["text"] for line in file], pa.large_string())
    engine = Tokenizer(corpora.SHARED / "data" / "tokenizers" / tokenizer)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(10):
        for count, taken in seconds.items():
            begin = time.perf_counter()
            engine.encode_batch(texts, add_special_tokens=False, num_threads=count)
            taken.append(time.perf_counter() - begin)
    ratio = statistics.median(seconds[1][1:]) / statistics.median(seconds[2][1:])
    print(f"{tokenizer}, english: 2 threads {ratio:.2f} × one; asked for: 1.9")
    return {"benchmark": "threads", "tokenizer": tokenizer, "seconds": seconds, "ratio": ratio}


def tokenizers(rounds: int, megabytes: int, only: list[str]) -> list[dict[str, object]]:
    """Runs all lines of the plan, or those whose tokenizer or text is named in `only`."""
    results = [threads(name, megabytes) for name in BYTE_LEVEL if not only or "threads" in only]
    lines = []
    for tokenizer, name, target in plan():
        if not only or tokenizer in only or name in only:
            lines.append(
                {"benchmark": "tokenizer", **compare(tokenizer, name, target, megabytes, rounds)}
            )
    missed = [line for result in lines for line in cast("list[str]", result["missed"])]
    print(f"\n{len(missed)} targets missed" + "".join(f"\n  {line}" for line in missed))
    return results + lines


def main() -> None:
    """Runs this benchmark alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="tokenizers, texts or threads; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=32, help="of each text, at most")
    parser.add_argument("--check", action="store_true", help="only say who takes which tokenizer")
    arguments = parser.parse_args()
    if arguments.check:
        check(arguments.only or sorted({tokenizer for tokenizer, _, _ in plan()}))
    else:
        tokenizers(arguments.rounds, arguments.megabytes, arguments.only)


if __name__ == "__main__":
    main()
