"""Exceptions of callables: they are errors at their row, and never the end of a stream."""

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from easydata.core.config import DatasetConfig, TokenizerConfig
from easydata.execution.loader import AsyncDataLoader
from easydata.execution.save import save_dataset
from easydata.sources import JsonShardedSource, wrap_hf_dataset
from easydata.transforms import (
    AddField,
    ChainedTransform,
    CombineFields,
    ConvertToChatML,
    ExpandTransform,
    FilterByField,
    MapField,
    Transform,
)
from small_data import Rows, jsonl
from small_tokenizer import text_of

from easydata import ShardedDataSource, create_pipeline

BAD = 3000
ROWS: Rows = [{"n": i, "text": f"row {i}", "input_ids": [i]} for i in range(5000)]


def stops(value: Any) -> Any:
    """Raises StopIteration for row 3,000, as ``next(iter([]))`` does."""
    number = value["n"] if isinstance(value, dict) else value
    return next(iter([])) if number == BAD else value


class Mapped(Transform):
    def __call__(self, example: dict[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = stops(example)
        return row


class Expanded(ExpandTransform):
    def __call__(self, example: dict[str, Any]) -> Iterator[dict[str, Any]]:
        return iter([stops(example)])


Source = ShardedDataSource[Any]
WAYS: dict[str, Callable[[Source], Source]] = {
    "map": lambda source: source.map(stops),
    "two maps": lambda source: source.map(dict).map(stops),
    "filter": lambda source: source.filter(lambda row: stops(row) is row),
    "transform": lambda source: source.transform(Mapped()),
    "expand": lambda source: source.transform(Expanded()),
    "chain": lambda source: source.transform(ChainedTransform([dict, Mapped()])),
    "field": lambda source: source.transform(MapField("n", stops)),
    "by field": lambda source: source.transform(FilterByField("n", lambda n: stops(n) >= 0)),
    "added": lambda source: source.transform(AddField("m", stops)),
    "combined": lambda source: source.transform(
        CombineFields(["n"], "m", combiner=lambda values: stops(values[0]))
    ),
}


def rows_of(source: Source, folder: Path) -> None:
    for row in source:
        assert row["n"] < BAD


def batches_of(source: Source, folder: Path) -> None:
    with AsyncDataLoader(source, batch_size=100) as loader:
        for batch in loader:
            assert batch["n"].max() < BAD


def saved(source: Source, folder: Path) -> None:
    save_dataset(source, str(folder / "out"))


def at_shard(source: Source, folder: Path) -> None:
    list(source.open_shard_at_row(source.shard_names[0], 100))


@pytest.mark.parametrize("kind", ["jsonl", "memory"])
@pytest.mark.parametrize("read", [rows_of, batches_of, saved, at_shard])
@pytest.mark.parametrize("way", WAYS)
def test_stop_iteration_is_an_error_at_its_row(
    tmp_path: Path, way: str, read: Callable[[Source, Path], None], kind: str
) -> None:  # A5
    source: Source = wrap_hf_dataset(ROWS)
    if kind == "jsonl":
        source = JsonShardedSource(jsonl(str(tmp_path / "a.jsonl"), ROWS))
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        read(WAYS[way](source), tmp_path)
    assert isinstance(caught.value.__cause__, StopIteration)
    assert any(f"row {BAD}" in note for note in caught.value.__notes__)
    assert not any((tmp_path / "out").glob("*.parquet"))


class Stopping(ShardedDataSource[dict[str, Any]]):
    """A source whose second shard cannot be opened, or fails in its middle."""

    def __init__(self, at_open: bool) -> None:
        self.at_open = at_open

    @property
    def shard_names(self) -> Sequence[str]:
        return ["good", "bad"]

    def num_shards(self) -> int:
        return 2

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        if shard_name == "bad" and self.at_open:
            return next(iter([]))  # type: ignore[no-any-return]
        return self.rows(shard_name)

    def rows(self, shard_name: str) -> Iterator[dict[str, Any]]:
        yield {"n": 1}
        yield next(iter([])) if shard_name == "bad" else {"n": 2}


@pytest.mark.parametrize("at_open", [True, False])
@pytest.mark.parametrize("read", [rows_of, batches_of, saved])
def test_stop_iteration_of_a_source(
    tmp_path: Path, read: Callable[[Source, Path], None], at_open: bool
) -> None:  # A5
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        read(Stopping(at_open), tmp_path)
    if read is not rows_of:
        assert caught.value.__notes__ == [f"at bad row {0 if at_open else 1}"]


def test_stop_iteration_of_a_format_callback(tmp_path: Path, tiny: str) -> None:  # A5
    data = jsonl(str(tmp_path / "a.jsonl"), ROWS)
    dataset = DatasetConfig(data, tokenizer=tiny, format_callback=stops)
    pipeline = create_pipeline([dataset]).source().tokenize()
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        list(pipeline.build())
    assert any(f"a.jsonl row {BAD}" in note for note in caught.value.__notes__)


def test_exception_of_a_source_names_its_row(tmp_path: Path) -> None:  # C1
    class Broken(Stopping):
        def rows(self, shard_name: str) -> Iterator[dict[str, Any]]:
            yield {"n": 1}
            raise KeyError("gone")

    with pytest.raises(KeyError, match="gone") as caught, AsyncDataLoader(Broken(False)) as loader:
        next(iter(loader))
    assert caught.value.__notes__ == ["at good row 1"]


def test_exception_names_the_row_where_rows_are_iterated(tmp_path: Path) -> None:  # C1
    source = JsonShardedSource(jsonl(str(tmp_path / "a.jsonl"), ROWS))

    def fails(row: dict[str, Any]) -> dict[str, Any]:
        return {"n": 1 / (row["n"] - 7)}

    for made in (source.map(fails), source.transform(fails)):
        with pytest.raises(ZeroDivisionError) as caught:
            list(made)
        assert [note.endswith("a.jsonl row 7") for note in caught.value.__notes__] == [True]


def relabelled(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {**row, name: row["body"]}


class Shouts:
    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "text": row["body"].upper()}


@pytest.mark.parametrize(
    ("callback", "expected"),
    [(functools.partial(relabelled, name="text"), "ab"), (Shouts(), "AB")],
    ids=["partial", "object"],
)
def test_format_callback_takes_callable_objects(
    tmp_path: Path, tiny: str, callback: Any, expected: str
) -> None:  # C2
    data = jsonl(str(tmp_path / "a.jsonl"), [{"body": "ab"}])
    dataset = DatasetConfig(data, tokenizer=TokenizerConfig(tiny), format_callback=callback)
    (row,) = create_pipeline([dataset]).source().tokenize().build()
    assert text_of(row["input_ids"]) == expected


def test_a_chat_conversion_is_a_format_callback(tmp_path: Path, tiny: str) -> None:  # C2
    turns = [{"from": "human", "value": "ab"}, {"from": "gpt", "value": "cd"}]
    data = jsonl(str(tmp_path / "a.jsonl"), [{"conversations": turns}])
    dataset = DatasetConfig(data, tokenizer=tiny, format_callback=ConvertToChatML())
    (row,) = create_pipeline([dataset]).source().tokenize().build()
    assert text_of(row["input_ids"]).endswith("</s><user>ab</s><assistant>cd</s>")
