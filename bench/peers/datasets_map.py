"""Peer of W1: datasets.load_dataset, map with a batched tokenizer (its own threads), to_parquet."""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import datasets
from tokenizers import Tokenizer

corpus, tokenizer_path, output = sys.argv[1:4]
datasets.disable_progress_bars()
tokenizer = Tokenizer.from_file(f"{tokenizer_path}/tokenizer.json")


def encode(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
    """The ids of a batch of texts."""
    return {"input_ids": [e.ids for e in tokenizer.encode_batch_fast(batch["text"])]}


cache = tempfile.mkdtemp()
start = time.perf_counter()
dataset = datasets.load_dataset("json", data_files=corpus, split="train", cache_dir=cache)
encoded = dataset.map(encode, batched=True, remove_columns=["text"])
Path(output).mkdir(parents=True, exist_ok=True)
encoded.to_parquet(f"{output}/ids.parquet")
seconds = time.perf_counter() - start
tokens = sum(len(row) for row in encoded.data.column("input_ids"))
shutil.rmtree(cache)
print(json.dumps({"tokens": tokens, "seconds": seconds}))
