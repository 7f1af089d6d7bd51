"""Fine-tunes with a plain torch loop, and goes on where it was stopped.

    python examples/python/train_torch_loop.py --folder run --steps 3
    python examples/python/train_torch_loop.py --folder run --steps 6     # goes on with the fourth

Needs torch. With torchrun, see train_torch.py.
"""

import argparse
import itertools
import json
import tempfile
from pathlib import Path

import easydata.torch
import torch
from easydata.trainers import SFTPreprocessTransform
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from torch import nn

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


def main(folder: Path, steps: int) -> None:
    """Trains up to so many steps, from the folder's checkpoint if it has one."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "chats.jsonl").exists():
        make_data(folder)
    sft = SFTPreprocessTransform(
        folder, max_length=128, mask_prompt=True, labels=True, fixed_shapes=False
    )
    examples = JsonShardedSource(folder / "chats.jsonl").transform(sft)
    torch.manual_seed(0)
    size = sft.tokenizer.vocab_size
    model = nn.Sequential(nn.Embedding(size, 32), nn.Linear(32, size))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    step, checkpoint = 0, folder / "checkpoint.pt"
    # Each epoch has an order of its own. The loader pads, labels with -100.
    with AsyncDataLoader(
        examples, batch_size=4, epochs=1000, shuffle_buffer_size=64, seed=0
    ) as loader:
        batches = easydata.torch.dataset(loader, batches=True)
        if checkpoint.exists():
            saved = torch.load(checkpoint)
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            batches.load_state_dict(saved["data"])
            step = saved["step"]
        for batch in itertools.islice(batches, steps - step):
            logits = model(batch["input_ids"][:, :-1])
            labels = batch["labels"][:, 1:].flatten().long()
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            print(f"step {step}: loss {loss.item():.6f}")
        saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save({**saved, "data": batches.state_dict()}, checkpoint)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="for the checkpoint; none: a temporary one")
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(arguments.folder or Path(temporary), arguments.steps)
