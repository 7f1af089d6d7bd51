"""EasyData reading files here or on a store: tokens of text, packed into batches.

Arguments: a pattern of files, storage options as JSON, a tokenizer, and the work: "all" takes every
batch, "first" ends with the first one.
"""

import json
import resource
import sys
import time

import easydata.execution.stages
import numpy as np

import easydata

pattern, options, tokenizer_path, work = sys.argv[1:5]
config = easydata.TokenizerConfig(easydata.Tokenizer(tokenizer_path), max_length=1 << 30)
datasets = [{"data_files": pattern, "storage_options": json.loads(options), "tokenizer": config}]
stages = {
    "pack": {"enabled": True, "seq_length": 2048, "shuffle_packed": False},
    "load": {"batch_size": 8, "shuffle_buffer_size": None},
}
used = resource.getrusage(resource.RUSAGE_SELF)
start = time.perf_counter()
tokens = 0
first = 0.0
pipeline = easydata.create_pipeline(datasets, **stages)
with pipeline.source().tokenize().pack().load().build() as loader:
    for batch in loader:
        first = first or time.perf_counter() - start
        tokens += int(np.size(batch["input_ids"]))
        if work == "first":
            break
    seconds = time.perf_counter() - start
    now = resource.getrusage(resource.RUSAGE_SELF)
    counts = loader.stats()["io"]
user, system = now.ru_utime - used.ru_utime, now.ru_stime - used.ru_stime
times = {"cpu_seconds": user + system, "system_seconds": system, "seconds": seconds}
print(json.dumps({"tokens": tokens, "first": first, **times, "io": counts}))
