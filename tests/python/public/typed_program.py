"""A user's program, as type checkers see it (C7): mypy checks it with the package, nobody runs it.

An ignored error that does not come is an error of mypy, too.
"""

from collections.abc import Iterator
from typing import Any, assert_type

import numpy as np
from easydata.execution.save import WriteStats
from easydata.execution.verify import VerifiedFile

import easydata
from easydata import AsyncDataLoader, DatasetConfig, Pipeline, PipelineConfig, Tokenizer


def program() -> None:
    config = PipelineConfig([DatasetConfig("a.jsonl")])
    assert_type(Pipeline.from_config(config).source().build(), Iterator[dict[str, Any]])
    pipeline = Pipeline.from_config(config).source().tokenize().pack().load()
    assert_type(pipeline, Pipeline[AsyncDataLoader])
    assert_type(pipeline.build(), AsyncDataLoader)
    assert_type(pipeline.get_stages(), list[str])
    loader = AsyncDataLoader(easydata.JsonShardedSource("a.jsonl"), batch_size=2)
    assert_type(loader, AsyncDataLoader)
    for batch in loader:
        assert_type(batch, dict[str, Any])
    assert_type(loader.state_dict(), dict[str, Any])
    assert_type(easydata.verify("out").damaged, list[VerifiedFile])
    assert_type(Tokenizer("t").encode("text"), np.ndarray[tuple[Any, ...], np.dtype[np.int32]])
    assert_type(easydata.save_dataset(easydata.JsonShardedSource("a.jsonl"), "out"), WriteStats)
    source = easydata.JsonShardedSource("a.jsonl")
    assert_type(easydata.PackedShardedSource(source, 8, 0).source, easydata.ShardedDataSource[Any])
    easydata.PackedShardedSource(source, 8)
    easydata.PackedShardedSource(source, 8, 0, seq_len=8)  # type: ignore[call-arg]
    easydata.PackedShardedSource(source, 8, 0, strategy="best")  # type: ignore[arg-type]
    easydata.GreedyPacker("8", 0)  # type: ignore[arg-type]
    easydata.SFTPreprocessTransform("t", 8, mask_prompt=1)  # type: ignore[arg-type]
    easydata.save_dataset(source, "out", overwrite=True, num_shards=2)
    easydata.save_dataset(source, "out", overwrite="yes")  # type: ignore[arg-type]
    easydata.save_dataset(source, "out", overwrit=True)  # type: ignore[call-arg]
    easydata.save_iterator([], "out", num_shards=2)  # type: ignore[call-arg]
    loader.no_such_method()  # type: ignore[attr-defined]
    Pipeline.from_config(7)  # type: ignore[arg-type]
