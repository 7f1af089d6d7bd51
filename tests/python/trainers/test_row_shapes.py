"""Rows in the shapes that other trainers read make the examples of the usual shape."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chat_rows import Row, assistant, tokenizer, user
from easydata.transforms.trainer_examples import named_transform

import easydata

LENGTHS: dict[str, Any] = {"max_prompt_length": 200, "max_completion_length": 100}
OPTIONS: dict[str, dict[str, Any]] = {
    "sft": {"max_length": 400, "mask_prompt": True},
    "dpo": LENGTHS,
    "orpo": LENGTHS,
    "kto": LENGTHS,
    "bco": LENGTHS,
    "reward": {"max_length": 400},
    "grpo": {"max_prompt_length": 300},
}
LAYOUTS = ["easydel", "trl"]


def system(text: str) -> Row:
    return {"role": "system", "content": text}


def turns(*pairs: tuple[str, str]) -> list[Row]:
    return [{"from": speaker, "value": text} for speaker, text in pairs]


ASK, ADD = user("add\n1 and 2"), user("add")
OLD = [user("hello"), assistant("what now?")]
GOOD, BAD = assistant("three"), assistant("four")

# A row, and the row of the usual shape that it stands for, by the transforms that read it.
CHATS: list[tuple[Row, Row]] = [
    (
        {"instruction": "add", "input": "1 and 2", "output": "three"},
        {"messages": [ASK, GOOD]},
    ),
    ({"instruction": "add", "input": "", "output": "three"}, {"messages": [ADD, GOOD]}),
    ({"instruction": "add", "output": "three"}, {"messages": [ADD, GOOD]}),
    (
        {
            "instruction": "add",
            "output": "three",
            "system": "be brief",
            "history": [["hello", "what now?"]],
        },
        {"messages": [system("be brief"), *OLD, ADD, GOOD]},
    ),
    ({"query": "add", "response": "three"}, {"messages": [ADD, GOOD]}),
    *(
        (
            {field: "be brief", "messages": [ADD, GOOD]},
            {"messages": [system("be brief"), ADD, GOOD]},
        )
        for field in ("system", "system_prompt")
    ),
    (
        {"developer": "be brief", "messages": [ADD, GOOD]},
        {"messages": [{"role": "developer", "content": "be brief"}, ADD, GOOD]},
    ),
    (
        {"system": "be brief", "conversations": turns(("human", "add"), ("gpt", "three"))},
        {"messages": [system("be brief"), ADD, GOOD]},
    ),
    (
        {"system": "be brief", "messages": [system("be brief"), ADD, GOOD]},
        {"messages": [system("be brief"), ADD, GOOD]},
    ),
    ({"system": " ", "messages": [ADD, GOOD]}, {"messages": [ADD, GOOD]}),
    (
        {"system": "be brief", "prompt": "add", "completion": "three"},
        {"prompt": [system("be brief"), ADD], "completion": [GOOD]},
    ),
]
PAIR: Row = {"prompt": [ADD], "chosen": [GOOD], "rejected": [BAD]}
PAIRS: list[tuple[Row, Row]] = [
    ({"prompt": [ADD], "chosen": GOOD, "rejected": BAD}, PAIR),
    (
        {
            "conversations": turns(("human", "add")),
            "chosen": {"from": "gpt", "value": "three"},
            "rejected": {"from": "gpt", "value": "four"},
        },
        PAIR,
    ),
    ({"messages": [ADD], "chosen": [GOOD], "rejected": [BAD]}, PAIR),
    ({"messages": [ADD], "chosen": "three", "rejected": "four"}, PAIR),
    ({"messages": [ADD, GOOD], "rejected_response": "four"}, PAIR),
    ({"messages": [ADD, GOOD], "rejected_response": [BAD]}, PAIR),
    ({"messages": [ADD, GOOD], "rejected_messages": [ADD, BAD]}, PAIR),
    ({"prompt": [ADD], "chosen": [ADD, GOOD], "rejected": [ADD, BAD]}, PAIR),
    ({"instruction": "add", "chosen": "three", "rejected": "four"}, PAIR),
    (
        {"question": "add", "chosen": " three", "rejected": " four"},
        {"prompt": "add", "chosen": " three", "rejected": " four"},
    ),
    (
        {"system": "be brief", "question": "add", "chosen": "three", "rejected": "four"},
        {**PAIR, "prompt": [system("be brief"), ADD]},
    ),
    (
        {"system_prompt": "be brief", "chosen": [ADD, GOOD], "rejected": [ADD, BAD]},
        {**PAIR, "prompt": [system("be brief"), ADD]},
    ),
]
LABELLED: list[tuple[Row, Row]] = [
    (
        {"messages": [ADD, GOOD], "label": True},
        {"prompt": [ADD], "completion": [GOOD], "label": True},
    ),
    (
        {"conversations": turns(("human", "add"), ("gpt", "four")), "kto_tag": False},
        {"prompt": [ADD], "completion": [BAD], "label": False},
    ),
    (
        {"instruction": "add", "output": "three", "label": True},
        {"prompt": [ADD], "completion": [GOOD], "label": True},
    ),
    (
        {"prompt": [ADD], "completion": GOOD, "label": True},
        {"prompt": [ADD], "completion": [GOOD], "label": True},
    ),
]
PROMPTS: list[tuple[Row, Row]] = [
    ({"question": "add", "answer": "3"}, {"prompt": "add"}),
    ({"instruction": "add", "input": "1 and 2"}, {"prompt": [ASK]}),
    ({"system": "be brief", "prompt": "add"}, {"prompt": [system("be brief"), ADD]}),
    ({"system": "be brief", "messages": [ADD]}, {"messages": [system("be brief"), ADD]}),
]
CASES: list[tuple[str, Row, Row]] = [
    *(("sft", *case) for case in CHATS),
    *((kind, *case) for kind in ("dpo", "orpo", "bco", "reward") for case in PAIRS),
    *((kind, *case) for kind in ("kto", "bco") for case in LABELLED),
    *(("grpo", *case) for case in PROMPTS),
]


def transform_of(kind: str, layout: str = "easydel") -> Any:
    options = {"name": kind, "fixed_shapes": False, "layout": layout, **OPTIONS[kind]}
    if layout == "trl" and kind != "sft":
        options = {key: value for key, value in options.items() if "_length" not in key}
    if kind == "grpo":
        del options["layout"]
        options["max_prompt_length"] = 300
    return named_transform(options, tokenizer())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("kind", "row", "usual"), CASES)
def test_a_row_is_read_as_the_usual_one(kind: str, row: Row, usual: Row, layout: str) -> None:
    transform = transform_of(kind, layout)
    made = transform.examples(row)
    assert made
    assert made == transform.examples(usual)


@pytest.mark.parametrize("kind", sorted({kind for kind, _, _ in CASES}))
def test_streams_read_them_too(kind: str, tmp_path: Path) -> None:
    """Of lines of JSON, all shapes in one file; of Parquet, each shape by itself."""
    transform = transform_of(kind)
    rows = [row for each, row, _ in CASES if each == kind]
    expected = [made for row in rows for made in transform.examples(row)]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert list(easydata.JsonShardedSource(lines).transform(transform)) == expected
    typed = []
    for number, row in enumerate(rows):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist([row]), path)
        typed += list(easydata.ParquetShardedSource(str(path)).transform(transform))
    assert typed == expected


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        (
            "sft",
            {"system": "be brief", "messages": [system("be long"), ADD, GOOD]},
            "two system messages, one in a field beside its conversation",
        ),
        (
            "sft",
            {"system": "be brief", "system_prompt": "be long", "messages": [ADD, GOOD]},
            "two system messages, one in 'system' and one in 'system_prompt'",
        ),
        ("sft", {"system": 7, "messages": [ADD, GOOD]}, "'system' beside a conversation must hold"),
        (
            "sft",
            {"instruction": "add", "output": "three", "history": ["hello"]},
            "'history' must hold the turns before the instruction: a list of pairs",
        ),
        ("sft", {"instruction": "add", "input": "1"}, "the row has no messages"),
        (
            "dpo",
            {"messages": [ADD, GOOD], "chosen": "three", "rejected": "four"},
            "'messages' ends with the assistant's message, and 'chosen' would follow it",
        ),
        (
            "dpo",
            {"messages": [ADD], "rejected_response": "four"},
            "'messages' must end with the assistant's message",
        ),
        ("kto", {"messages": [ADD], "label": True}, "'messages' must end with the assistant's"),
        ("kto", {"messages": [ADD, GOOD]}, "the row has no 'completion' with 'label'"),
    ],
)
def test_what_can_be_meant_in_two_ways_is_an_error(kind: str, row: Row, message: str) -> None:
    with pytest.raises((ValueError, TypeError, KeyError), match=re.escape(message)):
        transform_of(kind).examples(row)


@pytest.mark.parametrize("kind", ["dpo", "orpo", "bco", "reward"])
def test_a_pair_without_its_prompt_is_an_error_where_other_text_may_be_it(
    kind: str, tmp_path: Path
) -> None:
    rows = [{"problem": f"{n} and 1", "chosen": f"{n} more", "rejected": "no"} for n in range(4)]
    source = easydata.create_source(easydata.DatasetConfig(rows))
    with pytest.raises(ValueError, match=r"has no 'prompt'.*nobody reads the text in 'problem'"):
        list(source.transform(transform_of(kind)))
    # Nothing but answers, or answers that begin alike.
    alone = [{"chosen": row["chosen"], "rejected": row["rejected"]} for row in rows]
    alike = [{**row, "chosen": "Q: 1 A: x", "rejected": "Q: 1 A: y"} for row in rows]
    for sound in (alone, alike):
        source = easydata.create_source(easydata.DatasetConfig(sound))
        assert list(source.transform(transform_of(kind)))


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("sft", "#7e23fbdbd7775973"),
        ("grpo", "#8fe625492e6e30f2"),
        ("tokenize", "#5a001165051cbaa3"),
    ],
)
def test_states_of_plans_that_read_fewer_fields_stay_good(
    kind: str, columns: str, tmp_path: Path
) -> None:
    """The columns of 0.2.0, as its states have them: system messages were not read then."""
    (tmp_path / "rows.jsonl").write_text(json.dumps({"messages": [ADD, GOOD]}) + "\n")
    source: Any = easydata.JsonShardedSource(tmp_path / "rows.jsonl")
    if kind == "tokenize":
        config = easydata.TokenizerConfig(name_or_path="split")
        source = easydata.TokenizedShardedSource(source, tokenizer(), config)
    else:
        source = source.transform(transform_of(kind))
    state: Any = easydata.AsyncDataLoader(source, 1).state_dict()
    assert state["plan"]["source.columns"] == columns


@pytest.mark.parametrize("kind", ["sft", "tokenize"])
def test_an_instruction_without_an_answer_is_named(kind: str) -> None:
    source: Any = easydata.create_source(
        easydata.DatasetConfig([{"instruction": "add", "output": ""}])
    )
    if kind == "tokenize":
        config = easydata.TokenizerConfig(name_or_path="split")
        made: Any = easydata.TokenizedShardedSource(source, tokenizer(), config)
    else:
        made = source.transform(transform_of(kind))
    with pytest.raises(ValueError, match=r"(^|\s)instruction\[1\] \(role 'assistant'\) is an"):
        list(made)
