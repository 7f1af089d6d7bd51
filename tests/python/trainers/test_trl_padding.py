"""Batches of examples are padded as the collators of the installed TRL pad them."""

from typing import Any

import pytest
from chat_rows import ROWS, Row, tokenizer
from easydata.transforms.trainer_examples import named_transform

from easydata import AsyncDataLoader, HFDatasetShardedSource

pytest.importorskip("trl", reason="trl is not installed: pip install trl==1.16.0")

import torch
from trl.trainer.dpo_trainer import DataCollatorForPreference
from trl.trainer.kto_trainer import DataCollatorForUnpairedPreference
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling
from trl.trainer.utils import pad


def examples_and_batch(kind: str, **options: Any) -> tuple[list[Row], Row]:
    layout = {"fixed_shapes": False} if kind in ("grpo", "ppo") else {"layout": "trl"}
    transform = named_transform({"name": kind, **layout, **options}, tokenizer())
    rows = ROWS[kind]
    made = [example for row in rows for example in transform.examples(row)]
    source = HFDatasetShardedSource(rows).transform(transform)
    with AsyncDataLoader(source, len(made)) as loader:
        return made, next(iter(loader))


def test_sft() -> None:
    made, batch = examples_and_batch("sft", max_length=64)
    collator = DataCollatorForLanguageModeling(pad_token_id=tokenizer().pad_token_id)
    theirs = collator([dict(example) for example in made])
    for column in ("input_ids", "labels"):
        assert batch[column].tolist() == theirs[column].tolist()
    assert (theirs["attention_mask"] == 0).any()


@pytest.mark.parametrize("kind", ["grpo", "ppo"])
def test_prompts_of_grpo(kind: str) -> None:
    """As GRPOTrainer pads its prompts before it generates."""
    made, batch = examples_and_batch(kind)
    ids = [torch.tensor(example["input_ids"]) for example in made]
    padded = pad(ids, padding_value=tokenizer().pad_token_id, padding_side="left")
    mask = pad([torch.ones_like(row) for row in ids], padding_value=0, padding_side="left")
    assert batch["input_ids"].tolist() == padded.tolist()
    assert batch["attention_mask"].tolist() == mask.tolist()
    assert (mask[:, 0] == 0).any()


@pytest.mark.parametrize("kind", ["dpo", "kto"])
def test_prompts_with_answers(kind: str) -> None:
    """Prompts and answers are columns of their own; what TRL joins of them is what is in them."""
    made, batch = examples_and_batch(kind)
    pad_id = tokenizer().pad_token_id
    answers = ("chosen_ids", "rejected_ids") if kind == "dpo" else ("completion_ids",)
    for column in ("prompt_ids", *answers):
        ids = [torch.tensor(example[column]) for example in made]
        assert batch[column].tolist() == pad(ids, pad_id, "right").tolist()
        assert len({len(row) for row in ids}) > 1
    collator = DataCollatorForPreference if kind == "dpo" else DataCollatorForUnpairedPreference
    theirs = collator(pad_token_id=pad_id)(made)

    def kept(row: list[int]) -> list[int]:
        while row[-1] == pad_id:
            row = row[:-1]
        return row

    # Of pairs all chosen answers come first, then the rejected ones.
    whole = [
        [*kept(prompt), *kept(answer)]
        for column in answers
        for prompt, answer in zip(batch["prompt_ids"].tolist(), batch[column].tolist(), strict=True)
    ]
    masks = zip(theirs["input_ids"], theirs["attention_mask"], strict=True)
    assert whole == [ids[mask == 1].tolist() for ids, mask in masks]
    filled = theirs["attention_mask"] == 0
    assert set(theirs["input_ids"][filled].tolist()) == {pad_id}
