"""Files of one source that have other columns than each other: the source has those of all."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import easydata
from easydata import DatasetConfig, LoadStageConfig, Pipeline, PipelineConfig, create_source

FORMATS = ["parquet", "arrow", "csv"]


def write(path: Path, table: pa.Table) -> str:
    """A file of the format that its name tells."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return str(path)


def saved(source: Any, folder: Path, **options: Any) -> list[dict[str, Any]]:
    """The rows that saving a source writes."""
    stats = easydata.save_dataset(source, str(folder), **options)
    return [row for path in stats.output_paths for row in pq.read_table(path).to_pylist()]


@pytest.fixture(params=FORMATS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """Three files, each with a column that the others lack."""
    tables = [
        pa.table({"text": ["a", "b"], "first": ["1", "2"]}),
        pa.table({"id": ["7"], "text": ["c"]}),
        pa.table({"text": ["d"], "last": ["x"]}),
    ]
    return [write(tmp_path / f"{n}.{request.param}", table) for n, table in enumerate(tables)]


ROWS = [
    {"text": "a", "first": "1", "id": None, "last": None},
    {"text": "b", "first": "2", "id": None, "last": None},
    {"text": "c", "first": None, "id": "7", "last": None},
    {"text": "d", "first": None, "id": None, "last": "x"},
]


def test_iterating_has_the_columns_of_all_files(files: list[str]) -> None:
    source = create_source(DatasetConfig(files))
    assert list(source) == ROWS
    assert list(source) == ROWS
    assert list(source.open_shard(files[1])) == ROWS[2:3]
    assert list(source.iter_shards([2, 0])) == [ROWS[3], *ROWS[:2]]


def test_saving_has_the_columns_of_all_files(files: list[str], tmp_path: Path) -> None:
    assert saved(create_source(DatasetConfig(files)), tmp_path / "out") == ROWS


def test_mapping_shuffling_and_mixing_have_them(files: list[str], tmp_path: Path) -> None:
    source = create_source(DatasetConfig(files))
    seen: list[dict[str, Any]] = []

    def note(row: dict[str, Any]) -> dict[str, Any]:
        seen.append(dict(row))
        return row

    assert list(source.transform(easydata.MapTransform(note))) == ROWS
    assert seen == ROWS
    shuffled = create_source(DatasetConfig(files, shuffle="rows"))
    assert sorted(shuffled, key=lambda row: row["text"]) == ROWS
    other = create_source(DatasetConfig([{"text": "z", "id": "8"}]))
    mixed = easydata.MixedShardedSource({"a": source, "b": other}, stop_strategy="all_exhausted")
    rows = [row for row in saved(mixed, tmp_path / "mixed") if row["text"] != "z"]
    first = {row["text"]: row for row in rows}
    assert [{name: first[row["text"]][name] for name in row} for row in ROWS] == ROWS


def test_a_column_of_a_later_file_is_selected(files: list[str]) -> None:
    source = create_source(DatasetConfig(files, columns=["id", "text"]))
    assert list(source) == [{"id": row["id"], "text": row["text"]} for row in ROWS]


def test_a_column_that_no_file_has_is_an_error(files: list[str]) -> None:
    # Of Parquet the columns that are named are the only ones that are read.
    with pytest.raises((KeyError, ValueError), match=r'has no column "lost"|no row has it'):
        list(create_source(DatasetConfig(files, columns=["lost"])))


def test_what_is_missing_is_told_once(
    files: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = create_source(DatasetConfig(files))
    with caplog.at_level(logging.WARNING, "easydata"):
        list(source)
        list(source)
        saved(source, tmp_path / "out")
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1, told
    assert "columns that some files lack are null there" in told[0]
    assert f'"id" (1 of 3 files have it, the first is {files[1]})' in told[0]


def test_text_that_a_later_file_lacks_is_an_error_in_its_place(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a.parquet", pa.table({"text": ["a"]})),
        write(tmp_path / "b.parquet", pa.table({"body": ["b"]})),
    ]
    stream = create_source(DatasetConfig(files))._plan.stream({"text": "text"})
    rows = easydata._native.iterate_rows(stream)
    assert next(rows) == {"text": "a"}
    with pytest.raises(KeyError, match=r'b\.parquet has no column "text"'):
        next(rows)


MESSAGES = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (pa.array(["x"]), pa.array(["y"], pa.large_string()), pa.large_string()),
        (pa.array(["x"]), pa.array(["y"], pa.string_view()), pa.string()),
        (pa.array(["x"]), pa.array(["y"]).dictionary_encode(), pa.string()),
        (pa.array([None], pa.null()), pa.array(["y"]), pa.string()),
        (pa.array([1], pa.int32()), pa.array([2**40], pa.int64()), pa.int64()),
        (pa.array([1.5], pa.float32()), pa.array([0.1], pa.float64()), pa.float64()),
        (
            pa.array([[{"a": 1}]]),
            pa.array([[{"b": "n", "a": 2}]]),
            pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ),
        (pa.array([[1]], pa.list_(pa.int32(), 1)), pa.array([[1, 2]]), pa.list_(pa.int64())),
    ],
)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_types_are_unified(
    first: pa.Array, second: pa.Array, expected: pa.DataType, kind: str, tmp_path: Path
) -> None:
    files = [
        write(tmp_path / f"a.{kind}", pa.table({"v": first})),
        write(tmp_path / f"b.{kind}", pa.table({"v": second})),
    ]
    rows = list(create_source(DatasetConfig(files)))

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(item) for item in value]
        return {"b": None, **value} if isinstance(value, dict) and "a" in value else value

    assert [filled(row["v"]) for row in rows] == [
        filled(value) for value in (*first.to_pylist(), *second.to_pylist())
    ]
    stats = easydata.save_dataset(create_source(DatasetConfig(files)), str(tmp_path / "out"))
    table = pq.read_table(stats.output_paths[0])
    assert table.schema.field("v").type in (expected, pa.string())
    assert table.column("v").to_pylist() == [row["v"] for row in rows]


def test_lists_of_one_length_keep_their_nulls(tmp_path: Path) -> None:
    """In Arrow files: Arrow's reader of Parquet knows no such list that is null."""
    pairs = pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2))
    files = [write(tmp_path / "a.arrow", pa.table({"v": pairs}))]
    source = create_source(DatasetConfig(files))
    if int(pa.__version__.split(".")[0]) < 25:
        with pytest.raises(NotImplementedError, match=r"cannot store column 'v' .* in Parquet"):
            saved(source, tmp_path / "one")
        return
    assert [row["v"] for row in saved(source, tmp_path / "one")] == pairs.to_pylist()
    single = pa.array([None, [5]], pa.list_(pa.int32(), 1))
    files.append(write(tmp_path / "b.arrow", pa.table({"v": single})))
    both = [*pairs.to_pylist(), *single.to_pylist()]
    source = create_source(DatasetConfig(files))
    assert [row["v"] for row in source] == both
    assert [row["v"] for row in saved(source, tmp_path / "two")] == both


def test_types_without_one_in_common_are_an_error_of_two_files(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a.parquet", pa.table({"v": [1]})),
        write(tmp_path / "b.parquet", pa.table({"v": ["x"]})),
    ]
    with pytest.raises(TypeError) as error:
        list(create_source(DatasetConfig(files)))
    message = str(error.value)
    assert "int64" in message
    assert "string" in message
    assert all(file in message for file in files)
    assert 'column_types={"v": "string"}' in message


def test_a_later_message_has_one_key_more(tmp_path: Path) -> None:
    named = [{**message, "name": "n"} for message in MESSAGES]
    files = [
        write(tmp_path / "a.parquet", pa.table({"messages": [MESSAGES]})),
        write(tmp_path / "b.parquet", pa.table({"messages": [named]})),
    ]
    source = create_source(DatasetConfig(files, columns=["messages"]))
    assert [row["messages"][0].get("name") for row in source] == [None, "n"]


def test_a_value_that_does_not_fit_has_its_row(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a.parquet", pa.table({"text": ["a"], "n": pa.array([1], pa.int8())})),
        write(tmp_path / "b.parquet", pa.table({"text": ["b", "c"], "n": [2, 300]})),
    ]
    # Named columns are as the first file has them: no other is looked at before its turn.
    config = PipelineConfig(
        datasets=[DatasetConfig(files, columns=["n", "text"])], load=LoadStageConfig(batch_size=1)
    )
    with Pipeline.from_config(config).source().load().build() as loader:
        batches = iter(loader)
        assert [int(next(batches)["n"][0]) for _ in range(2)] == [1, 2]
        with pytest.raises(ValueError, match=r"b\.parquet row 1: column \"n\""):
            next(batches)
    skipping = create_source(DatasetConfig(files, columns=["n", "text"], on_error="skip"))
    assert [row["n"] for row in skipping] == [1, 2]


def test_states_go_on_with_the_columns_of_all(files: list[str]) -> None:
    source = create_source(DatasetConfig(files))

    def loader() -> easydata.AsyncDataLoader:
        return easydata.AsyncDataLoader(source, 1)

    with loader() as whole:
        expected = [json.dumps({k: str(v) for k, v in batch.items()}) for batch in whole]
    with loader() as first:
        batches = iter(first)
        next(batches)
        next(batches)
        state = first.state_dict()
    with loader() as second:
        second.load_state_dict(state)
        rest = [json.dumps({k: str(v) for k, v in batch.items()}) for batch in second]
    assert rest == expected[2:]
