"""Streams of sources as Python opens them: columns and shards that are asked for, their types."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.transforms import (
    ExpandTransform,
    LimitedShardedSource,
    MapTransform,
    Transform,
    TransformedShardedSource,
)
from python_rows import Rows

from easydata import (
    CompositeShardedSource,
    HFDatasetShardedSource,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    _native,
)


def lines(path: Path, rows: list[dict[str, Any]]) -> JsonShardedSource:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return JsonShardedSource(str(path))


class Words(ExpandTransform):
    def __call__(self, example: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for index, word in enumerate(example["text"].split()):
            yield {"word": word, "index": index}


def test_columns_and_shards_that_are_asked_for() -> None:
    first, second = [{"k": i, "s": "a"} for i in range(3)], [{"k": -i, "s": "b"} for i in range(4)]
    source = CompositeShardedSource([HFDatasetShardedSource(first), HFDatasetShardedSource(second)])
    backwards = source.shard_names[::-1]
    assert list(_native.iterate_rows(source._stream(shards=backwards))) == second + first
    chosen = _native.iterate_rows(source._stream({"k": "any"}, source.shard_names[:1]))
    assert list(chosen) == [{"k": i} for i in range(3)]


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_list([{"i": i, "t": f"x{i}"} for i in range(2400)])
    source = HFDatasetShardedSource(dataset.shuffle(seed=3))
    (batch, *_) = _native.iterate_batches(source._stream({"t": "text"}))
    assert batch.schema.names == ["t"]
    assert batch.num_rows == 1024
    with pytest.raises(KeyError, match='no column "tt"; did you mean t'):
        list(_native.iterate_batches(source._stream({"tt": "text"})))
    pq.write_table(pa.table({"i": [1], "t": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(KeyError, match="not among the columns"):
        ParquetShardedSource(tmp_path / "a.parquet", columns=["t"])._stream({"i": "any"})


def test_a_limit_counts_rows_of_the_shards_before(tmp_path: Path) -> None:
    for shard, rows in enumerate((5, 3, 4)):
        lines(tmp_path / f"{shard}.jsonl", [{"s": shard, "i": i} for i in range(rows)])
    for limit in range(14):
        limited = LimitedShardedSource(JsonShardedSource(str(tmp_path / "*.jsonl")), limit)
        names = limited.shard_names
        by_shard = [list(limited.open_shard(name)) for name in names]
        for name, rows in zip(names, by_shard, strict=True):
            assert list(_native.iterate_rows(limited._stream(None, [name]))) == rows
        stream = limited._stream({"i": "any", "s": "any"}, [names[2], names[0]])
        assert list(_native.iterate_rows(stream)) == by_shard[2] + by_shard[0]


def test_columns_that_one_source_lacks_are_null() -> None:
    left = Rows([{"i": i, "note": "left"} for i in range(20)])
    right = Rows([{"i": i} for i in range(20)])
    mixed = MixedShardedSource({"l": left, "r": right}, block_size=4)
    stream = mixed._stream({"i": "any", "note": "text"})
    for row in itertools.islice(_native.iterate_rows(stream), 20):
        assert row["note"] in ("left", None)
        assert "__source__" not in row


def test_rows_with_and_without_a_schema_mix(tmp_path: Path) -> None:
    rows = [{"text": f"line {i}", "n": i, "meta": {"x": [i, None]}} for i in range(9)]
    table = pa.table({"text": [f"row {i}" for i in range(9)], "n": pa.array(range(9), pa.int32())})
    pq.write_table(table, tmp_path / "b.parquet")
    mixed = MixedShardedSource(
        {
            "lines": lines(tmp_path / "a.jsonl", rows),
            "table": ParquetShardedSource(str(tmp_path / "b.parquet")),
        },
        block_size=4,
        stop_strategy="first_exhausted",
    )
    rows = list(mixed)
    assert {row["__source__"] for row in rows} == {"lines", "table"}
    assert list(_native.iterate_rows(mixed._stream())) == rows
    asked = {"n": "any", "meta": "any", "text": "text"}
    expected = [{name: row[name] for name in asked if name in row} for row in rows]
    assert list(_native.iterate_rows(mixed._stream(asked))) == expected


def test_types_in_the_stream(gpt2: str, tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", [{"text": "a b", "n": 1}])
    config = TokenizerConfig(gpt2)
    tokenized = TokenizedShardedSource(source, Tokenizer(gpt2), config, additional_fields=["n"])
    (batch,) = _native.iterate_batches(tokenized._stream())
    assert batch.schema.names == ["input_ids", "attention_mask", "n"]
    assert batch.schema.field("input_ids").type == pa.list_(pa.int32())
    assert batch.schema.field("attention_mask").type == pa.list_(pa.int32())
    (batch,) = _native.iterate_batches(tokenized._stream({"input_ids": "tokens"}))
    assert batch.schema.names == ["input_ids"]


def test_a_source_without_tokens_says_which_column_is_missing() -> None:
    class Table(Rows):
        @property
        def _plan(self) -> Any:
            table = pa.table({"text": ["a"]})
            rows = _native.python_rows(
                lambda shard, row: table.to_batches(), lambda: ["t"], "Table", schema=table.schema
            )
            return _native.made_rows(rows.stream())

    with pytest.raises(KeyError, match=r'no column \\?"input_ids\\?" to pack'):
        list(PackedShardedSource(Table([]), 8, 0))


def test_what_comes_behind_knows_the_part(tmp_path: Path) -> None:
    def fail(row: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("no")

    source = lines(tmp_path / "a.jsonl", [{"text": ""}, {"text": "a b c"}])
    rows = TransformedShardedSource(source, Words())
    late = MapTransform(lambda row: row if row["index"] < 2 else fail(row))
    # Two streams, so that the second sees addresses made by the first.
    first = _native.made_rows(rows._stream())
    stream = _native.transformed_rows(first, [late._plan_step()]).stream()
    with pytest.raises(ValueError, match="no") as error:
        list(_native.iterate_rows(stream))
    assert any("row 1 (part 2)" in note for note in error.value.__notes__)


class Same(Transform):
    """Gives rows as they are."""

    def __call__(self, example: dict[str, Any]) -> dict[str, Any]:
        return example

    def __repr__(self) -> str:
        return "Same()"


def test_a_stream_says_whether_it_can_be_recognised_elsewhere() -> None:
    source = HFDatasetShardedSource([{"name": "a", "input_ids": [1, 2, 3]} for _ in range(3)])
    offset = 1

    def closure(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "offset": offset}

    assert source.map(dict)._stream().has_identity
    assert source.map(json.dumps)._stream().has_identity
    assert not source.map(lambda row: row, version="1")._stream().has_identity
    assert not source.map(closure)._stream().has_identity
    assert not source.transform(Same())._stream().has_identity
    assert not source.filter(lambda row: True).select_fields(["name"])._stream().has_identity


def test_a_stream_names_its_operators_in_order() -> None:
    source = HFDatasetShardedSource([{"input_ids": [1, 2, 3]} for _ in range(3)])
    first = PackedShardedSource(LimitedShardedSource(source, 2), 8, 9)._stream().description
    then = LimitedShardedSource(PackedShardedSource(source, 8, 9), 2)._stream().description
    assert first["plan"] == ["source", "limit", "pack", "pack.shuffle"]
    assert then["plan"] == ["source", "pack", "pack.shuffle", "limit"]


def test_a_stream_names_its_tokenizer_by_content(own_tokenizers: Path, tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", [{"text": "a"}])
    config = TokenizerConfig(name_or_path="not looked at")
    gpt2, qwen = (Tokenizer(own_tokenizers / name) for name in ("byte-level", "split"))
    one = TokenizedShardedSource(source, gpt2, config)._stream().description
    other = TokenizedShardedSource(source, qwen, config)._stream().description
    assert one["tokenize.tokenizer"] == gpt2.fingerprint
    assert {key for key in one if one[key] != other[key]} == {"tokenize.tokenizer"}
