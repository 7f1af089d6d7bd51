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
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from easydata.sources import JsonShardedSource, ParquetShardedSource

Row = dict[str, Any]


def make_rows(count: int) -> list[Row]:
    """Documents of about 400 characters with the columns that web corpora have."""
    choose = random.Random(0)
    words = ["".join(choose.choices("etaoinshrdlu", k=choose.randint(1, 9))) for _ in range(2000)]
    return [
        {
            "id": i,
            "text": " ".join(choose.choices(words, k=70)),
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


def python_lines(path: Path) -> Iterator[Row]:
    """A line at a time by json.loads."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def seconds(make: Callable[[], Iterator[Row]]) -> float:
    """Time of one pass that keeps no row."""
    begin = time.perf_counter()
    deque(make(), maxlen=0)
    return time.perf_counter() - begin


def main() -> None:
    """Prints rates and the ratio of the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = make_rows(options.rows)
        parquet, lines = Path(name) / "a.parquet", Path(name) / "a.jsonl"
        pq.write_table(pa.Table.from_pylist(rows), parquet, row_group_size=10_000)
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
        del rows
        runs: dict[str, Callable[[], Iterator[Row]]] = {
            "parquet, pyarrow to_pylist": lambda: pyarrow_rows(parquet),
            "parquet, easydata": lambda: iter(ParquetShardedSource(parquet)),
            "jsonl, json.loads": lambda: python_lines(lines),
            "jsonl, easydata": lambda: iter(JsonShardedSource(lines)),
        }
        times: dict[str, list[float]] = {run: [] for run in runs}
        for _ in range(options.repeat):
            for run, make in runs.items():
                times[run].append(seconds(make))
    rates = {run: options.rows / statistics.median(taken) for run, taken in times.items()}
    ratios = {
        "parquet": rates["parquet, easydata"] / rates["parquet, pyarrow to_pylist"],
        "jsonl": rates["jsonl, easydata"] / rates["jsonl, json.loads"],
    }
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
