"""`column_types`: some columns get a type, as read or as written, and none is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.core.config import ConfigError

import easydata
from easydata import (
    DatasetConfig,
    LoadStageConfig,
    Pipeline,
    PipelineConfig,
    SaveStageConfig,
    create_source,
)

Rows = list[dict[str, Any]]


def lines(path: Path, rows: Rows) -> str:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def saved(source: Any, folder: Path, **options: Any) -> pa.Table:
    """What saving a source writes."""
    stats = easydata.save_dataset(source, str(folder), **options)
    return pa.concat_tables([pq.read_table(path) for path in stats.output_paths])


def advised(error: pytest.ExceptionInfo[Exception]) -> dict[str, str]:
    """The types that an error advises to give."""
    text = str(error.value)
    found = text[text.index("column_types=") + len("column_types=") :]
    return dict(eval(found[: found.index("}") + 1]))


LATE: list[tuple[Rows, Any]] = [
    ([{"text": "x", "v": 1}] * 1200 + [{"text": "last", "v": 0.5}], 0.5),
    ([{"text": "x", "v": 1}] * 1200 + [{"text": "last", "v": "n/a"}], "n/a"),
    ([{"text": "x", "v": {"a": 1}}] * 1200 + [{"text": "last", "v": {"a": 1, "b": "n"}}], None),
    ([{"text": "x", "v": [{"a": 1}]}] * 1200 + [{"text": "last", "v": [{"b": "n"}]}], None),
    ([{"text": "x"}] * 1200 + [{"text": "last", "v": "late"}], "late"),
    ([{"text": "x", "v": 1}, {"text": "y", "v": "two"}], "two"),
]


@pytest.mark.parametrize("number", range(len(LATE)))
def test_what_an_error_advises_works_and_loses_nothing(number: int, tmp_path: Path) -> None:
    rows, last = LATE[number]
    source = create_source(DatasetConfig(lines(tmp_path / "rows.jsonl", rows)))
    with pytest.raises((TypeError, ValueError)) as error:
        saved(source, tmp_path / "refused")
    table = saved(source, tmp_path / "out", column_types=advised(error))
    assert table.column("text").to_pylist() == [row["text"] for row in rows]
    got = table.column("v").to_pylist()
    assert got[-1] == last if last is not None else "n" in str(got[-1])
    assert len([value for value in got if value is not None]) == sum("v" in row for row in rows)


def test_types_as_read_are_the_rows(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "score": 2, "meta": {"n": "7", "tags": [1, "b"]}, "other": [1]},
        {"id": "x", "score": None, "meta": None, "other": "as it is"},
        {"score": "0.25", "meta": [{"n": 8.0}, {}]},
    ]
    types = {"id": "string", "score": "float64", "meta.n": "int64", "meta.tags": "list<string>"}
    source = create_source(DatasetConfig(lines(tmp_path / "a.jsonl", rows), column_types=types))
    expected = [
        {"id": "1", "score": 2.0, "meta": {"n": 7, "tags": ["1", "b"]}, "other": [1]},
        {"id": "x", "score": None, "meta": None, "other": "as it is"},
        {"score": 0.25, "meta": [{"n": 8}, {}]},
    ]
    assert list(source) == expected
    assert [type(row["score"]) for row in source] == [float, type(None), float]
    in_memory = create_source(DatasetConfig(rows, column_types=types))
    assert list(in_memory) == expected


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (300, "int8"),
        (1.5, "int64"),
        ("x", "int64"),
        (True, "int64"),
        (2**53 + 1, "float64"),
        ([1], "float64"),
        (1, "bool"),
        (3, "list<int64>"),
    ],
)
def test_a_value_that_is_none_of_its_type_has_its_row(
    value: Any, kind: str, tmp_path: Path
) -> None:
    path = lines(tmp_path / "a.jsonl", [{"v": None}, {"v": value}])
    source = create_source(DatasetConfig(path, column_types={"v": kind}))
    with pytest.raises(TypeError, match=r"a\.jsonl row 1.*'v' is to be"):
        list(source)


def test_files_that_do_not_agree_are_given_a_type(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": [1, 2], "text": ["a", "b"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"v": ["x"], "text": ["c"], "w": [1.5]}), tmp_path / "b.parquet")
    with pytest.raises(TypeError, match="have none in common"):
        list(create_source(DatasetConfig(str(tmp_path))))
    config = DatasetConfig(str(tmp_path), column_types={"v": "string"})
    expected = [
        {"v": "1", "text": "a", "w": None},
        {"v": "2", "text": "b", "w": None},
        {"v": "x", "text": "c", "w": 1.5},
    ]
    assert list(create_source(config)) == expected
    assert saved(create_source(config), tmp_path / "out").to_pylist() == expected
    narrow = DatasetConfig(str(tmp_path / "b.parquet"), column_types={"v": "int64"})
    with pytest.raises((TypeError, ValueError), match=r"b\.parquet row 0"):
        list(create_source(narrow))


def test_types_as_written(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": [1, 2], "text": ["a", "b"]}), tmp_path / "a.parquet")
    source = create_source(DatasetConfig(str(tmp_path / "a.parquet")))
    types = {"v": "float32"}
    table = saved(source, tmp_path / "out", column_types=types)
    assert table.schema.field("v").type == pa.float32()
    assert table.column_names == ["v", "text"]
    with pytest.raises(KeyError, match="column_types: there is no column 'lost'"):
        saved(source, tmp_path / "lost", column_types={"lost": "string"})
    stats = easydata.save_dataset(
        source, str(tmp_path / "lines"), format="jsonl", column_types={"v": "string"}
    )
    written = Path(stats.output_paths[0]).read_text().splitlines()
    assert [json.loads(line)["v"] for line in written] == ["1", "2"]
    rows = create_source(DatasetConfig([{"v": 1}, {"v": "x"}]))
    stats = easydata.save_dataset(
        rows, str(tmp_path / "text"), format="jsonl", column_types={"v": "string"}
    )
    written = Path(stats.output_paths[0]).read_text().splitlines()
    assert [json.loads(line)["v"] for line in written] == ["1", "x"]


def test_whole_numbers_stay_exact(tmp_path: Path) -> None:
    exact = 2**53 + 1
    path = lines(tmp_path / "a.jsonl", [{"v": exact}, {"v": 2**64 - 1}])
    table = saved(create_source(DatasetConfig(path)), tmp_path / "out")
    assert table.schema.field("v").type == pa.uint64()
    assert table.column("v").to_pylist() == [exact, 2**64 - 1]
    path = lines(tmp_path / "b.jsonl", [{"v": exact}, {"v": 0.5}])
    with pytest.raises(TypeError, match=str(exact)):
        saved(create_source(DatasetConfig(path)), tmp_path / "rounded")
    config = PipelineConfig(datasets=[DatasetConfig(path)], load=LoadStageConfig(batch_size=2))
    with (
        Pipeline.from_config(config).source().load().build() as loader,
        pytest.raises(TypeError, match=str(exact)),
    ):
        list(loader)


def test_yaml_and_flags_have_them(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"v": 1}] * 1200 + [{"v": "x"}])
    config = PipelineConfig(
        datasets=[DatasetConfig(path, name="rows")],
        save=SaveStageConfig(
            enabled=True, output_dir=str(tmp_path / "o"), column_types={"v": "string"}
        ),
    )
    (tmp_path / "c.yaml").write_text(json.dumps(config.to_dict()))
    again = PipelineConfig.from_file(str(tmp_path / "c.yaml"))
    assert again.save is not None
    assert again.save.column_types == {"v": "string"}
    Pipeline.from_config(again).source().save().build()
    assert pq.read_table(tmp_path / "o" / "shard-00000.parquet").column("v").to_pylist()[-1] == "x"
    late = lines(tmp_path / "b.jsonl", [{"v": {"a": 1}}] * 1200 + [{"v": {"b": "n"}}])
    command = [sys.executable, "-m", "easydata.cli", "convert", late, "--output-dir"]
    out = tmp_path / "flags"
    run = subprocess.run(
        [*command, str(out), "--column-types", "v.b=string", "--column-types", "v.a=float64"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    values = pq.read_table(out / "shard-00000.parquet").column("v").to_pylist()
    assert values[0] == {"a": 1.0, "b": None}
    assert values[-1] == {"a": None, "b": "n"}
    run = subprocess.run(
        [*command, str(tmp_path / "no"), "--column-types", "v"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "NAME=VALUE" in run.stderr


@pytest.mark.parametrize("held", ["rows", "columns"])
def test_leaving_a_column_out_is_a_cure_too(held: str, tmp_path: Path) -> None:
    """What is not written needs no type, whole rows or columns of JSON."""
    rows = [{"text": "a", "v": 1}, {"text": "b", "v": "x"}, {"text": "c", "v": [1]}]
    source = create_source(DatasetConfig(lines(tmp_path / "a.jsonl", rows)))
    if held == "columns":
        source = source.select_fields(["text", "v"])
    with pytest.raises(TypeError, match=r"leave the column out \(columns=\)"):
        saved(source, tmp_path / "refused")
    kept = saved(source, tmp_path / "out", columns=["text"])
    assert kept.to_pylist() == [{"text": row["text"]} for row in rows]
    with pytest.raises(TypeError, match="'v' is string in this output, but here it is 1"):
        saved(source, tmp_path / "typed", columns={"v": "string"})


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ({"v": "text"}, "there is no type 'text'"),
        ({"v": "int64", "v.a": "int64"}, "has a type itself"),
        ({"": "int64"}, "no path of a column"),
    ],
)
def test_types_that_cannot_be_are_refused(types: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises((ConfigError, ValueError), match=said):
        list(create_source(DatasetConfig([{"v": 1}], column_types=types)))
    with pytest.raises((ConfigError, ValueError), match=said):
        saved(create_source(DatasetConfig([{"v": 1}])), tmp_path / "out", column_types=types)


def test_text_and_folders_get_types_too(tmp_path: Path) -> None:
    """What is read as text, and what no file holds, is cast behind the reading."""
    (tmp_path / "a.csv").write_text("n,text\n1,a\n2,b\n")
    (tmp_path / "b.csv").write_text("text,n\nc,3.5\n")
    expected = [{"n": 1.0, "text": "a"}, {"n": 2.0, "text": "b"}, {"n": 3.5, "text": "c"}]
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    typed = create_source(DatasetConfig(files, column_types={"n": "float64"}))
    assert list(typed) == expected
    assert saved(typed, tmp_path / "out").to_pylist() == expected
    some = create_source(DatasetConfig(files, columns=["n"], column_types={"n": "float64"}))
    assert list(some) == [{"n": row["n"]} for row in expected]
    with pytest.raises(ValueError, match=r"b\.csv row 0: 'n' is to be int64"):
        list(create_source(DatasetConfig(files, column_types={"n": "int64"})))
    folder = tmp_path / "in" / "year=2024"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"v": [1], "text": ["a"]}), folder / "a.parquet")
    pq.write_table(pa.table({"v": ["x"], "text": ["b"]}), folder / "b.parquet")
    config = DatasetConfig(
        str(tmp_path / "in"), hive_partitioning=True, column_types={"year": "string", "v": "string"}
    )
    expected = [
        {"v": "1", "text": "a", "year": "2024"},
        {"v": "x", "text": "b", "year": "2024"},
    ]
    assert list(create_source(config)) == expected
    assert saved(create_source(config), tmp_path / "years").to_pylist() == expected
