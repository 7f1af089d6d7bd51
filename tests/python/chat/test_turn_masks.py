"""Masks of the assistant's turns against rendering the beginning of a chat for each turn.

A model is given what `add_generation_prompt=True` prints: no token of it, and none that reaches
over its end, may be trained. `mask_reference` says how that is judged; its text is Jinja2's.
"""

import functools
import json
import random
from collections import Counter
from typing import Any

import pytest
from data_folders import OWN, SHARED, needs_shared
from mask_reference import Reference, chats, compare, random_turns, tokenizers_of
from template_grammar import random_template
from templates import all_templates

pytest.importorskip("transformers")
pytest.importorskip("tokenizers")

# In the shapes of published templates, in our own words: what each does is in its name.
NAMED = {
    "separator in the message before": (
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}"
        "{% elif m.role == 'assistant' %}{{ '### Answer:\n' + m.content + eos_token }}"
        "{% else %}{{ '### Question:\n' + m.content }}{% endif %}"
        "{% if not loop.last %}{{ '\n\n' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '\n\n### Answer:\n' }}{% endif %}"
    ),
    "spaces around what is said": (
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}"
        "{{ 'ASSISTANT: ' + m.content + eos_token }}{% else %}"
        "{{ m.role | upper + ': ' + m.content + ' ' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
    ),
    "a space that what is said merges with": (
        "{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
    ),
    "no end of turns": (
        "[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    ),
    "a separator token": (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '<|im_sep|>' + m.content }}"
        "{{ '<|im_end|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"
    ),
    "results of tools ended by whatever comes": (
        "{% set ns = namespace(open=false) %}{% for m in messages %}{% if m.role == 'tool' %}"
        "{{ '<tools>' if not ns.open }}{% set ns.open = true %}<result>{{ m.content }}</result>"
        "{% elif m.role == 'assistant' %}{{ '</tools>' if ns.open else '<|Assistant|>' }}"
        "{% set ns.open = false %}{% for call in m.tool_calls or [] %}"
        "<call>{{ call.function.name }} {{ call.function.arguments | tojson }}</call>{% endfor %}"
        "{{ m.content }}{{ eos_token }}{% else %}<|{{ m.role }}|>{{ m.content }}{% endif %}"
        "{% endfor %}{% if ns.open %}</tools>{% endif %}"
        "{% if add_generation_prompt and not ns.open %}<|Assistant|>{% endif %}"
    ),
    "a thought at the end alone": (
        "{% for m in messages %}<|{{ m.role }}|>\n{% if m.role == 'assistant' and loop.last %}"
        "{{ '<think>\n' + (m.reasoning_content or '') + '\n</think>\n\n' }}{% endif %}"
        "{{ m.content }}<|end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{{ '<think>\n' }}{% endif %}"
    ),
    "a prompt that depends on the question": (
        "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}<think></think>"
        "{% endif %}{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>"
        "{% if messages[-1].content | length < 6 %}<think></think>{% endif %}{% endif %}"
    ),
    "a prompt printed in the loop": (
        "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>\n' }}"
        "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}{% endfor %}"
    ),
}


@functools.cache
def tokenizer(name: str) -> Any:
    """Ours and Hugging Face's of one file: some take seconds to read."""
    folder = OWN / "tokenizers" / name
    return tokenizers_of(folder if folder.is_dir() else SHARED / "data" / "tokenizers" / name)


def check(source: str, name: str, count: int) -> Counter[str]:
    """Compares one template with one tokenizer over so many chats."""
    ours, theirs = tokenizer(name)
    reference = Reference(source, theirs, dict(ours.special_tokens))
    counts, wrong = compare(source, ours, reference, chats(count))
    assert not wrong, wrong[:3]
    return counts


@pytest.mark.parametrize("name", ["byte-level", "split"])
@pytest.mark.parametrize("kind", NAMED)
def test_named_kinds(kind: str, name: str) -> None:
    counts = check(NAMED[kind], name, 150)
    print(dict(counts))
    assert counts["right"] + counts["right by its end"] > 90
    refused = sum(counts[key] for key in counts if key.startswith("refused"))
    assert refused <= counts["refused: left out"] + counts["refused: empty"]


@needs_shared
@pytest.mark.parametrize("name", ["gpt2", "gemma", "llama3.1"])
@pytest.mark.parametrize("kind", NAMED)
def test_named_kinds_with_real_tokenizers(kind: str, name: str) -> None:
    assert check(NAMED[kind], name, 30)["right"] > 15


@needs_shared
def test_results_of_tools_of_deepseek() -> None:
    """Its own template ends them with or without a prompt."""
    folder = SHARED / "data" / "tokenizers" / "deepseek-v3"
    source = json.loads((folder / "tokenizer_config.json").read_text())["chat_template"]
    counts = check(source, "deepseek-v3", 120)
    assert counts["right"] > 100
    meant = {"refused: left out", "refused: empty"}
    assert not any(key.startswith("refused") for key in counts if key not in meant), counts


# They print numbers of turns and the like, not turns.
NO_TURNS = {"searching", "pieces", "signatures"}


def published() -> list[Any]:
    """Templates that are here: our own, and those beside tokenizers, of TRL, and of ../shared."""
    params = [parameter for parameter in all_templates() if parameter.id not in NO_TURNS]
    path = SHARED / "data" / "chat_templates" / "templates.json"
    if path.is_file():
        for name, source in json.loads(path.read_text(encoding="utf-8")).items():
            params.append(pytest.param(source, id=name))
    return params


@pytest.mark.one_in(12)
@pytest.mark.parametrize("source", published())
def test_published_templates(source: str) -> None:
    counts = check(source, "byte-level", 40)
    print(dict(counts))


REAL = ("gpt2", "gemma", "llama3.1", "llama2")


@needs_shared
@pytest.mark.sliced
@pytest.mark.parametrize("number", range(len(published())))
def test_published_templates_with_real_tokenizers(number: int) -> None:
    """Each with one of them, by turns."""
    parameter = published()[number]
    if parameter.marks:
        pytest.skip(parameter.id)
    print(parameter.id, dict(check(parameter.values[0], REAL[number % len(REAL)], 75)))


def compare_many(sources: list[str], chats_of_each: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    names = ("byte-level", "split", "splits")
    for number, source in enumerate(sources):
        counts += check(source, names[number % len(names)], chats_of_each)
    print(dict(counts))
    return counts


def random_sources(seeds: range) -> list[str]:
    """Templates of the grammar that the engine takes."""
    from engine_parts import JinjaTemplate

    found = []
    for seed in seeds:
        source = random_template(random.Random(seed))
        try:
            JinjaTemplate(source)
        except (ValueError, NotImplementedError):
            continue
        found.append(source)
    return found


def test_random_templates() -> None:
    counts = compare_many([random_turns(seed) for seed in range(24)], 15)
    assert counts["right"] > 200
    compare_many(random_sources(range(12)), 4)


@pytest.mark.sliced
def test_more_random_templates() -> None:
    counts = compare_many([random_turns(seed) for seed in range(24, 240)], 75)
    assert counts["right"] > 14_000
    compare_many(random_sources(range(12, 160))[:120], 75)
