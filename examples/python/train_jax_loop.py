"""Fine-tunes with a plain JAX loop over all devices, and goes on where it was stopped.

    python examples/python/train_jax_loop.py --folder run --steps 3
    python examples/python/train_jax_loop.py --folder run --steps 6     # goes on with the fourth

Needs jax.
"""

import argparse
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import easydata.jax
import jax
import jax.numpy as jnp
import numpy as np
from easydata.trainers import SFTPreprocessTransform
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from easydata import AsyncDataLoader, JsonShardedSource

TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}] {{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def make_data(folder: Path) -> None:
    """Chats, and a tokenizer with one token a byte: yours is a model's own folder."""
    with open(folder / "chats.jsonl", "w") as file:
        for n in range(64):
            asked = {"role": "user", "content": f"What is {n} + {n}?"}
            answer = {"role": "assistant", "content": f"It is {n + n}."}
            file.write(json.dumps({"messages": [asked, answer]}) + "\n")
    letters = {letter: n for n, letter in enumerate(sorted(ByteLevel.alphabet()))}
    tokens = Tokenizer(BPE(letters, []))
    tokens.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokens.add_special_tokens(["<|end|>", "<|pad|>"])
    tokens.save(str(folder / "tokenizer.json"))
    named = {"eos_token": "<|end|>", "pad_token": "<|pad|>", "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))


def loss_of(model: Any, batch: Any) -> Any:
    """The mean cross-entropy of the next tokens that are trained on."""
    logits = jnp.tanh(model["embedding"][batch["input_ids"][:, :-1]]) @ model["head"]
    labels = batch["labels"][:, 1:]
    chances = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(chances, jnp.maximum(labels, 0)[..., None], axis=-1)[..., 0]
    trained = labels != -100
    return -jnp.sum(chosen * trained) / jnp.sum(trained)


def step_of(model: Any, batch: Any) -> tuple[Any, Any]:
    """The model after a step, and the loss before it."""
    loss, slopes = jax.value_and_grad(loss_of)(model, batch)
    return jax.tree.map(lambda value, slope: value - slope, model, slopes), loss


def main(folder: Path, steps: int) -> None:
    """Trains up to so many steps, from the folder's checkpoint if it has one."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "chats.jsonl").exists():
        make_data(folder)
    # Rows of one length, as they are by default: JAX compiles the step once.
    sft = SFTPreprocessTransform(folder, max_length=64, mask_prompt=True, labels=True)
    examples = JsonShardedSource(folder / "chats.jsonl").transform(sft)
    mesh = jax.sharding.Mesh(jax.devices(), ("data",))
    loader = AsyncDataLoader(
        examples,
        batch_size=4 * jax.device_count(),
        epochs=1000,
        shuffle_buffer_size=64,
        seed=0,
        **easydata.jax.ranks(mesh),
    )
    shapes = {"embedding": (sft.tokenizer.vocab_size, 32), "head": (32, sft.tokenizer.vocab_size)}
    random = np.random.default_rng(0)
    model: Any = {name: random.normal(0, 0.1, shape) for name, shape in shapes.items()}
    train_step = jax.jit(step_of)
    step, state_file = 0, folder / "data.json"
    with loader:
        batches = easydata.jax.iterate(loader, mesh)
        if state_file.exists():
            saved = json.loads(state_file.read_text())
            batches.load_state_dict(saved["data"])
            step = saved["step"]
            model = dict(np.load(folder / "model.npz"))
        for batch in itertools.islice(batches, steps - step):
            model, loss = train_step(model, batch)
            step += 1
            print(f"step {step}: loss {loss:.6f}")
        state_file.write_text(json.dumps({"step": step, "data": batches.state_dict()}))
        np.savez(folder / "model.npz", **model)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="for the checkpoint; none: a temporary one")
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(arguments.folder or Path(temporary), arguments.steps)
