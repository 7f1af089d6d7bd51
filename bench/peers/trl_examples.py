"""Peer of `examples`: the `_prepare_dataset` of TRL's own trainers.

Arguments: an Arrow file of rows, a tokenizer, "sft" or "dpo", a template (its file, or "" for the
tokenizer's own), `dataset_num_proc` (0: None). Caching is off, so all
is done; what comes lies in Arrow files on the disk, as is TRL's way. The trainer has a model of a
few thousand weights, which does nothing here; it is made before the time starts.
"""

import hashlib
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import transformers
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DPOTrainer
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

corpus, tokenizer_path, kind, template, processes = sys.argv[1:6]
COLUMNS = {"sft": ("input_ids", "labels"), "dpo": ("prompt_ids", "chosen_ids", "rejected_ids")}


def trainer_of(dataset: Any, tokenizer: Any, folder: str) -> Any:
    """A trainer that has been made of two rows."""
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    settings: dict[str, Any] = {
        "output_dir": folder,
        "dataset_num_proc": int(processes) or None,
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
    }
    given: dict[str, Any] = {
        "processing_class": tokenizer,
        "train_dataset": dataset.select(range(2)),
    }
    model = transformers.Qwen2ForCausalLM(config)
    if kind == "sft":
        return SFTTrainer(model, args=SFTConfig(**settings), **given)
    reference = transformers.Qwen2ForCausalLM(config)
    return DPOTrainer(model, ref_model=reference, args=DPOConfig(**settings), **given)


def cpu_seconds() -> float:
    """Of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def digest(dataset: Any) -> str:
    """Of all ids of all rows."""
    found = hashlib.sha256()
    table = dataset.data.table
    for column in COLUMNS[kind]:
        lists = table.column(column).combine_chunks()
        found.update(np.diff(lists.offsets.to_numpy()).astype(np.int64).tobytes())
        found.update(lists.flatten().to_numpy().astype(np.int64).tobytes())
    return found.hexdigest()[:16]


def main() -> None:
    """Prints the result of one preparation."""
    datasets.disable_progress_bars()
    datasets.disable_caching()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tokenizer_path)
    if template:
        tokenizer.chat_template = Path(template).read_text(encoding="utf-8")
    dataset = datasets.Dataset.from_file(corpus)
    with tempfile.TemporaryDirectory() as folder:
        trainer = trainer_of(dataset, tokenizer, folder)
        start, used = time.perf_counter(), cpu_seconds()
        if kind == "sft":
            made = trainer._prepare_dataset(dataset, tokenizer, trainer.args, False, None, "train")
        else:
            made = trainer._prepare_dataset(dataset, tokenizer, trainer.args, "train")
        seconds, cpu = time.perf_counter() - start, cpu_seconds() - used
    made = made.flatten_indices() if made._indices is not None else made
    tokens = sum(len(made.data.table.column(c).combine_chunks().flatten()) for c in COLUMNS[kind])
    result = {
        "rows": dataset.num_rows,
        "kept": made.num_rows,
        "tokens": tokens,
        "digest": digest(made),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
