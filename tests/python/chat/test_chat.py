"""Chat templates and conversions: EasyDeL's recorded texts, and transformers itself beside them."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from data_folders import CHAT_TOKENIZERS, needs_shared, tokenizer_folder
from easydata.tokenizers.chat_template import ChatTemplate
from easydata.tokenizers.template_engine import compile_template
from easydata.transforms import (
    DEFAULT_ROLE_MAPPING,
    ChatTemplateTransform,
    ConvertToChatML,
    MaybeApplyChatTemplate,
    is_conversational,
)
from small_tokenizer import small_tokenizer

CHATS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "Hi <b>&\n there"}, {"role": "assistant", "content": "é 你好"}],
    [
        {"role": "system", "content": "  be brief "},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ],
]


def test_recorded_texts(shared: Path) -> None:
    cases = json.loads((shared / "data/golden/easydel/chat_template.json").read_text())["cases"]
    classes = {
        "ChatTemplateTransform": ChatTemplateTransform,
        "MaybeApplyChatTemplate": MaybeApplyChatTemplate,
    }
    rows = 0
    for case in cases:
        folder = shared / "data/tokenizers" / case["tokenizer"]
        transform = classes[case["transform"]](str(folder), **case["args"])
        for row in case["rows"]:
            given = copy.deepcopy(row["in"])
            assert transform(given) == row["out"], (case["tokenizer"], case["args"])
            assert given == row["in"]
            rows += 1
    assert len(cases) == 17
    assert rows > 30


@pytest.mark.parametrize(
    "name", [*CHAT_TOKENIZERS, pytest.param("tiny-bytelevel", marks=needs_shared)]
)
@pytest.mark.parametrize("prompt", [False, True])
def test_equal_to_transformers(name: str, prompt: bool) -> None:
    transformers = pytest.importorskip("transformers")
    folder = tokenizer_folder(name)
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(str(folder))
    ours = ChatTemplate.of_folder(folder)
    for chat in CHATS:
        expected = theirs.apply_chat_template(chat, tokenize=False, add_generation_prompt=prompt)
        assert ours(chat, add_generation_prompt=prompt) == expected
    transform = ChatTemplateTransform(theirs, add_generation_prompt=prompt)
    assert transform({"messages": CHATS[0]})["text"] == ours(CHATS[0], add_generation_prompt=prompt)


def test_settings_that_templates_rely_on() -> None:
    template = ChatTemplate(
        {
            "default": "{% for m in messages %}\n  {% if loop.index > 2 %}{% break %}{% endif %}\n"
            "{{ m.content | tojson }}\n{% generation %}{{ eos_token }}{% endgeneration %}\n"
            "{% endfor %}"
        },
        {"eos_token": "</s>"},
    )
    messages = [{"content": "<é>&'"}, {"content": {"a": [1, None]}}, {"content": "never"}]
    assert template(messages) == '"<é>&\'"\n</s>{"a": [1, null]}\n</s>'


@pytest.mark.parametrize("transform", [ChatTemplateTransform, MaybeApplyChatTemplate])
def test_on_error_is_no_option_of_the_template(transform: Any, tmp_path: Path) -> None:
    """A transform alone raises; an option that would do nothing is refused."""
    with pytest.raises(TypeError, match=r"takes no on_error: alone it raises .* DatasetConfig"):
        transform(small_tokenizer(tmp_path / "t"), on_error="skip")


def test_template_refusal_is_an_error_not_another_text() -> None:
    template = ChatTemplate({"default": "{{ raise_exception('no system role') }}"}, {})
    with pytest.raises(ValueError, match="no system role"):
        template(CHATS[0])


def test_template_cannot_change_or_escape() -> None:
    for attack in ("{{ messages.append(1) }}", "{{ messages.__class__.__mro__ }}"):
        chat = copy.deepcopy(CHATS[0])
        with pytest.raises(ValueError, match="refuses"):
            ChatTemplate({"default": attack + "{{ messages.__class__.mro() }}"}, {})(chat)
        assert chat == CHATS[0]


def test_says_what_runs_a_template() -> None:
    said = "{% for m in messages %}{{ m.content }}{% endfor %}"
    marked = "{% generation %}" + said + "{% endgeneration %}"
    template = ChatTemplate({"default": said}, {})
    assert template.engine_for().engine == "native"
    assert not template.has_generation
    template = ChatTemplate(
        {
            "default": marked + "{% for m in messages recursive %}{% endfor %}",
            "tool_use": marked,
            "short": "{% if %}",
        },
        {},
    )
    why = template.engine_for().why_not_native
    assert why is not None
    assert why.startswith("line 1: ")
    assert why.endswith(" is not in the native engine")
    assert template.has_generation
    with_tools = template.engine_for(with_tools=True)
    assert with_tools.engine == "native"
    assert with_tools.has_generation
    with pytest.raises(ValueError, match="the chat template is none that "):
        template.engine_for("short")
    with pytest.raises(ValueError, match="no chat template"):
        ChatTemplate({}, {}).engine_for()


def test_a_text_that_is_no_template() -> None:
    with pytest.raises(ValueError, match=r"none that Jinja2 takes in line 2: .*foo"):
        ChatTemplate({"default": "a\n{% foo %}"}, {})(CHATS[0])


@pytest.mark.parametrize("engine", ["native", "jinja2"])
def test_trace(engine: str) -> None:
    more = "" if engine == "native" else "{% for x in [] recursive %}{% endfor %}"
    template = ChatTemplate(
        {
            "default": more + "{% for m in messages %}[{{ m.role }}]"
            "{% generation %}{{ m.content }}{% endgeneration %}{{ eos_token }}{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}{{ more }}"
        },
        {"eos_token": "</s>"},
    )
    assert template.engine_for().engine == engine
    messages = [
        {"role": "user", "content": "é", "name": None},
        {"role": "assistant", "content": "b"},
    ]

    def told(**options: Any) -> list[tuple[str, int | None, str]]:
        text, marks = template.trace(messages, **options)
        assert text == template(messages, **options)
        return [
            (kind, number, text.encode()[begin:end].decode())
            for kind, number, begin, end in marks
            if kind != "text"
        ]

    whole = [
        ("generation", None, "é"),
        ("message", 0, "[user]é</s>"),
        ("generation", None, "b"),
        ("message", 1, "[assistant]b</s>"),
    ]
    assert told(add_generation_prompt=True, more="more") == whole
    # What is cut off has no marks.
    assert told(continue_final_message=True) == [*whole[:3], ("message", 1, "[assistant]b")]
    with pytest.raises(ValueError, match="the conversation is empty"):
        template.trace([])
    with pytest.raises(ValueError, match=r"refuses these messages: (line 1: )?no"):
        template.trace(messages, chat_template=more + "{{ raise_exception('no') }}")
    with pytest.raises(ValueError, match=r"fails on these messages: (line 1: )?TypeError"):
        template.trace(messages, chat_template=more + "{{ 1 + '' }}")


def test_what_cannot_be_traced_says_so() -> None:
    template = ChatTemplate(
        {
            "default": "{% set x %}{% for m in messages recursive %} {{ m.content }}{% endfor %}"
            "{% endset %}{{ x | trim }}"
        },
        {},
    )
    assert template.engine_for().engine == "jinja2"
    assert template(CHATS[1][1:3]) == "a b"
    with pytest.raises(ValueError, match=r"^this chat template cannot be traced in Jinja2"):
        template.trace(CHATS[1][1:3])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("return_assistant_tokens_mask", True),
        ("tokenize", True),
        ("return_tensors", "np"),
        ("max_length", 5),
        ("padding", "longest"),
    ],
)
def test_options_of_tokens_are_refused(option: str, value: Any) -> None:
    template = ChatTemplate({"default": "{{ messages[0].content }}" + f"{{{{ {option} }}}}"}, {})
    chat = [{"role": "user", "content": "a"}]
    for call in (template, template.trace):
        with pytest.raises(TypeError, match=f"{option} cannot act here: .* has no tokens; .*"):
            call(chat, **{option: value})
        # It asks for nothing: a text is what there is.
        call(chat, **{option: False})
    assert template(chat, **{option: False}) == "a"


def test_compiled_once() -> None:
    assert compile_template("{{ messages }}") is compile_template("{{ messages }}")


def test_named_templates_and_tools(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "chat_template": [
                    {"name": "default", "template": "plain"},
                    {"name": "tool_use", "template": "tools {{ tools | length }}"},
                ],
                "bos_token": {"content": "<s>"},
            }
        )
    )
    template = ChatTemplate.of_folder(tmp_path)
    chat = [{"role": "user", "content": "a"}]
    assert template(chat) == "plain"
    assert template(chat, tools=[{"name": "f"}]) == "tools 1"
    assert template(chat, chat_template="{{ bos_token }}{{ eos_token }}") == "<s>"
    (tmp_path / "chat_template.jinja").write_text("from a file")
    assert ChatTemplate.of_folder(tmp_path)(chat) == "from a file"
    with pytest.raises(ValueError, match="the conversation is empty"):
        template([])


def test_missing_template_says_what_to_do(tmp_path: Path, gpt2: str) -> None:
    transform = ChatTemplateTransform(gpt2)
    with pytest.raises(ValueError, match="chat_template="):
        transform({"messages": CHATS[0]})
    with pytest.raises(FileNotFoundError, match="nope does not exist"):
        ChatTemplateTransform(str(tmp_path / "nope"))


def test_fields_are_found_and_none_stays(own_tokenizers: Path) -> None:
    transform = ChatTemplateTransform(str(own_tokenizers / "split"))
    for field in ("messages", "conversations", "conversation"):
        assert set(transform({field: CHATS[0], "id": 1})) == {"id", "text"}
    assert transform({"messages": None, "conversations": CHATS[0]}) == {
        "messages": None,
        "conversations": CHATS[0],
    }
    assert transform({"other": 1}) == {"other": 1}
    from_value = [{"from": "user", "value": "Hi"}]
    role_content = [{"role": "user", "content": "Hi"}]
    assert transform({"messages": from_value}) == transform({"messages": role_content})


def test_is_conversational() -> None:
    assert is_conversational({"prompt": [{"role": "user"}]})
    assert is_conversational({"conversations": [{"from": "gpt"}]})
    assert not is_conversational({"conversation": [{"role": "user"}]})
    assert not is_conversational({"messages": "text", "prompt": [], "chosen": ["a"]})


def test_default_roles() -> None:
    assert DEFAULT_ROLE_MAPPING["gpt"] == DEFAULT_ROLE_MAPPING["model"] == "assistant"
    row = {"conversations": [{"from": "human", "role": "x", "value": "v", "content": "c"}, {}]}
    assert ConvertToChatML()(row) == {
        "messages": [{"role": "user", "content": "v"}, {"role": "user", "content": ""}]
    }
