"""Templates that would take hours, or gigabytes, end with an error."""

import time

import jinja2
import pytest
from easydata.tokenizers.template_engine import compile_template, engine_of

from easydata import Tokenizer

# Where a template is read its texts are compared with Jinja2's, which knows no bounds.
ENDLESS = {
    "loops": "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
    "calls": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
    "{{ f(60) }}",
    "searches": "{% for i in range(3000) %}{{ ('a' * 1000000).count('b') }}{% endfor %}",
    "text": "{{ ('a' * 60000000) * 60 }}",
    "lists": "{% set ns = namespace(l=[]) %}{% for i in range(60) %}"
    "{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
}

# What Jinja2 would compute when it compiles them.
CONSTANTS = ["{{ 'a' * 4000000000 }}", "{{ [1] * 4000000000 }}", "{{ 2 ** 1000000000 }}"]


@pytest.mark.parametrize("name", ENDLESS)
def test_a_template_without_an_end_is_read_and_ends(name: str) -> None:
    begin = time.monotonic()
    engine = engine_of(ENDLESS[name])
    assert engine.engine == "native"
    with pytest.raises(ValueError, match=r"more than .* (steps|MB)|too long"):
        engine.render({})
    # Jinja2 takes minutes to centuries.
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("source", CONSTANTS)
def test_constants_of_gigabytes_are_not_computed(source: str) -> None:
    begin = time.monotonic()
    template = compile_template(source)
    with pytest.raises(jinja2.TemplateError, match=r"\*\*? makes more than 64 MB"):
        template.render()
    assert time.monotonic() - begin < 10


def test_operators_within_the_bound_are_those_of_python() -> None:
    source = "{{ 7 * 'ab' }} {{ [1] * 3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2.5 * 2 }} {{ 3 * -4 }}"
    assert compile_template(source).render() == "ababababababab [1, 1, 1] 1024 0.5 5.0 -12"
    with pytest.raises(TypeError):
        compile_template("{{ a * b }}").render(a="x", b="y")


def test_conditions_without_else_have_a_bound(gpt2: str) -> None:
    template = "{{ 1" + " if 1" * 50_000 + " }}"
    chat = [{"role": "user", "content": "a"}]
    with pytest.raises(ValueError, match="none that Jinja2 takes"):
        Tokenizer(gpt2).apply_chat_template(chat, chat_template=template, tokenize=False)
