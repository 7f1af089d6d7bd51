"""EasyData in the packing benchmark: lists of tokens in an Arrow or Parquet file -> batches."""

import json
import resource
import sys
import time
from typing import Any

import easydata.execution.async_loader
import easydata.sources
import easydata.transforms
import numpy as np

import easydata

path = sys.argv[1]
strategy: Any = sys.argv[2]
source = (
    easydata.ParquetShardedSource(path)
    if path.endswith(".parquet")
    else easydata.ArrowShardedSource(path)
)
packed = easydata.PackedShardedSource(source, 2048, 2, strategy=strategy, shuffle=False)
tokens = 0
used = resource.getrusage(resource.RUSAGE_SELF)
start = time.perf_counter()
with easydata.AsyncDataLoader(packed, batch_size=64, num_threads=1) as loader:
    for batch in loader:
        tokens += int(np.size(batch["input_ids"]))
seconds = time.perf_counter() - start
now = resource.getrusage(resource.RUSAGE_SELF)
cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
print(json.dumps({"tokens": tokens, "seconds": seconds, "cpu_seconds": cpu}))
