"""Masks against the marks of TRL's training templates, token by token.

What TRL trains on and we do not, or the other way round, must be one of two: (part of) what the
model is given before its turn, or white space behind the end of a turn.

We refuse a chat in which an answer says nothing, one of which the template leaves something out,
and one with a tool's result that it prints within a turn; that these are refused, and no others, is
told from the chat and the template's text. Reasoning may be left out here, as TRL does.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chats import MEASURED
from easydata.trainers import SFTPreprocessTransform

import easydata

trl = pytest.importorskip("trl")
transformers = pytest.importorskip("transformers")

TEMPLATES = Path(trl.__file__).parent / "chat_templates"
PAIRS = sorted(path.name.removesuffix("_training.jinja") for path in TEMPLATES.glob("*_training.*"))
# Templates of pictures print content that is a list of parts only: text would be lost, in silence.
PARTS_ONLY = ("idefics3", "smolvlm")
PRINTS_RESULTS_IN_TURNS = ("diffusion_gemma",)
# They print a turn with calls as these alone, without the text beside them. GPT-OSS takes that for
# a thought, which it leaves out where an answer follows.
PRINTS_CALLS_ALONE = ("gptoss", "muse_glimmer")
# They print calls where the content is null; here it is a text, if an empty one.
PRINTS_CALLS_FOR_NULL = ("deepseek_r1_distill",)
# One that ends with white space that is said: those of MEASURED end with white space alone.
CHATS = {
    **MEASURED,
    "spaces around what is said": [
        *MEASURED["spaces"][:-1],
        {"role": "assistant", "content": "\n and too \n\n"},
    ],
}
SPECIAL = re.compile(
    r"<[|｜][^<>{}'\"\s]{1,40}[|｜]>|<(?:start|end)_of_turn>|</?s>|\[/?[A-Z_]{2,20}\]"
    r"|<(?:turn\||\|turn)>|<｜[^<>{}'\"]{1,40}｜>"
)
ROLES = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"}


def tokenizer_of(*templates: str) -> Any:
    """A byte-level tokenizer with the special tokens that templates print."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("Ġ", "t"), ("e", "r"), ("i", "n")]
    words = [*alphabet, *("".join(pair) for pair in merges)]
    made = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    found = {*ROLES.values()}.union(*(SPECIAL.findall(template) for template in templates))
    made.add_special_tokens([AddedToken(x, special=True, normalized=False) for x in sorted(found)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **ROLES)


def trl_marks(chat: Any, template: str) -> tuple[str, list[tuple[int, int]]]:
    """The text of a training template, and what of it is marked."""
    from transformers.utils.chat_template_utils import render_jinja_template

    texts, spans = render_jinja_template(
        [chat], chat_template=template, return_assistant_tokens_mask=True, **ROLES
    )
    return texts[0], spans[0]


def differences(
    text: str, offsets: list[tuple[int, int]], ours: list[int], theirs: list[int]
) -> Iterator[str]:
    """What each token that only one of the two trains on is."""
    for at, (begin, end) in enumerate(offsets):
        if ours[at] == theirs[at]:
            continue
        token = text[begin:end]
        later = next((i for i in range(at, len(ours)) if ours[i] or not theirs[i]), len(ours))
        if ours[at]:
            yield f"trained by us alone: {token!r}"
        elif token.isspace() and at > 0 and (ours[at - 1] or offsets[at - 1] == (begin, end)):
            yield "white space"
        elif later < len(ours) and ours[later]:
            yield "generation prompt"
        else:
            yield f"trained by TRL alone: {token!r}"


def refusal(name: str, template: str, chat: Any) -> str:
    """Why we refuse a chat that the template does not; empty where we take it."""
    if any(m["role"] == "assistant" and not said(m) for m in chat):
        return "says nothing"
    if name in PARTS_ONLY:
        return "leaves out the"
    calling = [message for message in chat if message.get("tool_calls")]
    if calling and ("tool_calls" not in template or name in PRINTS_CALLS_FOR_NULL):
        return "leaves out the"
    if calling and name in PRINTS_RESULTS_IN_TURNS:
        return "within the turn of"
    if name in PRINTS_CALLS_ALONE and any(message["content"] for message in calling):
        return "leaves out the"
    return ""


def said(message: Any) -> bool:
    """Whether a message says something."""
    return bool(message["content"].strip() or message.get("tool_calls"))


def compare(name: str) -> Counter[str]:
    original = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
    training = (TEMPLATES / f"{name}_training.jinja").read_text(encoding="utf-8")
    tokenizer = tokenizer_of(original, training)
    transform = SFTPreprocessTransform(
        tokenizer,
        None,
        mask_prompt=True,
        chat_template=original,
        fixed_shapes=False,
        reasoning="drop",
        parse_arguments=False,
    )
    render = easydata.Tokenizer(tokenizer)
    count: Counter[str] = Counter()
    for kind, chat in CHATS.items():
        try:
            text = tokenizer.apply_chat_template(chat, chat_template=original, tokenize=False)
        except Exception:
            count["the template refuses"] += 1
            continue
        expected = refusal(name, original, chat)
        refused = ""
        try:
            made = transform.examples({"messages": chat})
        except ValueError as error:
            refused = str(error)
        assert bool(refused) == bool(expected), (kind, refused)
        assert expected in refused, (kind, refused)
        if refused:
            count["we refuse"] += 1
            continue
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        if made:
            assert made[0]["input_ids"] == encoded["input_ids"]
        try:
            other, spans = trl_marks(chat, training)
        except Exception:
            count["the training template refuses"] += 1
            continue
        if other != text:
            count["TRL prints another text"] += 1
            continue
        offsets = encoded["offset_mapping"]
        theirs = [int(any(a < end and b > begin for begin, end in spans)) for a, b in offsets]
        ours = made[0]["assistant_masks"] if made else [0] * len(theirs)
        kinds = set(differences(text, offsets, ours, theirs))
        assert kinds <= {"white space", "generation prompt"}, (chat, kinds)
        count[" and ".join(sorted(kinds)) or "the same"] += 1
    assert render.engine == "native"
    return count


@pytest.mark.parametrize("name", PAIRS)
def test_masks_are_those_of_trl_but_for_what_is_counted(name: str) -> None:
    count = compare(name)
    print(name, dict(count))
    if name in PARTS_ONLY:
        assert count["we refuse"] + count["the template refuses"] == len(CHATS)
    # The masks say something: most chats are compared.
    compared = sum(count[kind] for kind in count if "refuse" not in kind)
    assert compared >= 4 or name in (*PARTS_ONLY, "llava_next")


def test_all_pairs_are_here() -> None:
    assert len(PAIRS) == 31, json.dumps(PAIRS)
