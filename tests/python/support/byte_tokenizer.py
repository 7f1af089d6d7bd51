"""A tokenizer that needs no other library: bytes, and some words of two and three letters."""

import json
from pathlib import Path

MERGES = (("t", "h"), ("th", "e"), ("Ġ", "a"), ("i", "n"), ("e", "r"), ("o", "n"), ("r", "e"))


def _letters() -> list[str]:
    """The 256 letters that stand for bytes in byte-level BPE."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


def write_tokenizer(folder: Path) -> Path:
    """Writes tokenizer.json into a folder, which is returned."""
    tokens = [*_letters(), *(a + b for a, b in MERGES), "<eos>"]
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {token: id for id, token in enumerate(tokens)},
        "merges": [list(pair) for pair in MERGES],
    }
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    eos = {
        "id": len(tokens) - 1,
        "content": "<eos>",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [eos],
        "normalizer": None,
        "pre_tokenizer": {**level, "use_regex": True},
        "post_processor": None,
        "decoder": {**level, "use_regex": True},
        "model": model,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"eos_token": "<eos>", "tokenizer_class": "PreTrainedTokenizerFast"}),
        encoding="utf-8",
    )
    return folder
