"""Trains TRL's RewardTrainer on preferences that EasyData made ready.

    python examples/python/train_trl_reward.py

RewardTrainer takes rows with `chosen_ids` and `rejected_ids` as they are. Needs trl.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from easydata.trainers import RewardPreprocessTransform
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForSequenceClassification, PreTrainedTokenizerFast
from trl import RewardConfig, RewardTrainer

from easydata import JsonShardedSource

TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}] {{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def tiny_tokenizer() -> Any:
    """One token a byte. Yours: AutoTokenizer.from_pretrained(...)."""
    letters = {letter: n for n, letter in enumerate(sorted(ByteLevel.alphabet()))}
    tokens = Tokenizer(BPE(letters, []))
    tokens.pre_tokenizer = ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokens, eos_token="<|end|>", pad_token="<|pad|>", chat_template=TEMPLATE
    )


def tiny_model(tokenizer: Any) -> Any:
    """A model with random weights. Yours: from_pretrained(...)."""
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 16, "intermediate_size": 32}
    ids = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = LlamaConfig(num_hidden_layers=2, num_attention_heads=2, num_labels=1, **sizes, **ids)
    return LlamaForSequenceClassification(config)


def main(folder: Path) -> None:
    """Takes three steps."""
    with open(folder / "pairs.jsonl", "w") as file:
        for n in range(32):
            row = {
                "prompt": [{"role": "user", "content": f"What is {n} + {n}?"}],
                "chosen": [{"role": "assistant", "content": f"It is {n + n}."}],
                "rejected": [{"role": "assistant", "content": f"It is {n + n + 1}."}],
            }
            file.write(json.dumps(row) + "\n")

    tokenizer = tiny_tokenizer()
    source = JsonShardedSource(folder / "pairs.jsonl").transform(
        RewardPreprocessTransform(tokenizer, max_length=128, layout="trl")
    )
    trainer = RewardTrainer(
        tiny_model(tokenizer),
        args=RewardConfig(
            output_dir=str(folder / "trained"),
            max_length=None,  # the transform has left out what is too long
            max_steps=3,  # a stream does not know its length
            per_device_train_batch_size=4,
            bf16=False,
            report_to="none",
        ),
        train_dataset=source.to_hf(),
        processing_class=tokenizer,
    )
    print(f"loss {trainer.train().training_loss:.6f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
