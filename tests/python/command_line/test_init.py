"""`easydata init`: what it writes for a folder's data runs as it is."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from easydata.cli import main
from small_data import encode, jsonl

import easydata

TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}<|endoftext|>{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def init(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["init", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def tokenizer(folder: Path, gpt2: str) -> str:
    """One with a chat template, beside the data."""
    shutil.copytree(gpt2, "tokenizer")
    Path("tokenizer/chat_template.jinja").write_text(TEMPLATE)
    return "tokenizer"


def test_texts_are_packed(tokenizer: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [f"a story of some length, number {n}" for n in range(40)]
    for part in range(2):
        jsonl(f"data/stories-{part}.jsonl", [{"text": text, "id": 1} for text in texts[part::2]])
    jsonl("data/books/one.jsonl", [{"title": "short", "body": text} for text in texts])
    found = init(capsys, "data")
    assert found["datasets"] == {
        "data": {"data_files": "data/*.jsonl"},
        "one": {"data_files": "data/books/one.jsonl", "content_field": "body"},
    }
    assert found["command"] == "easydata pack --config pipeline.yaml"
    assert "# additional_fields: [id]" in Path("pipeline.yaml").read_text()
    assert main(found["command"].split()[1:]) == 0
    rows = list(easydata.create_source("output/one"))
    tokens = sum(len(each) + 1 for each in encode(tokenizer, *texts))
    assert sum(map(sum, (row["attention_mask"] for row in rows))) == tokens
    # What is there is not written over.
    assert main(["init", "data"]) == 2
    assert "pipeline.yaml is there already; give --overwrite" in capsys.readouterr().err
    init(capsys, "data", "--overwrite")


def test_each_form_of_rows_is_known(tokenizer: str, capsys: pytest.CaptureFixture[str]) -> None:
    chat = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
    pair = {"prompt": chat[:1], "chosen": chat[1:], "rejected": [{**chat[1], "content": "No."}]}
    jsonl("d/chat.jsonl", [{"messages": chat}] * 5)
    jsonl("d/alpaca.jsonl", [{"instruction": "Add.", "input": "1 2", "output": "3"}] * 5)
    jsonl("d/pairs.jsonl", [pair] * 5)
    jsonl("d/tokens.jsonl", [{"input_ids": [1, 2, 3]}] * 5)
    jsonl("d/numbers.jsonl", [{"n": 1}] * 5)
    Path("d/broken.jsonl").write_text("{")
    found = init(capsys, "d", "-o", "c.yaml")
    transforms = {
        name: options.get("transform", {}).get("name")
        for name, options in found["datasets"].items()
    }
    assert transforms == {"chat": "sft", "alpaca": "sft", "pairs": "dpo"}
    assert found["command"] == "easydata tokenize --config c.yaml"
    assert found["left_out"]["d/numbers.jsonl"] == "has no column of text"
    assert "easydata pack d/tokens.jsonl --eos-token-id" in found["left_out"]["d/tokens.jsonl"]
    assert found["left_out"]["d/broken.jsonl"].startswith("cannot be read: ")
    assert main(found["command"].split()[1:]) == 0
    for name in transforms:
        assert len(list(easydata.create_source(f"output/{name}"))) == 5


def test_what_is_missing_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> str:
        assert main(["init", *arguments]) == 2
        return capsys.readouterr().err

    assert "absent: there is no such folder" in said("absent")
    Path("empty").mkdir()
    assert "empty: there are no data files in it; names end in" in said("empty")
    jsonl("d/a.jsonl", [{"text": "one"}])
    assert "no tokenizer is in it or here" in said("d")
    assert not Path("pipeline.yaml").exists()


def test_several_files_are_left_out_together(
    folder: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        jsonl(f"{name}.jsonl", [{"input_ids": [1, 2]}])
    jsonl("c.jsonl", [{"text": "some words"}])
    assert main(["init", ".", "--tokenizer", gpt2, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (files,) = told["left_out"]
    assert files == "a.jsonl, b.jsonl"
    assert "easydata pack a.jsonl b.jsonl --eos-token-id" in told["left_out"][files]
    assert [each["data_files"] for each in told["datasets"].values()] == ["c.jsonl"]
