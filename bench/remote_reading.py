"""Reading from S3 and the web, beside a bare libcurl loop, pyarrow.fs, s3fs and files here.

Ranges of a large file, ranges of a file far away, tokenizing, and the first batch far away. What
counts is processor time of the process that reads, by all its threads: the servers share the
machine. Runs alternate within one call.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import corpora
import pyarrow.json
import pyarrow.parquet
import streams
from peer_environment import peer_python
from peer_process import PEERS, run_peer
from remote_servers import as_bucket, far_away, s3_store, upload, web_server

PROGRAM = corpora.ROOT / "build" / "dev" / "src" / "easydata" / "storage" / "storage_benchmark"
KEY_OPTIONS = ("key", "secret")
LATENCY = 0.02
Run = dict[str, float]


def random_file(megabytes: int) -> Path:
    """A file of bytes that nothing packs, made once."""
    path = corpora.CACHE / f"random-{megabytes}.bin"
    if not path.exists():
        corpora.CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            for _ in range(megabytes):
                file.write(os.urandom(1 << 20))
        part.rename(path)
    return path


def parquet_of(texts: Path) -> Path:
    """The files of a folder of JSONL as Parquet, in a folder beside it, made once."""
    made = texts.with_name(texts.name + "-parquet")
    if not made.is_dir():
        part = made.with_suffix(".part")
        part.mkdir(exist_ok=True)
        options = pyarrow.json.ReadOptions(block_size=64 << 20)
        for path in sorted(texts.glob("*.jsonl")):
            table = pyarrow.json.read_json(path, options)
            file = part / f"{path.stem}.parquet"
            pyarrow.parquet.write_table(table, file, row_group_size=1000, compression="zstd")
        part.rename(made)
    return made


def program(name: str, **environment: str) -> Run:
    """One run of a benchmark of storage_benchmark: seconds, processor seconds, bytes, requests."""
    command = [str(PROGRAM), f"--benchmark_filter=^{name}/iterations", "--benchmark_format=json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    (result,) = json.loads(done.stdout)["benchmarks"]
    if result.get("error_occurred"):
        raise SystemExit(f"{name}: {result['error_message']}")
    seconds = result["real_time"] / 1000
    return {
        "seconds": seconds,
        "cpu_seconds": result["cpu_time"] / 1000,
        "bytes": result["bytes_per_second"] * seconds,
        "requests": result["items_per_second"] * seconds,
    }


def alternate(runners: dict[str, Callable[[], Run]], rounds: int) -> dict[str, list[Run]]:
    """Runs all in turn, so often."""
    runs: dict[str, list[Run]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, run in runners.items():
            runs[name].append(run())
    return runs


def median(runs: list[Run], key: str, per: str = "") -> float:
    """The median of a figure, or of its ratio to another."""
    return statistics.median(run[key] / (run[per] if per else 1) for run in runs)


def peers(url: str, path: str, megabytes: int, secrets: tuple[str, ...]) -> dict[str, Any]:
    """What runs pyarrow.fs and s3fs on an object."""
    arguments = (url, path, str(megabytes), *secrets)
    s3fs = peer_python(".venv-bench-io", "requirements-bench-io.txt")
    return {
        "pyarrow.fs": lambda: run_peer(
            "pyarrow.fs", (sys.executable, PEERS / "pyarrow_ranges.py", *arguments)
        ),
        "s3fs": lambda: run_peer("s3fs", (s3fs, PEERS / "s3fs_ranges.py", *arguments)),
    }


def print_ranges(title: str, runs: dict[str, list[Run]]) -> dict[str, float]:
    """Prints the table of readers of the same ranges, and returns CPU seconds per GB of each."""
    print(f"\n{title}")
    per_gb = {}
    for name, done in runs.items():
        per_gb[name] = cost = median(done, "cpu_seconds", "bytes") * 1e9
        speed = median(done, "bytes", "seconds") / 1e6
        print(f"  {name:20s} {cost:6.2f} CPU s/GB {speed:8.0f} MB/s")
    for name, cost in per_gb.items():
        if name in ("pyarrow.fs", "s3fs"):
            ratio = cost / per_gb["easydata"]
            print(f"  {name} / easydata, CPU: {ratio:.2f} (asked for: 2)")
    print(f"  easydata: {per_gb['easydata']:.2f} CPU s/GB (asked for: at most 0.5)")
    return per_gb


def ranges(rounds: int) -> list[dict[str, object]]:
    """1 GB in ranges of 8 MB, four under way, over plain HTTP and signed."""
    results: list[dict[str, object]] = []
    with web_server() as web:
        (web.folder / "bucket").mkdir()
        (web.folder / "bucket" / "one").symlink_to(random_file(1024))
        at = {"EASYDATA_BENCH_URL": f"{web.url}/bucket/one"}
        as_s3 = {
            "EASYDATA_BENCH_URL": "s3://bucket/one",
            "EASYDATA_BENCH_OPTIONS": json.dumps({"anonymous": True, "endpoint_url": web.url}),
        }
        runners = {
            "bare libcurl": lambda: program("BM_BareLoop/8/4", **at),
            "easydata": lambda: program("BM_Read/8/4", **at),
            "easydata, s3://": lambda: program("BM_Read/8/4", **as_s3),
            **peers(web.url, "bucket/one", 1024, ()),
        }
        runs = alternate(runners, rounds)
        cost = print_ranges("1 GB in ranges of 8 MB, 4 under way, plain HTTP (nginx)", runs)
        speed = {name: median(done, "bytes", "seconds") / 1e6 for name, done in runs.items()}
        ratio = speed["easydata"] / speed["bare libcurl"]
        print(f"  easydata / bare libcurl, by the clock: {ratio:.2f} (asked for: 0.9)")
        results.append({"benchmark": "ranges", "cpu_s_per_gb": cost, "mb_per_s": speed})
        results[-1] |= {"to_bare_libcurl": ratio, "runs": runs}
    with s3_store() as store:
        bucket = store.bucket("one")
        upload(store, bucket, [random_file(256)])
        options = store.storage_options
        signed = {
            "EASYDATA_BENCH_URL": f"s3://{bucket}/random-256.bin",
            "EASYDATA_BENCH_OPTIONS": json.dumps(options),
            "EASYDATA_BENCH_MEGABYTES": "256",
        }
        secrets = tuple(options[key] for key in KEY_OPTIONS)
        runs = alternate(
            {
                "easydata": lambda: program("BM_Read/8/4", **signed),
                **peers(store.url, f"{bucket}/random-256.bin", 256, secrets),
            },
            rounds,
        )
        cost = print_ranges("256 MB in the same ranges, signed (SeaweedFS)", runs)
        results.append({"benchmark": "signed ranges", "cpu_s_per_gb": cost, "runs": runs})
    return results


def small_ranges(rounds: int) -> list[dict[str, object]]:
    """Ranges of 64 kB at random, 64 under way, 20 ms to the first byte."""
    runs = alternate(
        {
            "bare libcurl": lambda: program("BM_BareLoopFarAway/64"),
            "easydata": lambda: program("BM_ReadFarAway/64"),
        },
        rounds,
    )
    print("\nranges of 64 kB at random, 64 under way, 20 ms to the first byte")
    rates = {}
    for name, done in runs.items():
        rates[name] = median(done, "requests", "seconds")
        cost = median(done, "cpu_seconds", "requests") * 1e6
        print(f"  {name:20s} {rates[name]:6.0f} requests/s {cost:6.0f} CPU us each")
    ratio = rates["easydata"] / rates["bare libcurl"]
    print(f"  easydata / bare libcurl: {ratio:.2f} (asked for: 0.9)")
    return [
        {"benchmark": "small ranges", "requests_per_s": rates}
        | {"to_bare_libcurl": ratio, "runs": runs}
    ]


def read(pattern: str, options: dict[str, Any], work: str) -> Run:
    """One run of EasyData on files."""
    script = PEERS / "easydata_remote.py"
    command = (sys.executable, script, pattern, json.dumps(options), corpora.gpt2(), work)
    files = Path(pattern).parent.glob(Path(pattern).name) if "://" not in pattern else ()
    return run_peer(work, command, files=files)


def tokenizing(rounds: int, name: str = "distinct") -> list[dict[str, object]]:
    """Text to packed batches, from files here and from a store."""
    texts = streams.folder(name)
    results: list[dict[str, object]] = []
    with web_server() as web:
        options = {"anonymous": True, "endpoint_url": web.url}
        for kind, folder in {"jsonl": texts, "parquet": parquet_of(texts)}.items():
            files = sorted(folder.glob(f"*.{kind}"))
            bucket = as_bucket(web, folder)
            runs = alternate(
                {
                    "files here": partial(read, f"{folder}/*.{kind}", {}, "all"),
                    "S3": partial(read, f"s3://{bucket}/*.{kind}", options, "all"),
                },
                rounds,
            )
            if len({run["tokens"] for done in runs.values() for run in done}) != 1:
                raise SystemExit("the tokens differ")
            results.append(print_tokenizing(kind, sum(f.stat().st_size for f in files), runs))
    return results


def print_tokenizing(kind: str, size: int, runs: dict[str, list[Run]]) -> dict[str, object]:
    """Prints what reading from S3 adds to the processor time."""
    here, there = ([run["cpu_seconds"] for run in runs[name]] for name in ("files here", "S3"))
    print(f"\n{size / 1e6:.0f} MB of {kind} -> GPT-2 ids -> packed batches (nginx)")
    for name, done in runs.items():
        speed = median(done, "tokens", "seconds") / 1e6
        mean = statistics.mean(run["cpu_seconds"] for run in done)
        print(f"  {name:12s} {mean:6.2f} CPU s {speed:8.1f} Mtok/s")
    # A run differs from the next by more than what is asked for: the mean of all, and its error.
    pairs = [b - a for a, b in zip(here, there, strict=True)]
    added, error = statistics.mean(pairs), statistics.stdev(pairs) / len(pairs) ** 0.5
    mean = statistics.mean(here)
    ratio, ratio_error = 1 + added / mean, error / mean
    per_gb, per_gb_error = added / size * 1e9, error / size * 1e9
    print(
        f"  S3 adds {per_gb:.2f} +- {per_gb_error:.2f} CPU s/GB, x {ratio:.3f} +- {ratio_error:.3f}"
        " (asked for: JSONL 0.5, Parquet x 1.05)"
    )
    return {
        "benchmark": f"tokenizing {kind}",
        "bytes": size,
        "cpu_s": {"here": mean, "S3": statistics.mean(there)},
        "added_cpu_s_per_gb": per_gb,
        "added_cpu_s_per_gb_error": per_gb_error,
        "ratio": ratio,
        "ratio_error": ratio_error,
        "runs": runs,
    }


def first_batch(rounds: int, name: str = "distinct") -> list[dict[str, object]]:
    """Seconds from a configuration to the first batch, 20 ms to the first byte of every answer."""
    texts = streams.folder(name)
    results: list[dict[str, object]] = []
    print("\nfirst batch of 16 shards, 20 ms to the first byte of every answer")
    with s3_store() as store, far_away(store.url, LATENCY) as proxy:
        for kind, folder in {"jsonl": texts, "parquet": parquet_of(texts)}.items():
            bucket = store.bucket(kind)
            upload(store, bucket, sorted(folder.glob(f"*.{kind}")))
            options = store.options_at(proxy.url)
            runs = []
            for _ in range(rounds):
                proxy.log.clear()
                runs.append(read(f"s3://{bucket}/*.{kind}", options, "first"))
                runs[-1]["requests"] = len(proxy.asked())
            first = median(runs, "first")
            print(f"  {kind:8s} {first:.3f} s (asked for: 0.5), {runs[-1]['requests']} requests")
            results.append({"benchmark": f"first batch, {kind}", "first_s": first, "runs": runs})
    return results


PARTS = {
    "ranges": ranges,
    "small ranges": small_ranges,
    "tokenizing": tokenizing,
    "first batch": first_batch,
}


def remote(rounds: int) -> list[dict[str, object]]:
    """All of it."""
    cmake = str(Path(sys.executable).with_name("cmake"))
    build = [cmake, "--build", str(corpora.ROOT / "build" / "dev"), "--target", "storage_benchmark"]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    results = []
    for name, part in PARTS.items():
        # What takes little time, or is compared with 5 %, is done more often.
        more = {"ranges": 1, "tokenizing": 6}.get(name, 3)
        results += part(more * rounds)
    return results
