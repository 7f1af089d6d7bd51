"""Trains EasyDeL's trainers on sources; runs where EasyDeL is installed, by script/easydel.

    script/easydel tests/python/trainers/easydel_training.py folder [trainer ...]

The folder has a tokenizer and rows, as test_easydel_trainers.py writes them. Prints a line of JSON
for each trainer and form of the rows: the losses of two steps on the source itself, and those on
the same rows as a data set of `datasets`; of GRPO the batches, and those of its own preparation.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import easydata
from easydata import trainers as transforms

# Made before EasyDeL is imported: the order is of no matter.
EARLY = easydata.JsonShardedSource(Path(sys.argv[1]) / "rows.jsonl")

import datasets  # noqa: E402
import easydel  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from flax import nnx  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402

PROMPT, COMPLETION, LENGTH = 16, 16, 32
OPTIONS = {
    "max_training_steps": 2,
    "num_train_epochs": 1,
    "total_batch_size": 4,
    "learning_rate": 1e-2,
    "use_wandb": False,
    "do_last_save": False,
    "max_length": LENGTH,
}
BOTH = {"max_prompt_length": PROMPT, "max_completion_length": COMPLETION}


def model_of(tokenizer: Any, kind: Any = easydel.LlamaForCausalLM, **options: Any) -> Any:
    """A small model, always with the same weights."""
    config = easydel.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id,
        **options,
    )
    return kind(config=config, dtype=jnp.float32, param_dtype=jnp.float32, rngs=nnx.Rngs(0))


def sft(tokenizer: Any, data: Any, options: dict[str, Any]) -> Any:
    return easydel.SFTTrainer(easydel.SFTConfig(**options), tokenizer, model_of(tokenizer), data)


def reward(tokenizer: Any, data: Any, options: dict[str, Any]) -> Any:
    model = model_of(tokenizer, easydel.LlamaForSequenceClassification, num_labels=1)
    return easydel.RewardTrainer(easydel.RewardConfig(**options), tokenizer, model, data)


def preferences(name: str) -> Callable[..., Any]:
    """Makes a trainer of pairs, or of answers that are good or bad."""

    def make(tokenizer: Any, data: Any, options: dict[str, Any]) -> Any:
        config = getattr(easydel, f"{name}Config")(**options, **BOTH)
        return getattr(easydel, f"{name}Trainer")(
            arguments=config,
            model=model_of(tokenizer),
            train_dataset=data,
            processing_class=tokenizer,
        )

    return make


def answered(row: dict[str, Any]) -> dict[str, Any]:
    """A row of KTO, every other one of which is bad."""
    good = row["number"] % 2 == 0
    completion = row["chosen"] if good else row["rejected"]
    return {"prompt": row["prompt"], "completion": completion, "label": good}


def grpo(tokenizer: Any, data: Any, options: dict[str, Any]) -> Any:
    args = easydel.GRPOConfig(**options, **BOTH, num_return_sequences=2)
    return easydel.GRPOTrainer(
        arguments=args,
        model=model_of(tokenizer),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        train_dataset=data,
        processing_class=tokenizer,
    )


def sft_rows(tokenizer: Any) -> Any:
    return transforms.SFTPreprocessTransform(tokenizer, LENGTH, mask_prompt=True)


def reward_rows(tokenizer: Any) -> Any:
    return transforms.RewardPreprocessTransform(tokenizer, LENGTH)


def of_lengths(name: str) -> Callable[..., Any]:
    def make(tokenizer: Any) -> Any:
        kind = getattr(transforms, f"{name.upper()}PreprocessTransform")
        return kind(tokenizer, PROMPT, COMPLETION)

    return make


# Each trainer, and what makes its rows.
TRAINERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sft": (sft, sft_rows),
    **{
        name: (preferences(name.upper()), of_lengths(name))
        for name in ("dpo", "kto", "bco", "orpo", "cpo")
    },
    "reward": (reward, reward_rows),
}


def forms(name: str, folder: Path) -> dict[str, Any]:
    """The rows of JSONL; of SFT those of two Parquet files and of both, mixed, too."""
    lines = EARLY
    if name == "kto":
        return {"answers": lines.map(answered)}
    if name == "bco":
        return {"answers": lines.map(answered), "pairs": lines.drop_fields(["completion"])}
    if name != "sft":
        return {"jsonl": lines}
    parquet = easydata.ParquetShardedSource(str(folder / "*.parquet"))
    both = {"parquet": parquet, "lines": lines}
    mixed = easydata.MixedShardedSource(both, block_size=4, seed=1, stop_strategy="first_exhausted")
    return {"jsonl": lines, "parquet": parquet, "mixed": mixed}


def losses(trainer: Any) -> list[float]:
    """The losses of two steps of training."""
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


def batches(trainer: Any) -> list[dict[str, Any]]:
    """The first two batches that a trainer would take, as plain values."""
    loader = iter(trainer.dataloader_train)
    collate = trainer.create_tfds_collect_function(LENGTH)
    found = []
    for _ in range(2):
        columns = collate(next(loader))
        found.append({name: jnp.asarray(columns[name]).tolist() for name in sorted(columns)})
    return found


def main(folder: Path, wanted: list[str]) -> None:
    """Trains with each trainer on each form, and prints."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    options = {**OPTIONS, "save_directory": str(folder / "trained")}
    for name in wanted or [*TRAINERS, "grpo", "raw"]:
        if name == "grpo":
            rows = EARLY.transform(transforms.GRPOPreprocessTransform(tokenizer, PROMPT))
            tokenizer.padding_side = "left"  # which its trainer wants
            ours = batches(grpo(tokenizer, rows, options))
            theirs = batches(grpo(tokenizer, datasets.Dataset.from_list(list(EARLY)), options))
            print(json.dumps({"trainer": name, "source": ours, "own": theirs}), flush=True)
            continue
        if name == "raw":  # which the trainer prepares itself, as it does those of a data set
            kinds = {
                "sft": (sft, EARLY),
                "bco": (preferences("BCO"), forms("bco", folder)["pairs"]),
            }
            for kind, (make, rows) in kinds.items():
                of_data = datasets.Dataset.from_list(list(rows))
                found = [losses(make(tokenizer, data, options)) for data in (rows, of_data)]
                line = {"trainer": name, "form": kind, "source": found[0], "data set": found[1]}
                print(json.dumps(line), flush=True)
            continue
        make, rows_of = TRAINERS[name]
        for form, rows in forms(name, folder).items():
            examples = rows.transform(rows_of(tokenizer))
            trainer = make(tokenizer, examples, options)
            if name != "kto":  # which maps them
                assert trainer._train_source is examples
            of_data = datasets.Dataset.from_list(list(examples))
            found = [losses(trainer), losses(make(tokenizer, of_data, options))]
            line = {"trainer": name, "form": form, "source": found[0], "data set": found[1]}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
