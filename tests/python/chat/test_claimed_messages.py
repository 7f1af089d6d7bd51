"""What a chat says is in its text, or its row is an error that names it."""

import functools
import json
import logging
import pickle
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from data_folders import OWN
from easydata.tokenizers.chat_template import ChatTemplate
from easydata.transforms.conversation import FROM_VALUE_ROLES, ConversationText, decoded
from template_grammar import random_chat_template
from templates import all_templates, public_templates

import easydata
from easydata import ChatTemplateTransform, SFTPreprocessTransform, _native

Chat = list[dict[str, Any]]


@functools.cache
def tokenizer() -> easydata.Tokenizer:
    """A tokenizer of ours."""
    return easydata.Tokenizer(OWN / "tokenizers" / "split")


# Printed by turns, with reasoning, calls and tools; what it does not know it leaves out.
THINKING = """\
{%- for tool in tools or [] %}{{ tool | tojson }}{% endfor %}
{%- for m in messages %}
{%- if m.role in ['system', 'user', 'assistant', 'tool'] %}
{{- '<' ~ m.role ~ '>' }}
{%- if m.reasoning_content and loop.last %}{{ '(' ~ m.reasoning_content ~ ')' }}{% endif %}
{{- m.content }}
{%- for call in m.tool_calls or [] %}
{{- '!' ~ call.function.name ~ call.function.arguments | tojson }}{% endfor %}
{%- endif %}
{%- endfor %}"""
# Prints every role, and content alone.
PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
# Prints the first call of a message, as gpt-oss does.
ONE_CALL = """\
{%- for m in messages %}{{ '<' ~ m.role ~ '>' }}{{ m.content or '' }}
{%- if m.tool_calls %}{% set call = m.tool_calls[0].function %}
{{- '!' ~ call.name ~ call.arguments | tojson }}{% endif %}{% endfor %}"""
# Has a template run in Jinja2's sandbox: the native engine has no such filter.
NOT_NATIVE = "{{ '' | wordwrap }}"

CALL = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Bern"}}}
OTHER_CALL = {"function": {"name": "other", "arguments": {"x": "y"}}}
OTHER_JSON = json.dumps(OTHER_CALL)
TOOL = {"type": "function", "function": {"name": "weather", "description": "tells it"}}


def said(role: str, content: Any = None, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


ASKED = said("user", "question")

WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "a misspelt role": (
        THINKING,
        {"messages": [said("usr", "question"), said("assistant", "answer")]},
        r"leaves out the 'content' of messages\[0\] \(role 'usr'\): it knows no such role",
    ),
    "calls": (
        PLAIN,
        {"messages": [ASKED, said("assistant", "", tool_calls=[CALL])]},
        r"leaves out the 'tool_calls' of messages\[1\] \(role 'assistant'\)",
    ),
    "a second call": (
        ONE_CALL,
        {"messages": [ASKED, said("assistant", "", tool_calls=[CALL, OTHER_CALL])]},
        r"leaves out the 'tool_calls\[1\]' of messages\[1\] \(role 'assistant'\), a call of 'oth",
    ),
    "a second call like the first": (
        ONE_CALL,
        {"messages": [ASKED, said("assistant", "", tool_calls=[CALL, CALL])]},
        r"leaves out the 'tool_calls\[1\]' of messages\[1\] .* a call of 'weather'",
    ),
    "tools": (
        PLAIN,
        {"messages": [ASKED, said("assistant", "answer")], "tools": [TOOL]},
        "leaves out the row's 'tools'",
    ),
    "reasoning": (
        PLAIN,
        {"messages": [ASKED, said("assistant", "answer", reasoning="because")]},
        r"leaves out the reasoning of messages\[1\].*reasoning=\"drop\"",
    ),
    "an empty answer": (
        PLAIN,
        {"messages": [ASKED, said("assistant", " ")]},
        r"messages\[1\] \(role 'assistant'\) is an answer that says nothing",
    ),
    "reasoning twice": (
        THINKING,
        {"messages": [ASKED, said("assistant", "a", reasoning="b", thinking="c")]},
        r"messages\[1\] has two reasonings, one in 'thinking' and one in 'reasoning'",
    ),
    "text under value": (
        PLAIN,
        {"messages": [{"role": "user", "value": "a"}, said("assistant", "b")]},
        r"messages\[0\] has its text under 'value'",
    ),
}
GOOD: dict[str, tuple[str, Chat, str]] = {
    "a developer": (
        THINKING,
        [said("developer", "be brief"), ASKED, said("assistant", "answer")],
        "<system>be brief<user>question<assistant>answer",
    ),
    "a developer that the template knows": (
        PLAIN,
        [said("developer", "be brief"), ASKED, said("assistant", "answer")],
        "<developer>be brief<user>question<assistant>answer",
    ),
    "names of speakers": (
        PLAIN,
        [said("human", "a"), said("gpt", "b"), said("User", "c"), said("Assistant", "d")],
        "<user>a<assistant>b<user>c<assistant>d",
    ),
    "arguments as text": (
        THINKING,
        [
            ASKED,
            said(
                "assistant",
                "",
                tool_calls=[{"function": {"name": "f", "arguments": '{"x": 1}'}}],
            ),
        ],
        '<user>question<assistant>!f{"x": 1}',
    ),
    "what a function answers": (
        THINKING + "{% if CALL is defined and CALL.type == 'function' %}{% endif %}",
        [ASKED, said("assistant", "", tool_calls=[CALL]), said("function", "r", name="weather")],
        '<user>question<assistant>!weather{"city": "Bern"}<tool>r',
    ),
    "a function's role that the template knows": (
        THINKING.replace("'tool']", "'tool', 'function']"),
        [ASKED, said("assistant", "", tool_calls=[CALL]), said("function", "r", name="weather")],
        '<user>question<assistant>!weather{"city": "Bern"}<function>r',
    ),
    "several calls": (
        THINKING,
        [ASKED, said("assistant", "", tool_calls=[CALL, OTHER_CALL, CALL])],
        '<user>question<assistant>!weather{"city": "Bern"}!other{"x": "y"}!weather{"city": "Bern"}',
    ),
    "calls that are printed at once": (
        "{% for m in messages %}<{{ m.role }}>{{ m.content or m.tool_calls | tojson }}{% endfor %}",
        [ASKED, said("assistant", None, tool_calls=[OTHER_CALL, OTHER_CALL])],
        f"<user>question<assistant>[{OTHER_JSON}, {OTHER_JSON}]",
    ),
    "calls as messages": (
        THINKING,
        [
            {"from": "human", "value": "a"},
            {"from": "function_call", "value": '{"name": "f", "arguments": {"x": 1}}'},
            {"from": "observation", "value": "r"},
            {"from": "gpt", "value": "b"},
        ],
        '<user>a<assistant>!f{"x": 1}<tool>r<assistant>b',
    ),
    "reasoning of an earlier turn": (
        THINKING,
        [
            ASKED,
            said("assistant", "a", reasoning_content="r"),
            said("user", "b"),
            said("assistant", "c", reasoning_content="s"),
        ],
        "<user>question<assistant>a<user>b<assistant>(s)c",
    ),
}


def of_config(source: str, row: dict[str, Any], **options: Any) -> list[str]:
    """The texts of a row in a pipeline that tokenizes it."""
    dataset = easydata.DatasetConfig(
        [row], tokenizer=str(OWN / "tokenizers" / "split"), chat_template=source, **options
    )
    config = easydata.PipelineConfig(datasets=[dataset])
    made = easydata.Pipeline.from_config(config).source().tokenize().build()
    return [tokenizer().decode(each["input_ids"]) for each in made]


def ways(source: str, **options: Any) -> Iterator[Any]:
    """What makes texts of rows: a pipeline, a transform, a trainer's transform."""
    yield lambda row: of_config(source, row)[0]
    template = ChatTemplate({"default": source}, {})
    rendered = ChatTemplateTransform(_Tokenizer(template), **options)
    yield lambda row: rendered(row)["text"]
    sft = SFTPreprocessTransform(
        tokenizer(), None, chat_template=source, fixed_shapes=False, **options
    )
    yield lambda row: tokenizer().decode(sft.examples(row)[0]["input_ids"])


class _Tokenizer:
    """Has a template, and nothing else."""

    def __init__(self, template: ChatTemplate) -> None:
        self.chat_templates = template.sources
        self.special_tokens = template.special_tokens


@pytest.mark.parametrize("engine", ["native", "jinja2"])
@pytest.mark.parametrize("case", WRONG)
def test_what_is_left_out_is_named(case: str, engine: str) -> None:
    source, row, expected = WRONG[case]
    for make in ways(_of_engine(source, engine)):
        with pytest.raises(ValueError, match=expected):
            make(row)


@pytest.mark.parametrize("engine", ["native", "jinja2"])
@pytest.mark.parametrize("case", GOOD)
def test_other_shapes_become_what_the_template_knows(case: str, engine: str) -> None:
    source, chat, expected = GOOD[case]
    for make in ways(_of_engine(source, engine)):
        assert make({"messages": chat}) == expected


def _of_engine(source: str, engine: str) -> str:
    made = source if engine == "native" else NOT_NATIVE + source
    assert ChatTemplate({"default": made}, {}).engine_for().engine == engine
    return made


def test_a_template_that_counts_the_tools_knows_of_them() -> None:
    row = {"messages": [ASKED, said("assistant", "answer")], "tools": [TOOL]}
    # What runs natively is traced.
    pipeline, _, trainer = ways("{{ tools | length }} tools;" + PLAIN)
    for make in (pipeline, trainer):
        assert make(row) == "1 tools;<user>question<assistant>answer"


def test_a_live_tokenizer_is_looked_at_too() -> None:
    class Applies:
        chat_template = None

        def apply_chat_template(self, messages: Chat, **options: Any) -> str:
            return "".join(m["content"] for m in messages if m["role"] != "usr")

    transform = ChatTemplateTransform(Applies())
    assert transform({"messages": [ASKED, said("assistant", "answer")]})["text"] == "questionanswer"
    with pytest.raises(ValueError, match=r"'content' of messages\[0\] \(role 'usr'\)"):
        transform({"messages": [said("usr", "lost words"), said("assistant", "answer")]})
    with pytest.raises(ValueError, match="leaves out the row's 'tools'"):
        transform({"messages": [ASKED, said("assistant", "answer")], "tools": [TOOL]})


def test_what_is_meant_can_be_said() -> None:
    chat = [ASKED, said("assistant", "answer", thinking="because")]
    for make in list(ways(PLAIN, reasoning="drop"))[1:]:
        assert make({"messages": chat}) == "<user>question<assistant>answer"
    with pytest.raises(ValueError, match='reasoning must be "error" or "drop"'):
        ChatTemplateTransform(tokenizer(), reasoning="keep")  # type: ignore[arg-type]
    sft = SFTPreprocessTransform(tokenizer(), None, fixed_shapes=False, empty_answers="skip")
    rows = [{"messages": [ASKED, said("assistant", "")]}, {"messages": [ASKED, said("gpt", "yes")]}]
    assert sft.examples(rows[0]) == []
    source = easydata.create_source(easydata.DatasetConfig(rows)).transform(sft)
    assert len(list(source)) == 1
    untrained = [ASKED, said("assistant", "", weight=0), said("user", "b"), said("assistant", "c")]
    assert len(sft.examples({"messages": untrained})) == 1


def test_parse_arguments_is_as_the_template_wants_or_as_one_says() -> None:
    chat = [
        ASKED,
        said("assistant", "", tool_calls=[{"function": {"name": "f", "arguments": '{"x": 1}'}}]),
    ]
    texts = [
        tokenizer().decode(
            SFTPreprocessTransform(
                tokenizer(),
                None,
                chat_template=THINKING,
                fixed_shapes=False,
                parse_arguments=parsed,
            ).examples({"messages": chat})[0]["input_ids"]
        )
        for parsed in (None, True, False)
    ]
    assert [text[len("<user>question<assistant>") :] for text in texts] == [
        '!f{"x": 1}',
        '!f{"x": 1}',
        '!f"{\\"x\\": 1}"',
    ]


@pytest.mark.parametrize("way", [0, 1, 2])
def test_a_role_that_nobody_knows_is_told_of_once(
    way: int, caplog: pytest.LogCaptureFixture
) -> None:
    make = list(ways(PLAIN))[way]
    with caplog.at_level(logging.INFO, "easydata"):
        for _ in range(2 if way else 1):
            text = make({"messages": [said("critic", "hm"), ASKED, said("assistant", "a")]})
            assert text == "<critic>hm<user>question<assistant>a"
    told = [record for record in caplog.records if "'critic'" in record.getMessage()]
    assert len(told) == 1
    caplog.clear()
    with caplog.at_level(logging.INFO, "easydata"):
        make = list(ways(PLAIN + "{% if 'critic' == 1 %}{% endif %}"))[way]
        make({"messages": [said("critic", "hm"), ASKED, said("assistant", "a")]})
    assert not [record for record in caplog.records if "'critic'" in record.getMessage()]


def test_a_texts_renderer_is_pickled() -> None:
    texts = ConversationText(ChatTemplate({"default": PLAIN}, {}))
    row = [ASKED, said("assistant", "a")]
    chat = {"messages": row}
    assert pickle.loads(pickle.dumps(texts)).of(chat, "messages") == texts.of(chat, "messages")


def test_a_row_in_error_is_skipped() -> None:
    source, row, _ = WRONG["a misspelt role"]
    assert of_config(source, row, on_error="skip") == []


# --- random chats, all templates


class _Words:
    """Words that come once each."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"zq{self.count}qz"


def _random_chat(rng: random.Random) -> tuple[Chat, list[Any] | None, list[dict[str, list[str]]]]:
    """A chat, tools, and by message the words of its content, reasoning and calls."""
    word = _Words()
    chat: Chat = []
    words: list[dict[str, list[str]]] = []

    def add(role: str, key: str = "role", **fields: Any) -> None:
        content = fields.get("content")
        names = {"role": key == "role"}
        message: dict[str, Any] = {"role" if names["role"] else "from": role}
        of: dict[str, list[str]] = {}
        if content is not None:
            of["content"] = re.findall(r"zq\d+qz", content)
            if key == "from":
                message["value"] = content
            elif rng.random() < 0.2:
                message["content"] = [{"type": "text", "text": content}]
            else:
                message["content"] = content
        if thought := fields.get("reasoning"):
            message[rng.choice(["reasoning", "reasoning_content", "thinking"])] = thought
            of["reasoning"] = [thought]
        as_text = rng.random() < 0.5
        for name, value in fields.get("calls", ()):
            arguments: Any = {"a": value}
            called = {"name": name, "arguments": json.dumps(arguments) if as_text else arguments}
            calls = message.setdefault("tool_calls", [])
            calls.append({"type": "function", "id": f"call{len(calls):05}", "function": called})
            of.setdefault("tool_calls", []).extend((name, value))
        chat.append(message)
        words.append(of)

    if rng.random() < 0.4:
        add(rng.choice(["system", "system", "developer"]), content=word())
    for _ in range(rng.randint(1, 3)):
        add(rng.choice(["user"] * 6 + ["human", "User", "usr", "critic"]), content=word())
        answer: dict[str, Any] = {"content": word()}
        if rng.random() < 0.3:
            answer["reasoning"] = word()
        elif rng.random() < 0.2:
            answer["content"] = f"<think>\n{word()}\n</think>\n\n{word()}"
        if rng.random() < 0.3:
            if rng.random() < 0.7:
                answer["content"] = ""
            calls = [(word(), word()) for _ in range(rng.choice((1, 1, 2)))]
            add("assistant", **answer, calls=calls)
            add(rng.choice(["tool", "tool", "function", "observation"]), content=word())
            answer = {"content": word()}
        add(*rng.choice([("assistant",), ("assistant",), ("gpt", "from"), ("gpt",)]), **answer)
    tools = None
    if rng.random() < 0.3:
        tools = [
            {
                "type": "function",
                "function": {
                    "name": word(),
                    "description": "d",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ]
        words.append({"tools": [tools[0]["function"]["name"]]})
    return chat, tools, words


def _wrong(
    source: str, seed: int, counts: dict[str, int], number_of_chats: int = 8
) -> Iterator[str]:
    """What is wrong with random chats in a template."""
    template = ChatTemplate({"default": source}, dict(tokenizer().special_tokens))
    texts = ConversationText(template)
    sft = SFTPreprocessTransform(tokenizer(), None, chat_template=source, fixed_shapes=False)
    for number in range(number_of_chats):
        chat, tools, words = _random_chat(random.Random(f"{seed} {number}"))
        row = {"messages": chat, **({"tools": tools} if tools else {})}
        text = error = made = other = ""
        try:
            text = texts.of({"messages": chat}, "messages", tools)
        except Exception as raised:
            error = str(raised)
        try:
            made = sft._texts_of(row)[0][0] if sft.examples(row) else ""
        except Exception as raised:
            other = str(raised)
        if "cannot be traced" in other:
            pass  # an example takes more than a text
        elif "leaves out" in error or "leaves out" in other:
            if other != error:
                yield f"{chat}: {error!r}, in an example {other!r}"
        elif bool(error) != bool(other):
            yield f"{chat}: {error!r}, in an example {other!r}"
        if error:
            counts["left out" if "leaves out" in error else "refused"] += 1
            if named := re.search(r"leaves out the (\S+) of messages\[(\d+)\]", error):
                yield from _false_alarm(template, chat, tools, words, named)
            continue
        counts["rendered"] += 1
        if made != text and not other:
            yield f"{chat}: {text!r}, in an example {made!r}"
        for at, of in enumerate(words):
            for field, each in of.items():
                for one in each:
                    if one in text or _is_of_earlier_turn(texts, chat, tools, at, field, one):
                        continue
                    if _makes_text(texts, chat, tools, one, text):
                        continue  # it is printed otherwise
                    yield f"{field} {one} of message {at} is lost: {chat} {tools}: {text!r}"


def _false_alarm(
    template: ChatTemplate,
    chat: Chat,
    tools: list[Any] | None,
    words: list[dict[str, list[str]]],
    named: re.Match[str],
) -> Iterator[str]:
    """A message that is said to be left out, and is in the text."""
    try:
        read = _native.read_conversation(chat, "messages", FROM_VALUE_ROLES, decoded)
        text = template(read, tools=tools)
    except Exception:
        return  # of messages as they are
    field, _, call = named[1].strip("'").rstrip("]").partition("[")
    said = words[int(named[2])].get(field, [])
    if call:
        said = said[2 * int(call) : 2 * int(call) + 2]
    for one in said if field == "reasoning" else said[-1:]:
        if one in text:
            yield f"{named[0]}, and {one} is there: {chat}: {text!r}"


def _makes_text(
    texts: ConversationText, chat: Chat, tools: list[Any] | None, word: str, text: str
) -> bool:
    """Whether another word gives another text."""
    other = word.replace("q", "k")
    changed, their_tools = json.loads(json.dumps([chat, tools]).replace(word, other))
    try:
        return texts.of({"messages": changed}, "messages", their_tools) != text
    except Exception:
        return True


def _is_of_earlier_turn(
    texts: ConversationText, chat: Chat, tools: list[Any] | None, at: int, field: str, word: str
) -> bool:
    """Whether a template prints what is reasoning in the last turn alone."""
    if at + 1 >= len(chat):
        return False
    said = str(chat[at].get("content", chat[at].get("value")))
    if field != "reasoning" and "<think>" not in said:
        return False
    try:
        return word in texts.of({"messages": chat[: at + 1]}, "messages", tools)
    except Exception:
        return "leaves out" not in word


def _templates() -> list[Any]:
    return [
        *all_templates(),
        *(pytest.param(source, id=name) for name, source in public_templates()),
    ]


@pytest.mark.parametrize("source", _templates())
def test_all_that_random_chats_say_comes_out_or_is_named(source: str) -> None:
    counts = {"rendered": 0, "left out": 0, "refused": 0}
    assert list(_wrong(source, len(source), counts)) == []
    assert sum(counts.values()) == 8


GENERATED = 40


@pytest.mark.parametrize("part", range(10))
def test_all_that_random_chats_say_in_generated_templates_comes_out_or_is_named(part: int) -> None:
    counts = {"rendered": 0, "left out": 0, "refused": 0}
    wrong = []
    for number in range(GENERATED):
        source = random_chat_template(random.Random(f"{part} {number}"))
        if number % 8 == 0:
            source = NOT_NATIVE + source
        try:
            found = list(_wrong(source, number, counts, 4))
        except ValueError:
            continue  # no template
        wrong += [f"{source!r}: {each}" for each in found]
    assert wrong == []
    assert counts["rendered"] > GENERATED // 2
    assert counts["left out"] > GENERATED // 2
