"""DPO, ORPO, CPO, KTO, BCO, GRPO, PPO, Reward and Embedding: rows in, examples out."""

from typing import Any

import pytest
from chat_rows import Row, answer_of, assistant, chat, tokenizer, user
from easydata.trainers import (
    BCOPreprocessTransform,
    CPOPreprocessTransform,
    DPOPreprocessTransform,
    EmbeddingPreprocessTransform,
    GRPOPreprocessTransform,
    KTOPreprocessTransform,
    ORPOPreprocessTransform,
    PPOPreprocessTransform,
    RewardPreprocessTransform,
    SFTPreprocessTransform,
)
from easydata.transforms import ExpandTransform, Transform

PAIR: Row = {"prompt": "2 + 2 =", "chosen": " 4", "rejected": " 5"}
CHATS: Row = {
    "prompt": [user("2 + 2?")],
    "chosen": [assistant("It is 4.")],
    "rejected": [assistant("It is 5.")],
}
END = "<|im_end|>"


def text(ids: list[int]) -> str:
    return tokenizer().decode(ids)


def test_classes_are_those_of_easydel() -> None:
    assert CPOPreprocessTransform is DPOPreprocessTransform
    assert issubclass(ORPOPreprocessTransform, DPOPreprocessTransform)
    assert issubclass(PPOPreprocessTransform, GRPOPreprocessTransform)
    assert issubclass(BCOPreprocessTransform, ExpandTransform)
    assert not issubclass(BCOPreprocessTransform, KTOPreprocessTransform)
    for each in (DPOPreprocessTransform, KTOPreprocessTransform, GRPOPreprocessTransform):
        assert issubclass(each, Transform)


def test_dpo_of_text() -> None:
    made = DPOPreprocessTransform(tokenizer())(PAIR)
    assert text(made["prompt_input_ids"]) == "2 + 2 ="
    assert text(made["chosen_input_ids"]) == f"2 + 2 = 4{END}"
    assert (answer_of(made), answer_of(made, "rejected")) == (f" 4{END}", f" 5{END}")
    assert made["chosen_attention_mask"] == [1] * len(made["chosen_input_ids"])


# D48: a chat ended in EOS twice.
def test_dpo_of_chats_ends_once() -> None:
    made = DPOPreprocessTransform(tokenizer())(CHATS)
    assert text(made["prompt_input_ids"]).endswith("<|im_start|>assistant\n")
    assert answer_of(made) == f"It is 4.{END}\n"
    again = DPOPreprocessTransform(tokenizer())({**PAIR, "chosen": f" 4{END}"})
    assert answer_of(again) == f" 4{END}"


# D48: with one max length only, or 0, prompts and answers were not cut at all.
def test_dpo_cuts_prompts_at_their_start_and_answers_at_their_end() -> None:
    row = {"prompt": "a b c d e f g h", "chosen": " 1 2 3 4 5 6 7 8", "rejected": " no"}
    whole = DPOPreprocessTransform(tokenizer())(row)
    prompt = DPOPreprocessTransform(tokenizer(), 4)(row)
    assert prompt["prompt_input_ids"] == whole["prompt_input_ids"][-4:]
    assert answer_of(prompt) == answer_of(whole)
    answer = DPOPreprocessTransform(tokenizer(), None, 4, fixed_shapes=False)(row)
    assert answer["prompt_input_ids"] == whole["prompt_input_ids"]
    kept = [label for label in answer["chosen_labels"] if label != -100]
    assert kept == [label for label in whole["chosen_labels"] if label != -100][:4]
    assert END not in text(kept)  # a cut answer does not end
    with pytest.raises(ValueError, match="max_prompt_length: must be at least 1"):
        DPOPreprocessTransform(tokenizer(), 0)


# D48: the prompt was what chosen and rejected share, cut in the middle of words, or the wrong way.
@pytest.mark.parametrize(
    ("chosen", "rejected", "prompt"),
    [
        ("Say it: yes", "Say it: no", "Say it:"),
        ("yes", "no", ""),
        (" x", "y", ""),
        ([user("a"), assistant("b")], [user("a"), assistant("c")], "a"),
    ],
)
def test_the_prompt_is_what_both_begin_with(chosen: Any, rejected: Any, prompt: str) -> None:
    made = DPOPreprocessTransform(tokenizer())({"chosen": chosen, "rejected": rejected})
    shown = text(made["prompt_input_ids"])
    assert f"user\n{prompt}{END}" in shown if isinstance(chosen, list) else shown == prompt


def test_a_prompt_beside_whole_chats_is_theirs() -> None:
    row = {
        "prompt": "2 + 2?",
        "chosen": [*CHATS["prompt"], *CHATS["chosen"]],
        "rejected": [*CHATS["prompt"], *CHATS["rejected"]],
    }
    assert DPOPreprocessTransform(tokenizer())(row) == DPOPreprocessTransform(tokenizer())(CHATS)
    beside = {**CHATS, "prompt": "2 + 2?"}
    assert DPOPreprocessTransform(tokenizer())(beside) == DPOPreprocessTransform(tokenizer())(CHATS)


def test_chats_that_share_nothing_have_no_prompt() -> None:
    row = {"chosen": [user("a"), assistant("b")], "rejected": [user("c"), assistant("d")]}
    with pytest.raises(ValueError, match="no message in common at their beginnings"):
        DPOPreprocessTransform(tokenizer())(row)
    with pytest.raises(KeyError, match="the row has no 'rejected'"):
        DPOPreprocessTransform(tokenizer())({"prompt": "a", "chosen": "b"})


def test_a_prompt_that_a_template_prints_otherwise_ends_where_they_part() -> None:
    template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<assistant><think>{% endif %}"
    )
    made = DPOPreprocessTransform(tokenizer(), chat_template=template)(CHATS)
    assert text(made["prompt_input_ids"]) == "<user>2 + 2?<assistant>"
    assert answer_of(made) == "It is 4."


def test_bos_begins_prompts_on_request() -> None:
    splits = tokenizer("splits")
    made = DPOPreprocessTransform(splits, add_special_tokens=True)(PAIR)
    assert made["prompt_input_ids"][0] == splits.bos_token_id
    assert made["chosen_input_ids"].count(splits.bos_token_id) == 1
    chats = DPOPreprocessTransform(splits, add_special_tokens=True)(CHATS)
    assert chats["prompt_input_ids"].count(splits.bos_token_id) == 1


# D49: paired rows failed.
def test_kto_takes_single_answers_and_pairs() -> None:
    transform = KTOPreprocessTransform(tokenizer())
    made = transform({"prompt": "2 + 2 =", "completion": " 4", "label": True})
    assert made["label"] is True
    assert text(made["completion_input_ids"]) == f"2 + 2 = 4{END}"
    pair = transform.examples(PAIR)
    assert [each["label"] for each in pair] == [True, False]
    assert pair[0] == made
    with pytest.raises(ValueError, match="one row makes 2 examples"):
        transform(PAIR)
    assert list(BCOPreprocessTransform(tokenizer())(PAIR)) == pair
    with pytest.raises(TypeError, match="'label' must say whether the completion is good"):
        transform({"prompt": "a", "completion": "b"})


def test_kto_embeds_prompts_a_second_time() -> None:
    transform = KTOPreprocessTransform(tokenizer(), embedding_tokenizer=tokenizer("byte-level"))
    made = transform({"prompt": "2 + 2 =", "completion": " 4", "label": 0})
    assert made["embedding_input_ids"] == tokenizer("byte-level").encode("2 + 2 =").tolist()


# D46: prompts were padded at the tokenizer's side, cut at their end, and rewards' columns lost.
def test_grpo_keeps_the_end_of_prompts_and_pads_at_the_left() -> None:
    transform = GRPOPreprocessTransform(tokenizer(), 6, keep_columns=["answer"])
    short = transform({"prompt": "a b", "answer": "x"})
    assert short["answer"] == "x"
    assert short["attention_mask"] == [0] * (6 - sum(short["attention_mask"])) + [1] * sum(
        short["attention_mask"]
    )
    long = transform({"prompt": "a b c d e f g h i"})
    assert long["input_ids"] == tokenizer().encode("a b c d e f g h i").tolist()[-6:]
    ragged = GRPOPreprocessTransform(tokenizer())
    assert text(ragged(CHATS)["input_ids"]).endswith("<|im_start|>assistant\n")
    assert ragged({"messages": chat()[:1]}) is not None
    assert ragged({"prompt": ""})["input_ids"] == [tokenizer().eos_token_id]
    with pytest.raises(TypeError, match="skip_apply_chat_template=True asks for text"):
        GRPOPreprocessTransform(tokenizer(), skip_apply_chat_template=True)(CHATS)
    with pytest.raises(ValueError, match=r"source.to_hf\(\)"):
        GRPOPreprocessTransform(tokenizer(), layout="trl")


# D45: the prompt of a pair of texts was thrown away, and chats began with BOS twice.
def test_reward_puts_the_prompt_first() -> None:
    transform = RewardPreprocessTransform(tokenizer(), None, fixed_shapes=False)
    made = transform(PAIR)
    assert text(made["input_ids_chosen"]) == "2 + 2 = 4"
    inside = {**PAIR, "chosen": "2 + 2 = 4", "rejected": "2 + 2 = 5"}
    assert transform(inside) == made
    splits = RewardPreprocessTransform(tokenizer("splits"), None, fixed_shapes=False)
    chats = splits(CHATS)["input_ids_chosen"]
    assert chats.count(tokenizer("splits").bos_token_id) == 1
    assert (
        RewardPreprocessTransform(tokenizer(), 4, keep_columns=["margin"])({**PAIR, "margin": 0.5})[
            "margin"
        ]
        == 0.5
    )


def test_reward_of_trl_leaves_long_pairs_out() -> None:
    transform = RewardPreprocessTransform(tokenizer(), 4, layout="trl")
    assert transform(PAIR) is None
    assert RewardPreprocessTransform(tokenizer(), 64, layout="trl")(PAIR) is not None


def test_embedding_encodes_each_text() -> None:
    row = {"query": "ferry", "positive": "A ferry leaves.", "negative": "It rains.", "id": 1}
    made = EmbeddingPreprocessTransform(tokenizer(), 8)(row)
    assert list(made) == [
        "query_input_ids",
        "query_attention_mask",
        "positive_input_ids",
        "positive_attention_mask",
    ]
    with pytest.raises(TypeError, match="field 'negative' holds nothing"):
        EmbeddingPreprocessTransform(tokenizer(), negative_field="negative")(
            {"query": "a", "positive": "b"}
        )


def test_rows_of_ids_stay() -> None:
    transform = DPOPreprocessTransform(tokenizer())
    made = transform(PAIR)
    assert transform(made) == made
    with pytest.raises(KeyError, match="has 'prompt_input_ids', but no 'chosen_labels'"):
        transform({name: made[name] for name in made if name != "chosen_labels"})


def test_options_of_the_other_layout_are_refused() -> None:
    with pytest.raises(ValueError, match='max_prompt_length is for layout="easydel"'):
        DPOPreprocessTransform(tokenizer(), 5, layout="trl")
    with pytest.raises(ValueError, match=r"has max_prompt_length and max_completion_length$"):
        KTOPreprocessTransform(tokenizer(), max_length=5)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"prompt": "a", "chosen": "b", "rejected": "b"}, "'chosen' and 'rejected' are the same"),
        (
            {"prompt": [user("a")], "chosen": [assistant("b")], "rejected": [assistant("b")]},
            "'chosen' and 'rejected' are the same",
        ),
        ({"prompt": "a", "chosen": "b", "rejected": " "}, "field 'rejected' holds an answer that"),
        (
            {"prompt": [user("a")], "chosen": [assistant("b")], "rejected": [assistant("")]},
            r"^rejected\[0\] \(role 'assistant'\) is an answer that says nothing",
        ),
        (
            {"chosen": [user("a"), assistant("")], "rejected": [user("a"), assistant("b")]},
            r"^chosen\[1\] \(role 'assistant'\) is an answer that says nothing",
        ),
    ],
)
@pytest.mark.parametrize("kind", [DPOPreprocessTransform, RewardPreprocessTransform])
def test_a_pair_of_which_nothing_can_be_learned_is_refused(
    kind: Any, row: dict[str, Any], said: str
) -> None:
    transform = kind(tokenizer(), None)
    with pytest.raises(ValueError, match=said):
        transform(row)
    skipping = kind(tokenizer(), None, empty_answers="skip")
    if "same" not in said:
        assert skipping(row) is None


def test_an_empty_answer_is_named_by_its_field() -> None:
    sft = SFTPreprocessTransform(tokenizer(), None)
    kto = KTOPreprocessTransform(tokenizer(), None)
    empty = [user("a"), assistant(" ")]
    for transform, row, said in (
        (sft, {"prompt": empty[:1], "completion": empty[1:]}, r"^completion\[0\] "),
        (sft, {"conversations": empty}, r"^conversations\[1\] "),
        (kto, {"prompt": empty[:1], "completion": empty[1:], "label": True}, r"^completion\[0\] "),
    ):
        with pytest.raises(ValueError, match=said):
            transform(row)


def test_an_empty_completion_is_refused() -> None:
    row = {"prompt": "a", "completion": "", "label": True}
    for transform in (
        KTOPreprocessTransform(tokenizer(), None),
        SFTPreprocessTransform(tokenizer(), None),
    ):
        with pytest.raises(
            ValueError, match="field 'completion' holds an answer that says nothing"
        ):
            transform(row)
