"""What the stretches of a text come from: the native engine's trace, and that in Jinja2 beside it.

Both must tell the same of loops and generation blocks. What they tell of the texts of messages is
not the same: the native one knows of values, whatever becomes of them, Jinja2 of letters alone.
"""

from collections import Counter
from typing import Any

import chats
import pytest
from compare import KNOWN_OUTSIDE
from easydata.tokenizers.template_engine import TemplateEngine
from easydata.tokenizers.template_trace import UntraceableError
from engine_parts import JinjaTemplate
from template_grammar import random_case
from templates import all_templates

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")

Marks = list[tuple[str, int | None, int, int]]

# Three renderings each take their time: not all of chats.OPTIONS, and fewer of the odd chats.
_OPTIONS = ("none", "tools, prompt, options", "prompt", "thinking")

MESSAGES = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "zwölf"},
    {"role": "user", "content": "three"},
]


def _in_jinja2(source: str) -> TemplateEngine:
    engine = TemplateEngine(source)
    engine.native = None
    return engine


def _trace(source: str, messages: Any = None, **variables: Any) -> tuple[str, Marks]:
    """The trace in Jinja2."""
    messages = MESSAGES if messages is None else messages
    return _in_jinja2(source).trace({"messages": messages, **variables})


def _told(source: str, messages: Any = None, **variables: Any) -> list[tuple[Any, ...]]:
    """The trace in Jinja2 but for texts: kind, number and what was printed."""
    text, marks = _trace(source, messages, **variables)
    data = text.encode(errors="surrogatepass")
    return [
        (kind, number, data[begin:end].decode(errors="surrogatepass"))
        for kind, number, begin, end in marks
        if kind in ("message", "generation")
    ]


def _of_loops(marks: Marks) -> Marks:
    return [mark for mark in marks if mark[0] in ("message", "generation")]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("source", all_templates())
def test_both_tell_the_same(source: str) -> None:
    native, jinja2 = JinjaTemplate(source), _in_jinja2(source)
    assert jinja2.has_generation == native.has_generation
    counts: Counter[str] = Counter()
    for name, variables in chats.cases():
        chat, _, options = name.partition(" / ")
        if options not in (_OPTIONS if chat in chats.MEASURED else _OPTIONS[:2]):
            continue
        try:
            text, found = jinja2.trace(variables)
        except UntraceableError:
            raise
        except Exception:
            counts["refused"] += 1
            continue
        try:
            expected, marks = native.trace(variables)
        except NotImplementedError as error:
            if KNOWN_OUTSIDE not in str(error):
                raise
            counts["outside"] += 1
            continue
        assert text == expected, name
        assert _of_loops(found) == _of_loops(marks), name
        counts["traced"] += 1
        counts["texts unknown"] += any(mark[0] == "texts unknown" for mark in found)
    print(dict(counts))
    assert counts["traced"]


def test_the_chats_that_masks_were_measured_on() -> None:
    """Of every message that is printed in a loop, a stretch; in TRL's own files, too."""
    assert len(chats.MEASURED) == 13
    traced = 0
    for parameter in all_templates():
        if parameter.marks:
            continue
        native = JinjaTemplate(parameter.values[0])
        for name, messages in chats.MEASURED.items():
            try:
                text, marks = native.trace({**chats.SPECIAL_TOKENS, "messages": messages})
            except ValueError:
                continue
            size = len(text.encode())
            assert all(0 <= begin < end <= size for _, _, begin, end in marks), name
            numbers = {number for kind, number, _, _ in marks if kind == "message"}
            assert numbers <= set(range(len(messages)))
            assert not text or len(messages) == 1 or numbers, (parameter.id, name)
            traced += 1
    print(traced, "traced")
    assert traced > 50


def test_random_templates() -> None:
    counts: Counter[str] = Counter()
    for seed in range(200):
        source, all_variables = random_case(seed, 3)
        if "for" not in source and "generation" not in source:
            continue
        try:
            native, jinja2 = JinjaTemplate(source), _in_jinja2(source)
        except Exception:
            continue
        for variables in all_variables:
            try:
                expected, marks = native.trace(variables)
                text, found = jinja2.trace(variables)
            except (ValueError, NotImplementedError):
                continue
            assert text == expected, (seed, source)
            assert _of_loops(found) == _of_loops(marks), (seed, source)
            counts["traced"] += 1
            counts["marks"] += bool(_of_loops(marks))
    print(dict(counts))
    assert counts["marks"] > 10


def test_loops_that_are_left() -> None:
    source = (
        "{% for m in messages %}{% if loop.index == 2 %}a{% continue %}{% endif %}"
        "{{ m.content }}{% if loop.last %}{% break %}{% endif %};{% endfor %}."
    )
    assert _told(source) == [("message", 0, "one;"), ("message", 1, "a"), ("message", 2, "three")]
    source = (
        "{% for m in messages %}{% for i in [1] %}{% break %}{% else %}{% endfor %}b"
        "{% for i in [] %}{% else %}{% continue %}{% endfor %}{% endfor %}"
    )
    assert _told(source) == [("message", number, "b") for number in range(3)]


def test_loops_within_loops() -> None:
    source = (
        "{% for m in messages[1:] %}({% for n in messages if n is sameas m %}"
        "{{ n.content }}{% endfor %}{% for x in [1] %}{{ x }}{% endfor %}){% endfor %}"
    )
    assert _told(source) == [
        ("message", 1, "zwölf"),
        ("message", 1, "(zwölf1)"),
        ("message", 2, "three"),
        ("message", 2, "(three1)"),
    ]


def test_what_is_a_message() -> None:
    """The dict itself, wherever it is; no copy, and nothing that only looks like one."""
    source = (
        "{% set ns = namespace(all=messages[::-1]) %}{% for m in ns.all %}{{ m.content }}"
        "{% set m = 1 %}{% endfor %}{% for m in [dict(messages[0]), messages[0].content] %}"
        "{{ m }}{% endfor %}{% for m in other %}{{ m.content }}{% endfor %}"
    )
    assert _told(source, other=MESSAGES) == [
        ("message", 2, "three"),
        ("message", 1, "zwölf"),
        ("message", 0, "one"),
    ]
    twice = [MESSAGES[0], MESSAGES[0]]
    source = "{% for m in messages %}{{ m.content }}{% endfor %}"
    assert _told(source, twice) == [("message", 0, "one"), ("message", 1, "one")]
    assert _told(source, ["a text", *twice[:1]]) == [("message", 1, "one")]
    assert _told("{% for m in messages %}{{ m }}{% endfor %}", "text") == []


def test_macros_and_blocks() -> None:
    source = (
        "{% macro all(x) %}{% for m in x %}[{% generation %}{{ m.content }}{% endgeneration %}]"
        "{% endfor %}{% endmacro %}"
        "{% set held %}{{ all(messages[:1]) ~ '!' }}{% endset %}{{ held }}{{ held }}"
    )
    once = [("generation", None, "one"), ("message", 0, "[one]")]
    assert _told(source) == once * 2
    text, _ = _trace(source)
    assert text == "[one]![one]!"
    # Nothing was printed of it in the end.
    assert _told(source.replace("{{ held }}", "")) == []


def test_empty_stretches_have_no_marks() -> None:
    source = (
        "{% for m in messages %}{% generation %}{{ m.missing }}{% endgeneration %}{% endfor %}"
        "{% for m in messages %}{% if loop.last %}{{ m.content }}{% endif %}{% endfor %}"
    )
    assert _told(source) == [("message", 2, "three")]


@pytest.mark.parametrize(
    "use",
    [
        "{{ held | trim }}",
        "{{ held | length }}",
        "{{ held[0] }}",
        "{{ held | tojson(ensure_ascii=true) }}",
        "{{ held == ' one  zwölf  three ' }}",
        "{% if not held.startswith(' ') %}{{ raise_exception('no') }}{% endif %}",
        "{{ held.split('one')[0] }}",
    ],
)
def test_refuses_where_marks_would_show(use: str) -> None:
    source = "{% set held %}{% for m in messages %} {{ m.content }} {% endfor %}{% endset %}" + use
    with pytest.raises(ValueError, match=r"cannot be traced in Jinja2: .* chat_template="):
        _trace(source)


def test_what_a_template_refuses_is_its_own_error() -> None:
    with pytest.raises(Exception, match="no system role"):
        _trace("{% for m in messages %}{{ raise_exception('no system role') }}{% endfor %}")


def test_texts_with_private_characters() -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}"
    odd = [{"content": "\U00100000\U00100001x\ue000"}, {"content": "\ud800\U0010fffd"}]
    assert _told(source, odd) == [("message", n, odd[n]["content"]) for n in range(2)]
    with pytest.raises(ValueError, match="private-use characters of both planes"):
        _trace(source, [*odd, {"content": "\U000f0000"}])
    # What is not printed is no matter.
    assert _told(source, [{"content": "a", "other": "\U000f0000\U00100000"}])


def test_the_clock_stands_still() -> None:
    for _ in range(20):
        _trace("{{ strftime_now('%f') }}{% for m in messages %}{{ m.content }}{% endfor %}")


def test_texts_of_messages() -> None:
    source = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}|{{ m.thinking }}"
        "{{ m.tool_calls[0].function.arguments | tojson }}{% endfor %}"
    )
    call = {"type": "function", "function": {"name": "f", "arguments": {"at": "ö", "n": 1}}}
    text, marks = _trace(
        source, [{"role": "user", "content": " a\n", "thinking": "b", "tool_calls": [call]}]
    )
    assert text == '<user>a|b{"at": "ö", "n": 1}'
    data = text.encode()
    found = [(number, data[begin:end].decode()) for _, number, begin, end in marks[:-1]]
    assert found == [(0, "a"), (0, "b"), (0, "ö")]
    assert {mark[0] for mark in marks[:-1]} == {"text"}
    assert marks[-1] == ("message", 0, 0, len(data))


def test_texts_of_messages_that_are_cut_at_markup() -> None:
    source = (
        "{% for m in messages %}{% if m.content.startswith('<think>') %}"
        "{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% endif %}{% endfor %}"
    )
    text, marks = _trace(source, [{"content": "<think>\na\n</think>\n\nb"}])
    assert (text, marks) == ("b", [("text", 0, 0, 1), ("message", 0, 0, 1)])


def test_texts_of_messages_that_cannot_be_told() -> None:
    source = "{% for m in messages %}{{ m.content }}{{ m.content | length }}{% endfor %}"
    text, marks = _trace(source, MESSAGES[:2])
    assert text == "one3zwölf5"
    assert marks == [
        ("message", 0, 0, 4),
        ("texts unknown", None, 0, 11),
        ("message", 1, 4, 11),
    ]
    source = (
        "{% for m in messages %}{% if m.content != 'one' %}{{ [][1].x }}{% endif %}{% endfor %}"
    )
    assert _trace(source, MESSAGES[:1]) == ("", [("texts unknown", None, 0, 0)])


def test_what_the_native_engine_cannot_trace_is_traced_in_jinja2() -> None:
    source = "{% for m in messages %}{{ m.content }}{{ x }}{% endfor %}"
    engine = TemplateEngine(source)
    assert engine.engine == "native"
    text, marks = engine.trace({"messages": MESSAGES[:1], "x": {1}})
    assert text == "one{1}"
    assert marks == [("text", 0, 0, 3), ("message", 0, 0, 6)]
    with pytest.raises(ValueError, match="refuses it"):
        TemplateEngine("{{ raise_exception('refuses it') }}").trace({"messages": []})
