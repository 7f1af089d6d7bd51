"""What goes to another process goes there whole, or says what to send instead (B13)."""

import copy
import json
import multiprocessing
import pickle
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from easydata.sources import HFDatasetShardedSource, JsonShardedSource
from small_tokenizer import small_tokenizer

from easydata import (
    AsyncDataLoader,
    DatasetConfig,
    MixedShardedSource,
    PackedShardedSource,
    Pipeline,
    PipelineConfig,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
)


def upper(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "text": row["text"].upper()}


def lines(folder: Path) -> JsonShardedSource:
    path = folder / "a.jsonl"
    if not path.exists():
        path.write_text("".join(json.dumps({"text": f"row {i}"}) + "\n" for i in range(60)))
    return JsonShardedSource(path)


def tokenized(folder: Path) -> TokenizedShardedSource:
    tokenizer = small_tokenizer(folder / "tokenizer")
    return TokenizedShardedSource(
        lines(folder), Tokenizer(tokenizer), TokenizerConfig(tokenizer), format_callback=upper
    )


SOURCES: dict[str, Callable[[Path], Any]] = {
    "files": lines,
    "rows": lambda folder: HFDatasetShardedSource([{"text": "a"}, {"text": "b"}]),
    "mapped": lambda folder: lines(folder).map(upper),
    "shuffled": lambda folder: lines(folder).shuffle("rows", 3),
    "tokenized": tokenized,
    "packed": lambda folder: PackedShardedSource(tokenized(folder), 16),
    "mixed": lambda folder: MixedShardedSource([lines(folder), lines(folder).map(upper)]),
}


def head(source: Any) -> str:
    return str(list(islice(source.iter_shards(), 50)))


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
@pytest.mark.parametrize("kind", SOURCES)
def test_sources_give_the_same_rows(kind: str, again: Callable[[Any], Any], tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    assert head(again(source)) == head(source) != "[]"


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_tokenizers_configs_and_pipelines(again: Callable[[Any], Any], tmp_path: Path) -> None:
    tokenizer = Tokenizer(small_tokenizer(tmp_path / "tokenizer"))
    assert again(tokenizer).encode("some text").tolist() == tokenizer.encode("some text").tolist()
    lines(tmp_path)
    config = PipelineConfig([DatasetConfig(str(tmp_path / "a.jsonl"))])
    assert again(config) == config
    built = again(Pipeline.from_config(config).source()).build()
    assert str(list(islice(built, 50))) == head(lines(tmp_path))


@pytest.mark.parametrize("again", [pickle.dumps, copy.copy, copy.deepcopy])
def test_loaders_say_what_to_send_instead(again: Callable[[Any], Any], tmp_path: Path) -> None:
    with AsyncDataLoader(PackedShardedSource(tokenized(tmp_path), 16), 2) as loader:
        batches = iter(loader)
        next(batches)  # busy
        for thing, name in ((loader, "a loader"), (batches, "an iterator of a loader")):
            with pytest.raises(TypeError, match=rf"{name} cannot be pickled.*state_dict\(\)"):
                again(thing)
        assert len(list(batches)) > 5
    with pytest.raises(TypeError, match=r"a decode stream cannot be pickled.*keep the ids"):
        again(Tokenizer(small_tokenizer(tmp_path / "tokenizer")).decode_stream())


def _rest(source: Any, state: dict[str, Any]) -> str:
    with AsyncDataLoader(source, 2) as loader:
        loader.load_state_dict(state)
        return str([batch["input_ids"].tolist() for batch in loader])


def test_another_process_goes_on(tmp_path: Path) -> None:
    source = PackedShardedSource(tokenized(tmp_path), 16)
    with AsyncDataLoader(source, 2) as loader:
        batches = iter(loader)
        list(islice(batches, 4))
        state = loader.state_dict()
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # while the loader is busy
            there = pool.apply(_rest, (source, state))
        assert there == str([batch["input_ids"].tolist() for batch in batches])
