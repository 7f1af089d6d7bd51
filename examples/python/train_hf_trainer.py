"""Trains the Hugging Face Trainer on rows of EasyData, and goes on where it was stopped.

    python examples/python/train_hf_trainer.py
    python examples/python/train_hf_trainer.py --folder run --steps 4      # and again with 8

Needs transformers, torch and accelerate.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import easydata.torch
import torch
from easydata.trainers import SFTPreprocessTransform
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint

from easydata import AsyncDataLoader, JsonShardedSource

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


def chat(n: int) -> list[dict[str, str]]:
    """A question and its answer."""
    asked = {"role": "user", "content": f"What is {n} + {n}?"}
    return [asked, {"role": "assistant", "content": f"It is {n + n}."}]


def main(folder: Path, steps: int) -> None:
    """Trains up to so many steps, from the folder's last checkpoint if it has one."""
    folder.mkdir(parents=True, exist_ok=True)
    chats = folder / "chats.jsonl"
    if not chats.exists():
        chats.write_text("".join(json.dumps({"messages": chat(n)}) + "\n" for n in range(64)))

    tokenizer = tiny_tokenizer()
    examples = JsonShardedSource(chats).transform(
        SFTPreprocessTransform(
            tokenizer, max_length=128, mask_prompt=True, labels=True, fixed_shapes=False
        )
    )
    args = TrainingArguments(
        output_dir=str(folder / "trained"),
        max_steps=steps,  # how many examples the chats make is not known before
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        logging_steps=1,
        save_steps=4,
        report_to="none",
    )
    torch.manual_seed(0)
    with AsyncDataLoader(examples, batch_size=64, shuffle_buffer_size=64, seed=0) as loader:
        data = easydata.torch.dataset(loader, for_trainer=True)
        trainer = Trainer(tiny_model(tokenizer), args, train_dataset=data)
        checkpoint = None
        if Path(args.output_dir).exists():
            checkpoint = get_last_checkpoint(args.output_dir)
        # It leaves out the batches that it has had, and goes on with the next one.
        trainer.train(resume_from_checkpoint=checkpoint)
    for entry in trainer.state.log_history:
        if "loss" in entry:
            print(f"step {entry['step']}: loss {entry['loss']:.6f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where checkpoints lie; none: a temporary one")
    parser.add_argument("--steps", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(arguments.folder or Path(temporary), arguments.steps)
