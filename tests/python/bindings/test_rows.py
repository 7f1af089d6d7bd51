"""Rows as dicts: equal to pyarrow's to_pylist and to json.loads; and dicts as columns."""

import datetime
import decimal
import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from easydata.sources import ArrowShardedSource, JsonShardedSource, ParquetShardedSource
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from python_rows import Rows

from easydata import ShardedDataSource, _native

Row = dict[str, Any]


def every_type() -> pa.Table:
    utc = datetime.UTC
    moment = datetime.datetime(2024, 2, 29, 12, 30, 1, 5)
    words = pa.dictionary(pa.int8(), pa.string())
    small = (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32())
    return pa.table({
        "null": pa.nulls(3),
        "bool": pa.array([True, None, False]),
        **{str(t): pa.array([1, None, 100], t) for t in small},
        "int64": pa.array([-(2**63), None, 2**63 - 1]),
        "uint64": pa.array([0, None, 2**64 - 1], pa.uint64()),
        "float": pa.array([1.5, None, 0.1], pa.float32()),
        "half": pa.array([np.float16(1.5), None, np.float16(2)], pa.float16()),
        "double": pa.array([0.1, None, float("inf")]),
        "string": pa.array(["", None, "é€😀 a" * 9]),
        "large_string": pa.array(["a", None, "b\0c"], pa.large_string()),
        "binary": pa.array([b"", None, b"\xff\0"]),
        "large_binary": pa.array([b"a", None, b"bc"], pa.large_binary()),
        "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
        "decimal": pa.array([decimal.Decimal("1.20"), None, decimal.Decimal("-3.45")]),
        "date": pa.array([datetime.date(2024, 1, 2), None, datetime.date(1969, 1, 1)]),
        "timestamp": pa.array([moment, None, moment], pa.timestamp("us")),
        "zoned": pa.array([moment.replace(tzinfo=utc), None, None], pa.timestamp("ms", "CET")),
        "time": pa.array([datetime.time(1, 2, 3), None, None]),
        "duration": pa.array([datetime.timedelta(seconds=5), None, None]),
        "list": pa.array([[1, None, 3], None, []], pa.list_(pa.int64())),
        "large_list": pa.array([["a"], None, [None]], pa.large_list(pa.string())),
        "fixed_list": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)),
        "nested": pa.array([[[1], []], None, [None, [2, 3]]]),
        "struct": pa.array([{"a": 1, "b": [{"c": "x"}]}, None, {"a": None, "b": None}]),
        "dates in struct": pa.array([{"d": datetime.date(2024, 1, 2)}, None, {"d": None}]),
        "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        "dictionary": pa.array(["x", None, "y"]).dictionary_encode(),
        "dictionary in list": pa.array([["x", "x"], None, ["y"]], pa.list_(words)),
    })  # fmt: skip


@pytest.mark.parametrize("repeat", [1, 700])
def test_rows_of_every_arrow_type_equal_to_pylist(tmp_path: Path, repeat: int) -> None:
    table = pa.concat_tables([every_type()] * repeat).combine_chunks()
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    rows = list(ArrowShardedSource(tmp_path / "a.arrow"))
    expected = table.to_pylist()
    assert rows == expected
    assert [[type(v) for v in row.values()] for row in rows[:3]] == [
        [type(v) for v in row.values()] for row in expected[:3]
    ]


def test_parquet_rows_equal_pyarrows(tmp_path: Path) -> None:
    table = every_type().drop_columns(["dictionary in list", "half", "fixed_list"])
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    expected = pa.parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert list(ParquetShardedSource(tmp_path / "a.parquet")) == expected


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.dictionaries(st.text() | st.just("text"), JSON_VALUES, max_size=5), max_size=8),
    st.booleans(),
)
def test_any_json_rows_equal_json_loads(tmp_path: Path, rows: list[Row], ascii_only: bool) -> None:
    text = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows)
    path = tmp_path / "a.jsonl"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    if any(0xD800 <= ord(c) < 0xE000 for c in text):
        return  # not UTF-8: tested below
    got = list(JsonShardedSource(path))
    assert json.dumps(got) == json.dumps([json.loads(json.dumps(row)) for row in rows])


NASTY_PARTS = [
    "{", "}", "[", "]", ",", ":", '"text"', '"te\\u0078t"', '"a"', '""', '"\\ud800"',
    '"\\ud83d\\ude00"', '"\\udc00\\ud800"', '"x\\n\\"y"', '"\\x"', '"\\u12g4"', '"tab\there"',
    "NaN", "-Infinity", "Infinity", "nan", "null", "true", "0", "-0", "01", "-", "1.", ".5", "1.5",
    "1e5", "1E400", "-1e-400", "1e",
    "123456789012345678901234567890", "18446744073709551616", "'a'", " ", "\t",
    "/*x*/", "\x00", "é", "\u2028",
]  # fmt: skip


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(NASTY_PARTS), max_size=7).map("".join), st.booleans())
def test_nasty_lines_are_what_json_loads_says(tmp_path: Path, inner: str, wrap: bool) -> None:
    line = '{"text": ' + inner + "}" if wrap else "{" + inner + "}"
    path = tmp_path / "a.jsonl"
    path.write_bytes(line.encode())
    rows = iter(JsonShardedSource(path))
    try:
        expected = json.loads(line)
    except ValueError:
        with pytest.raises(ValueError, match=r"a.jsonl row 0: line 1: not valid JSON at byte"):
            next(rows)
        with pytest.raises(ValueError, match="not valid JSON"):
            list(_native.iterate_batches(JsonShardedSource(path)._stream({"other": "text"})))
        return
    assert json.dumps(next(rows)) == json.dumps(expected)
    # The native path finds the same text, or says why there is none.
    stream = JsonShardedSource(path)._stream({"text": "text"})
    value = expected.get("text")
    if (
        isinstance(value, str) and not any(0xD800 <= ord(c) < 0xE000 for c in value)
    ) or value is None:
        (batch,) = _native.iterate_batches(stream)
        assert batch.to_pylist() == [{"text": value}]
    else:
        with pytest.raises(ValueError, match='row 0: line 1: field "text" holds'):
            list(_native.iterate_batches(stream))
    (batch,) = _native.iterate_batches(JsonShardedSource(path)._stream({"text": "any"}))
    (text,) = batch.column(0).to_pylist()
    assert (
        text is None
        if "text" not in expected
        else json.dumps(json.loads(text)) == json.dumps(value)
    )


def test_python_rows_become_columns() -> None:
    rows: list[Row] = [
        {
            "t": "é",
            "ids": [1, 2],
            "x": {"a": (1, np.float64(1.5), np.array([1, 2])), "b": float("nan")},
        },
        {"t": None, "ids": np.array([3], dtype=np.int64), "x": "\ud800"},
        {"ids": (), "x": 2**70},
        {},
    ]
    stream = Rows(rows)._stream({"t": "text", "ids": "tokens", "x": "any"})
    (batch,) = _native.iterate_batches(stream)
    assert batch.column("t").to_pylist() == ["é", None, None, None]
    assert batch.column("ids").type == pa.list_(pa.int32())
    assert batch.column("ids").to_pylist() == [[1, 2], [3], [], None]
    back = list(_native.iterate_rows(stream))
    assert json.dumps(back[0]["x"]) == json.dumps({"a": [1, 1.5, [1, 2]], "b": float("nan")})
    assert [row.get("x") for row in back[1:]] == ["\ud800", 2**70, None]
    assert "x" not in back[3]


@pytest.mark.parametrize(("row", "columns", "message"), [
    ({"t": 1}, {"t": "text"}, 'field "t" holds a value of type int, expected str'),
    ({"t": b"x"}, {"t": "any"}, 'field "t": JSON cannot hold a value of type bytes'),
    ({"t": {1: 2}}, None, 'field "t": a dict has a key of type int'),
    ({"t": [1.5]}, {"t": "tokens"}, "of type float, expected whole numbers"),
    ({"t": [2**31]}, {"t": "tokens"}, "no 32-bit whole number"),
    ({"t": "ab"}, {"t": "tokens"}, "of type str, expected a list of token ids"),
    ([1], None, "a row is of type list, expected a dict"),
])  # fmt: skip
def test_what_no_column_can_hold_is_named(row: Any, columns: Any, message: str) -> None:
    rows = [{"t": None}] * 300 + [row]
    with pytest.raises(TypeError, match="rows row 300: ") as error:
        list(_native.iterate_batches(Rows(rows)._stream(columns)))
    assert message in str(error.value)


def test_a_users_exception_comes_back_as_itself() -> None:
    class Mine(Exception):
        pass

    def rows() -> Any:
        yield from ({"i": i} for i in range(256))
        raise Mine("here")

    source = Rows([])
    source.open_shard = lambda name: rows()  # type: ignore[method-assign]
    iterator = _native.iterate_rows(source._stream())
    assert [next(iterator)["i"] for _ in range(256)] == list(range(256))
    with pytest.raises(Mine, match="here"):
        next(iterator)


def test_rows_belong_to_whoever_gets_them(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": [1]}\n' * 3)
    source = JsonShardedSource(tmp_path / "a.jsonl")
    for row in source:
        row["a"].append(2)
        row["b"] = 1
    assert list(source) == [{"a": [1]}] * 3


def test_rows_before_a_bad_one_come_first() -> None:
    class Bad(ShardedDataSource[Any]):
        shard_names = ("s",)

        def num_shards(self) -> int:
            return 1

        def open_shard(self, shard_name: str) -> Any:
            return [{"a": n} for n in range(5)] + [{"a": object()}, {"a": 6}]

    rows = _native.iterate_rows(Bad()._stream())
    assert [next(rows) for _ in range(5)] == [{"a": n} for n in range(5)]
    with pytest.raises(TypeError, match=r"row 5\b.*object"):
        next(rows)


def test_rows_are_made_one_at_a_time_when_asked_for(tmp_path: Path) -> None:
    count = 3000  # more than the columns are prepared for at once
    texts = [f"row {i} é" * (i % 5) for i in range(count)]
    lists = pa.array([[i] for i in range(count)])
    half = pa.array([np.float16(i % 9) for i in range(count)])
    table = pa.table({"text": texts, "half": half, "list": lists})
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    rows = iter(ParquetShardedSource(tmp_path / "a.parquet"))
    gc.collect()
    before = len(gc.get_objects())
    taken = [next(rows) for _ in range(100)]
    assert len(gc.get_objects()) - before < 300  # these rows and their lists, and none ahead
    assert [*taken, *rows] == table.to_pylist()
