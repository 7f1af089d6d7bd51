"""Peer of the packing benchmark: a bare memmap of tokens, rows from random offsets.

It knows neither order nor documents: what the simplest trainers do.
"""

import json
import resource
import sys
import time

import numpy as np

path = sys.argv[1]
SEQ_LENGTH, ROWS = 2048, 64
data = np.memmap(path, np.int32, "r")
random = np.random.default_rng(0)
batches = len(data) // (SEQ_LENGTH * ROWS)
tokens = 0
used = resource.getrusage(resource.RUSAGE_SELF)
start = time.perf_counter()
for _ in range(batches):
    offsets = random.integers(0, len(data) - SEQ_LENGTH - 1, ROWS)
    inputs = np.stack([data[offset : offset + SEQ_LENGTH].astype(np.int64) for offset in offsets])
    targets = np.stack(
        [data[offset + 1 : offset + 1 + SEQ_LENGTH].astype(np.int64) for offset in offsets]
    )
    tokens += inputs.size
    assert targets.shape == inputs.shape
seconds = time.perf_counter() - start
now = resource.getrusage(resource.RUSAGE_SELF)
cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
print(json.dumps({"tokens": int(tokens), "seconds": seconds, "cpu_seconds": cpu}))
