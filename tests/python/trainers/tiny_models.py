"""Models small enough to train on a processor in no time, always with the same weights."""

from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification


def _config(tokenizer: Any, **options: Any) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=512,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        **options,
    )


def text_model(tokenizer: Any) -> LlamaForCausalLM:
    """A model that writes text."""
    torch.manual_seed(0)
    return LlamaForCausalLM(_config(tokenizer))


def reward_model(tokenizer: Any) -> LlamaForSequenceClassification:
    """A model that gives a text one number."""
    torch.manual_seed(0)
    return LlamaForSequenceClassification(_config(tokenizer, num_labels=1))


def config_of(kind: Any, folder: Path, **options: Any) -> Any:
    """A config of a trainer: a few steps, four rows each, nothing written, a loss of each step."""
    given = {
        "per_device_train_batch_size": 4,
        "per_device_eval_batch_size": 4,
        "max_steps": 3,
        "logging_steps": 1,
        "learning_rate": 1e-2,
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
        "gradient_checkpointing": False,
        **options,
    }
    return kind(output_dir=str(folder / "out"), **given)
