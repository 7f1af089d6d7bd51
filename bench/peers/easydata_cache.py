"""Tokens read from text, made once and kept, or read from our own Arrow output.

Arguments: a file of JSONL, a tokenizer, a folder for what is kept, a folder for the Arrow output,
the way ("text", "kept", "warm" or "arrow"), and what reads: "rows" (batches of documents) or
"packed" (batches of 8 x 2048 of a loader). "save" makes the Arrow output. Prints the tokens, the
seconds, and those of the processor, of reading alone: of a pass, the first one or the mean of five.
"""

import json
import resource
import sys
import time
from typing import Any

import easydata.execution.async_loader
import easydata.sources
import easydata.transforms
import numpy as np
import pyarrow as pa

import easydata
import easydata.cache
from easydata import _native

corpus, tokenizer_path, kept, saved, way, work = sys.argv[1:7]
tokenizer = easydata.Tokenizer(tokenizer_path)
config = easydata.TokenizerConfig(tokenizer, max_length=1 << 30, return_attention_mask=False)
texts = easydata.TokenizedShardedSource(easydata.JsonShardedSource(corpus), tokenizer, config)

if way == "save":
    easydata.save_dataset(texts, saved, format="arrow")
    print(json.dumps({}))
    sys.exit()
source: easydata.ShardedDataSource[Any] = texts
if way == "arrow":
    source = easydata.ArrowShardedSource(f"{saved}/*.arrow")
elif way != "text":
    source = texts.cache(kept)


def processor_seconds() -> float:
    """Of all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def read_rows() -> int:
    """Takes the batches that the engine makes of blocks."""
    tokens = 0
    batch: pa.RecordBatch
    for batch in _native.iterate_batches(source._plan.stream()):
        ids = batch.column("input_ids")
        tokens += ids.offsets[-1].as_py() - ids.offsets[0].as_py()
    return tokens


def read_packed() -> int:
    """Takes the batches of a loader."""
    packed = easydata.PackedShardedSource(source, 2048, None, shuffle=False)
    with easydata.AsyncDataLoader(packed, 8) as loader:
        return sum(int(np.size(batch["input_ids"])) for batch in loader)


# A pass over what is kept takes some 20 ms: of one alone, starting threads is the half.
passes = 5 if way in ("warm", "arrow") else 1
source._plan.column_names()
begin, used = time.perf_counter(), processor_seconds()
for _ in range(passes):
    tokens = read_rows() if work == "rows" else read_packed()
store = getattr(source, "_store", None)
if store is not None:
    store.native.flush()
seconds = (time.perf_counter() - begin) / passes
used = (processor_seconds() - used) / passes
stats = {} if store is None else store.native.stats()
print(json.dumps({"tokens": tokens, "seconds": seconds, "cpu_seconds": used, "stats": stats}))
