"""Operations of sources do what was meant, or say what is wrong: nothing goes without a word."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from small_data import jsonl

from easydata import (
    FilterNonEmpty,
    HFDatasetShardedSource,
    JsonShardedSource,
    MapTransform,
    ParquetShardedSource,
    RenameFields,
    SelectFields,
    ShardedDataSource,
)

ROWS = [{"id": n, "text": f"t{n}", "meta": {"a": n}} for n in range(5)]


@pytest.fixture(params=["memory", "jsonl", "parquet"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> ShardedDataSource[Any]:
    if request.param == "memory":
        return HFDatasetShardedSource(ROWS)
    if request.param == "jsonl":
        return JsonShardedSource(jsonl(str(tmp_path / "a.jsonl"), ROWS))
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    return ParquetShardedSource(str(tmp_path / "a.parquet"))


@pytest.mark.parametrize("made", [None, "text", b"text"])
@pytest.mark.parametrize("read", [list, loaded_rows], ids=["iterated", "loaded"])
def test_map_makes_a_row_of_every_row(source: Any, made: Any, read: Any) -> None:
    mapped = source.map(lambda row: row if row["id"] < 3 else made)
    with pytest.raises(TypeError, match=r"map\(\): the function returned .*filter\(\)") as error:
        list(read(mapped))
    assert "row 3" in str(error.value) + str(getattr(error.value, "__notes__", ""))
    below = source.map(lambda row: row if row["id"] < 3 else made).select_fields(["id"])
    with pytest.raises(TypeError, match=r"map\(\): the function returned"):
        list(read(below))


@pytest.mark.parametrize("read", [list, loaded_rows], ids=["iterated", "loaded"])
def test_a_transform_drops_rows_by_none(source: Any, read: Any) -> None:
    def keep(row: dict[str, Any]) -> dict[str, Any] | None:
        return row if row["id"] < 3 else None

    for made in (source.transform(keep), source.transform(MapTransform(keep))):
        assert [row["id"] for row in read(made)] == [0, 1, 2]


def test_names_come_as_a_list(source: Any) -> None:
    for method in (source.select_fields, source.drop_fields):
        with pytest.raises(TypeError, match=r"takes a list of names, .*'text'.* write \['text'\]"):
            method("text")
        with pytest.raises(TypeError, match="takes a list of names, not int"):
            method(1)
    with pytest.raises(TypeError, match=r"rename_fields\(\) takes a dict"):
        source.rename_fields(["id"])
    with pytest.raises(TypeError, match=r"the class FilterNonEmpty; make one of it"):
        source.transform(FilterNonEmpty)


@pytest.mark.parametrize("read", [list, loaded_rows], ids=["iterated", "loaded"])
def test_fields_that_no_row_has_are_errors(source: Any, read: Any) -> None:
    for made in (
        source.select_fields(["txt", "id"]),
        source.drop_fields(["txt"]),
        source.rename_fields({"txt": "body"}),
        source.map(dict).select_fields(["txt"]),
        source.rename_fields({"id": "n"}).select_fields(["id"]),
    ):
        with pytest.raises(ValueError, match=r"names '(txt|id)', but no row has it"):
            list(read(made))
    with pytest.raises(ValueError, match='did you mean "text"'):
        list(read(source.drop_fields(["txt"])))


@pytest.mark.parametrize("read", [list, loaded_rows], ids=["iterated", "loaded"])
def test_a_field_is_not_renamed_onto_another(source: Any, read: Any) -> None:
    with pytest.raises(ValueError, match=r"renames 'id' onto 'text'.*drop_fields\(\['text'\]\)"):
        list(read(source.rename_fields({"id": "text"})))
    swapped = read(source.rename_fields({"id": "text", "text": "id"}))
    assert [row["text"] for row in swapped] == [0, 1, 2, 3, 4]
    dropped = read(source.drop_fields(["text"]).rename_fields({"id": "text"}))
    assert [row["text"] for row in dropped] == [0, 1, 2, 3, 4]


def test_a_field_of_a_later_row_is_there(tmp_path: Path) -> None:
    rows = [{"a": 1}, {"a": 2, "late": 3}, {"late": 4}]
    source = JsonShardedSource(jsonl(str(tmp_path / "a.jsonl"), rows))
    assert list(source.select_fields(["late"])) == [{}, {"late": 3}, {"late": 4}]
    # What some rows have under one name and others under another is joined, not lost.
    other = JsonShardedSource(jsonl(str(tmp_path / "b.jsonl"), [{"x": 1}, {"y": 2}]))
    assert list(other.rename_fields({"x": "y"})) == [{"y": 1}, {"y": 2}]


def test_rows_in_error_are_told_where_they_are_read(tmp_path: Path) -> None:
    source = JsonShardedSource(jsonl(str(tmp_path / "a.jsonl"), ROWS))
    broken = source.map(lambda row: 1 // 0).select_fields(["nope"])
    with pytest.raises(ZeroDivisionError) as error:
        list(broken)
    assert "row 0" in str(error.value.__notes__)
    assert list(source.filter(lambda row: False).select_fields(["nope"])) == []


def test_transforms_alone_stay_as_they_are(source: Any) -> None:
    assert list(source.transform(SelectFields(["nope", "id"]))) == [{"id": n} for n in range(5)]
    assert next(iter(source.transform(RenameFields({"id": "text"}))))["text"] == "t0"
    assert SelectFields(["nope"])({"a": 1}) == {}
    assert RenameFields({"a": "b"})({"a": 1, "b": 2}) == {"b": 2}
