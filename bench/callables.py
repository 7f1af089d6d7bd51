"""Rows through a Python function, and on: what a stream of them makes a second.

Run by script/bench, or: PYTHONPATH=<build>/python python bench/callables.py [--rows N] [--repeat K]
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from easydata.execution.loader import AsyncDataLoader
from easydata.execution.writers import save_dataset
from easydata.sources import JsonShardedSource, ParquetShardedSource
from easydata.transforms import TokenizedShardedSource
from rows import make_rows

from easydata import ShardedDataSource, Tokenizer, TokenizerConfig

Row = dict[str, Any]
Source = ShardedDataSource[Any]


def numbered(row: Row) -> Row:
    """The row and one field more."""
    return {**row, "n": 1}


def is_good(row: Row) -> bool:
    """Whether the row is one of nine in ten."""
    return bool(row["score"] < 0.9)


def again(row: Row) -> Row:
    """The row and another field more."""
    return {**row, "m": len(row["text"])}


def without_last(row: Row) -> Row:
    """The row without its last token."""
    return {"input_ids": row["input_ids"][:-1], "id": row["id"]}


def drain(source: Source) -> None:
    """Takes all batches of a loader."""
    with AsyncDataLoader(source, 256, drop_last=False) as loader:
        for _ in loader:
            pass


def first_batch(source: Source) -> float:
    """Seconds to the first batch of 32 rows."""
    begin = time.perf_counter()
    with AsyncDataLoader(source, 32) as loader:
        next(iter(loader))
        return time.perf_counter() - begin


def slow(row: Row) -> Row:
    """A call to somewhere else: 10 ms a row."""
    time.sleep(0.01)
    return row


def works(folder: Path, tokenizer: Path | None) -> dict[str, Callable[[], None]]:
    """What is timed, by name; each takes all rows of a file once."""
    parquet = ParquetShardedSource(folder / "a.parquet")
    lines = JsonShardedSource(folder / "a.jsonl")
    tokens = ParquetShardedSource(folder / "tokens.parquet")
    saved = str(folder / "out")
    found: dict[str, Callable[[], None]] = {
        "parquet, map, loader": lambda: drain(parquet.map(numbered)),
        "jsonl, map, loader": lambda: drain(lines.map(numbered)),
        "parquet, filter, loader": lambda: drain(parquet.filter(is_good)),
        "parquet, map, select, map, loader": lambda: drain(
            parquet.map(numbered).select_fields(["id", "text", "score", "n"]).map(again)
        ),
        "lists of ints, map, loader": lambda: drain(tokens.map(without_last)),
        "parquet, map, Parquet": lambda: save_and_forget(parquet.map(numbered), saved),
    }
    if tokenizer is not None:
        encoder = Tokenizer(str(tokenizer))
        config = TokenizerConfig("given", max_length=512)
        found["parquet, map, tokens, loader"] = lambda: drain(
            TokenizedShardedSource(parquet.map(numbered), encoder, config)
        )
    return found


def save_and_forget(source: Source, path: str) -> None:
    """Writes all rows as Parquet, over what was written before."""
    save_dataset(source, path, overwrite=True)


def write_files(folder: Path, count: int) -> None:
    """Documents as Parquet and JSONL, and rows of 200 token ids."""
    rows = make_rows(count)
    pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet", row_group_size=10_000)
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tokens = [{"id": i, "input_ids": list(range(i, i + 200))} for i in range(count // 4)]
    pq.write_table(pa.Table.from_pylist(tokens), folder / "tokens.parquet", row_group_size=10_000)


def main() -> None:
    """Prints rates, and how long the first batch takes where a row takes 10 ms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tokenizer", type=Path, help="folder of one, to tokenize, too")
    parser.add_argument("--slow", type=int, default=3, help="times that a slow function is timed")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, options.rows)
        taken: dict[str, list[tuple[float, float]]] = {}
        for _ in range(options.repeat):
            for work, run in works(folder, options.tokenizer).items():
                begin = time.perf_counter(), time.process_time()
                run()
                wall, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
                taken.setdefault(work, []).append((wall, cpu))
        first = {
            kind: statistics.median(first_batch(source.map(slow)) for _ in range(options.slow))
            for kind, source in (
                ("parquet", ParquetShardedSource(folder / "a.parquet")),
                ("jsonl", JsonShardedSource(folder / "a.jsonl")),
            )
            if options.slow > 0
        }
    rows = {work: options.rows // (4 if "ints" in work else 1) for work in taken}
    rates, cpu_rates = (
        {
            work: rows[work] / statistics.median(each[i] for each in times)
            for work, times in taken.items()
        }
        for i in (0, 1)
    )
    if options.json:
        found = {"rows_per_second": rates, "rows_per_cpu_second": cpu_rates}
        print(json.dumps({**found, "first_batch_s": first}))
        return
    print(f"rows through Python functions, {options.rows} rows")
    for work, rate in rates.items():
        print(f"  {work:34} {rate:12,.0f} rows/s {cpu_rates[work]:12,.0f} rows per CPU second")
    for kind, seconds in first.items():
        print(f"  {kind}, 10 ms a row: first batch of 32 after {seconds:.2f} s (asked for: 0.7)")


if __name__ == "__main__":
    main()
