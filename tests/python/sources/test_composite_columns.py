"""Composites of sources whose columns differ: the engine's rows are those of the sources."""

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows

from easydata import (
    AsyncDataLoader,
    CompositeShardedSource,
    HFDatasetShardedSource,
    JsonShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    TextShardedSource,
    _native,
)

Source = ShardedDataSource[Any]
ODD_FLOATS = [0.1, -0.0, 1e300, 5e-324, math.inf]
SCHEMAS = {
    "plain": pa.schema({"n": pa.int64(), "text": pa.string(), "ids": pa.list_(pa.int32())}),
    "reversed": pa.schema({"ids": pa.list_(pa.int32()), "text": pa.string(), "n": pa.int64()}),
    "narrow": pa.schema({"n": pa.int8(), "text": pa.large_string(), "ids": pa.list_(pa.int64())}),
    "no sign": pa.schema({"n": pa.uint32(), "text": pa.string(), "ids": pa.large_list(pa.int16())}),
    "fractions": pa.schema(
        {"n": pa.float32(), "text": pa.string(), "ids": pa.list_(pa.int32(), 2)}
    ),
    "more": pa.schema(
        {
            "n": pa.int64(),
            "text": pa.string(),
            "ids": pa.list_(pa.int32()),
            "nested": pa.struct({"a": pa.int64(), "b": pa.list_(pa.string())}),
            "real": pa.float64(),
            "flag": pa.bool_(),
        }
    ),
}


def table(path: Path, schema: pa.Schema) -> Source:
    rows = [
        {
            "n": i,
            "text": None if i == 1 else f'{i} "\\\n\té\U0001f600',
            "ids": [i, 7],
            "nested": None if i == 2 else {"a": None if i == 1 else i, "b": ["x"] * i},
            "real": ODD_FLOATS[i],
            "flag": i % 2 == 0,
        }
        for i in range(5)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=2)
    return ParquetShardedSource(path)


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Source]:
    made = {name: table(tmp_path / f"{name}.parquet", schema) for name, schema in SCHEMAS.items()}
    lines = [
        {"text": "line", "n": 2**53 + 1, "ids": []},
        {"n": None, "ids": [1], "text": "", "other": {"k": [None, 1.5]}},
        {"text": "é", "ids": None, "n": "seven"},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    made["JSON"] = JsonShardedSource(tmp_path / "a.jsonl")
    (tmp_path / "a.txt").write_text('one\n"two"\n')
    made["text"] = TextShardedSource(tmp_path / "a.txt")
    made["rows"] = HFDatasetShardedSource([{"text": "row", "n": 1.0, "ids": [3]}, {"text": "r"}])
    return made


def rows_of(stream: _native.Stream) -> list[Any]:
    return list(_native.iterate_rows(stream))


@pytest.mark.parametrize("first", [*SCHEMAS, "JSON", "text", "rows"])
def test_rows_are_those_of_the_parts(first: str, sources: dict[str, Source]) -> None:
    for second, third in itertools.product(sources, [None, "text", "plain"]):
        names = [first, second, *([third] if third else [])]
        composite = CompositeShardedSource([sources[name] for name in names])
        rows = rows_of(composite._stream())
        assert rows == list(composite), names
        # Of the same types, too: 1 is not 1.0.
        assert repr([sorted(row.items()) for row in rows]) == repr(
            [sorted(row.items()) for row in composite]
        ), names
        assert not any("Composite" in str(value) for value in plan_of(composite).values()), names


@pytest.mark.parametrize("first", [*SCHEMAS, "JSON", "rows"])
def test_requested_columns_are_what_they_are_of_rows_in_python(
    first: str, sources: dict[str, Source]
) -> None:
    requests: list[dict[str, str]] = [
        {"n": "any"},
        {"text": "any", "n": "any"},
        {"text": "text"},
        {"ids": "tokens"},
        {"ids": "any", "n": "text"},
        {"n": "tokens"},
    ]
    for second, columns in itertools.product(sources, requests):
        if second == "text" and list(columns) != ["text"]:
            continue
        composite = CompositeShardedSource([sources[first], sources[second]])
        results = []
        for stream in (composite._stream(columns), composite._rows_plan().stream(columns)):
            result: list[Any] = []
            try:
                result.extend(_native.iterate_rows(stream))
            except (TypeError, ValueError) as error:
                # In the words of who found it: this file, row and field.
                pattern = r"([^/]*) row (\d+): .*field ['\"](\w+)['\"] holds"
                result += re.findall(pattern, str(error))
            results.append(result)
        # A typed column keeps its type where no part has another one.
        typed = all(isinstance(sources[name], ParquetShardedSource) for name in (first, second))
        if typed and columns.get("n", "any") != "any":
            continue
        assert results[0] == results[1], (second, columns)


def test_columns_of_tables_keep_their_types(sources: dict[str, Source]) -> None:
    def types(*names: str) -> str:
        composite = CompositeShardedSource([sources[name] for name in names])
        schema = _native.schema_of(composite._stream())
        return ", ".join(f"{field.name} {field.type}" for field in schema)

    plain = "n int64, text string, ids list<element: int32>"
    assert types("plain", "reversed") == plain
    assert types("reversed", "plain") == "ids list<element: int32>, text string, n int64"
    wide = types("narrow", "plain", "no sign")
    assert wide == "n int64, text large_string, ids large_list<item: int64>"
    for names in (("plain", "more"), ("plain", "fractions"), ("JSON", "plain"), ("text", "JSON")):
        assert types(*names) == "__row__ string"


def test_dates_of_tables_in_another_order(tmp_path: Path) -> None:
    schema = pa.schema({"day": pa.date32(), "n": pa.int64(), "raw": pa.binary()})
    values = [{"day": 7, "n": i, "raw": b"\x00"} for i in range(3)]
    for name, fields in (("a", list(schema)), ("b", list(schema)[::-1]), ("c", list(schema)[:2])):
        pq.write_table(
            pa.Table.from_pylist(values, pa.schema(fields)), tmp_path / f"{name}.parquet"
        )
    one, two, less = (ParquetShardedSource(tmp_path / f"{name}.parquet") for name in "abc")
    both = CompositeShardedSource([one, two])
    assert list(loaded_rows(both)) == list(both)
    # JSON has neither dates nor bytes.
    with (
        AsyncDataLoader(CompositeShardedSource([one, less]), 2) as loader,
        pytest.raises(TypeError, match=r'row 0: field "day": JSON cannot hold a value of type'),
    ):
        list(loader)


def plan_of(source: Source) -> dict[str, Any]:
    with AsyncDataLoader(source, 1) as loader:
        plan: dict[str, Any] = loader.state_dict()["plan"]
    return plan
