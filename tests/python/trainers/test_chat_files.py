"""Whole files of chats, in the forms that people publish: each row is right or refused by name."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from chat_rows import Row, tokenizer
from data_folders import SHARED, needs_shared
from easydata.trainers import DPOPreprocessTransform, SFTPreprocessTransform

import easydata

# The roles of speakers, as people read them: what is tested has its own table.
SPEAKERS = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "bot": "assistant",
    "system": "system",
    "function_call": "assistant",
    "observation": "tool",
    "tool": "tool",
}

# Shows all that there is to show.
TEMPLATE = (
    "{% if tools %}<tools>{{ tools | tojson }}</tools>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}"
    "<|im_end|>\n{% endfor %}"
)

TOOLS = [{"type": "function", "function": {"name": "departures", "parameters": {"x": 1}}}]
CALL = '{"name": "departures", "arguments": {"day": "Monday"}}'


def said(speaker: str, text: Any) -> Row:
    return {"from": speaker, "value": text}


def message(role: str, content: Any, **fields: Any) -> Row:
    return {"role": role, "content": content, **fields}


ASKED = message("user", "When does the ferry leave?")
ANSWERED = message("assistant", "At seven, and “ten” – as ever.")
CALLED = message("assistant", None, tool_calls=[{"type": "function", "function": {"name": "f"}}])

# ShareGPT's own form.
SHAREGPT = [
    {"id": "a_0", "conversations": [said("human", "Hello?"), said("gpt", "Hello.")]},
    {
        "id": "a_1",
        "conversations": [said("system", "Be kind."), said("human", "x"), said("gpt", "y")] * 1,
    },
    {"id": "a_2", "conversations": [said("gpt", "I begin."), said("human", "You do.")] * 3},
    {"id": "a_3", "conversations": [said("human", "日本"), said("gpt", "にっぽん\n\n")]},
]
# Speakers of other names, in other letters, and fields that say nothing of the text.
SPEAKERS_OF_OTHERS = [
    {
        "conversations": [
            {**said("User", "a"), "weight": None},
            {**said("Assistant", "b"), "weight": 1},
        ],
        "source": "x",
        "model": None,
    },
    {"conversations": [said(" HUMAN ", "a"), said("bot", "b")], "source": "y"},
    {"conversations": [said("user", "a"), said("assistant", "b")], "category": ["z"]},
]
# Calls of tools and what they gave, as GLAIVE's demo has them; the tools as JSON text.
WITH_TOOLS = [
    {
        "conversations": [
            said("human", "Ferries on Monday?"),
            said("function_call", CALL),
            said("observation", '{"at": [7, 10]}'),
            said("gpt", "At seven and ten."),
        ],
        "tools": json.dumps(TOOLS),
    },
    {"conversations": [said("human", "Thanks."), said("gpt", "Bye.")], "tools": "[]"},
    {"messages": [ASKED, CALLED, message("tool", "7"), ANSWERED], "tools": TOOLS},
    {"messages": json.dumps([ASKED, CALLED, message("tool", "7"), ANSWERED])},
]
# A file of which every row is of another kind.
MIXED = [
    {"messages": [ASKED, ANSWERED]},
    {"messages": json.dumps([ASKED, ANSWERED], ensure_ascii=False)},
    {"conversations": json.dumps([said("human", "a"), said("gpt", "b")])},
    {"conversation": [said("human", "a"), said("gpt", "b")]},
    {"messages": [message("user", [{"type": "text", "text": "a"}, "b"]), ANSWERED]},
    {"prompt": [ASKED], "completion": [ANSWERED]},
    {"prompt": "Ferry:", "completion": " at seven"},
    {"messages": "Hello? (a text is what the user says)"},
    {"text": "No chat at all."},
    {"text": '{"not": "a chat"}'},
]
FILES = {
    "sharegpt": SHAREGPT,
    "speakers": SPEAKERS_OF_OTHERS,
    "tools": WITH_TOOLS,
    "mixed": MIXED,
}

# Rows of which nothing can be made, and what is said of each.
REFUSED: list[tuple[Row, str]] = [
    ({"conversations": []}, "an empty conversation"),
    ({"conversations": "[]"}, "an empty conversation"),
    ({"conversations": [said("martian", "a")]}, "from 'martian', which is no known role"),
    ({"conversations": [said("human", 5)]}, r"conversations\[0\].value holds a number"),
    ({"conversations": '["Hello?"'}, "text that is no JSON list of messages"),
    ({"messages": [message("user", [{"type": "image", "url": "x"}])]}, "a part of type 'image'"),
    ({"messages": [{"content": "a"}]}, "names no role"),
    ({"messages": [ASKED, None]}, r"messages\[1\] is nothing"),
    ({"messages": {"role": "user", "content": "a"}}, "an object, expected a list of messages"),
    ({"dialog": [ASKED]}, "the row has no messages"),
    ({"messages": [ASKED, ANSWERED], "tools": "departures"}, "field 'tools' holds text"),
]


def read(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def called(text: str) -> Row:
    """The call that a message of speaker function_call is."""
    call = json.loads(text)
    arguments = read(call["arguments"])
    return {"type": "function", "function": {"name": call["name"], "arguments": arguments}}


def text_of(row: Row) -> str:
    """What a row says, told apart by hand and rendered by transformers."""
    found = row.get("messages") or row.get("conversations") or row.get("conversation")
    if found is None and "prompt" in row and isinstance(row["prompt"], list):
        found = row["prompt"] + row["completion"]
    if found is None:
        text = row["text"] if "text" in row else row["prompt"] + row["completion"]
        return text + "<|im_end|>"
    if isinstance(found, str) and found[0] != "[":
        found = [message("user", found)]
    messages = []
    for each in read(found):
        if "from" in each:
            if each["from"] == "function_call":
                each = message("assistant", "", tool_calls=[called(each["value"])])
            else:
                each = message(SPEAKERS[each["from"].strip().lower()], each["value"])
        if isinstance(each["content"], list):
            parts = [part if isinstance(part, str) else part["text"] for part in each["content"]]
            each = {**each, "content": "".join(parts)}
        messages.append({name: value for name, value in each.items() if value is not None})
    transformers = pytest.importorskip("transformers")
    render = transformers.utils.chat_template_utils.render_jinja_template
    tools = read(row.get("tools")) or None
    texts, _ = render(conversations=[messages], tools=tools, chat_template=TEMPLATE)
    return str(texts[0])


def written(path: Path, rows: list[Row]) -> easydata.JsonShardedSource:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return easydata.JsonShardedSource(str(path))


def sft(**options: Any) -> SFTPreprocessTransform:
    return SFTPreprocessTransform(
        tokenizer(), 4096, chat_template=TEMPLATE, fixed_shapes=False, **options
    )


def texts(source: Any) -> list[str]:
    return [tokenizer().decode(row["input_ids"]) for row in source]


@pytest.mark.parametrize("name", FILES)
def test_rows_of_a_file_are_right(name: str, tmp_path: Path) -> None:
    rows = FILES[name]
    source = written(tmp_path / f"{name}.jsonl", rows)
    assert texts(source.transform(sft())) == [text_of(row) for row in rows]


def test_files_of_several_kinds_are_read_together(tmp_path: Path) -> None:
    for name, rows in FILES.items():
        written(tmp_path / f"{name}.jsonl", rows)
    source = easydata.JsonShardedSource(str(tmp_path / "*.jsonl")).transform(sft())
    assert texts(source) == [text_of(row) for name in sorted(FILES) for row in FILES[name]]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_a_bad_row_is_refused_by_name(number: int, tmp_path: Path) -> None:
    row, reason = REFUSED[number]
    source = written(tmp_path / "rows.jsonl", [SHAREGPT[0], row, SHAREGPT[1]])
    with pytest.raises((ValueError, TypeError, KeyError), match=reason) as raised:
        list(source.transform(sft()))
    assert "rows.jsonl row 1" in str(raised.value)


def test_bad_rows_are_left_out_on_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = (MIXED + SHAREGPT)[: len(REFUSED)]
    rows = [row for pair in zip((row for row, _ in REFUSED), good, strict=True) for row in pair]
    written(tmp_path / "rows.jsonl", rows)
    dataset = easydata.DatasetConfig(
        data_files=str(tmp_path / "rows.jsonl"), transform=sft(), on_error="skip"
    )
    pipeline = easydata.create_pipeline([dataset], load={"batch_size": 1}).source()
    with caplog.at_level(logging.WARNING, "easydata"), pipeline.load().build() as loader:
        made = sum(len(batch["input_ids"]) for batch in loader)
        counts = next(iter(loader.stats()["sources"].values()))
    assert made == len(REFUSED)
    assert sum(counts["dropped"].values()) == len(REFUSED)
    addresses = [address for each in counts["dropped_at"].values() for address in each]
    assert all("rows.jsonl row " in address for address in addresses)


@needs_shared
@pytest.mark.parametrize(
    "name", ["chat/sharegpt_identity.json", "chat/glaive_toolcall_en_demo.json"]
)
def test_published_chats_are_right(name: str) -> None:
    path = SHARED / "data" / "text" / name
    rows = json.loads(path.read_text("utf-8"))
    long = SFTPreprocessTransform(tokenizer(), 1 << 20, chat_template=TEMPLATE, fixed_shapes=False)
    source = easydata.JsonShardedSource(str(path)).transform(long)
    assert texts(source) == [text_of(row) for row in rows]


@needs_shared
def test_parts_with_a_value_are_text() -> None:
    """LLaMA-Factory's form, in which a message has a loss_weight, too."""
    path = SHARED / "data" / "text" / "chat" / "v1_sft_demo.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    plain = [
        {
            "messages": [
                message(turn["role"], "".join(part["value"] for part in turn["content"]))
                for turn in row["messages"]
            ]
        }
        for row in rows
    ]
    transform = sft(mask_prompt=True)
    made = list(easydata.JsonShardedSource(str(path)).transform(transform))
    assert made == [example for row in plain for example in transform.examples(row)]
    assert len(made) == len(rows)


def test_parts_of_thoughts_and_calls_are_these() -> None:
    """Parts of LLaMA-Factory (v1) that are no text; their values are text or JSON."""

    def part(kind: str, value: Any) -> dict[str, Any]:
        return {"type": kind, "value": value if isinstance(value, str) else json.dumps(value)}

    call = {"name": "f", "arguments": {"a": 1}}
    asked = message("user", "q")
    given = {
        "role": "assistant",
        "content": [
            part("reasoning", "hm "),
            part("reasoning", "so"),
            part("text", "a"),
            part("tool_call", call),
            part("tool_call", [{**call, "name": "g"}]),
        ],
    }
    calls = [{"type": "function", "function": {**call, "name": name}} for name in "fg"]
    plain = {**message("assistant", "a"), "reasoning_content": "hm so", "tool_calls": calls}
    template = (
        "{% for m in messages %}[{{ m.role }}] {{ m.reasoning_content }}|{{ m.content }}|"
        "{% for c in m.tool_calls or [] %}{{ c.function.name }} {{ c.function.arguments | tojson }}"
        "{% endfor %}\n{% endfor %}"
    )
    transform = SFTPreprocessTransform(tokenizer(), 512, chat_template=template, fixed_shapes=False)
    made = list(transform.examples({"messages": [asked, given]}))
    assert made == list(transform.examples({"messages": [asked, plain]}))
    both = {**given, "reasoning_content": "another"}
    with pytest.raises(ValueError, match="two reasonings, one in 'reasoning_content' and one in a"):
        list(transform.examples({"messages": [asked, both]}))
    # What is no call stays an error that names the part.
    wrong = {"role": "assistant", "content": [part("tool_call", "no JSON")]}
    with pytest.raises(ValueError, match=r"content\[0\] is a part of type 'tool_call'"):
        list(transform.examples({"messages": [asked, wrong]}))


def test_pairs_as_llama_factory_has_them() -> None:
    transform = DPOPreprocessTransform(tokenizer(), 64, 64, chat_template=TEMPLATE)
    asked, good, bad = message("user", "q"), message("assistant", "yes"), message("assistant", "no")
    expected = list(transform.examples({"prompt": [asked], "chosen": [good], "rejected": [bad]}))

    def turn(who: str, text: str) -> dict[str, Any]:
        return {"from": who, "value": text}

    for row in (
        {"chosen_messages": [asked, good], "rejected_messages": [asked, bad]},
        {
            "conversations": [turn("human", "q")],
            "chosen": turn("gpt", "yes"),
            "rejected": turn("gpt", "no"),
        },
        {"instruction": "q", "chosen": "yes", "rejected": "no"},
    ):
        assert list(transform.examples(row)) == expected
    strange = {"speaker": "gpt", "utterance": "yes"}
    with pytest.raises(TypeError, match="'chosen' holds an object with 'speaker', 'utterance'"):
        list(transform.examples({"prompt": "q", "chosen": strange, "rejected": "no"}))
