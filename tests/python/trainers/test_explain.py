"""What is shown of examples: explain() and `easydata inspect --mask`."""

import json
from pathlib import Path
from typing import Any

import pytest
from chat_rows import assistant, chat, tokenizer, user
from easydata.trainers import (
    DPOPreprocessTransform,
    GRPOPreprocessTransform,
    RewardPreprocessTransform,
    SFTPreprocessTransform,
)
from programs import run_python


def sft(max_length: int | None = None, **options: Any) -> SFTPreprocessTransform:
    return SFTPreprocessTransform(
        tokenizer(), max_length, mask_prompt=True, fixed_shapes=False, **options
    )


def test_trained_text_is_marked_turn_by_turn() -> None:
    transform = sft()
    (example,) = transform.explain({"messages": chat(turns=2)}).examples
    made = transform({"messages": chat(turns=2)})
    assert example.tokens == len(made["input_ids"])
    assert example.trained == sum(made["assistant_masks"])
    assert "".join(text for text, _ in example.parts) == tokenizer().decode(made["input_ids"])
    trained = [text for text, is_trained in example.parts if is_trained]
    assert trained == [f"At {turn} o'clock, as ever.<|im_end|>" for turn in range(2)]
    assert [turn.role for turn in example.turns] == ["user", "assistant"] * 2
    assert sum(turn.trained for turn in example.turns) == example.trained
    assert [turn.trained > 0 for turn in example.turns] == [False, True] * 2
    assert sum(turn.tokens for turn in example.turns) <= example.tokens
    assert example.warnings == []


def test_it_prints_what_is_trained_in_marks() -> None:
    shown = str(sft().explain({"messages": chat()}))
    assert "⟦At 0 o'clock, as ever.<|im_end|>⟧" in shown
    assert "turn 1: assistant" in shown


@pytest.mark.parametrize(
    ("row", "options", "warning"),
    [
        ({"messages": [user("Anybody?")]}, {}, "nothing of it is trained on"),
        ({"messages": chat(turns=3)}, {"max_length": 60}, "cut: "),
        (
            {"messages": chat()},
            {"chat_template": "{% for m in messages %}[{{ m.role }}] {{ m.content }} {% endfor %}"},
            "which is no end of turn",
        ),
    ],
)
def test_what_is_odd_is_said(row: Any, options: Any, warning: str) -> None:
    explained = sft(options.pop("max_length", None), **options).explain(row)
    said = [*explained.warnings, *(w for each in explained.examples for w in each.warnings)]
    assert any(warning in each for each in said), said


@pytest.mark.parametrize("layout", ["easydel", "trl"])
def test_ids_of_0_are_tokens(layout: str) -> None:
    made = tokenizer()
    zero = made.decode([0])
    (first,) = made.encode(zero, add_special_tokens=False).tolist()
    assert first == 0, "the tokenizer of this test has a plain token 0"
    row = {"prompt": "Say it.", "chosen": f"a{zero}b{zero}", "rejected": zero * 3}
    lengths = (64, 64) if layout == "easydel" else ()
    transform = DPOPreprocessTransform(made, *lengths, layout=layout)
    explained = transform.explain(row).examples
    by_column = {each.column: each for each in explained}
    example = transform(row)
    assert example is not None
    for side in ("chosen", "rejected"):
        column = f"{side}_ids" if layout == "trl" else f"{side}_input_ids"
        shown = "".join(text for text, _ in by_column[column].parts)
        assert row[side] in shown
        mask = example.get(f"{side}_attention_mask")
        ids = example[column]
        # TRL's answers are shown behind their prompt.
        whole = len(ids) + len(example["prompt_ids"]) if mask is None else sum(mask)
        assert by_column[column].tokens == whole


def test_bos_twice_is_said() -> None:
    splits = tokenizer("splits")
    template = "{{ bos_token }}{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
    transform = SFTPreprocessTransform(splits, None, fixed_shapes=False, chat_template=template)
    (example,) = transform.explain({"messages": chat()}).examples
    assert "it begins with the BOS token twice" in example.warnings


def test_answers_are_shown_too() -> None:
    explained = DPOPreprocessTransform(tokenizer()).explain(
        {"prompt": [user("2 + 2?")], "chosen": [assistant("4.")], "rejected": [assistant("5.")]}
    )
    trained = {
        each.column: "".join(text for text, one in each.parts if one) for each in explained.examples
    }
    assert trained == {
        "chosen_input_ids": "4.<|im_end|>\n",
        "rejected_input_ids": "5.<|im_end|>\n",
    }


def test_inspect_shows_the_masks_of_a_config(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"messages": chat()}) + "\n" + json.dumps({"messages": []}) + "\n")
    config = {
        "datasets": [
            {
                "data_files": str(rows),
                "name": "chats",
                "tokenizer": tokenizer().name,
                "transform": {"name": "sft", "mask_prompt": True, "fixed_shapes": False},
            }
        ]
    }
    (tmp_path / "sft.json").write_text(json.dumps(config))

    def inspect(*arguments: object, status: int = 0) -> str:
        return run_python("-m", "easydata.cli", "inspect", *arguments, status=status).stdout

    shown = inspect("--config", tmp_path / "sft.json", "--mask")
    assert "⟦At 0 o'clock, as ever.<|im_end|>⟧" in shown
    assert "error: field 'messages' holds an empty conversation" in shown
    as_json = json.loads(inspect("--config", tmp_path / "sft.json", "--mask", "--json"))
    assert as_json["rows"][0]["examples"][0]["turns"][1]["role"] == "assistant"
    assert "empty conversation" in as_json["rows"][1]["error"]
    inspect("--mask", status=2)
    inspect(rows, "--config", tmp_path / "sft.json", status=2)


def test_every_message_is_listed_and_what_is_left_out() -> None:
    source = (
        "{% for m in messages if m.role != 'usr' %}<{{ m.role }}>{{ m.content }}<|im_end|>"
        "{% endfor %}"
    )
    transform = sft(chat_template=source)
    row = {
        "messages": [
            {"role": "usr", "content": "Who?"},
            {"role": "user", "content": "You?"},
            {"role": "assistant", "content": "Me.", "reasoning": "so"},
        ]
    }
    explained = transform.explain(row)
    (example,) = explained.examples
    assert [(turn.role, turn.tokens > 0, turn.left_out) for turn in example.turns] == [
        ("usr", False, "content"),
        ("user", True, ""),
        ("assistant", True, "reasoning"),
    ]
    assert [warning[:7] for warning in explained.warnings] == ["error: "]
    assert "messages[0] (role 'usr')" in explained.warnings[0]
    red = [line.plain for line in explained.lines(marks=False) if line.style == "red"]
    assert red[0] == "  turn 0: usr, 0 tokens, 0 trained, left out: content"
    assert len(red) == 2
    good = transform.explain({"messages": [{"role": "human", "content": "a"}, row["messages"][1]]})
    assert not any(line.style == "red" for line in good.lines(marks=False))
    with pytest.raises(ValueError, match="leaves out"):
        transform.examples(row)


def test_a_system_message_that_no_loop_prints_is_listed() -> None:
    source = (
        "{{ messages[0].content }}<|im_end|>{% for m in messages[1:] %}<{{ m.role }}>"
        "{{ m.content }}<|im_end|>{% endfor %}"
    )
    transform = sft(chat_template=source)
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
    (example,) = transform.explain({"messages": chat}).examples
    assert [(turn.role, turn.tokens > 0) for turn in example.turns] == [
        ("system", True),
        ("user", True),
    ]


def test_answers_of_trl_are_shown_behind_their_prompts() -> None:  # N12
    shown = {}
    for layout in ("easydel", "trl"):
        transform = DPOPreprocessTransform(tokenizer(), layout=layout)
        row = {"prompt": [user("Hm!")], "chosen": [assistant("!a")], "rejected": [assistant("b")]}
        shown[layout] = transform.explain(row).examples
    for a, b in zip(shown["easydel"], shown["trl"], strict=True):
        assert (a.tokens, a.trained, a.parts) == (b.tokens, b.trained, b.parts)
        assert [trained for _, trained in b.parts] == [False, True]
    assert [each.column for each in shown["trl"]] == ["chosen_ids", "rejected_ids"]


def test_what_is_not_trained_on_is_not_called_so() -> None:  # N12
    prompts = GRPOPreprocessTransform(tokenizer(), 64)
    (example,) = prompts.explain({"prompt": [user("Hm!")]}).examples
    assert (example.trained, [trained for _, trained in example.parts]) == (0, [False])
    rewards = RewardPreprocessTransform(tokenizer(), 64)
    row = {"chosen": chat(), "rejected": chat(turns=2)}
    explained = rewards.explain(row)
    assert [each.trained for each in explained.examples] == [0, 0]
    assert "tokens, scored as a whole\n" in str(explained)
    assert "⟦" not in str(explained)
