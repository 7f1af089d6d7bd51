"""Fields of rows that nobody reads are told: a warning where they carry meaning."""

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.cli import main
from easydata.sources.unread_fields import find_unread

import easydata
from easydata import DatasetConfig, Pipeline, PipelineConfig, _native

Row = dict[str, Any]
CHAT = [{"role": "user", "content": "ask"}, {"role": "assistant", "content": "say this"}]
SFT = {"name": "sft", "fixed_shapes": False}


def told(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level]


def rows_of(pipeline: Pipeline[Any]) -> list[Row]:
    return list(pipeline.source().tokenize().build())


def dataset(rows: Any, tiny: str, **options: Any) -> Pipeline[Any]:
    config = DatasetConfig(rows, name="notes", tokenizer=tiny, **options)
    return Pipeline(PipelineConfig(datasets=[config]))


@pytest.mark.parametrize("form", ["list", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("row", "options", "warned", "listed"),
    [
        ({"text": "a", "tools": '[{"name": "f"}]', "id": "x"}, {}, ["tools"], ["id"]),
        ({"text": "a", "tools": "[]", "system": "", "margin": None}, {}, [], []),
        ({"text": "a", "id": "x", "n": 3}, {"additional_fields": ["id"]}, [], []),
        ({"text": "a", "id": "x", "images": ["p.png"]}, {"columns": ["text"]}, [], []),
        ({"text": "a", "reasoning": "so"}, {"transform": SFT}, ["reasoning"], []),
        ({"text": "a", "loss_weight": 0.5}, {"transform": SFT}, ["loss_weight"], []),
        ({"messages": CHAT, "system": "s", "url": "u"}, {}, [], ["url"]),
        ({"messages": CHAT, "system": "s", "url": "u"}, {"transform": SFT}, [], ["url"]),
        (
            {"messages": CHAT, "system": "s", "url": "u", "audio": "a.wav"},
            {"transform": {**SFT, "keep_columns": ["url"]}},
            ["audio"],
            [],
        ),
        ({"body": "a", "url": "u"}, {"format_fields": {"body": "text"}}, [], ["url"]),
        ({"instruction": "a", "output": "b", "text": "all"}, {}, [], ["instruction", "output"]),
        ({"instruction": "a", "output": "b", "history": [["q", "a"]]}, {}, [], []),
    ],
)
def test_what_is_not_read_is_told(
    form: str,
    row: Row,
    options: dict[str, Any],
    warned: list[str],
    listed: list[str],
    tiny: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows: Any = [row] * 3
    if form == "jsonl":
        rows = tmp_path / "rows.jsonl"
        rows.write_text((json.dumps(row) + "\n") * 3)
    elif form == "parquet":
        rows = tmp_path / "rows.parquet"
        pq.write_table(pa.Table.from_pylist([row] * 3), rows)
    pipeline = dataset(str(rows) if form != "list" else rows, tiny, **options)
    with caplog.at_level(logging.INFO, "easydata"):
        assert len(rows_of(pipeline)) == 3
    warnings = told(caplog, logging.WARNING)
    expected = [
        f"dataset 'notes': rows have {name!r}, of which nothing reaches the tokens"
        for name in warned
    ]
    assert len(warnings) == len(expected)
    assert all(text.startswith(start) for text, start in zip(warnings, expected, strict=True))
    lines = [text for text in told(caplog, logging.INFO) if "no token is made of" in text]
    assert len(lines) == (1 if listed else 0)
    assert all(name in lines[0] for name in listed)
    found = pipeline.explain()["fields_not_read"]
    assert found == ({"notes": [*warned, *listed]} if warned or listed else {})


def test_a_field_of_a_later_row_is_told(tiny: str, caplog: pytest.LogCaptureFixture) -> None:
    rows: list[Row] = [{"text": "a", "tools": None}] * 900 + [{"text": "a", "tools": "[1]"}]
    assert len(rows_of(dataset(rows, tiny))) == 901
    assert len(told(caplog, logging.WARNING)) == 1


def test_it_is_told_once_for_loaders_and_their_states(
    tiny: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"text": "some words", "tools": "[1]"}) + "\n")
    config = PipelineConfig(datasets=[DatasetConfig(str(path), name="notes", tokenizer=tiny)])
    loader = Pipeline(config).source().tokenize().load().build()
    loader.load_state_dict(loader.state_dict())
    assert len(told(caplog, logging.WARNING)) == 1


def test_rows_of_a_function_are_not_looked_at(tiny: str, caplog: pytest.LogCaptureFixture) -> None:
    """It has seen the fields, and is not called for rows that nobody has asked for."""
    seen: list[str] = []

    def keep(row: Row) -> Row:
        seen.append(row["id"])
        return row

    rows = [{"text": "a", "tools": "[1]", "id": str(n)} for n in range(50)]
    source = easydata.create_source(DatasetConfig(rows)).map(keep)
    config = easydata.TokenizerConfig(name_or_path=tiny)
    tokens = easydata.TokenizedShardedSource(source, tiny, config)
    tokens._stream()
    assert set(seen) <= {"0"}
    assert told(caplog, logging.WARNING) == []


def test_no_column_is_read_for_it_later(tiny: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["a"] * 9, "url": ["u"] * 9, "tools": ["[1]"] * 9}), path)
    loader = dataset(str(path), tiny).source().tokenize().load().build()
    columns = loader.state_dict()["plan"]["source.columns"]
    assert columns == {"text": "text"}


def test_all_fields_that_carry_meaning_are_known_by_one_list(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What a chat has beside it is read of chats, and told of where text is tokenized."""
    names = set(_native.meaningful_fields())
    assert set(_native.fields_beside(instructions=False)) <= names

    def nothing(_: Row) -> Iterable[str]:
        return ()

    row = dict.fromkeys(sorted(names), "said")
    source = easydata.create_source(DatasetConfig([row]))
    assert set(find_unread(source, [], nothing).meaningful) == names


def test_the_command_says_it(tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"text": "some words", "url": "u"}) + "\n")
    words = ["tokenize", str(path), "--tokenizer", tiny, "--output-dir", str(tmp_path / "out")]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fields_not_read"] == {"dataset_0": ["url"]}
    assert main([*words, "--overwrite"]) == 0
    assert "dataset_0: no token is made of url" in capsys.readouterr().out


@pytest.mark.parametrize("words", [3, 400])  # a block of lines, and several
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_thousand_lines_are_looked_at_and_one_of_each_form_is_taken(
    on_error: Any, words: int, tmp_path: Path
) -> None:
    rows: list[Row] = [{"text": "word " * words, "n": i} for i in range(1200)]
    rows[10]["tools"] = ["f"]
    rows[11]["tools"] = []
    rows[12]["tools"] = None
    rows[999]["system"] = "Be brief."
    rows[1000]["margin"] = 2
    lines = [json.dumps(row) for row in rows]
    if on_error == "skip":
        lines.insert(500, "{")
    path = tmp_path / "rows.jsonl"
    path.write_text("\n\n".join(lines))
    plan = easydata.JsonShardedSource(str(path), on_error=on_error)._plan
    found = plan.first_rows_of_forms()
    assert found is not None
    # Row 11 says no more than row 0. Each block of lines has its own first rows.
    assert [row["n"] for row in found if row["n"] in (0, 10, 999) or words == 3] == [0, 10, 999]
    assert len(found) < 6
    assert all(row["n"] < 1000 for row in found)
    for count in (1, 499, 501, 1000):
        peeked = plan.peek(count)
        assert peeked is not None
        assert peeked == (rows[:count], False)
