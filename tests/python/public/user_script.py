"""What a user's program does: the calls that the guides show, with the types they have.

mypy and pyright check it (test_typed_programs.py); nobody runs it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import easydata as ed

Row = dict[str, Any]


def clean(row: Row) -> Row:
    return {**row, "text": str(row["text"]).strip()}


def keep(row: Row) -> bool:
    return len(str(row["text"])) > 3


def length(row: Row) -> int:
    return len(str(row["text"]))


class Lines(ed.ShardedDataSource[Row]):
    """A source of the user's own."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*.txt"))

    @property
    def shard_names(self) -> list[str]:
        return [str(file) for file in self.files]

    def num_shards(self) -> int:
        return len(self.files)

    def open_shard(self, shard_name: str) -> Iterator[Row]:
        for line in Path(shard_name).read_text(encoding="utf-8").splitlines():
            yield {"text": line}

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Row]:
        for number, each in enumerate(self.open_shard(shard_name)):
            if number >= row:
                yield each


def sources(folder: Path) -> None:
    source = ed.JsonShardedSource(str(folder / "*.jsonl"))
    assert_type(source.num_shards(), int)
    for row in source.head(3):
        print(row)
    parts = source.split({"train": 0.98, "validation": 0.02}, seed=0)
    train, validation = parts["train"], parts["validation"]
    assert_type(train.shard_names, Sequence[str])
    print(validation.take(5).skip(1))
    mixed = ed.MixedShardedSource({"a": train, "b": validation}, {"a": 0.7, "b": 0.3})
    for row in mixed:
        assert_type(row, Row)
    cleaned = source.map(clean).filter(keep).shuffle("rows", 3)
    assert_type(cleaned, ed.ShardedDataSource[Row])
    assert_type(cleaned.select_fields(["text"]), ed.ShardedDataSource[Row])
    assert_type(cleaned.rename_fields({"text": "content"}), ed.ShardedDataSource[Row])
    assert_type(source.map(length), ed.ShardedDataSource[int])
    own = Lines(folder)
    for row in own:
        assert_type(row, Row)


def tokens(folder: Path) -> None:
    tokenizer = ed.Tokenizer(str(folder / "tokenizer"))
    ids = tokenizer.encode("hello")
    assert_type(ids, NDArray[np.int32])
    assert_type(tokenizer.decode(ids), str)
    assert_type(tokenizer.vocab_size, int)
    assert_type(tokenizer.eos_token_id, int | None)
    source = ed.TextShardedSource(str(folder / "*.txt"))
    options = ed.TokenizerConfig(tokenizer, max_length=128)
    tokenized = ed.TokenizedShardedSource(source, tokenizer, options)
    packed = ed.PackedShardedSource(tokenized, 128, eos_token_id=tokenizer.eos_token_id)
    with ed.AsyncDataLoader(packed, batch_size=4, num_threads=1) as loader:
        for step, batch in enumerate(loader):
            assert_type(batch, Row)
            input_ids: NDArray[np.int32] = batch["input_ids"]
            print(step, input_ids.shape)
            if step == 3:
                break
        state = loader.state_dict()
        loader.load_state_dict(state)
        loader.reset()
        assert_type(loader.stats(), dict[str, Any])
        assert_type(loader.explain(), dict[str, Any])


def pipeline(folder: Path) -> None:
    config = ed.PipelineConfig(
        datasets=[
            ed.DatasetConfig(data_files=str(folder / "a.jsonl"), name="a"),
            ed.DatasetConfig(data_files=str(folder / "b.jsonl"), name="b"),
        ],
        default_tokenizer=str(folder / "tokenizer"),
        mix=ed.MixStageConfig(weights={"a": 0.7, "b": 0.3}),
        pack=ed.PackStageConfig(enabled=True, seq_length=128, eos_token_id=1),
        load=ed.LoadStageConfig(batch_size=8),
    )
    loader = ed.Pipeline.from_config(config).source().tokenize().mix().pack().load().build()
    assert_type(loader, ed.AsyncDataLoader)
    for batch in loader:
        print(sorted(batch))
        break
    loader.close()
    for row in ed.Pipeline.from_config("pipeline.yaml").source().tokenize().build():
        assert_type(row, Row)
    saved = ed.Pipeline.from_config({"datasets": []}).source().tokenize().save().build()
    assert_type(saved, dict[str, ed.WriteStats])
    for name, stats in saved.items():
        assert_type(stats.num_examples, int)
        print(name, stats.output_paths)


def saving(folder: Path) -> None:
    source = ed.ParquetShardedSource(str(folder / "*.parquet"))
    stats = ed.save_dataset(source, str(folder / "out"), format="arrow", num_shards=2)
    assert_type(stats, ed.WriteStats)
    print(stats.num_examples, stats.num_shards, [Path(path).name for path in stats.output_paths])
    report = ed.verify(str(folder / "out"))
    assert_type([file.path for file in report.damaged], list[str])


def training(folder: Path) -> None:
    source = ed.ArrowShardedSource(str(folder / "chats.arrow"))
    sft = ed.SFTPreprocessTransform(str(folder / "tokenizer"), 512)
    dpo = ed.DPOPreprocessTransform(str(folder / "tokenizer"), 512)
    for row in source.transform(sft):
        print(len(row["input_ids"]))
        break
    mask: Iterator[Any] = iter(source.transform(dpo))
    print(next(mask))


if __name__ == "__main__":
    here = Path("data")
    for each in (sources, tokens, pipeline, saving, training):
        each(here)
