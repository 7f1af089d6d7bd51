"""Looking at a batch: loader.describe(), and `easydata inspect --config` (N14, C21)."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from easydata.cli import main
from easydata.reports.batch_description import describe_batch
from small_data import jsonl

import easydata
from easydata import AsyncDataLoader, PackedShardedSource, Pipeline, PipelineConfig


@pytest.fixture
def config(tmp_path: Path, tiny: str) -> dict[str, Any]:
    jsonl(str(tmp_path / "a.jsonl"), [{"text": f"first {i}\nline"} for i in range(20)])
    jsonl(str(tmp_path / "b.jsonl"), [{"text": "other " * 9}] * 20)
    return {
        "default_tokenizer": tiny,
        "datasets": [
            {"name": "ones", "data_files": str(tmp_path / "a.jsonl")},
            {"name": "others", "data_files": str(tmp_path / "b.jsonl")},
        ],
        "mix": {"weights": {"ones": 0.5, "others": 0.5}, "stop_strategy": "first_exhausted"},
        "pack": {"seq_length": 64, "shuffle_packed": False},
        "load": {"batch_size": 4},
    }


def loader(config: dict[str, Any], **pack: Any) -> AsyncDataLoader:
    config = {**config, "pack": {**config["pack"], **pack}}
    made = Pipeline(PipelineConfig.from_dict(config)).source().tokenize().mix().pack().load()
    built: AsyncDataLoader = made.build()
    return built


def test_segments_with_text_and_where_they_come_from(config: dict[str, Any]) -> None:
    with loader(config, segment_sources=True, labels=True, ignore_first_label=True) as made:
        batch = next(iter(made))
        told = made.describe(batch, rows=4)
    assert len(told.rows) == told.num_rows == 4
    lines = {
        name: [
            json.loads(line)["text"] for line in Path(each["data_files"]).read_text().splitlines()
        ]
        for each in config["datasets"]
        for name in [each["name"]]
    }
    for row in told.rows:
        assert [segment.begin for segment in row.segments[1:]] == [
            segment.end for segment in row.segments[:-1]
        ]
        for segment in row.segments:
            (file,) = (e["data_files"] for e in config["datasets"] if e["name"] == segment.source)
            assert segment.file == file
            whole = lines[str(segment.source)][int(segment.row or 0)] + "</s>"
            begin = segment.offset or 0
            assert segment.text == whole[begin : begin + segment.tokens] or (
                segment.text or ""
            ).startswith(whole[begin:])
            assert segment.trained == segment.tokens - 1
    assert {segment.source for row in told.rows for segment in row.segments} == {"ones", "others"}


def test_its_repr_is_short_and_its_text_whole(config: dict[str, Any]) -> None:
    with loader(config, segment_sources=True) as made:
        told = made.describe(next(iter(made)))
    assert repr(told) == "<batch: 4 rows of 64 tokens, 0.0 % padding; print it to see its text>"
    lines = str(told).splitlines()
    assert lines[0] == "4 rows of 64 tokens, 0.0 % padding"
    assert lines[1].startswith("row 0: 64 tokens, ")
    first = told.rows[0].segments[0]
    assert lines[2] == f"  0 {first.source} {first.file} row {first.row}: {first.tokens} tokens"
    assert (first.text or "").replace("\n", "⏎") == lines[3].strip()
    assert lines[-1] == "... and 2 rows more"
    assert json.dumps(told.to_dict())


class _Tags(HTMLParser):
    """Fails unless tags are closed in the order in which they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_a_table(config: dict[str, Any], tmp_path: Path) -> None:
    jsonl(str(tmp_path / "a.jsonl"), [{"text": "<b>&amp; \x1b[31m"}] * 20)
    with loader(config, segment_sources=True) as made:
        shown = made.describe(next(iter(made)))._repr_html_()
    tags = _Tags()
    tags.feed(shown)
    assert tags.open == []
    assert "<b>&amp; \\x1b[31m" in tags.text
    assert "\x1b" not in shown
    assert "ones" in tags.text


def test_what_is_not_known_is_said(config: dict[str, Any], tiny: str) -> None:
    with loader(config) as made:
        told = made.describe(next(iter(made)))
    assert told.notes == ["where the segments come from is told with pack(segment_sources=True)"]
    assert told.rows[0].segments[0].source is None
    rows = [{"input_ids": [1, 2, 3]}] * 8
    with AsyncDataLoader(PackedShardedSource(rows, 8, 0, shuffle=False), 2) as plain:
        batch = next(iter(plain))
        assert "no tokenizer is known: give tokenizer= to see text" in plain.describe(batch).notes
        text = plain.describe(batch, tokenizer=easydata.Tokenizer(tiny)).rows[0].segments[0].text
    assert text == "\x01\x02\x03\x00"
    with pytest.raises(ValueError, match=r"no column of tokens.*its columns are x"):
        describe_batch({"x": np.zeros((2, 2))})


def test_padded_rows_and_rows_of_grain() -> None:
    padded = {
        "input_ids": np.array([[5, 6, 0], [7, 0, 0]]),
        "attention_mask": np.array([[1, 1, 0], [1, 0, 0]]),
        "__source__": ["a", "b"],
    }
    told = describe_batch(padded)
    assert [(s.begin, s.end, s.source) for r in told.rows for s in r.segments] == [
        (0, 2, "a"),
        (0, 1, "b"),
    ]
    assert (told.padding, [row.padding for row in told.rows]) == (3, [1, 2])
    grain = {"input_ids": np.array([[5, 6, 7, 0]]), "segment_ids": np.array([[1, 1, 2, 0]])}
    (row,) = describe_batch(grain).rows
    assert [(segment.begin, segment.end) for segment in row.segments] == [(0, 2), (2, 3)]


def test_an_id_of_0_is_a_token() -> None:  # N12
    batch = {"input_ids": np.array([[0, 0, 5]]), "attention_mask": np.array([[1, 1, 1]])}
    (row,) = describe_batch(batch).rows
    assert [segment.tokens for segment in row.segments] == [3]


def test_a_config_on_the_command_line(
    config: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps(config))
    assert main(["inspect", "--config", str(file), "-n", "2", "--skip", "1"]) == 0
    shown = capsys.readouterr().out
    with loader(config, segment_sources=True) as made:
        expected = made.describe(next(iter(made)), rows=3)
    assert shown.splitlines()[0] == "mixed:"
    for row in expected.rows[1:]:
        for line in expected.lines_of(row):
            assert line.plain in shown
    assert main(["inspect", "--config", str(file), "-n", "1", "--json"]) == 0
    (row_told,) = json.loads(capsys.readouterr().out)["rows"]
    assert row_told["dataset"] == "mixed"
    assert row_told["segments"][0]["source"] == expected.rows[0].segments[0].source
    # Unpacked, each dataset by itself.
    del config["pack"], config["mix"]
    file.write_text(json.dumps(config))
    assert main(["inspect", "--config", str(file), "-n", "1"]) == 0
    shown = capsys.readouterr().out
    assert "ones:\n" in shown
    assert "others:\n" in shown
    assert "first 0⏎line" in shown
    assert main(["inspect", "a.jsonl", "--config", str(file)]) == 2
    assert "give DATA or --config, not both" in capsys.readouterr().err


def test_a_config_that_makes_no_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonl(str(tmp_path / "a.jsonl"), [{"text": "one"}])
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"datasets": [{"data_files": str(tmp_path / "a.jsonl")}]}))
    assert main(["inspect", "--config", str(file)]) == 2
    assert "name a tokenizer in the config" in capsys.readouterr().err
