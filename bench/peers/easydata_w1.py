"""EasyData in W1: tokenize_and_save at default settings."""

import json
import resource
import sys
import time

import easydata

corpus, tokenizer_path, output = sys.argv[1:4]
tokenizer = easydata.Tokenizer(tokenizer_path)
start = time.perf_counter()
stats = easydata.tokenize_and_save(
    corpus, tokenizer, output, output_format="parquet", max_length=1 << 30
)
seconds = time.perf_counter() - start
with open(f"{output}/metadata.json", encoding="utf-8") as file:
    metadata = json.load(file)
tokens = sum(shard["tokens"] for shard in metadata["shards"])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"tokens": tokens, "seconds": seconds, "peak_mb": peak}))
