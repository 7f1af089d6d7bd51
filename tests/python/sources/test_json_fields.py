"""Rows in a list within a JSON object: field= of `datasets`."""

from __future__ import annotations

import bz2
import json
import random
from pathlib import Path
from typing import Any

import datasets
import pytest
from batches import loaded_rows
from easydata.core.config import ConfigError
from easydata.sources import JsonShardedSource

from easydata import AsyncDataLoader, DatasetConfig, create_source

ROWS = [{"n": n, "text": "x" * (n % 700) + '"]}{[\\n' + "é"} for n in range(6000)]
BIG = {"list": ROWS, "text": "\n".join('{"data": [' for _ in range(50_000)), "deep": [[[{}]]]}


def write(path: Path, value: Any, indent: int | None = None) -> Path:
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("place", ["first", "between", "last", "alone"])
def test_rows_are_those_of_datasets(tmp_path: Path, place: str, indent: int | None) -> None:
    members: dict[str, Any] = {"version": "1.0", "none": None, "other data": BIG, "n": -1.5e3}
    if place == "first":
        members = {"data": ROWS, **members}
    elif place == "between":
        members = {"a": True, "data": ROWS, **members}
    elif place == "last":
        members = {**members, "data": ROWS}
    else:
        members = {"data": ROWS}
    path = write(tmp_path / "a.json", members, indent)
    source = JsonShardedSource(path, field="data")
    rows = list(source)
    assert rows == ROWS
    assert len(source) == len(ROWS)
    for row in (1, 3000, 5999, 6000):
        assert list(source.open_shard_at_row(str(path), row)) == ROWS[row:]
    if indent is None:
        read = datasets.load_dataset(
            "json", data_files=str(path), field="data", split="train", cache_dir=str(tmp_path / "c")
        )
        assert read.to_list() == rows
    packed = tmp_path / "b.json.bz2"
    packed.write_bytes(bz2.compress(path.read_bytes(), 1))
    assert list(create_source(DatasetConfig(str(packed), field="data"))) == ROWS


def test_any_row_can_be_gone_on_from(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{part}.json", {"a": 1, "data": ROWS[part * 2000 :][:2000], "z": [2]})
        for part in range(3)
    ]

    def loader() -> AsyncDataLoader:
        return AsyncDataLoader(JsonShardedSource(paths, field="data"), batch_size=100)

    with loader() as whole:
        states = [whole.state_dict()]
        for _ in whole:
            states.append(whole.state_dict())
    for step in range(0, 61, 7):
        with loader() as restored:
            restored.load_state_dict(states[step])
            numbers = [int(n) for batch in restored for n in batch["n"]]
        assert numbers == list(range(step * 100, 6000)), step


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[{"a": 1}]', r"the file is no JSON object.*of a list leave field out"),
        ('"data"', "the file is no JSON object"),
        ("", "the file is no JSON object"),
        ('{"date": [], "b": 1}', r'has no field "data"; did you mean date\? It has "date", "b"'),
        ("{}", 'has no field "data"; it has none'),
        ('{"data": {"a": [1]}}', 'field "data" of the JSON object is no list'),
        ('{"a": 1, "data": [{"a": 1}]', "the JSON object has no end; the file may be cut short"),
        ('{"data": [{"a": 1}], "b": "x', "the JSON object has no end"),
        ('{"data": [{"a": 1}', "the JSON array has no end"),
        ('{"a": [1, 2', "the JSON object has no end"),
        ('{"data": [{"a": 1}], "data": []}', 'has field "data" twice'),
        ('{"data": [{"a": 1}]}\n{"data": []}', "something follows the JSON object"),
        ('{"data": [{"a": 1}] "b": 1}', "',' or '}' was expected after a list"),
        ('{"a" 1, "data": []}', "':' was expected after a name"),
        ('{"a": , "data": []}', "a value was expected"),
        ('{a: 1, "data": []}', "a name was expected"),
        ('{"a": 1 "data": []}', "',' and a name, or '}', were expected"),
    ],
)
def test_other_files_are_errors(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    for read in (list, len, lambda source: list(loaded_rows(source))):
        with pytest.raises(ValueError, match=rf"a\.json.*{says}"):
            read(JsonShardedSource(path, field="data"))  # type: ignore[operator]


def test_names_are_what_json_says(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('\ufeff {"x": {"d\\u0061ta": 1}, "d\\u0061ta" : [ {"a": 1} , {"a": 2}\n] }\n')
    assert list(JsonShardedSource(path, field="data")) == [{"a": 1}, {"a": 2}]
    path.write_text('{"a\\"b": []}')
    assert list(JsonShardedSource(path, field='a"b')) == []
    path.write_text('{"n": 1,\n"data": [\n{"a": 1},\n{"a": oops}]}')
    with pytest.raises(ValueError, match=r"row 1: line 4: "):
        list(JsonShardedSource(path, field="data"))


def test_a_byte_order_mark_begins_a_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('\ufeff{"a": 1}\n{"a": 2}\n')
    assert list(JsonShardedSource(path)) == [{"a": 1}, {"a": 2}]
    path.write_text('{"a": 1}\n\ufeff{"a": 2}\n')
    with pytest.raises(ValueError, match=r"row 1: line 2: not valid JSON at byte 1 of the row"):
        list(JsonShardedSource(path))


def test_random_members_are_passed_over(tmp_path: Path) -> None:
    choose = random.Random(3)

    def value(depth: int) -> Any:
        kind = choose.randrange(7 if depth else 5)
        if kind == 0:
            return "".join(choose.choices('ab"\\{}[],:é\n', k=choose.randrange(9)))
        if kind < 5:
            return [choose.random(), -3, True, None][kind - 1]
        many = range(choose.randrange(4))
        if kind == 5:
            return [value(depth - 1) for _ in many]
        return {str(value(0)): value(depth - 1) for _ in many}

    path = tmp_path / "a.json"
    for _ in range(100):
        members = [(f"k{n}", value(3)) for n in range(choose.randrange(5))]
        members.insert(choose.randrange(len(members) + 1), ("data", [{"v": value(3)}]))
        write(path, dict(members), choose.choice([None, 1]))
        assert list(JsonShardedSource(path, field="data")) == dict(members)["data"]


def test_it_acts_on_json_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(ConfigError, match=r"field has no effect.*it acts where JSON files are"):
        create_source(DatasetConfig(str(tmp_path / "a.csv"), field="data"))
    path = write(tmp_path / "a.json", {"data": ROWS})
    with pytest.raises(ConfigError, match="field must name a field"):
        create_source(DatasetConfig(str(path), field=""))
    plain = JsonShardedSource(path)._stream().description
    assert JsonShardedSource(path, field="data")._stream().description == plain | {
        "source.field": "data"
    }
