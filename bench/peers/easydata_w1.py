"""EasyData in W1: a pipeline that reads, tokenizes and saves ids, as the peers do (no masks)."""

import json
import resource
import sys
import time

import easydata.execution.stages
import easydata.sources
import easydata.transforms

import easydata

corpus, tokenizer_path, output = sys.argv[1:4]
tokenizer = easydata.Tokenizer(tokenizer_path)
config = easydata.PipelineConfig(
    datasets=[
        easydata.DatasetConfig(
            data_files=corpus,
            tokenizer=easydata.TokenizerConfig(
                tokenizer, max_length=1 << 30, return_attention_mask=False
            ),
        )
    ],
    save=easydata.SaveStageConfig(enabled=True, output_dir=output),
)
start = time.perf_counter()
easydata.Pipeline.from_config(config).source().tokenize().save().build()
seconds = time.perf_counter() - start
with open(f"{output}/.metadata.json", encoding="utf-8") as file:
    metadata = json.load(file)
tokens = sum(shard["tokens"] for shard in metadata["shards"])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"tokens": tokens, "seconds": seconds, "peak_mb": peak}))
