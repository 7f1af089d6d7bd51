"""Trains the Hugging Face Trainer on batches of EasyData; a checkpoint has the data's position too.

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
from torch.utils.data import DataLoader
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
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


class SavePosition(TrainerCallback):  # type: ignore[misc]
    """Puts the position in the data into each checkpoint."""

    def __init__(self, batches: Any) -> None:
        self.batches = batches

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called once the checkpoint's folder is there."""
        checkpoint = Path(args.output_dir, f"checkpoint-{state.global_step}")
        (checkpoint / "data.json").write_text(json.dumps(self.batches.state_dict()))


def with_long_ids(batch: dict[str, Any]) -> dict[str, Any]:
    """What torch's losses want."""
    return {name: values.long() for name, values in batch.items()}


def main(folder: Path, steps: int) -> None:
    """Trains up to so many steps, from the folder's last checkpoint if it has one."""
    chats = folder / "chats.jsonl"
    if not chats.exists():
        chats.write_text("".join(json.dumps({"messages": chat(n)}) + "\n" for n in range(64)))

    tokenizer = tiny_tokenizer()
    examples = JsonShardedSource(chats).transform(
        SFTPreprocessTransform(
            tokenizer, max_length=128, mask_prompt=True, labels=True, fixed_shapes=False
        )
    )
    shown = examples.select_fields(["input_ids", "attention_mask", "labels"])
    args = TrainingArguments(
        output_dir=str(folder / "trained"),
        max_steps=steps,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        logging_steps=1,
        save_steps=4,
        ignore_data_skip=True,  # the position is loaded, nothing is to be skipped
        report_to="none",
    )
    torch.manual_seed(0)
    with AsyncDataLoader(
        shown, batch_size=4, epochs=1000, shuffle_buffer_size=64, seed=0, **easydata.torch.ranks()
    ) as loader:
        batches = easydata.torch.dataset(loader, batches=True)
        trainer = Trainer(
            tiny_model(tokenizer), args, train_dataset=batches, callbacks=[SavePosition(batches)]
        )
        # The batches as they come; each process gets its own part of each.
        trainer.get_train_dataloader = lambda: DataLoader(
            batches, batch_size=None, collate_fn=with_long_ids
        )
        checkpoint = None
        if Path(args.output_dir).exists():
            checkpoint = get_last_checkpoint(args.output_dir)
        if checkpoint is not None:
            batches.load_state_dict(json.loads(Path(checkpoint, "data.json").read_text()))
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
