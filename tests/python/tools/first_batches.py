"""Reads, tokenizes, mixes, packs and loads a few texts, and prints a digest of the batches.

It needs nothing but the package: what script/try_wheel runs in environments without this checkout.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path

# Characters are tokens; the digest does not depend on any tokenizer file.
VOCABULARY = {character: number for number, character in enumerate("abcdefghijklmnopqrstuvwxyz .")}
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [
        {
            "id": len(VOCABULARY),
            "content": "<end>",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
    ],
    "model": {
        "type": "BPE",
        "vocab": {**VOCABULARY, "<end>": len(VOCABULARY)},
        "merges": [],
        "unk_token": None,
    },
}
CONFIG = {
    "datasets": [
        {"name": "even", "data_files": "even.jsonl"},
        {"name": "odd", "data_files": "odd.jsonl"},
    ],
    "default_tokenizer": "tokenizer.json",
    "mix": {"weights": {"even": 0.7, "odd": 0.3}},
    "pack": {"enabled": True, "seq_length": 64, "eos_token_id": len(VOCABULARY)},
    "load": {"batch_size": 4},
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("tokenizer.json").write_text(json.dumps(TOKENIZER))
        for name, start in (("even", 0), ("odd", 1)):
            texts = [
                f"number {chr(97 + i % 26)} of many. " * (1 + i % 7) for i in range(start, 400, 2)
            ]
            Path(f"{name}.jsonl").write_text("".join(f"{json.dumps({'text': t})}\n" for t in texts))

        from easydata import Pipeline

        digest, batches = hashlib.sha256(), 0
        with Pipeline.from_config(CONFIG).source().tokenize().mix().pack().load().build() as loader:
            for batch in loader:
                for name in sorted(batch):
                    digest.update(name.encode())
                    digest.update(batch[name].tobytes())
                batches += 1
                if batches == 50:
                    break
    print(batches, "batches", digest.hexdigest()[:16])


main()
