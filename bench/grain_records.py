"""ArrayRecord files beside array_record's own reader, and whole pipelines beside Grain's.

Everybody works in this process, in alternation, on the same files, which are in memory before. CPU
seconds are those of the process; Grain reads with `num_threads=0`, where it is fastest.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpora
import grain  # type: ignore[import-untyped, unused-ignore]
import numpy as np
from array_record.python import (  # type: ignore[import-untyped, unused-ignore]
    array_record_data_source,
    array_record_module,
)
from easydata.grain_data_processing import load_array_record_dataset, preprocess_dataset
from grain.experimental import (  # type: ignore[import-untyped, unused-ignore]
    FirstFitPackIterDataset,
)

from easydata import ArrayRecordDataSource, ArrayRecordShardedSource, AsyncDataLoader, Tokenizer

LENGTH = 2048
BATCH = 8


def write(path: Path, records: list[bytes], codec: str) -> str:
    """A file of one record a group, as Grain wants it."""
    writer = array_record_module.ArrayRecordWriter(str(path), f"group_size:1,{codec}")
    for record in records:
        writer.write(record)
    writer.close()
    return str(path)


def texts(count: int) -> list[bytes]:
    """Texts of a few hundred bytes."""
    words = ["the", "of", "and", "a", "to", "in", "is", "it", "that", "was", "for", "on", "his"]
    rng = random.Random(1)
    return [" ".join(rng.choices(words, k=60)).encode() for _ in range(count)]


def tokens(count: int) -> list[bytes]:
    """Documents of 20 to 1,000 tokens of GPT-2."""
    rng = np.random.default_rng(2)
    return [
        rng.integers(0, 50000, int(rng.integers(20, 1000)), np.int32).astype("<i4").tobytes()
        for _ in range(count)
    ]


def rate(work: Callable[[], int], cpu: bool = False) -> float:
    """Units of work a second, or a CPU second."""
    clock = time.process_time if cpu else time.perf_counter
    begin = clock()
    done = work()
    return done / (clock() - begin)


def compare(
    name: str, ours: Callable[[], int], theirs: Callable[[], int], rounds: int, cpu: bool = False
) -> dict[str, Any]:
    """Runs both in alternation; the rates are medians, the ratio is that of each round's pair."""
    pairs = [(rate(ours, cpu), rate(theirs, cpu)) for _ in range(rounds)]
    return {
        "work": name,
        "easydata": statistics.median(mine for mine, _ in pairs),
        "peer": statistics.median(other for _, other in pairs),
        "ratio": statistics.median(mine / other for mine, other in pairs),
        "pairs": pairs,
    }


def reads(folder: Path, rounds: int) -> list[dict[str, Any]]:
    """Records by number, one by one and in batches, and one after the other."""
    out = []
    rng = random.Random(3)
    for count in (65_536, 250_000):
        records = texts(count)
        for codec in ("uncompressed", "zstd:3"):
            path = write(folder / f"{count}-{codec}.array_record", records, codec)
            mine = ArrayRecordDataSource(path)
            other = array_record_data_source.ArrayRecordDataSource([path])
            few = [rng.randrange(count) for _ in range(400)]
            many = [rng.randrange(count) for _ in range(40_000)]
            assert [mine[i] for i in few] == [other[i] for i in few] == [records[i] for i in few]

            def one_by_one(data: Any, which: list[int]) -> Callable[[], int]:
                def work() -> int:
                    for i in which:
                        data[i]
                    return len(which)

                return work

            def in_batches(data: Any, which: list[int]) -> Callable[[], int]:
                def work() -> int:
                    for begin in range(0, len(which), 1024):
                        data.__getitems__(which[begin : begin + 1024])
                    return len(which)

                return work

            label = f"{count // 1000} k, {codec}"
            out.append(
                compare(f"single, {label}", one_by_one(mine, many), one_by_one(other, few), rounds)
            )
            out.append(
                compare(
                    f"batches of 1,024, {label}",
                    in_batches(mine, many),
                    in_batches(other, many[:10_240]),
                    rounds,
                )
            )

            def all_of_ours(path: str = path) -> int:
                source = ArrayRecordShardedSource(path, decode="bytes")
                return sum(1 for _ in iter(source))

            def all_of_theirs(path: str = path, count: int = count) -> int:
                reader = array_record_module.ArrayRecordReader(path)
                for _ in range(count):
                    reader.read()
                reader.close()
                return count

            assert all_of_ours() == count
            out.append(compare(f"sequential, {label}", all_of_ours, all_of_theirs, rounds))
    return out


def ours(path: Path, tokenizer: Any, batches: int) -> Callable[[], int]:
    """Tokens of so many batches of packed rows."""

    def work() -> int:
        rows, _ = preprocess_dataset(
            0, 1, load_array_record_dataset(path), "text", tokenizer is not None, BATCH, LENGTH,
            True, 1, tokenizer, add_bos=False, add_eos=False, eod_token_id=50256,
            grain_packing=True, grain_packing_bin_count=64, overlong="truncate",
        )  # fmt: skip
        with AsyncDataLoader(rows, batch_size=BATCH) as loader:
            return sum(
                int(np.count_nonzero(batch["targets_segmentation"]))
                for batch, _ in zip(loader, range(batches), strict=False)
            )

    return work


def grains(path: Path, tokenizer: str | None, batches: int) -> Callable[[], int]:
    """The same with Grain's own means."""
    encode: Any = None
    if tokenizer is not None:
        from tokenizers import Tokenizer as Tokens

        encode = Tokens.from_file(str(Path(tokenizer) / "tokenizer.json"))

    def ids(record: bytes) -> dict[str, np.ndarray]:
        found = (
            np.frombuffer(record, "<i4") if encode is None
            else np.array(encode.encode(record.decode()).ids, np.int32)
        )  # fmt: skip
        found = found[:LENGTH]
        if len(found) < LENGTH:
            found = np.append(found, np.int32(50256))
        return {"targets": found, "inputs": found}

    def work() -> int:
        source = array_record_data_source.ArrayRecordDataSource(
            [str(file) for file in sorted(path.glob("*.arecord"))]
        )
        data = grain.MapDataset.source(source).seed(1).shuffle().repeat(None).map(ids)
        rows = FirstFitPackIterDataset(
            data.to_iter_dataset(grain.ReadOptions(num_threads=0)),
            length_struct={"inputs": LENGTH, "targets": LENGTH},
            num_packing_bins=64,
            shuffle_bins=True,
        ).batch(BATCH)
        return sum(
            int(np.count_nonzero(batch["targets_segment_ids"]))
            for batch, _ in zip(rows, range(batches), strict=False)
        )

    return work


def pipelines(folder: Path, rounds: int) -> list[dict[str, Any]]:
    """Documents to packed batches, tokens a CPU second."""
    out = []
    gpt2 = str(Path(corpora.gpt2()))
    for codec in ("uncompressed", "zstd:3"):
        path = folder / f"tokens-{codec}"
        path.mkdir()
        write(path / "train_0.arecord", tokens(65_536), codec)
        out.append(
            compare(
                f"tokens -> packed batches, {codec}",
                ours(path, None, 6000), grains(path, None, 40), rounds, cpu=True,
            )
        )  # fmt: skip
    for name in corpora.available():
        path = folder / name
        path.mkdir()
        corpus = corpora.corpus(name, 30)
        lines = [json.loads(line)["text"].encode() for line in corpus.read_text().splitlines()]
        write(path / "train_0.arecord", lines, "zstd:3")
        out.append(
            compare(
                f"{name} -> GPT-2 -> packed batches",
                ours(path, Tokenizer(gpt2), 2000), grains(path, gpt2, 20), rounds, cpu=True,
            )
        )  # fmt: skip
    return out


def main() -> int:
    """Prints the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="easydata-bench-") as name:
        folder = Path(name)
        results = [*reads(folder, arguments.repeat), *pipelines(folder, arguments.repeat)]
    if arguments.json:
        print(json.dumps({"works": results}))
        return 0
    for each in results:
        print(
            f"  {each['work']:44s} {each['easydata']:14,.0f}/s {each['peer']:12,.0f}/s"
            f" {each['ratio']:8.1f} x"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
