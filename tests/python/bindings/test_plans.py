"""What plans answer without making a stage, and that it is what their streams do."""

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.transforms import (
    AddField,
    DropFields,
    FilterByField,
    FilterNonEmpty,
    LimitedShardedSource,
    MapField,
    RenameFields,
    SelectFields,
)
from python_rows import Rows
from small_tokenizer import small_tokenizer
from thread_count import threads

from easydata import (
    CompositeShardedSource,
    HFDatasetShardedSource,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    _native,
)

ROWS = [{"text": f"row {n}", "n": n, "ids": [n, n + 1]} for n in range(7)]


def kinds(folder: Path) -> dict[str, ShardedDataSource[Any]]:
    (folder / "a.jsonl").write_text("".join(f'{{"text": "row {n}", "n": {n}}}\n' for n in range(7)))
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "a.parquet")
    lines: ShardedDataSource[Any] = JsonShardedSource(folder / "a.jsonl")
    table: ShardedDataSource[Any] = ParquetShardedSource(folder / "a.parquet")
    narrow = ParquetShardedSource(folder / "a.parquet", columns=["n", "text"])
    tokenizer = Tokenizer(small_tokenizer(folder / "tokenizer"))
    config = TokenizerConfig("")
    tokens = TokenizedShardedSource(lines, tokenizer, config)
    renamed = RenameFields({"text": "name"}) >> SelectFields(["name", "n"])
    return {
        "lines": lines,
        "table": table,
        "narrow": narrow,
        "rows": Rows(ROWS),
        "memory": HFDatasetShardedSource(ROWS),
        "mapped": table.map(dict),
        "renamed": table.transform(renamed),
        "renamed lines": lines.transform(renamed),
        "added": table.transform(AddField("one", 1) >> DropFields(["text"])),
        "filtered": table.transform(FilterNonEmpty(["text"])),
        "tested": table.transform(FilterByField("n", bool)),
        "called": table.transform(MapField("n", str) >> DropFields(["ids"])),
        "limited": LimitedShardedSource(table, 3),
        "shuffled": table.shuffle("rows"),
        "grain": table.shuffle("grain"),
        "composite": CompositeShardedSource([table, LimitedShardedSource(table, 2)]),
        "composite of rows": CompositeShardedSource([table, lines]),
        "mixed": MixedShardedSource({"a": table, "b": table}, stop_strategy="first_exhausted"),
        "mixed lines": MixedShardedSource({"a": lines}, stop_strategy="first_exhausted"),
        "tokens": tokens,
        "set aside": TokenizedShardedSource(
            lines, tokenizer, config, on_error="quarantine", quarantine_path=folder / "bad.jsonl"
        ),
        "packed": PackedShardedSource(tokens, 8),
    }


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ShardedDataSource[Any]]:
    return kinds(tmp_path_factory.mktemp("plans"))


def test_a_schema_is_that_of_the_rows(sources: dict[str, ShardedDataSource[Any]]) -> None:
    for name, source in sources.items():
        first: Any = next(iter(_native.iterate_batches(source._stream())))
        schema = _native.schema_of(source._stream())
        assert schema.equals(first.schema, check_metadata=True), name
        row = next(iter(_native.iterate_rows(source._stream())))
        assert set(source._plan.field_names()) >= set(row) - {"__source__"}, name
        columns = source._plan.column_names()
        assert columns is None or columns == list(row), name


def test_what_is_asked_of_a_plan_starts_no_thread(
    sources: dict[str, ShardedDataSource[Any]],
) -> None:
    before = threads()
    for source in sources.values():
        stream = source._stream({"text": "text"} if "text" in source._plan.field_names() else None)
        _native.schema_of(stream)
        source._plan.column_names()
        assert stream.description
    assert threads() == before


def test_columns_that_are_asked_for_are_all_that_come(
    sources: dict[str, ShardedDataSource[Any]],
) -> None:
    for name, source in sources.items():
        if name == "packed":
            continue  # its rows come as a whole
        for field in source._plan.field_names():
            stream = source._stream({field: "any"})
            assert _native.schema_of(stream).names == [field], name
            for batch in _native.iterate_batches(stream):
                assert batch.schema.names == [field], name


def test_a_plan_is_made_once_and_anew_for_a_copy(
    sources: dict[str, ShardedDataSource[Any]],
) -> None:
    table = sources["table"].map(dict)
    assert table._plan is table._plan
    shuffled = table.shuffle("rows", 3)
    assert shuffled._plan is not table._plan
    again = pickle.loads(pickle.dumps(table))
    assert again._stream().description == table._stream().description
