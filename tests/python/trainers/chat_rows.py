"""Rows of chats and preferences of our own, and the tokenizers that they are tried with."""

import functools
from typing import Any

from data_folders import OWN

import easydata

Row = dict[str, Any]


@functools.cache
def tokenizer(name: str = "split") -> easydata.Tokenizer:
    """A tokenizer of ours with a chat template."""
    return easydata.Tokenizer(OWN / "tokenizers" / name)


def user(content: Any, **fields: Any) -> Row:
    return {"role": "user", "content": content, **fields}


def assistant(content: Any, **fields: Any) -> Row:
    return {"role": "assistant", "content": content, **fields}


def chat(number: int = 0, turns: int = 1) -> list[Row]:
    made = []
    for turn in range(turns):
        made.append(user(f"When does ferry {number} leave on day {turn}?"))
        made.append(assistant(f"At {number + turn} o'clock, as ever."))
    return made


def trained(example: Row, ids: str = "input_ids", mask: str = "assistant_masks") -> str:
    """The text that an example trains on."""
    kept = [token for token, one in zip(example[ids], example[mask], strict=True) if one == 1]
    return tokenizer().decode(kept)


def answer_of(example: Row, side: str = "chosen") -> str:
    """The text of an answer: what its labels do not leave out."""
    return tokenizer().decode([label for label in example[f"{side}_labels"] if label != -100])


# A row that each transform takes, by the transform's name in configs.
ROWS: dict[str, list[Row]] = {
    "sft": [
        *({"messages": chat(i, 1 + i % 3)} for i in range(40)),
        *({"prompt": f"Ferry {i}:", "completion": f" at {i}."} for i in range(20)),
        *({"text": f"The mail of day {i} came late."} for i in range(20)),
    ],
    "dpo": [
        *(
            {
                "prompt": [user(f"Ferry {i}?")],
                "chosen": [assistant(f"At {i}.")],
                "rejected": [assistant("No idea, " * (1 + i % 3))],
            }
            for i in range(30)
        ),
        *({"prompt": f"{i} + 1 =", "chosen": f" {i + 1}", "rejected": " 0"} for i in range(30)),
    ],
    "kto": [
        *(
            {
                "prompt": [user(f"Ferry {i}?")],
                "completion": [assistant(f"At {i}.")],
                "label": i % 2 == 0,
            }
            for i in range(30)
        ),
        *({"prompt": f"{i} + 1 =", "chosen": f" {i + 1}", "rejected": " 0"} for i in range(30)),
    ],
    "grpo": [
        *({"prompt": [user(f"Ferry {i}?")], "answer": str(i)} for i in range(30)),
        *({"prompt": f"{i} + 1 =", "answer": str(i + 1)} for i in range(30)),
    ],
    "reward": [
        *(
            {
                "prompt": [user(f"Ferry {i}?")],
                "chosen": [assistant(f"At {i}.")],
                "rejected": [assistant("No idea.")],
                "margin": i / 2,
            }
            for i in range(30)
        ),
        *(
            {"prompt": f"{i} + 1 =", "chosen": f" {i + 1}", "rejected": " 0", "margin": 1.0}
            for i in range(30)
        ),
    ],
    "embedding": [
        {"query": f"ferry {i}", "positive": f"Ferry {i} leaves.", "negative": "It rains."}
        for i in range(60)
    ],
}
ROWS["orpo"] = ROWS["cpo"] = ROWS["dpo"]
ROWS["bco"] = ROWS["kto"]
ROWS["ppo"] = ROWS["grpo"]

# Options that each transform is tried with.
OPTIONS: dict[str, Row] = {
    "sft": {"max_length": 48, "mask_prompt": True, "fixed_shapes": False, "expand_turns": True},
    "dpo": {"max_prompt_length": 24, "max_completion_length": 16},
    "orpo": {"max_prompt_length": 24},
    "cpo": {"layout": "trl", "max_length": 64},
    "kto": {"max_prompt_length": 24, "max_completion_length": 16},
    "bco": {},
    "grpo": {"max_prompt_length": 32, "keep_columns": ["answer"]},
    "ppo": {"max_prompt_length": 32, "fixed_shapes": False},
    "reward": {"max_length": 64, "keep_columns": ["margin"]},
    "embedding": {"max_length": 16, "negative_field": "negative"},
}
