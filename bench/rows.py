"""Rows of a Parquet file as dicts: EasyData beside pyarrow's to_pylist, in alternation.

Run by script/bench, or: PYTHONPATH=<build>/python python bench/rows.py [--rows N] [--repeat K]
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from easydata.sources import JsonShardedSource, ParquetShardedSource

Row = dict[str, Any]


def make_rows(count: int, words_each: int = 70) -> list[Row]:
    """Documents of 70 words (about 400 characters) with the columns that web corpora have."""
    choose = random.Random(0)
    words = ["".join(choose.choices("etaoinshrdlu", k=choose.randint(1, 9))) for _ in range(2000)]
    return [
        {
            "id": i,
            "text": " ".join(choose.choices(words, k=words_each)),
            "url": f"https://example.org/{choose.random()}",
            "language": choose.choice(["en", "de", "fr"]),
            "score": choose.random(),
        }
        for i in range(count)
    ]


def pyarrow_rows(path: Path) -> Iterator[Row]:
    """Row group by row group, as one would with pyarrow alone."""
    for batch in pq.ParquetFile(path).iter_batches():
        yield from batch.to_pylist()


def pyarrow_table(path: Path) -> Iterator[Row]:
    """The whole file at once, decoded by as many threads as there are cores."""
    yield from pq.read_table(path).to_pylist()


def python_lines(path: Path) -> Iterator[Row]:
    """A line at a time by json.loads."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


class Taken(NamedTuple):
    """Seconds of one pass: by the clock, of all threads, of the thread that gets the rows."""

    wall: float
    cpu: float
    thread: float


def seconds(make: Callable[[], Iterator[Row]]) -> Taken:
    """Times of one pass that keeps no row."""
    begin = time.perf_counter(), time.process_time(), time.thread_time()
    deque(make(), maxlen=0)
    end = time.perf_counter(), time.process_time(), time.thread_time()
    return Taken(*(b - a for a, b in zip(begin, end, strict=True)))


def main() -> None:
    """Prints rates and the ratio of the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--words", type=int, default=70, help="words of a document's text")
    parser.add_argument("--compression", default="snappy", help="of the Parquet file")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = make_rows(options.rows, options.words)
        parquet, lines = Path(name) / "a.parquet", Path(name) / "a.jsonl"
        table = pa.Table.from_pylist(rows)
        pq.write_table(table, parquet, row_group_size=10_000, compression=options.compression)
        del table
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
        del rows
        runs: dict[str, Callable[[], Iterator[Row]]] = {
            "parquet, pyarrow batches": lambda: pyarrow_rows(parquet),
            "parquet, pyarrow table": lambda: pyarrow_table(parquet),
            "parquet, easydata": lambda: iter(ParquetShardedSource(parquet)),
            "jsonl, json.loads": lambda: python_lines(lines),
            "jsonl, easydata": lambda: iter(JsonShardedSource(lines)),
        }
        taken: dict[str, list[Taken]] = {run: [] for run in runs}
        for _ in range(options.repeat):
            for run, make in runs.items():
                taken[run].append(seconds(make))
    medians = {
        run: Taken(*(statistics.median(times) for times in zip(*passes, strict=True)))
        for run, passes in taken.items()
    }
    rates = {run: options.rows / median.wall for run, median in medians.items()}
    peers = {
        "parquet": ("parquet, pyarrow batches", "parquet, pyarrow table"),
        "jsonl": ("jsonl, json.loads",),
    }
    ratios: dict[str, float] = {}
    for kind, names in peers.items():
        own = medians[f"{kind}, easydata"]
        best = Taken(*(min(times) for times in zip(*(medians[n] for n in names), strict=True)))
        ratios[kind] = best.wall / own.wall
        ratios[f"{kind}, CPU of all threads"] = best.cpu / own.cpu
        ratios[f"{kind}, CPU of the consumer's thread"] = best.thread / own.thread
    if options.json:
        print(json.dumps({"rows_per_second": rates, "ratios": ratios, "pyarrow": pa.__version__}))
        return
    print(f"rows to dicts, {options.rows} rows, pyarrow {pa.__version__}")
    for run, rate in rates.items():
        print(f"  {run:30} {rate:12,.0f} rows/s")
    for kind, ratio in ratios.items():
        print(f"  {kind}: {ratio:.1f} x")


if __name__ == "__main__":
    main()
