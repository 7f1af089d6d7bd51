"""EasyData in `examples`: rows of a file -> examples of layout "trl", on two threads.

Arguments: a file of rows (Arrow or JSONL), a tokenizer, "sft" or "dpo", a template (its file, or ""
for the tokenizer's own), the work, and the folder that is written to. Works: "write" (into Arrow
files, as TRL's trainers do) and "load" (into padded batches of 16 rows, nothing is written). The
time begins after imports, with the tokenizer loaded; making the transform is in it: its template is
compiled, and held against Jinja2's texts.
"""

import hashlib
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import easydata.execution.async_loader
import easydata.execution.writers
import easydata.sources
import easydata.transforms.trainer_examples
import jinja2.ext
import jinja2.sandbox  # noqa: F401  (these two would be imported for the first template)
import numpy as np
import pyarrow as pa

import easydata

COLUMNS = {"sft": ("input_ids", "labels"), "dpo": ("prompt_ids", "chosen_ids", "rejected_ids")}
THREADS = 2


def examples(
    corpus: Path, tokenizer: easydata.Tokenizer, kind: str, template: str
) -> easydata.ShardedDataSource[Any]:
    """The examples of a file."""
    lines = corpus.suffix == ".jsonl"
    source = (easydata.JsonShardedSource if lines else easydata.ArrowShardedSource)(str(corpus))
    if kind == "sft":
        made: Any = easydata.SFTPreprocessTransform(
            tokenizer, 1024, layout="trl", chat_template=template or None
        )
    else:
        made = easydata.DPOPreprocessTransform(
            tokenizer, max_length=1024, layout="trl", chat_template=template or None
        )
    return source.transform(made)


def read(paths: list[str]) -> pa.Table:
    """Arrow files as one table."""
    tables = []
    for path in paths:
        with pa.OSFile(path) as file:
            tables.append(pa.ipc.open_file(file).read_all())
    return pa.concat_tables(tables)


def digest(table: pa.Table, kind: str) -> str:
    """Of all ids of all rows."""
    found = hashlib.sha256()
    for column in COLUMNS[kind]:
        lists = table.column(column).combine_chunks()
        found.update(np.diff(lists.offsets.to_numpy()).astype(np.int64).tobytes())
        found.update(lists.flatten().to_numpy().astype(np.int64).tobytes())
    return found.hexdigest()[:16]


def main() -> None:
    """Prints the result of one run."""
    name, tokenizer_path, kind, template, work, output = sys.argv[1:7]
    corpus = Path(name)
    tokenizer = easydata.Tokenizer(tokenizer_path)
    result: dict[str, object] = {}
    used = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    source = examples(corpus, tokenizer, kind, template)
    source._stream()  # makes what is then kept: the template's program
    result["setup_seconds"] = time.perf_counter() - start
    if work == "write":
        written = easydata.ArrowWriter(output, num_threads=THREADS).write(source)
        result["kept"] = written.num_examples
    else:
        kept = 0
        with easydata.AsyncDataLoader(source, 16, num_threads=THREADS, drop_last=False) as loader:
            for batch in loader:
                kept += len(batch[COLUMNS[kind][0]])
        result["kept"] = kept
    result["seconds"] = time.perf_counter() - start
    now = resource.getrusage(resource.RUSAGE_SELF)
    result["cpu_seconds"] = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    result["peak_mb"] = now.ru_maxrss / 1024
    if work == "write":
        table = read(written.output_paths)
        result["digest"] = digest(table, kind)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
