"""What is done to a source: by itself, by its inputs, or by a source around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import pytest
from easydata.sources.limited import LimitedShardedSource
from easydata.sources.of_tokenizer import OfTokenizerSource
from easydata.sources.sharded_source import PartShardedSource, Rewrite, Selection, Shuffle
from small_data import jsonl

import easydata
from easydata import JsonShardedSource, ShardedDataSource, wrap_hf_dataset

Row = dict[str, Any]
ROWS = [{"n": n} for n in range(20)]


class Doubled(ShardedDataSource[Row]):
    """A source of a user's own: each number twice as large."""

    def __init__(self, source: ShardedDataSource[Row], passes_on: Sequence[str] = ()) -> None:
        self._inputs = (source,)
        self._passes_on = passes_on

    @property
    def shard_names(self) -> Sequence[str]:
        return self._inputs[0].shard_names

    def num_shards(self) -> int:
        return self._inputs[0].num_shards()

    def open_shard(self, shard_name: str) -> Iterator[Row]:
        for row in self._inputs[0].open_shard(shard_name):
            yield {"n": 2 * row["n"]}


def numbers(source: ShardedDataSource[Any]) -> list[int]:
    return [row["n"] for row in source]


def test_a_source_of_a_users_own_passes_on_what_it_names() -> None:
    data = wrap_hf_dataset(ROWS)
    parts = Doubled(data, ["split"]).split({"a": 0.5, "b": 0.5})
    assert {type(part) for part in parts.values()} == {Doubled}
    assert sorted(n for part in parts.values() for n in numbers(part)) == list(range(0, 40, 2))
    assert [2 * n for n in numbers(data.split({"a": 0.5, "b": 0.5})["a"])] == numbers(parts["a"])
    by_field = Doubled(data, ["split"]).split({"a": 0.5, "b": 0.5}, by="n")
    assert {type(part) for part in by_field.values()} == {PartShardedSource}
    chosen = Doubled(data, ["select"]).select([-1, 3])
    assert isinstance(chosen, Doubled)
    assert numbers(chosen) == [38, 6]
    kept = Doubled(data, ["cache"]).cache()
    assert isinstance(kept, Doubled)
    assert type(kept._inputs[0]).__name__ == "CachedShardedSource"


def test_what_it_does_not_name_is_done_around_it() -> None:
    source = Doubled(wrap_hf_dataset(ROWS))
    assert type(source.shuffle("rows")).__name__ == "ShuffledShardedSource"
    assert type(source.split({"a": 0.5, "b": 0.5})["a"]) is PartShardedSource
    with pytest.raises(TypeError, match="Doubled does not read rows one by one, which select"):
        source.select([0])


def test_a_source_may_answer_itself() -> None:
    class Backwards(Doubled):
        def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Row] | None:
            if isinstance(rewrite, Shuffle):
                return wrap_hf_dataset(list(self)[::-1])
            if isinstance(rewrite, Selection):
                raise rewrite.refused("it goes backwards")
            return None

    source = Backwards(wrap_hf_dataset(ROWS), ["shuffle", "split"])
    assert numbers(source.shuffle())[:2] == [38, 36]
    with pytest.raises(TypeError, match=r"it goes backwards, which select\(\) and source\[i\]"):
        source[0]
    assert isinstance(source.split({"a": 0.5, "b": 0.5})["a"], Backwards)


def test_a_rewrite_that_changes_no_input_leaves_the_source(tmp_path: Path) -> None:
    files = JsonShardedSource(jsonl(str(tmp_path / "a.jsonl"), ROWS))
    source = files.map(dict).filter(bool)
    assert easydata.sources.sharded_source.TemplateDate("2024-01-01").of(source) is source


def test_slices_count_from_the_end_of_rows_that_are_counted(tmp_path: Path) -> None:
    files = JsonShardedSource(jsonl(str(tmp_path / "a.jsonl"), ROWS))
    limited = LimitedShardedSource(files, 15)
    assert numbers(limited[-3:]) == [12, 13, 14]
    with pytest.raises(TypeError, match="does not read rows one by one"):
        limited.select([0])
    with pytest.raises(TypeError, match="may drop or add rows"):
        files.filter(bool)[-3:]


def test_rows_of_a_tokenizer_are_the_rows_below(tmp_path: Path) -> None:
    data = wrap_hf_dataset([{"input_ids": [n]} for n in range(5)])
    source = OfTokenizerSource(data, None, "tokens")  # type: ignore[arg-type]
    chosen = source.select([4, 0])
    assert [row["input_ids"] for row in chosen] == [[4], [0]]


def test_what_is_at_hand_is_known_to_plans(tmp_path: Path) -> None:
    data = wrap_hf_dataset(ROWS)
    files = JsonShardedSource(jsonl(str(tmp_path / "a.jsonl"), ROWS))
    streaming = wrap_hf_dataset(datasets.Dataset.from_list(ROWS).to_iterable_dataset())
    at_hand = {
        "rows": data,
        "some": data.take(3),
        "kept": data.cache(str(tmp_path / "kept")),
    }
    elsewhere = {"files": files, "some": files.take(3), "stream": streaming, "own": Doubled(data)}
    assert {name: each._plan.is_at_hand for name, each in at_hand.items()} == dict.fromkeys(
        at_hand, True
    )
    assert {name: each._plan.is_at_hand for name, each in elsewhere.items()} == dict.fromkeys(
        elsewhere, False
    )
