"""One run of one tokenizer engine on one text, in a process of its own.

Usage: tokenizer_engines.py ENGINE TOKENIZER_FOLDER TEXT.jsonl PASSES

Prints one JSON object: seconds of CPU time of the process, threads included, of loading, of the
first pass (cold) and of the best later one (warm), and a hash of all ids. Texts come in batches of
1,000, as from datasets' map. Before a clock starts, they are in memory as the engine likes them
best, and the library is imported and has encoded one letter; what an engine returns is turned into
integers while the clock stands still.
"""

import hashlib
import itertools
import json
import os
import struct
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

# Three steps: the texts as the engine takes them, what it makes of them (which is timed), and the
# rows of ids in that.
Engine = tuple[
    Callable[[list[str]], Any], Callable[[Any], Any], Callable[[Any], Iterable[Sequence[int]]]
]


loading: list[float] = []


def took(begin: float) -> None:
    """Notes how long loading took."""
    loading.append(time.process_time() - begin)


def easydata(file: Path) -> Engine:
    """Ours, on one thread."""
    import pyarrow as pa

    from easydata import Tokenizer

    begin = time.process_time()
    tokenizer = Tokenizer(file)
    took(begin)
    return (
        lambda texts: pa.array(texts, pa.large_string()),
        lambda column: tokenizer.encode_batch(column, add_special_tokens=False, num_threads=1),
        lambda encoded: (row.as_py() for row in encoded),
    )


def tokenizers(file: Path) -> Engine:
    """The reference, without offsets."""
    from tokenizers import Tokenizer

    begin = time.process_time()
    tokenizer = Tokenizer.from_file(str(file))
    took(begin)
    return (
        lambda texts: texts,
        lambda texts: tokenizer.encode_batch_fast(texts, add_special_tokens=False),
        lambda encoded: (row.ids for row in encoded),
    )


def gigatoken(file: Path) -> Engine:
    """gigatoken, on one thread; bytes are what it likes best."""
    import gigatoken  # type: ignore[import-not-found]

    begin = time.process_time()
    tokenizer = gigatoken.Tokenizer(file)
    took(begin)
    return (
        lambda texts: [text.encode() for text in texts],
        lambda documents: tokenizer.encode_batch(documents, parallel=False),
        lambda encoded: (row.tolist() for row in encoded),
    )


def fastokens(file: Path) -> Engine:
    """fastokens, ids in one buffer."""
    from fastokens import Tokenizer  # type: ignore[import-not-found]

    begin = time.process_time()
    tokenizer = Tokenizer.from_file(str(file))
    took(begin)

    return lambda texts: texts, tokenizer.encode_batch_flat, flat_rows


def splintr(file: Path) -> Engine:
    """splintr, ids in one buffer."""
    import splintr  # type: ignore[import-not-found]

    begin = time.process_time()
    tokenizer = splintr.from_json(str(file))
    took(begin)
    # Its fastest method adds special tokens: they are taken off again, off the clock.
    bare, whole = list(tokenizer.encode_raw("a")), list(tokenizer.encode("a"))
    before = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
    behind = len(whole) - len(bare) - before

    def rows(encoded: Any) -> Iterable[Sequence[int]]:
        return (row[before : len(row) - behind] for row in flat_rows(encoded))

    return lambda texts: texts, tokenizer.encode_batch_flat, rows


def flat_rows(encoded: tuple[bytes, bytes]) -> Iterable[Sequence[int]]:
    """Rows out of a buffer of ids and one of offsets."""
    import numpy as np

    ids = np.frombuffer(encoded[0], np.uint32)
    ends = np.frombuffer(encoded[1], np.uint64).tolist()
    return (ids[a:b].tolist() for a, b in itertools.pairwise(ends))


ENGINES = {
    "easydata": easydata,
    "tokenizers": tokenizers,
    "gigatoken": gigatoken,
    "fastokens": fastokens,
    "splintr": splintr,
}


BATCH = 1000


def one_pass(encode: Callable[[Any], Any], batches: list[Any], rows: Any) -> tuple[float, str]:
    """Seconds of CPU time of encoding all batches, and, with `rows`, a hash of the ids."""
    seconds = 0.0
    whole = hashlib.sha256()
    for batch in batches:
        begin = time.process_time()
        encoded = encode(batch)
        seconds += time.process_time() - begin
        for row in rows(encoded) if rows else ():
            whole.update(struct.pack(f"<q{len(row)}i", len(row), *row))
    return seconds, whole.hexdigest()


def main() -> None:
    """Runs one engine as the command line says."""
    engine, folder, path, passes = sys.argv[1:]
    # One core, for whatever threads there are.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with open(path, encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    prepare, encode, rows = ENGINES[engine](Path(folder) / "tokenizer.json")
    batches = [prepare(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)]
    encode(prepare(["a"]))
    cold, ids = one_pass(encode, batches, rows)
    # Hashing takes longer than encoding: the passes between go without.
    later = [one_pass(encode, batches, None)[0] for _ in range(int(passes) - 2)]
    if int(passes) > 1:
        seconds, again = one_pass(encode, batches, rows)
        later.append(seconds)
        if again != ids:
            raise SystemExit("passes over the same text gave different ids")
    result = {"load": loading[0], "cold": cold, "warm": min(later, default=cold), "ids": ids}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
