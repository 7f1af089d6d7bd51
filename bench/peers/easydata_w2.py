"""EasyData in W2: source, tokenize, pack, load, iterated in Python."""

import json
import resource
import sys
import time

import easydata.execution.async_loader
import easydata.execution.stages
import easydata.sources
import easydata.transforms
import numpy as np

import easydata

corpus, tokenizer_path = sys.argv[1:3]
tokenizer = easydata.Tokenizer(tokenizer_path)
config = easydata.PipelineConfig(
    datasets=[
        easydata.DatasetConfig(
            data_files=corpus,
            tokenizer=easydata.TokenizerConfig(tokenizer, max_length=1 << 30),
        )
    ],
    pack=easydata.PackStageConfig(enabled=True, seq_length=2048, shuffle_packed=False),
    load=easydata.LoadStageConfig(batch_size=8),
)
tokens = 0
first = 0.0
start = time.perf_counter()
with easydata.Pipeline.from_config(config).source().tokenize().pack().load().build() as loader:
    for batch in loader:
        if tokens == 0:
            first = time.perf_counter() - start
        tokens += np.size(batch["input_ids"])
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"tokens": tokens, "seconds": seconds, "first": first, "peak_mb": peak}))
