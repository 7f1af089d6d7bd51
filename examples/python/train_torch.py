"""Trains a toy model from text, on one process or on several, and goes on where it was stopped.

    python examples/python/train_torch.py --data 'texts/*.jsonl' --tokenizer path/to/gpt2
    torchrun --nproc-per-node 2 examples/python/train_torch.py --data ...

Run it again with more --steps, and on another number of processes if you like: it goes on from
its checkpoint with exactly the batch that would have come.
"""

import argparse
import itertools
from pathlib import Path
from typing import Any

import easydata.torch
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import easydata as ed


def open_loader(arguments: argparse.Namespace) -> ed.AsyncDataLoader:
    """This process's share of batches of packed rows, pass after pass."""
    config = ed.PipelineConfig(
        datasets=[ed.DatasetConfig(data_files=arguments.data, tokenizer=arguments.tokenizer)],
        pack=ed.PackStageConfig(enabled=True, seq_length=arguments.seq_length),
        load=ed.LoadStageConfig(
            batch_size=arguments.batch_size, epochs=1_000_000, **easydata.torch.ranks()
        ),
    )
    loader: ed.AsyncDataLoader = (
        ed.Pipeline.from_config(config).source().tokenize().pack().load().build()
    )
    return loader


def loss_of(model: Any, batch: dict[str, Any]) -> Any:
    """The mean cross-entropy of next tokens within documents."""
    ids, segments = batch["input_ids"].long(), batch["segment_ids"]
    within = (segments[:, 1:] == segments[:, :-1]) & (batch["attention_mask"][:, 1:] == 1)
    targets = ids[:, 1:].masked_fill(~within, -100)
    return nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), targets.flatten())


def main() -> None:
    """Trains up to --steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="JSONL, Parquet ... with a column `text`")
    parser.add_argument("--tokenizer", required=True, help="folder of a tokenizer.json")
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint.pt"))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=8, help="rows a step, of all processes")
    parser.add_argument("--seq-length", type=int, default=256)
    arguments = parser.parse_args()

    if dist.is_torchelastic_launched():
        dist.init_process_group("gloo")
    first_rank = easydata.torch.ranks()["rank"] == 0

    torch.manual_seed(0)
    vocabulary = ed.Tokenizer(arguments.tokenizer).vocab_size
    model = nn.Sequential(nn.Embedding(vocabulary, 32), nn.Linear(32, vocabulary))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    step = 0
    with open_loader(arguments) as loader:
        batches = easydata.torch.dataset(loader, batches=True)
        if arguments.checkpoint.exists():
            saved = torch.load(arguments.checkpoint)
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            batches.load_state_dict(saved["data"])
            step = saved["step"]
        trained = DistributedDataParallel(model) if dist.is_initialized() else model
        for batch in itertools.islice(batches, max(0, arguments.steps - step)):
            loss = loss_of(trained, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if first_rank:
                print(f"step {step}: loss {loss.item():.6f}", flush=True)
        if first_rank:
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**saved, "data": batches.state_dict(), "step": step}, arguments.checkpoint)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
