"""Rows of layout="trl" equal those that the installed TRL makes itself."""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from data_folders import SHARED, WITHOUT_SHARED, needs_shared

pytest.importorskip("trl", reason="trl is not installed: pip install trl==1.16.0")

import datasets
import torch
from easydata.trainers import transforms
from edge_rows import EdgeRows
from trl.trainer import dpo_trainer, kto_trainer, reward_trainer, sft_trainer
from trl_preparation import (
    Row,
    columns_of,
    live_tokenizer,
    prepare,
    prepare_by_number,
    prepare_each,
    stream,
)

import easydata

TRANSFORMS = {
    "sft": transforms.SFTPreprocessTransform,
    "dpo": transforms.DPOPreprocessTransform,
    "kto": transforms.KTOPreprocessTransform,
    "reward": transforms.RewardPreprocessTransform,
}
# The folder of a tokenizer, and a template of TRL in place of its own.
TOKENIZERS = [
    pytest.param("split", "qwen3.jinja", id="split-qwen3"),
    pytest.param("splits", "llama3_1.jinja", id="splits-llama3.1"),
    pytest.param("qwen2.5", None, id="qwen2.5", marks=needs_shared),
    pytest.param("qwen2.5", "qwen3.jinja", id="qwen2.5-qwen3", marks=needs_shared),
    pytest.param("llama3.1", None, id="llama3.1", marks=needs_shared),
]
OPTIONS: list[tuple[str, Row]] = [
    *((kind, {"max_length": length}) for kind in TRANSFORMS for length in (None, 24)),
    *((kind, {"max_length": 24, "truncation_mode": "keep_end"}) for kind in ("sft", "dpo")),
]
TEXT = SHARED / "data" / "text"


def named(value: Any) -> str | None:
    """The name of a case's options."""
    return "-".join(map(str, value.values())) if isinstance(value, dict) else None


def transform_of(kind: str, tokenizer: Any, **options: Any) -> Any:
    return TRANSFORMS[kind](tokenizer, layout="trl", **options)


def source_of(rows: Iterable[Row], folder: Path) -> easydata.JsonShardedSource:
    """Rows as a file of lines."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    (folder / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
    return easydata.JsonShardedSource(folder / "rows.jsonl")


# Options under which messages become the text that TRL makes of them.
AS_TRL: Row = {"reasoning": "drop", "parse_arguments": False}


def edge_rows(seed: int, tokenizer: Any) -> EdgeRows:
    """A maker of rows that say nothing which the tokenizer's template leaves out of its text.

    Tools where it knows none, and text beside a call in a turn that it prints as the call alone,
    are refused; reasoning is what AS_TRL is for.
    """
    template = tokenizer.chat_template
    return EdgeRows(
        seed,
        special_texts(tokenizer),
        has_tools="tool_calls" in template,
        says_why="This model only supports single tool-calls at once" not in template,
    )


def special_texts(tokenizer: Any) -> tuple[str, ...]:
    """EOS, and the other special tokens."""
    return tuple(dict.fromkeys([tokenizer.eos_token, *tokenizer.all_special_tokens]))


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("kind", "options"), OPTIONS, ids=named)
@pytest.mark.parametrize(("name", "template"), TOKENIZERS)
def test_edge_rows_are_those_of_trl(
    kind: str, options: Row, name: str, template: str | None, tmp_path: Path
) -> None:
    """200 rows of texts and chats in turn, through a stream on two threads."""
    tokenizer = live_tokenizer(name, template)
    rows = edge_rows(8, tokenizer).rows(kind, 200)
    expected = prepare_by_number(kind, rows, tokenizer, **options)
    transform = transform_of(kind, tokenizer, keep_columns=["number"], **options, **AS_TRL)
    made: dict[int, list[Row]] = {}
    numbers = []
    for row in source_of(rows, tmp_path).transform(transform):
        numbers.append(row["number"])
        made.setdefault(row["number"], []).append(columns_of(kind, row))
    assert made == expected
    # In order; of a pair first the chosen answer, where TRL has those of 1,000 rows first.
    assert numbers == sorted(numbers)
    # Something is left, and under a limit something is not.
    assert 20 < len(expected) <= 200
    if options != {"max_length": None} and options.get("truncation_mode") != "keep_end":
        assert len(expected) < 200


def test_edge_rows_have_the_edges() -> None:
    """What the comparison is for is in its rows."""
    tokenizer = live_tokenizer("split", "qwen3.jinja")
    maker = edge_rows(8, tokenizer)
    rows = {kind: maker.rows(kind, 200) for kind in TRANSFORMS}
    eos = tokenizer.eos_token

    def some(kind: str, holds: Callable[[Row], Any]) -> bool:
        return sum(bool(holds(row)) for row in rows[kind]) >= 2

    def answers(row: Row) -> list[Any]:
        return [row[field] for field in ("completion", "chosen", "rejected") if field in row]

    def is_cut(row: Row) -> bool:
        prompt = row.get("prompt")
        if not isinstance(prompt, str):
            return False
        alone = tokenizer(prompt)["input_ids"]
        return any(
            tokenizer(prompt + answer)["input_ids"][: len(alone)] != alone
            for answer in answers(row)
        )

    for kind in ("sft", "dpo", "kto"):
        assert some(kind, is_cut)
        assert some(kind, lambda row: row.get("prompt") == "")
        assert some(kind, lambda row: any(str(answer).endswith(eos) for answer in answers(row)))
        assert some(kind, lambda row: isinstance(row.get("tools"), str))
        assert some(kind, lambda row: isinstance(row.get("tools"), list) and row["tools"])
        assert some(kind, lambda row: row.get("chat_template_kwargs"))
        assert some(kind, lambda row: "tool_calls" in json.dumps(row))
        assert some(kind, lambda row: len(json.dumps(row)) > 1000)
    for kind in ("dpo", "reward"):
        assert some(kind, lambda row: "prompt" not in row and isinstance(row["chosen"], str))
        assert some(kind, lambda row: "prompt" not in row and isinstance(row["chosen"], list))
    assert some("kto", lambda row: "label" in row)
    assert some("kto", lambda row: "chosen" in row)
    assert some("sft", lambda row: row.get("text", "x") == "")


@pytest.mark.parametrize(
    ("name", "template"),
    [
        pytest.param("split", "qwen3_training.jinja", id="split-qwen3"),
        pytest.param("splits", "llama3_training.jinja", id="splits-llama3"),
    ],
)
def test_mask_prompt_is_trl_s_assistant_only_loss(name: str, template: str, tmp_path: Path) -> None:
    tokenizer = live_tokenizer(name, template)
    maker = edge_rows(5, tokenizer)
    rows = [{"number": n, **(maker.chat_completion() if n % 3 == 0 else maker.chat())}
            for n in range(90)]  # fmt: skip
    options = {"max_length": 150}
    expected = prepare_by_number("sft", rows, tokenizer, assistant_only_loss=True, **options)
    transform = transform_of(
        "sft", tokenizer, mask_prompt=True, keep_columns=["number"], **options, **AS_TRL
    )
    made = {
        row["number"]: [columns_of("sft", row)]
        for row in source_of(rows, tmp_path).transform(transform)
    }
    assert made == expected
    assert 40 < len(expected) < 90
    trained = [row["labels"].count(-100) / len(row["labels"]) for (row,) in expected.values()]
    assert 0.3 < sum(trained) / len(trained) < 0.95


def user(content: Any) -> Row:
    return {"role": "user", "content": content}


def assistant(content: Any) -> Row:
    return {"role": "assistant", "content": content}


CHAT = {"messages": [user("a"), assistant("b")]}
PAIR = {"prompt": [user("a")], "chosen": [assistant("b")], "rejected": [assistant("c")]}
BARE = {"chosen": [user("a"), assistant("b")], "rejected": [user("a"), assistant("c")]}
GIVEN = {"input_ids": [1, 2, 3], "labels": [-100, 2, 3]}
# Which of them follows Python's order of the columns' names, another one in each process.
EMPTY_PROMPT = (IndexError, ValueError)
OTHER = "other examples"
LEFT_OUT = "no example"
# What a row makes of TRL's trainer and of ours: an error, or what TRL makes of this other row.
Outcome = type[Exception] | tuple[type[Exception], ...] | Row | str
# Of each: why we do otherwise than TRL; the trainer; the row; what TRL does; what we do; options.
OTHERWISE: list[tuple[str, str, Row, Outcome, Outcome, Row]] = [
    (
        "TRL does not read messages that are JSON",
        "sft",
        {"messages": json.dumps(CHAT["messages"])},
        KeyError,
        CHAT,
        {},
    ),
    (
        "TRL leaves the roles of from/value messages, which templates do not know",
        "sft",
        {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]},
        {"messages": [{"role": "human", "content": "a"}, {"role": "gpt", "content": "b"}]},
        CHAT,
        {},
    ),
    (
        "TRL knows role/content messages under another name alone",
        "sft",
        {"conversations": CHAT["messages"]},
        KeyError,
        CHAT,
        {},
    ),
    ("nobody can render no message", "sft", {"messages": []}, IndexError, ValueError, {}),
    (
        "TRL ends the text with EOS, and trains on the completion without one",
        "sft",
        {"text": "x", "prompt": "a", "completion": " b"},
        OTHER,
        {"prompt": "a", "completion": " b"},
        {},
    ),
    (
        "TRL wants a completion for every prompt",
        "sft",
        {"text": "x", "prompt": "a"},
        KeyError,
        {"text": "x"},
        {},
    ),
    (
        "TRL stumbles over options that are null, as Arrow has them",
        "sft",
        {**CHAT, "chat_template_kwargs": None},
        TypeError,
        CHAT,
        {},
    ),
    (
        "TRL's templates leave out text in parts",
        "sft",
        {"messages": [user([{"type": "text", "text": "a"}]), assistant("b")]},
        OTHER,
        CHAT,
        {},
    ),
    (
        "TRL keeps rows of which nothing is trained on, without a max_length",
        "sft",
        {"input_ids": [1, 2, 3], "labels": [-100, -100, -100]},
        OTHER,
        LEFT_OUT,
        {"max_length": None},
    ),
    (
        "TRL takes no notice of a mask, unless completion_only_loss is set",
        "sft",
        {"input_ids": [1, 2, 3], "completion_mask": [0, 1, 1]},
        {"input_ids": [1, 2, 3], "labels": [1, 2, 3]},
        GIVEN,
        {},
    ),
    ("nobody knows what null says", "sft", {"text": None}, AttributeError, KeyError, {}),
    ("a number is no text", "sft", {"text": 5}, AttributeError, TypeError, {}),
    (
        "TRL wants both in one form",
        "sft",
        {"prompt": [user("a")], "completion": "b"},
        (TypeError, AttributeError),
        {"prompt": [user("a")], "completion": [assistant("b")]},
        {},
    ),
    (
        "TRL wants both in one form, whichever it is",
        "sft",
        {"prompt": "a", "completion": [assistant("b")]},
        (TypeError, AttributeError),
        {"prompt": [user("a")], "completion": [assistant("b")]},
        {},
    ),
    (
        "TRL stops the job at a chat without an assistant's turn",
        "sft",
        {"messages": [user("a")]},
        RuntimeError,
        LEFT_OUT,
        {"assistant_only_loss": True},
    ),
    (
        "TRL renders an empty prompt where the chats share no message",
        "dpo",
        {"chosen": [user("a"), assistant("b")], "rejected": [user("c"), assistant("d")]},
        EMPTY_PROMPT,
        ValueError,
        {},
    ),
    (
        "the same, where one chat is the beginning of the other",
        "dpo",
        {"chosen": [user("a"), assistant("b")], "rejected": [user("a")]},
        EMPTY_PROMPT,
        ValueError,
        {},
    ),
    (
        "TRL looks for a space before the first character, and finds the last one",
        "dpo",
        {"chosen": "xyz ", "rejected": "abc"},
        OTHER,
        {"prompt": "", "chosen": "xyz ", "rejected": "abc"},
        {},
    ),
    (
        "TRL finds no character in an empty answer",
        "dpo",
        {"chosen": "", "rejected": "abc"},
        UnboundLocalError,
        ValueError,
        {},
    ),
    *(
        ("TRL trains a model to end at once", kind, row, OTHER, ValueError, {})
        for kind, row in (
            ("sft", {"prompt": "a", "completion": ""}),
            ("sft", {"messages": [user("a"), assistant("\n")]}),
            ("sft", {"prompt": [user("a")], "completion": [assistant("")]}),
            ("dpo", {"prompt": "a", "chosen": "", "rejected": "b"}),
            ("dpo", {**PAIR, "rejected": [assistant("")]}),
            ("kto", {"prompt": "a", "completion": " ", "label": True}),
            ("reward", {"prompt": "a", "chosen": "b", "rejected": ""}),
        )
    ),
    (
        "TRL compares an answer with itself",
        "dpo",
        {**PAIR, "rejected": PAIR["chosen"]},
        OTHER,
        ValueError,
        {},
    ),
    (
        "TRL says nothing of a role that its template does not print",
        "sft",
        {"messages": [user("a"), {"role": "usr", "content": "c"}, assistant("b")]},
        OTHER,
        ValueError,
        {},
    ),
    (
        "TRL takes a null prompt for one",
        "dpo",
        {"prompt": None, "chosen": "a b", "rejected": "a c"},
        (ValueError, TypeError),
        {"chosen": "a b", "rejected": "a c"},
        {},
    ),
    (
        "TRL wants prompt and answers in one form",
        "dpo",
        {**PAIR, "prompt": "a"},
        (TypeError, AttributeError),
        PAIR,
        {},
    ),
    (
        "TRL wants answers and prompt in one form",
        "dpo",
        {**PAIR, "chosen": "b", "rejected": "c"},
        (TypeError, AttributeError),
        PAIR,
        {},
    ),
    (
        "TRL's own remark of prompts beside whole chats did not reach its trainers",
        "dpo",
        {"prompt": "a", **BARE},
        (TypeError, AttributeError),
        PAIR,
        {},
    ),
    (
        "the same, where the prompt is empty",
        "dpo",
        {"prompt": [], **BARE},
        EMPTY_PROMPT,
        PAIR,
        {},
    ),
    (
        "an answer is missing",
        "dpo",
        {"prompt": "a", "chosen": "b", "rejected": None},
        AttributeError,
        KeyError,
        {},
    ),
    (
        "a label is missing",
        "kto",
        {"prompt": "a", "completion": "b"},
        KeyError,
        TypeError,
        {},
    ),
    (
        "TRL hands on labels that say nothing",
        "kto",
        {"prompt": "a", "completion": "b", "label": None},
        OTHER,
        TypeError,
        {},
    ),
    (
        "TRL hands on labels that are text",
        "kto",
        {"prompt": "a", "completion": "b", "label": "false"},
        OTHER,
        TypeError,
        {},
    ),
    (
        "a completion alone has no prompt",
        "kto",
        {"completion": CHAT["messages"], "label": True},
        KeyError,
        KeyError,
        {},
    ),
    (
        "TRL adds text to null",
        "reward",
        {"prompt": None, "chosen": "b", "rejected": "c"},
        TypeError,
        {"chosen": "b", "rejected": "c"},
        {},
    ),
    (
        "TRL wants prompt and answers of a reward in one form",
        "reward",
        {**PAIR, "chosen": "b", "rejected": "c"},
        (TypeError, AttributeError),
        PAIR,
        {},
    ),
    (
        "TRL's reward trainer has the same remark",
        "reward",
        {"prompt": "a", **BARE},
        (TypeError, AttributeError),
        BARE,
        {},
    ),
]


def outcome_is(outcome: Outcome, made: Any, other: Any, trl_of: Callable[[Row], Any]) -> bool:
    """Whether what a row made is what is said of it; `other` is what the other side made."""
    if outcome == OTHER:
        return not isinstance(made, Exception) and bool(made) and made != other
    if outcome == LEFT_OUT:
        return bool(made == [])
    if isinstance(outcome, dict):
        return bool(made == trl_of(outcome))
    return isinstance(made, outcome)


@pytest.mark.parametrize(
    ("kind", "row", "theirs", "ours", "options"),
    [pytest.param(*case[1:], id=f"{case[1]}: {case[0]}") for case in OTHERWISE],
)
def test_we_do_otherwise_where_trl_fails(
    kind: str, row: Row, theirs: Outcome, ours: Outcome, options: Row
) -> None:
    template = "qwen3_training.jinja" if "assistant_only_loss" in options else "qwen3.jinja"
    tokenizer = live_tokenizer("split", template)

    def trl_of(row: Row) -> Any:
        return next(prepare_each(kind, [row], tokenizer, **options))

    given = {"max_length": 1024, **options}
    if given.pop("assistant_only_loss", False):
        given["mask_prompt"] = True
    transform = transform_of(kind, tokenizer, **given)
    made: Any
    try:
        # A mask that a row has stays beside the labels.
        made = [columns_of(kind, each) for each in transform.examples(row)]
    except Exception as error:
        made = error
    assert outcome_is(theirs, trl_of(row), made, trl_of), trl_of(row)
    assert outcome_is(ours, made, trl_of(row), trl_of), made
    if isinstance(made, Exception):
        said = str(made.args[0])
        fields = "messages|text|prompt|completion|chosen|rejected|label"
        assert re.search(rf"'({fields})\W|\b\w+\[\d+\] \(role ", said)


def test_no_tools_are_no_tools() -> None:
    """TRL says that Llama's template prints its words about tools for an empty list of them.

    It mends that in apply_chat_template(), not in the preparation of its trainers.
    """
    tokenizer = live_tokenizer("splits", "llama3_1.jinja")
    (none,), (plain,) = prepare_each("sft", [{**CHAT, "tools": []}, CHAT], tokenizer)
    assert "Environment: ipython" in tokenizer.decode(none["input_ids"])
    assert "Environment: ipython" not in tokenizer.decode(plain["input_ids"])
    transform = transform_of("sft", tokenizer, max_length=1024)
    assert transform.examples({**CHAT, "tools": []}) == [plain]


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("sft", {"prompt": "a{eos}", "completion": "b"}),
        ("sft", {"prompt": "a{half}", "completion": "{other half}"}),
        ("dpo", {"prompt": "a{eos}", "chosen": "b", "rejected": "{eos}"}),
        ("dpo", {"prompt": "a{half}", "chosen": "{other half}", "rejected": "b"}),
        ("kto", {"prompt": "a{eos}", "completion": "b", "label": True}),
        ("kto", {"prompt": "a{half}", "completion": "{other half}", "label": True}),
        ("reward", {"prompt": "a{eos}", "chosen": "b", "rejected": "{eos}"}),
        ("reward", {"prompt": "a{half}", "chosen": "{other half}", "rejected": "b"}),
    ],
)
def test_eos_that_a_prompt_has_does_not_end_its_answer(kind: str, row: Row) -> None:
    tokenizer = live_tokenizer("split", "qwen3.jinja")
    eos = tokenizer.eos_token
    for mark, text in (("{eos}", eos), ("{half}", eos[:4]), ("{other half}", eos[4:])):
        row = {
            name: value.replace(mark, text) if isinstance(value, str) else value
            for name, value in row.items()
        }
    expected = next(prepare_each(kind, [row], tokenizer))
    assert transform_of(kind, tokenizer, max_length=1024).examples(row) == expected


def test_each_row_is_taken_for_what_it_is(tmp_path: Path) -> None:
    """TRL takes the first row for what all are: others lack EOS, or have their prompts trained."""
    tokenizer = live_tokenizer("split", "qwen3.jinja")
    text, completion = {"text": "a"}, {"prompt": "a", "completion": " b"}
    alone = {
        str(row): next(prepare_each("sft", [row], tokenizer)) for row in (text, CHAT, completion)
    }
    for first, second in ((CHAT, text), (text, completion)):
        together = [
            columns_of("sft", row) for row in prepare("sft", stream([first, second]), tokenizer)
        ]
        assert together[1:] != alone[str(second)]
        transform = transform_of("sft", tokenizer, max_length=1024)
        made = list(source_of([first, second], tmp_path).transform(transform))
        assert made == [*alone[str(first)], *alone[str(second)]]


# Rows of Arrow, where each has the fields of all.


def test_rows_of_a_data_set_are_those_of_trl() -> None:
    tokenizer = live_tokenizer("split", "qwen3.jinja")
    maker = EdgeRows(11, special_texts(tokenizer))
    rows: dict[str, list[Row]] = {
        "sft": [{"messages": [*maker.turns(), assistant("b")]} for _ in range(40)],
        "dpo": [{**PAIR, "prompt": maker.turns()} for _ in range(40)],
        "kto": [maker.answer() for _ in range(40)],
        "reward": [maker.pair() for _ in range(40)],
    }
    for kind, given in rows.items():
        data = datasets.Dataset.from_list(given)
        expected = [columns_of(kind, row) for row in prepare(kind, data, tokenizer, max_length=90)]
        transform = transform_of(kind, tokenizer, max_length=90)
        assert list(easydata.wrap_hf_dataset(data).transform(transform)) == expected
        assert 5 < len(expected) <= 40, kind


def test_tools_of_a_data_set_have_no_fields_of_other_rows() -> None:
    """TRL prints the null members that Arrow fills up with; we print the tool (trl#5118)."""
    tokenizer = live_tokenizer("split", "qwen3.jinja")
    tools = [
        [{"type": "function", "function": {"name": name, "parameters": {name: {"type": "string"}}}}]
        for name in ("town", "day")
    ]
    rows = [{**CHAT, "tools": each} for each in tools]
    data = datasets.Dataset.from_list(rows)
    theirs = [columns_of("sft", row) for row in prepare("sft", data, tokenizer)]
    assert '"day": null' in tokenizer.decode(theirs[0]["input_ids"])
    transform = transform_of("sft", tokenizer, max_length=1024)
    made = list(easydata.wrap_hf_dataset(data).transform(transform))
    assert [[row] for row in made] == list(prepare_each("sft", rows, tokenizer))


# Batches.


def collator_of(kind: str, tokenizer: Any, max_length: int, mode: str = "keep_start") -> Any:
    pad = tokenizer.pad_token_id
    if kind == "sft":
        return sft_trainer.DataCollatorForLanguageModeling(pad)
    if kind == "dpo":
        return dpo_trainer.DataCollatorForPreference(pad, max_length, mode)
    if kind == "kto":
        return kto_trainer.DataCollatorForUnpairedPreference(pad, max_length)
    return reward_trainer.DataCollatorForPreference(pad)


@pytest.mark.parametrize("mode", ["keep_start", "keep_end"])
@pytest.mark.parametrize("kind", TRANSFORMS)
def test_trl_s_collators_take_our_rows(kind: str, mode: str, tmp_path: Path) -> None:
    tokenizer = live_tokenizer("split", "qwen3.jinja")
    maker = EdgeRows(3, special_texts(tokenizer))
    rows = [
        {"sft": maker.completion, "kto": maker.answer}.get(kind, maker.pair)() for _ in range(60)
    ]
    options: Row = {"max_length": 20}
    if mode == "keep_end":
        if kind in ("kto", "reward"):
            pytest.skip(f"TRL's {kind} trainer has no keep_end")
        options["truncation_mode"] = mode
    collator = collator_of(kind, tokenizer, **{"max_length": 20, "mode": mode})
    theirs = list(prepare(kind, stream(rows), tokenizer, **options))
    source = source_of(rows, tmp_path).transform(transform_of(kind, tokenizer, **options))
    for ours in (list(source), list(source.to_hf())):
        assert len(ours) == len(theirs) > 8
        for start in range(0, len(theirs), 8):
            expected = collator(theirs[start : start + 8])
            batch = collator(ours[start : start + 8])
            assert batch.keys() == expected.keys()
            for name, tensor in expected.items():
                assert torch.equal(batch[name], tensor), name
                assert batch[name].dtype == tensor.dtype, name


# Real data.


def json_rows(path: Path) -> list[Row]:
    text = path.read_text(encoding="utf-8")
    rows = json.loads(text) if path.suffix == ".json" else map(json.loads, text.splitlines())
    return list(rows)


ROLES = {"human": "user", "gpt": "assistant", "observation": "tool"}


def said(message: Row) -> Row:
    """A message of role and content, or of a call."""
    if message.get("from") == "function_call":
        call = {"type": "function", "function": json.loads(message["value"])}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    if "from" in message:
        role = ROLES.get(message["from"], message["from"])
        return {"role": role, "content": message["value"]}
    content = message["content"]
    if isinstance(content, list):
        content = "".join(part["value"] for part in content)
    return {"role": message["role"], "content": content}


def a_chat(row: Row) -> tuple[Row, Row]:
    """A row as it is, which we read, and with messages that TRL reads."""
    field = "messages" if "messages" in row else "conversations"
    theirs: Row = {"messages": [said(message) for message in row[field]]}
    # TRL takes any text for tools in JSON.
    if row.get("tools"):
        theirs["tools"] = row["tools"]
    ours = {field: [in_parts(message) for message in row[field]], "tools": row.get("tools") or None}
    return ours, theirs


def has_tools(row: Row) -> bool:
    """Whether there are tools in a row that TRL reads, or calls of them."""
    calls = any("tool_calls" in message for message in row.get("messages", ()))
    return calls or row.get("tools", "[]") != "[]"


def in_parts(message: Row) -> Row:
    """A message whose parts, if it has them, are named as chat templates know them."""
    parts = message.get("content")
    if not isinstance(parts, list):
        return message
    named = [{"type": "text", "text": part["value"]} for part in parts]
    return {**message, "content": named}


def the_same(row: Row) -> tuple[Row, Row]:
    return row, row


def an_instruction(row: Row) -> tuple[Row, Row]:
    asked = f"{row['instruction']}\n\n{row['input']}".strip()
    answer = row.get("output", row.get("response"))
    return the_same({"prompt": asked + "\n", "completion": answer})


def a_question(row: Row) -> tuple[Row, Row]:
    question = [{"role": "user", "content": row["question"]}]
    answer = [{"role": "assistant", "content": row["answer"]}]
    return the_same({"prompt": question, "completion": answer})


def a_program(row: Row) -> tuple[Row, Row]:
    return the_same({"prompt": row["prompt"], "completion": row["canonical_solution"]})


def a_preference(row: Row) -> tuple[Row, Row]:
    prompt, chosen, rejected = row["conversations"], [row["chosen"]], [row["rejected"]]
    theirs = {
        "prompt": [said(message) for message in prompt],
        "chosen": [said(message) for message in chosen],
        "rejected": [said(message) for message in rejected],
    }
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected}, theirs


def a_text_preference(row: Row) -> tuple[Row, Row]:
    prompt = "\n\n".join(message["value"] for message in row["conversations"]) + "\n\n"
    pair = {side: row[side]["value"] for side in ("chosen", "rejected")}
    return the_same({"prompt": prompt, **pair})


def an_answer(row: Row) -> tuple[Row, Row]:
    messages = row["messages"]
    return the_same({"prompt": messages[:-1], "completion": messages[-1:], "label": row["label"]})


FILES = [
    ("sft", "chat/glaive_toolcall_en_demo.json", a_chat),
    ("sft", "chat/sharegpt_identity.json", a_chat),
    ("sft", "chat/v1_sft_demo.jsonl", a_chat),
    ("sft", "instruct/alpaca_en_demo.json", an_instruction),
    ("sft", "instruct/alpaca_zh_demo.json", an_instruction),
    ("sft", "instruct/gpteacher_codegen.json", an_instruction),
    ("sft", "instruct/gsm8k_train.jsonl", a_question),
    ("sft", "instruct/humaneval.jsonl", a_program),
    ("dpo", "preference/dpo_en_demo.json", a_preference),
    ("dpo", "preference/dpo_en_demo.json", a_text_preference),
    ("kto", "preference/dpo_en_demo.json", a_preference),
    ("kto", "preference/kto_en_demo.json", an_answer),
    ("reward", "preference/dpo_en_demo.json", a_preference),
    ("reward", "preference/dpo_en_demo.json", a_text_preference),
]


@pytest.mark.one_in(5)
@pytest.mark.skipif(not SHARED.is_dir(), reason=WITHOUT_SHARED)
@pytest.mark.parametrize(
    ("kind", "file", "form"),
    [
        pytest.param(*each, id=f"{each[0]}-{Path(each[1]).stem}-{each[2].__name__}")
        for each in FILES
    ],
)
@pytest.mark.parametrize(("name", "template"), TOKENIZERS[2:])
def test_real_rows_are_those_of_trl(
    kind: str,
    file: str,
    form: Callable[[Row], tuple[Row, Row]],
    name: str,
    template: str | None,
    tmp_path: Path,
) -> None:
    tokenizer = live_tokenizer(name, template)
    pairs = [form(row) for row in json_rows(TEXT / file)]
    # A row with tools is refused where the template knows none.
    knows_tools = "tool_calls" in tokenizer.chat_template
    pairs = [pair for pair in pairs if knows_tools or not has_tools(pair[1])][:60]
    numbered = [tuple({"number": n, **row} for row in pair) for n, pair in enumerate(pairs)]
    options = {"max_length": 600 if kind == "reward" else 300}
    expected = prepare_by_number(kind, [theirs for _, theirs in numbered], tokenizer, **options)
    source = source_of((ours for ours, _ in numbered), tmp_path)
    transform = transform_of(kind, tokenizer, keep_columns=["number"], **options)
    made: dict[int, list[Row]] = {}
    for row in source.transform(transform):
        made.setdefault(row["number"], []).append(columns_of(kind, row))
    assert made == expected
    assert len(expected) > 20
