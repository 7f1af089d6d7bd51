"""Texts and completions end in one EOS token, whatever the tokenizer makes of its text."""

import itertools
import json
import logging
import random
from pathlib import Path
from typing import Any

import pytest
from chat_rows import Row, assistant, user
from data_folders import needs_shared, tokenizer_folder
from easydata.transforms.trainer_examples import named_transform

from easydata import Tokenizer

LAYOUTS = ("easydel", "trl")
NAMES = ["byte-level", "metaspace", "split", "splits", "unigram", "whole-text"]
REAL = [pytest.param(name, marks=needs_shared) for name in ("llama2", "gemma", "t5-small", "gpt2")]


def ending_itself(folder: Path) -> Tokenizer:
    """The tokenizer "byte-level", whose post-processor puts EOS behind a text."""
    source = tokenizer_folder("byte-level")
    model = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    eos = "<|endoftext|>"
    model["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": eos, "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {eos: {"id": eos, "ids": [1199], "tokens": [eos]}},
    }
    (folder / "tokenizer.json").write_text(json.dumps(model), encoding="utf-8")
    config = (source / "tokenizer_config.json").read_text(encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(config, encoding="utf-8")
    return Tokenizer(folder)


def normalizing(folder: Path) -> Tokenizer:
    """The tokenizer "metaspace", whose EOS is looked for in normalized text, as Llama 2's is."""
    source = tokenizer_folder("metaspace")
    model = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    for token in model["added_tokens"]:
        token["normalized"] = True
    (folder / "tokenizer.json").write_text(json.dumps(model), encoding="utf-8")
    config = (source / "tokenizer_config.json").read_text(encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(config, encoding="utf-8")
    return Tokenizer(folder)


def tokenizer_of(name: str, folder: Path, **options: Any) -> Tokenizer:
    if name == "ends itself":
        return Tokenizer(ending_itself(folder), **options)
    if name == "normalizes":
        return Tokenizer(normalizing(folder), **options)
    return Tokenizer(tokenizer_folder(name), **options)


def texts(seed: int, tokenizer: Tokenizer, count: int) -> list[str]:
    """Texts of words and spaces, some with special tokens within, some with EOS at their ends."""
    picked = random.Random(seed)
    eos = tokenizer.eos_token
    assert eos is not None
    words = ["ferry", " at", " nine", ".", "\n", "  ", "é", " </", "s>", f"{eos} ", " 12"]
    made = []
    for number in range(count):
        text = "".join(picked.choices(words, k=picked.randint(1, 6)))
        made.append(f"a ferry{text}b{eos if number % 3 == 0 else ''}")
    return made


def ended(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text with the tokenizer's special tokens around it and EOS at its end, once."""
    assert tokenizer.eos_token is not None
    eos = tokenizer.eos_token_id
    assert eos is not None
    if not tokenizer.split_special_tokens:
        text = text.removesuffix(tokenizer.eos_token)
    plain, framed = (tokenizer.encode("a", frame).tolist() for frame in (False, True))
    (at,) = [at for at in range(len(framed)) if framed[at : at + len(plain)] == plain]
    behind = framed[at + len(plain) :]
    ids: list[int] = tokenizer.encode(text).tolist()
    if eos in behind:
        return ids
    return [*ids[: len(ids) - len(behind)], eos, *behind]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("splits", [False, True])
@pytest.mark.parametrize("name", [*NAMES, "ends itself", "normalizes", *REAL])
def test_texts_and_completions_end_once(
    name: str, splits: bool, layout: str, tmp_path: Path
) -> None:
    tokenizer = tokenizer_of(name, tmp_path, split_special_tokens=splits)
    sft = named_transform(
        {
            "name": "sft",
            "layout": layout,
            "labels": True,
            "mask_prompt": True,
            "fixed_shapes": False,
        },
        tokenizer,
    )
    for number, text in enumerate(texts(3, tokenizer, 60)):
        cut = 1 + number % 4
        rows: list[Row] = [{"text": text}, {"prompt": text[:cut], "completion": text[cut:]}]
        for row in rows:
            (example,) = sft.examples(row)
            assert example["input_ids"] == ended(tokenizer, text), row
            assert example["labels"][-1] == example["input_ids"][-1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*NAMES, "ends itself", "normalizes", *REAL])
def test_answers_end_once(name: str, layout: str, tmp_path: Path) -> None:
    tokenizer = tokenizer_of(name, tmp_path)
    eos, spelled = tokenizer.eos_token_id, str(tokenizer.eos_token)
    dpo = named_transform({"name": "dpo", "layout": layout, "fixed_shapes": False}, tokenizer)
    kto = named_transform({"name": "kto", "layout": layout, "fixed_shapes": False}, tokenizer)
    reward = named_transform({"name": "reward", "layout": "trl"}, tokenizer)
    answers = texts(5, tokenizer, 40)
    for first, second in itertools.pairwise(answers):
        if first == second:
            continue
        row = {"prompt": "Ferry:", "chosen": first, "rejected": second}
        (pair,) = dpo.examples(row)
        both = kto.examples(row)
        (sides,) = reward.examples(row)
        whole = [column for column in pair if column.endswith("ids") and "prompt" not in column]
        ids = [pair[column] for column in whole]
        ids += [
            one["completion_ids" if layout == "trl" else "completion_input_ids"] for one in both
        ]
        ids += [sides["chosen_ids"], sides["rejected_ids"]]
        assert len(ids) == 6
        for number, each in enumerate(ids):
            said = (first, second)[number % 2]
            within = said.removesuffix(spelled).count(spelled)
            assert each[-1] == eos, (said, each)
            # Those within are read as the tokenizer reads them.
            assert 1 <= each.count(eos) <= 1 + within, (said, each)
        assert ids[:2] == ids[2:4]


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "chats:" in record.getMessage()]


CHAT = {"messages": [user("hi"), assistant("yo")]}
EOS_BEHIND = (
    "{% for m in messages %}{{ m.content }}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
)


@pytest.mark.parametrize(
    ("name", "template", "words"),
    [
        ("split", None, []),  # its end of turn is its EOS
        ("split", EOS_BEHIND, []),
        ("split", EOS_BEHIND + "\n", []),
        ("normalizes", EOS_BEHIND, ["'</s>' (id 2)", "read as plain text", "transformers"]),
        (
            "split",
            EOS_BEHIND.replace("eos_token", "'<|endoftext|>'"),
            ["with '<|endoftext|>', not with the tokenizer's EOS token '<|im_end|>' (id 1198)"],
        ),
        ("split", EOS_BEHIND.replace("eos_token", "''"), ["with nothing, not with"]),
    ],
)
def test_chats_that_do_not_end_in_eos_are_told_of(
    name: str,
    template: str | None,
    words: list[str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once for a transform, whatever its rows say, and only where there are chats."""
    sft = named_transform(
        {"name": "sft", "max_length": 64, "chat_template": template, "fixed_shapes": False},
        tokenizer_of(name, tmp_path),
    )
    with caplog.at_level(logging.WARNING, "easydata"):
        sft.examples({"text": "no chat"})
        assert said(caplog) == []
        for _ in range(3):
            sft.examples(CHAT)
    told = said(caplog)
    assert len(told) == bool(words)
    for word in words:
        assert word in told[0]


def test_a_tokenizer_that_splits_special_tokens_splits_those_of_chats(
    caplog: pytest.LogCaptureFixture,
) -> None:
    splits = Tokenizer(tokenizer_folder("split"), split_special_tokens=True)
    sft = named_transform({"name": "sft", "max_length": 400, "fixed_shapes": False}, splits)
    with caplog.at_level(logging.WARNING, "easydata"):
        (example,) = sft.examples(CHAT)
    assert not {1196, 1197, 1198} & set(example["input_ids"])
    (told,) = said(caplog)
    assert "split_special_tokens=True reads all that a template prints so" in told
