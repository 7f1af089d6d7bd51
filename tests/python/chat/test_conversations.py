"""Conversations in pipelines: every form is read, and none is lost without an error."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.core.config import DatasetConfig
from easydata.execution.loader import AsyncDataLoader
from easydata.transforms import ChatTemplateTransform, ConvertToChatML, MaybeApplyChatTemplate
from small_data import Rows, jsonl
from small_tokenizer import SYSTEM_PROMPT, small_tokenizer, text_of

from easydata import create_pipeline

SYSTEM = f"<system>{SYSTEM_PROMPT}</s>"
CHAT = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Me."}]
RENDERED = SYSTEM + "<user>Who?</s><assistant>Me.</s>"


def from_value(*turns: tuple[str, str]) -> list[dict[str, str]]:
    return [{"from": name, "value": text} for name, text in turns]


def texts(path: str, tiny: str, **options: Any) -> list[str]:
    dataset = DatasetConfig(path, tokenizer=tiny, **options)
    return [
        text_of(row["input_ids"]) for row in create_pipeline([dataset]).source().tokenize().build()
    ]


@pytest.mark.parametrize("field", ["messages", "conversations", "conversation", "dialog"])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_roles_of_from_value_rows(tmp_path: Path, tiny: str, kind: str, field: str) -> None:  # A2
    turns = [
        from_value(("human", "Who?"), ("gpt", "Me.")),
        from_value(("system", "Be."), ("user", "a"), ("model", "b"), ("tool", "c"), ("bot", "d")),
        from_value(("Human", "x"), ("function_call", "f()"), ("observation", "1"), ("GPT", "y")),
    ]
    rows: Rows = [{field: each, "id": i} for i, each in enumerate(turns)]
    path = str(tmp_path / f"a.{kind}")
    if kind == "jsonl":
        jsonl(path, rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    content = {"content_field": "dialog"} if field == "dialog" else {}
    assert texts(path, tiny, **content) == [
        RENDERED,
        "<system>Be.</s><user>a</s><assistant>b</s><tool>c</s><assistant>d</s>",
        SYSTEM + "<user>x</s><assistant>f()</s><tool>1</s><assistant>y</s>",
    ]


def test_real_rows_of_many_lengths_keep_every_text(tmp_path: Path, tiny: str) -> None:  # A2
    names = ("human", "gpt")
    rows: Rows = [
        {"conversations": from_value(*((names[k % 2], f"turn {i}.{k}") for k in range(2 + i % 5)))}
        for i in range(500)
    ]
    made = texts(jsonl(str(tmp_path / "a.jsonl"), rows), tiny)
    assert len(made) == 500
    for row, text in zip(rows, made, strict=True):
        assert all(f">{turn['value']}</s>" in text for turn in row["conversations"])


def test_unknown_roles_are_errors_that_list_the_known(tmp_path: Path, tiny: str) -> None:  # A2
    rows: Rows = [{"messages": CHAT}, {"messages": from_value(("human", "a"), ("bing", "b"))}]
    path = jsonl(str(tmp_path / "a.jsonl"), rows)
    with pytest.raises(ValueError, match=r"messages\[1\] is from 'bing'") as caught:
        texts(path, tiny)
    for known in ("human", "user", "gpt", "assistant", "model", "bot", "tool", "observation"):
        assert known in str(caught.value)
    assert any(note.endswith("a.jsonl row 1") for note in caught.value.__notes__)
    transform = ChatTemplateTransform(tiny, role_mapping={"bing": "assistant"})
    assert transform(rows[1])["text"] == SYSTEM + "<user>a</s><assistant>b</s>"
    callback = ConvertToChatML("messages", role_mapping={"bing": "assistant"})
    assert texts(path, tiny, format_callback=callback)[1] == transform(rows[1])["text"]


LOST: dict[str, Any] = {
    "all roles unknown": [
        {"role": "prompter", "content": "Q"},
        {"role": "answerer", "content": "A"},
    ],
    "the assistant's unknown": [
        {"role": "user", "content": "Q"},
        {"role": "answerer", "content": "A"},
    ],
    "short texts that the template has": [
        {"role": "prompter", "content": "You"},
        {"role": "answerer", "content": "a"},
    ],
    "the template's own sentence": [
        {"role": "prompter", "content": "?"},
        {"role": "answerer", "content": SYSTEM_PROMPT},
    ],
    "the question repeated": [
        {"role": "user", "content": "Hi"},
        {"role": "answerer", "content": "Hi"},
    ],
    "reasoning alone": [
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "", "reasoning_content": "because"},
    ],
    "calls of nobody": [
        {"role": "user", "content": "Q"},
        {"role": "answerer", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
    ],
    "thinking cut off": [
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "<think>well\nwell</think>\n\nA"},
    ],
    "one of two answers": [
        {"role": "user", "content": "Q"},
        {"role": "answerer", "content": "lost"},
        {"role": "assistant", "content": "A"},
    ],
}
KEPT: dict[str, Any] = {
    "as it is": CHAT,
    "white space around": [
        {"role": "user", "content": "  Q \n"},
        {"role": "assistant", "content": "\n\n A \n"},
    ],
    "short": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}],
    "the template's own sentence": [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": SYSTEM_PROMPT},
    ],
    "the question repeated": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hi"},
    ],
    "an empty answer that is not trained on": [
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "", "weight": 0},
    ],
    "no answer": [{"role": "user", "content": "Q"}],
    "calls": [
        {"role": "user", "content": "Q"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}],
        },
    ],
    "no text at all": [{"role": "user", "content": ""}],
    "one of two answers": [
        {"role": "user", "content": "Q"},
        {"role": "gpt", "content": "lost"},
        {"role": "assistant", "content": "A"},
    ],
}


@pytest.mark.parametrize("case", LOST)
def test_a_chat_without_its_text_is_an_error(tmp_path: Path, tiny: str, case: str) -> None:  # A2
    rows: Rows = [{"messages": CHAT}, {"messages": LOST[case]}, {"messages": CHAT}]
    path = jsonl(str(tmp_path / "a.jsonl"), rows)
    with pytest.raises(ValueError, match="leaves out the") as caught:
        texts(path, tiny)
    assert any(note.endswith("a.jsonl row 1") for note in caught.value.__notes__)
    assert texts(path, tiny, on_error="skip") == [RENDERED] * 2
    with pytest.raises(ValueError, match="leaves out the"):
        ChatTemplateTransform(tiny)(rows[1])


@pytest.mark.parametrize("case", KEPT)
def test_no_false_alarm(tmp_path: Path, tiny: str, case: str) -> None:  # A2
    path = jsonl(str(tmp_path / "a.jsonl"), [{"messages": KEPT[case]}])
    assert len(texts(path, tiny)) == 1


def test_a_live_tokenizer_has_its_text_proven_too(tiny: str) -> None:  # A2
    transformers = pytest.importorskip("transformers")
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(tiny)
    transform = ChatTemplateTransform(theirs)
    for case in KEPT.values():
        assert SYSTEM in transform({"messages": case})["text"]
    for case in LOST.values():
        with pytest.raises(ValueError, match="leaves out the"):
            transform({"messages": case})


def test_easydel_values_on_request(tiny: str) -> None:  # A2
    transform = ChatTemplateTransform(tiny, role_mapping=None)
    assert transform({"messages": from_value(("human", "a"), ("gpt", "b"))}) == {"text": SYSTEM}
    maybe = MaybeApplyChatTemplate(tiny, role_mapping=None)
    assert maybe({"messages": from_value(("user", "a"))}) == {"text": SYSTEM + "<user>a</s>"}


def test_bad_chats_are_counted_and_put_aside_as_they_were(tmp_path: Path, tiny: str) -> None:
    """A2, A13, C1, C20."""
    bad: list[Any] = [
        [],
        "[]",
        "no JSON",
        '[{"role": "user", "content": ',
        3,
        ["text"],
        [{"content": "no role"}],
        [{"role": "user", "content": 5}],
        [{"role": "user", "content": [{"type": "image", "url": "x"}]}],
        from_value(("bing", "b")),
        [{"role": "prompter", "content": "lost"}],
        [{"role": "user", "content": "Q"}, {"role": "assistant", "content": ""}],
    ]
    rows: Rows = [{"messages": CHAT, "n": 0}]
    for number, messages in enumerate(bad, 1):
        rows += [{"extra": {"é": [1.0]}, "messages": messages, "n": number}, {"messages": CHAT}]
    rows.append({"n": "no messages"})
    path = jsonl(str(tmp_path / "a.jsonl"), rows)
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    for messages in bad:
        alone = jsonl(str(tmp_path / "b.jsonl"), [{"messages": CHAT}, {"messages": messages}])
        with pytest.raises((ValueError, TypeError), match="messages") as caught:
            texts(alone, tiny)
        assert any(note.endswith("b.jsonl row 1") for note in caught.value.__notes__)
    good = [RENDERED] * (1 + len(bad))
    assert texts(path, tiny, on_error="skip") == good

    aside = tmp_path / "bad.jsonl"
    dataset = DatasetConfig(
        path, "chats", tokenizer=tiny, on_error="quarantine", quarantine_path=str(aside)
    )
    loader = create_pipeline([dataset], load={"batch_size": 1}).source().tokenize().load().build()
    with loader:
        assert [text_of(batch["input_ids"][0]) for batch in loader] == good
        (source,) = loader.stats()["sources"].values()
    assert source["dropped"] == {"refused": len(bad), "missing": 1}
    put = [json.loads(line) for line in aside.read_text().splitlines()]
    bad_rows = [*range(1, 2 * len(bad), 2), len(rows) - 1]
    assert [line["row"] for line in put] == bad_rows
    assert [line["content"] for line in put] == [lines[row] for row in bad_rows]
    assert all(line["shard"].endswith("a.jsonl") and line["error"] for line in put)


def test_messages_as_json_text(tmp_path: Path, tiny: str) -> None:  # A3
    call = {"type": "function", "function": {"name": "f", "arguments": {"x": "é"}}}
    tools = [{"type": "function", "function": {"name": "f"}}]
    chat = [CHAT[0], {"role": "assistant", "content": "", "tool_calls": [call]}]
    plain: Rows = [{"messages": CHAT}, {"messages": chat, "tools": tools}]
    as_text: Rows = [
        {"messages": json.dumps(CHAT), "tools": None},
        {
            "messages": json.dumps([chat[0], {**chat[1], "tool_calls": json.dumps([call])}]),
            "tools": json.dumps(tools),
        },
    ]
    expected = texts(jsonl(str(tmp_path / "a.jsonl"), plain), tiny)
    assert '<call>f{"x": "é"}' in expected[1]
    assert '<tools>[{"type": "function"' in expected[1]
    path = jsonl(str(tmp_path / "b.jsonl"), as_text)
    assert texts(path, tiny) == expected
    assert texts(path, tiny, content_field="messages") == expected
    pq.write_table(pa.Table.from_pylist(as_text), tmp_path / "b.parquet")
    assert texts(str(tmp_path / "b.parquet"), tiny) == expected
    transform, maybe = ChatTemplateTransform(tiny), MaybeApplyChatTemplate(tiny)
    for row, text in zip(as_text, expected, strict=True):
        assert transform(row)["text"] == text
        assert maybe(row)["text"] == text


def test_json_of_from_value_messages(tmp_path: Path, tiny: str) -> None:  # A3
    turns = json.dumps(from_value(("human", "Who?"), ("gpt", "Me.")))
    path = jsonl(str(tmp_path / "a.jsonl"), [{"conversations": turns}])
    assert texts(path, tiny) == [RENDERED]
    callback = ConvertToChatML()
    assert texts(path, tiny, format_callback=callback) == [RENDERED]


def test_lists_of_text_parts(tmp_path: Path, tiny: str) -> None:  # A3
    parts = [{"type": "text", "text": "W"}, "h", {"text": "o?"}]
    chat = [{"role": "user", "content": parts}, CHAT[1]]
    path = jsonl(str(tmp_path / "a.jsonl"), [{"messages": chat}])
    assert texts(path, tiny) == [RENDERED]
    chat[0]["content"] = [*parts, {"type": "image_url", "image_url": "x"}]
    path = jsonl(str(tmp_path / "a.jsonl"), [{"messages": chat}])
    with pytest.raises(ValueError, match=r"messages\[0\]\.content\[3\].*'image_url'"):
        texts(path, tiny)


def test_text_is_not_taken_for_messages(tmp_path: Path, tiny: str) -> None:  # A3
    rows: Rows = [{"text": '[1, 2] {"role": 1}'}, {"text": "[]"}, {"text": '["a"]'}]
    assert texts(jsonl(str(tmp_path / "a.jsonl"), rows), tiny) == [row["text"] for row in rows]
    rows = [{"conversation": "A: hi\nB: ho"}]
    path = jsonl(str(tmp_path / "b.jsonl"), rows)
    assert texts(path, tiny, content_field="conversation") == ["A: hi\nB: ho"]


def test_empty_conversations_first(tmp_path: Path, tiny: str) -> None:  # C20
    rows: Rows = [{"messages": []}, {"messages": None}, {"messages": CHAT}]
    path = jsonl(str(tmp_path / "a.jsonl"), rows)
    with pytest.raises(ValueError, match="empty conversation") as caught:
        texts(path, tiny)
    assert any(note.endswith("a.jsonl row 0") for note in caught.value.__notes__)
    assert texts(path, tiny, on_error="skip") == [RENDERED]
    path = jsonl(str(tmp_path / "b.jsonl"), [{"messages": []}])
    with pytest.raises(ValueError, match="empty conversation"):
        texts(path, tiny)
    with pytest.raises(ValueError, match="empty conversation"):
        ChatTemplateTransform(tiny)({"messages": []})


def test_a_template_that_fails_names_the_row(tmp_path: Path) -> None:  # C1
    template = "{% for m in messages %}{{ m.content + m.weight }}{% endfor %}"
    folder = small_tokenizer(tmp_path / "adding", chat_template=template)
    good = [{"role": "user", "content": "a", "weight": "b"}]
    rows: Rows = [{"messages": good}, {"messages": [{**good[0], "weight": 1}]}, {"messages": good}]
    path = jsonl(str(tmp_path / "a.jsonl"), rows)
    with pytest.raises(ValueError, match="chat template fails on these messages") as caught:
        texts(path, folder)
    assert any(note.endswith("a.jsonl row 1") for note in caught.value.__notes__)
    assert texts(path, folder, on_error="skip") == ["ab", "ab"]


def test_the_command_line_says_where(
    tmp_path: Path, tiny: str, capsys: pytest.CaptureFixture[str]
) -> None:  # C1
    from easydata.cli.app import run

    rows: Rows = [{"messages": CHAT}, {"messages": [{"role": "answerer", "content": "lost"}]}]
    path = jsonl(str(tmp_path / "a.jsonl"), rows)
    out = str(tmp_path / "out")
    assert run(["tokenize", path, "--tokenizer", tiny, "--output-dir", out]) == 1
    error = capsys.readouterr().err
    assert "leaves out the" in error
    assert "a.jsonl row 1" in error


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("way", ["plain", "renamed", "callback", "transform"])
def test_rows_without_the_field_are_put_aside_whole(
    tmp_path: Path, tiny: str, way: str, kind: str
) -> None:  # A13
    field = "body" if way == "renamed" else "text"
    rows: Rows = [{field: f"row {i}", "id": i, "meta": {"k": [i]}} for i in range(40)]
    for i in (3, 17, 39):
        rows[i][field] = None
    if kind == "jsonl":
        del rows[17][field]
        rows[20][field] = 5
        path = jsonl(str(tmp_path / "a.jsonl"), rows)
        bad = [3, 17, 20, 39]
    else:
        path = str(tmp_path / "a.parquet")
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
        bad = [3, 17, 39]
    options: dict[str, Any] = {}
    if way == "renamed":
        options["format_fields"] = {"body": "text"}
    elif way == "callback":
        options["format_callback"] = lambda row: {"text": row.pop("text", None)}
    aside = tmp_path / "bad.jsonl"
    dataset = DatasetConfig(
        path, tokenizer=tiny, on_error="quarantine", quarantine_path=str(aside), **options
    )
    pipeline = create_pipeline([dataset], load={"batch_size": 4, "drop_last": False}).source()
    with pipeline.tokenize().load().build() as loader:
        assert isinstance(loader, AsyncDataLoader)
        got = [
            text_of(ids[mask > 0])
            for batch in loader
            for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)
        ]
        (source,) = loader.stats()["sources"].values()
    assert got == [f"row {i}" for i in range(40) if i not in bad]
    assert sum(source["dropped"].values()) == len(bad)
    put = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [line["row"] for line in put] == bad
    assert [json.loads(line["content"]) for line in put] == [rows[i] for i in bad]
    assert {line["shard"] for line in put} == {path}
    assert all("'text'" in line["error"] or '"text"' in line["error"] for line in put)
