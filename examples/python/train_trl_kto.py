"""Trains TRL's KTOTrainer on answers that are good or bad, which EasyData made ready.

    python examples/python/train_trl_kto.py

KTOTrainer would tokenize all rows anew; prepared(KTOTrainer) takes a source, leaves its rows as
they are, and adds the completions of other rows that the loss needs. Needs trl.
"""

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

from easydata.trainers import KTOPreprocessTransform
from easydata.trainers.trl import prepared
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import KTOConfig, KTOTrainer

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
    config = LlamaConfig(num_hidden_layers=2, num_attention_heads=2, **sizes, **ids)
    return LlamaForCausalLM(config)


def main(folder: Path) -> None:
    """Takes three steps."""
    with open(folder / "answers.jsonl", "w") as file:
        for n in range(32):
            row = {
                "prompt": [{"role": "user", "content": f"What is {n} + {n}?"}],
                "completion": [{"role": "assistant", "content": f"It is {n + n + n % 2}."}],
                "label": n % 2 == 0,
            }
            file.write(json.dumps(row) + "\n")

    tokenizer = tiny_tokenizer()
    source = JsonShardedSource(folder / "answers.jsonl").transform(
        KTOPreprocessTransform(tokenizer, layout="trl", max_length=128)
    )
    model = tiny_model(tokenizer)
    trainer = prepared(KTOTrainer)(
        model,
        ref_model=copy.deepcopy(model),
        args=KTOConfig(
            output_dir=str(folder / "trained"),
            max_length=128,
            max_steps=3,  # a stream does not know its length
            per_device_train_batch_size=4,
            bf16=False,
            report_to="none",
        ),
        train_dataset=source,
        processing_class=tokenizer,
    )
    print(f"loss {trainer.train().training_loss:.6f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
