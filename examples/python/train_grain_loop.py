"""Trains on packed ArrayRecord files in a plain JAX loop, and goes on where it was stopped.

    python examples/python/train_grain_loop.py --folder run --steps 3
    python examples/python/train_grain_loop.py --folder run --steps 6     # goes on with the fourth

The calls are those of xlstm_jax's grain_data_processing; Grain is not needed. Needs jax.
"""

import argparse
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from easydata.grain_data_processing import (
    GrainArrayRecordsDataConfig,
    get_process_loading_data,
    make_grain_iterator,
)
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from easydata import save_iterator


def make_data(folder: Path) -> None:
    """Stories in two files, and a tokenizer with one token a byte: yours is a model's folder."""
    stories = ({"text": f"Story {n}: the fox met {n % 7} owls. "} for n in range(400))
    save_iterator(
        stories, folder / "records/train", "array_record", max_shard_rows=200, shard_prefix="train"
    )
    letters = {letter: n for n, letter in enumerate(sorted(ByteLevel.alphabet()))}
    tokens = Tokenizer(BPE(letters, []))
    tokens.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokens.add_special_tokens(["<|end|>"])
    tokens.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>"}))


def loss_of(model: Any, batch: Any) -> Any:
    """The mean cross-entropy of all targets; segment 0 is padding."""
    logits = jnp.tanh(model["embedding"][batch.inputs]) @ model["head"]
    chances = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(chances, batch.targets[..., None], axis=-1)[..., 0]
    trained = batch.targets_segmentation > 0
    return -jnp.sum(chosen * trained) / jnp.sum(trained)


def step_of(model: Any, batch: Any) -> tuple[Any, Any]:
    """The model after a step, and the loss before it."""
    loss, slopes = jax.value_and_grad(loss_of)(model, batch)
    return jax.tree.map(lambda value, slope: value - slope, model, slopes), loss


def main(folder: Path, steps: int) -> None:
    """Trains up to so many steps, from the folder's checkpoint if it has one."""
    if not (folder / "records").exists():
        make_data(folder)
    config = GrainArrayRecordsDataConfig(
        data_path=folder / "records",
        tokenizer_path=str(folder),
        global_batch_size=4 * jax.device_count(),
        max_target_length=128,
        shuffle_data=True,
        grain_packing=True,
        drop_remainder=True,
    )
    mesh = jax.sharding.Mesh(jax.devices(), ("data",))
    vocabulary, random = 257, np.random.default_rng(0)
    shapes = {"embedding": (vocabulary, 32), "head": (32, vocabulary)}
    model: Any = {name: random.normal(0, 0.1, shape) for name, shape in shapes.items()}
    train_step = jax.jit(step_of)
    step, state_file = 0, folder / "data.json"
    processes = get_process_loading_data(config, mesh)
    # One order for all hosts: any other number of them can go on from its states.
    with make_grain_iterator(config, mesh, processes, order="global") as iterator:
        if state_file.exists():
            saved = json.loads(state_file.read_text())
            iterator.set_state(saved["data"])
            step = saved["step"]
            model = dict(np.load(folder / "model.npz"))
        epochs = itertools.chain.from_iterable(itertools.repeat(iterator))
        for batch in itertools.islice(epochs, steps - step):
            model, loss = train_step(model, batch)
            step += 1
            print(f"step {step}: loss {loss:.6f}")
        state_file.write_text(json.dumps({"step": step, "data": iterator.get_state()}))
        np.savez(folder / "model.npz", **model)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="for the checkpoint; none: a temporary one")
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(arguments.folder or Path(temporary), arguments.steps)
