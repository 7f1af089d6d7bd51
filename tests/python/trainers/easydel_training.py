"""Trains a trainer of EasyDeL on sources; runs where EasyDeL is installed.

    python easydel_training.py sft|dpo folder

The folder has a tokenizer and rows, as test_easydel_trainers.py writes them. Prints a line of JSON
for each form of the rows: the losses of two steps on the source, and those that EasyDeL comes to on
the same rows as a data set of `datasets`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import datasets
import easydel
import jax.numpy as jnp
from easydata.trainers import DPOPreprocessTransform, SFTPreprocessTransform
from easydata.trainers.easydel import source
from flax import nnx
from transformers import PreTrainedTokenizerFast

import easydata

OPTIONS = {
    "max_training_steps": 2,
    "num_train_epochs": 1,
    "total_batch_size": 4,
    "learning_rate": 1e-2,
    "use_wandb": False,
    "do_last_save": False,
    "max_length": 32,
}


def forms(folder: Path) -> dict[str, Any]:
    """The rows of two Parquet files, of JSONL, and of both, mixed."""
    parquet = easydata.ParquetShardedSource(str(folder / "*.parquet"))
    lines = easydata.JsonShardedSource(folder / "rows.jsonl")
    both = {"parquet": parquet, "lines": lines}
    mixed = easydata.MixedShardedSource(both, block_size=4, seed=1, stop_strategy="first_exhausted")
    return {"parquet": parquet, "jsonl": lines, "mixed": mixed}


def losses(kind: str, tokenizer: Any, data: Any, folder: Path) -> list[float]:
    """The losses of two steps of training, always from the same weights."""
    config = easydel.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    model = easydel.LlamaForCausalLM(
        config=config, dtype=jnp.float32, param_dtype=jnp.float32, rngs=nnx.Rngs(0)
    )
    options = {**OPTIONS, "save_directory": str(folder / "trained")}
    trainer: Any
    if kind == "sft":
        trainer = easydel.SFTTrainer(easydel.SFTConfig(**options), tokenizer, model, data)
    else:
        args = easydel.DPOConfig(max_prompt_length=16, max_completion_length=16, **options)
        trainer = easydel.DPOTrainer(args, model, None, tokenizer, data)
    # Rows that are made already go in as they are.
    assert isinstance(data, datasets.Dataset) or trainer._train_source is data
    found = []
    execute = trainer._execute_train_step

    def kept(*args: Any, **kwargs: Any) -> Any:
        state, metrics, error = execute(*args, **kwargs)
        if error is not None:
            raise error
        found.append(float(metrics.loss))
        return state, metrics, error

    trainer._execute_train_step = kept
    trainer.train()
    return found


def main(kind: str, folder: Path) -> None:
    """Trains on each form, and prints."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    transform: Any = DPOPreprocessTransform(tokenizer, 16, 16)
    if kind == "sft":
        transform = SFTPreprocessTransform(tokenizer, 32, mask_prompt=True)
    for form, rows in forms(folder).items():
        examples = rows.transform(transform)
        ours = losses(kind, tokenizer, source(examples), folder)
        theirs = losses(kind, tokenizer, datasets.Dataset.from_list(list(examples)), folder)
        print(json.dumps({"form": form, "source": ours, "data set": theirs}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
