"""One process of a torch.distributed job: writes the rows that it gets, or trains a toy model."""

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import easydata.torch
import numpy as np
import torch
import torch.distributed as dist
from small_corpus import packed_loader
from torch import nn

from easydata import AsyncDataLoader

VOCABULARY = 2020


def open_loader(arguments: argparse.Namespace) -> AsyncDataLoader:
    """This process's part of the stream."""
    return packed_loader(
        arguments.corpus, arguments.tokenizer, num_threads=1, **easydata.torch.ranks()
    )


def load(path: Path) -> Any:
    """A state out of a JSON file."""
    return json.loads(path.read_text())


def save(data: Any, path: Path) -> None:
    """The state as a JSON file."""
    path.write_text(json.dumps(data.state_dict()))


def collect(arguments: argparse.Namespace) -> None:
    """Writes the rows from the start, and those from a state on, column by column."""
    rank = dist.get_rank()
    for kind in ("start", "state"):
        with open_loader(arguments) as loader:
            data = easydata.torch.dataset(loader)
            if kind == "state":
                data.load_state_dict(load(arguments.state))
            rows = list(itertools.islice(data, arguments.rows))
            columns = {name: torch.stack([row[name] for row in rows]).numpy() for name in rows[0]}
            np.savez(arguments.output / f"{kind}-{rank}.npz", **columns)
            save(data, arguments.output / f"{kind}-{rank}.json")


def gathered(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The rows of all ranks, in rank order."""
    out = {}
    for name, local in batch.items():
        parts = [torch.empty_like(local) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, local)
        out[name] = torch.cat(parts)
    return out


def make_model() -> tuple[nn.Sequential, torch.optim.Optimizer]:
    """An embedding and a linear layer, the same in every process."""
    torch.manual_seed(7)
    model = nn.Sequential(nn.Embedding(VOCABULARY, 16), nn.Linear(16, VOCABULARY)).double()
    return model, torch.optim.Adam(model.parameters(), lr=1e-2)


def train(arguments: argparse.Namespace) -> None:
    """Trains for some steps on the global batch, and saves model and position."""
    model, optimizer = make_model()
    loader = open_loader(arguments)
    data = easydata.torch.dataset(loader, batches=True)
    if arguments.state is not None:
        data.load_state_dict(load(arguments.state))
        saved = torch.load(arguments.model)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    losses = []
    for local in itertools.islice(data, arguments.steps):
        batch = gathered(local)
        ids, segments = batch["input_ids"].long(), batch["segment_ids"]
        # The next token of the same document, where there is one.
        known = (segments[:, 1:] == segments[:, :-1]) & (batch["attention_mask"][:, 1:] == 1)
        each = nn.functional.cross_entropy(
            model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), reduction="none"
        )
        loss = (each * known.flatten()).sum() / known.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
    (arguments.output / f"losses-{dist.get_rank()}.json").write_text(json.dumps(losses))
    save(data, arguments.output / f"state-{dist.get_rank()}.json")
    loader.close()
    # Nobody writes what another still reads.
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, arguments.model
        )


def main() -> None:
    """Reads the arguments that run_ranks() gives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int)
    parser.add_argument("--world-size", type=int)
    parser.add_argument("--job", choices=["collect", "train"])
    parser.add_argument("--corpus")
    parser.add_argument("--tokenizer")
    parser.add_argument("--output", type=Path, help="folder for this run's files")
    parser.add_argument("--state", type=Path, default=None, help="state to go on from")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--model", type=Path, default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{arguments.output}/meeting",
        rank=arguments.rank,
        world_size=arguments.world_size,
    )
    {"collect": collect, "train": train}[arguments.job](arguments)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
