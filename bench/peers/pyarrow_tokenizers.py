"""Peer of W1: pyarrow.json reads, tokenizers encodes in batches, pyarrow writes Parquet (zstd)."""

import json
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
from tokenizers import Tokenizer

corpus, tokenizer_path, output = sys.argv[1:4]
tokenizer = Tokenizer.from_file(f"{tokenizer_path}/tokenizer.json")
start = time.perf_counter()
tokens = 0
reader = pyarrow.json.open_json(corpus, read_options=pyarrow.json.ReadOptions(block_size=4 << 20))
schema = pa.schema([("input_ids", pa.list_(pa.int32()))])
Path(output).mkdir(parents=True, exist_ok=True)
with pq.ParquetWriter(f"{output}/ids.parquet", schema, compression="zstd") as writer:
    for batch in reader:
        encodings = tokenizer.encode_batch_fast(batch.column("text").to_pylist())
        ids = [encoding.ids for encoding in encodings]
        tokens += sum(map(len, ids))
        writer.write_batch(pa.record_batch([pa.array(ids, pa.list_(pa.int32()))], schema=schema))
print(json.dumps({"tokens": tokens, "seconds": time.perf_counter() - start}))
