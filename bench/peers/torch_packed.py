"""Peer of W2: a torch DataLoader; each of its two workers tokenizes and packs its share."""

import json
import sys
import time
from collections.abc import Iterator

import numpy as np
import torch
from tokenizers import Tokenizer

corpus, tokenizer_path = sys.argv[1:3]
tokenizer = Tokenizer.from_file(f"{tokenizer_path}/tokenizer.json")
SEQ_LENGTH, BATCH_SIZE, EOS = 2048, 8, 50256


class Packed(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """Rows packed greedily by a loop in Python."""

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        worker = torch.utils.data.get_worker_info()
        share, shares = (worker.id, worker.num_workers) if worker else (0, 1)
        ids: list[int] = []
        segments: list[int] = []
        texts: list[str] = []
        segment = 0
        with open(corpus, encoding="utf-8") as file:
            for number, line in enumerate(file):
                if number % shares != share:
                    continue
                texts.append(json.loads(line)["text"])
                if len(texts) < 256:
                    continue
                for encoding in tokenizer.encode_batch_fast(texts):
                    document = [*encoding.ids, EOS]
                    ids += document
                    segments += [segment] * len(document)
                    segment += 1
                texts.clear()
                while len(ids) >= SEQ_LENGTH:
                    row_segments = np.array(segments[:SEQ_LENGTH], np.int32)
                    yield {
                        "input_ids": np.array(ids[:SEQ_LENGTH], np.int32),
                        "segment_ids": row_segments - row_segments[0],
                    }
                    ids = ids[SEQ_LENGTH:]
                    segments = segments[SEQ_LENGTH:]


loader = torch.utils.data.DataLoader(Packed(), batch_size=BATCH_SIZE, num_workers=2, drop_last=True)
start = time.perf_counter()
tokens = 0
first = 0.0
for batch in loader:
    if tokens == 0:
        first = time.perf_counter() - start
    tokens += batch["input_ids"].numel()
print(json.dumps({"tokens": tokens, "seconds": time.perf_counter() - start, "first": first}))
