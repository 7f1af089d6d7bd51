"""Columns that the folders of files say: lang=en/year=2024/x.parquet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from easydata.core.config import ConfigError
from easydata.sources import (
    ArrayRecordShardedSource,
    CsvShardedSource,
    JsonShardedSource,
    ParquetShardedSource,
)

from easydata import AsyncDataLoader, DatasetConfig, create_source, save_dataset

Row = dict[str, Any]
PARTS = [("en", 2023), ("en", 2024), ("日 本/x", 2024)]


def rows_of(part: int) -> list[Row]:
    return [{"n": part * 1000 + n, "text": f"row {n}"} for n in range(500)]


def as_columns(part: int) -> pa.Table:
    return pa.Table.from_pylist(rows_of(part))


def write_jsonl(path: Path, part: int) -> None:
    lines = (json.dumps(row, indent=None) + " \n" for row in rows_of(part))
    path.write_text("".join(lines))


def write_json(path: Path, part: int) -> None:
    path.write_text(json.dumps(rows_of(part), indent=1))


def write_csv(path: Path, part: int) -> None:
    lines = [f"{row['n']},{row['text']}\n" for row in rows_of(part)]
    path.write_text("n,text\n" + "".join(lines))


def write_arrow(path: Path, part: int) -> None:
    table = as_columns(part)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


def write_parquet(path: Path, part: int) -> None:
    pq.write_table(as_columns(part), path, row_group_size=100)


def write_records(path: Path, part: int) -> None:
    save_dataset(
        create_source(DatasetConfig(rows_of(part))),
        path.parent,
        "array_record",
        encode="json",
        num_shards=1,
    )


FORMATS: dict[str, Callable[[Path, int], None]] = {
    "jsonl": write_jsonl,
    "json": write_json,
    "csv": write_csv,
    "arrow": write_arrow,
    "parquet": write_parquet,
    "array_record": write_records,
}


def write(folder: Path, kind: str) -> tuple[str, list[Row]]:
    """The files, and their rows."""
    rows: list[Row] = []
    for part, (lang, year) in enumerate(PARTS):
        name = lang.replace(" ", "%20").replace("/", "%2F")
        below = folder / f"lang={name}" / f"year={year}"
        below.mkdir(parents=True)
        FORMATS[kind](below / f"x.{kind}", part)
        for row in rows_of(part):
            value = {"n": str(row["n"])} if kind == "csv" else {}
            rows.append({**row, **value, "lang": lang, "year": year})
    return str(folder), rows


def open_source(folder: str, kind: str, **options: Any) -> Any:
    if kind == "array_record":
        options["decode"] = "json"
    return create_source(DatasetConfig(folder, hive_partitioning=True, **options))


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_have_what_their_folders_say(tmp_path: Path, kind: str) -> None:
    """Iterated, as columns, shuffled, saved, mapped; and from any row on."""
    folder, rows = write(tmp_path / "data", kind)
    source = open_source(folder, kind)
    assert list(source) == rows
    assert len(source) == 1500
    assert list(next(iter(source))) == ["n", "text", "lang", "year"]
    assert list(loaded_rows(open_source(folder, kind))) == rows
    for order in ("blocks", "rows", "grain"):
        found = list(open_source(folder, kind, shuffle=order))
        assert sorted(found, key=lambda row: int(row["n"])) == rows
    for row in (0, 499):
        from_there = source.open_shard_at_row(source.shard_names[1], row)
        assert list(from_there) == rows[500 + row : 1000]
    mapped = source.map(lambda row: {"what": f"{row['lang']} {row['year']}"})
    assert [row["what"] for row in mapped] == [f"{row['lang']} {row['year']}" for row in rows]
    for form in ("parquet", "jsonl"):
        save_dataset(open_source(folder, kind), tmp_path / form, form)
        assert list(create_source(DatasetConfig(str(tmp_path / form)))) == rows
    chosen = open_source(folder, kind, columns=["year", "text"])
    assert list(chosen)[700] == {"text": rows[700]["text"], "year": rows[700]["year"]}
    assert list(open_source(folder, kind, columns=["lang"]))[::500] == [
        {"lang": lang} for lang, _ in PARTS
    ]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_state_goes_on_with_them(tmp_path: Path, kind: str) -> None:
    folder, rows = write(tmp_path / "data", kind)

    def loader() -> AsyncDataLoader:
        return AsyncDataLoader(open_source(folder, kind), batch_size=100)

    with loader() as whole:
        states = [whole.state_dict()]
        states += [whole.state_dict() for _ in whole]
    for step in (0, 4, 7, 14):
        with loader() as restored:
            restored.load_state_dict(states[step])
            found = [int(year) for batch in restored for year in batch["year"]]
        assert found == [row["year"] for row in rows[step * 100 :]]


def test_columns_are_those_of_pyarrow(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["a", "b", "c", "d"],
            "code": ["x y", "a%b", None, "é=1"],
            "month": ["01", "12", "-3", "2"],
            "mixed": ["1", "b", "2", "3"],
        }
    )
    pa.dataset.write_dataset(
        table,
        tmp_path / "out",
        format="parquet",
        partitioning=["code", "month", "mixed"],
        partitioning_flavor="hive",
    )
    infer = pa.dataset.HivePartitioning.discover(infer_dictionary=False)
    read = pa.dataset.dataset(tmp_path / "out", partitioning=infer).to_table().to_pylist()
    source = ParquetShardedSource(tmp_path / "out", hive_partitioning=True)
    by_text = sorted(source, key=lambda row: row["text"])
    assert by_text == sorted(read, key=lambda row: str(row["text"]))
    assert by_text[2] == {"text": "c", "code": None, "month": -3, "mixed": "2"}
    # Not read unless asked for.
    assert {tuple(row) for row in ParquetShardedSource(tmp_path / "out")} == {("text",)}


def test_the_folder_goes_before_a_column_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "lang=en").mkdir()
    pq.write_table(pa.table({"lang": ["?"], "a": [1]}), tmp_path / "lang=en/x.parquet")
    (tmp_path / "lang=en/y.jsonl").write_text('{"lang": "?", "a": {"}": 1}}\n{}\n{ "b": "}" }\n')
    source = ParquetShardedSource(tmp_path / "lang=en/x.parquet", hive_partitioning=True)
    assert list(source) == [{"a": 1, "lang": "en"}]
    lines = JsonShardedSource(tmp_path / "lang=en/y.jsonl", hive_partitioning=True)
    assert list(lines) == [{"lang": "en", "a": {"}": 1}}, {"lang": "en"}, {"b": "}", "lang": "en"}]


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    (tmp_path / "lang=en").mkdir()
    for name in ("lang=en/a.csv", "b.csv"):
        (tmp_path / name).write_text("n\n1\n")
    both = CsvShardedSource(tmp_path, hive_partitioning=True)
    with pytest.raises(ValueError, match=r"b\.csv lies in no folder lang=\.\.\., as .*a\.csv does"):
        list(both)
    with pytest.raises(ValueError, match=r"no folder is named NAME=VALUE.*b\.csv; leave it out"):
        list(CsvShardedSource(tmp_path / "b.csv", hive_partitioning=True))
    with pytest.raises(ConfigError, match="hive_partitioning has no effect"):
        create_source(DatasetConfig([{"a": 1}], hive_partitioning=True))
    row = {"n": "1", "lang": "en"}
    assert list(CsvShardedSource(tmp_path / "lang=en", hive_partitioning=True)) == [row]
    assert ArrayRecordShardedSource  # each source has the option
