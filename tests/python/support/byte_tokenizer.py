"""A tokenizer that needs no other library: bytes, and some words of two and three letters."""

from pathlib import Path

from small_tokenizer import byte_letters, write_byte_level

MERGES = (("t", "h"), ("th", "e"), ("Ġ", "a"), ("i", "n"), ("e", "r"), ("o", "n"), ("r", "e"))


def write_tokenizer(folder: Path) -> Path:
    """Writes the tokenizer's files into a folder, which is returned."""
    vocab = [*byte_letters(), *(a + b for a, b in MERGES), "<eos>"]
    end = {"id": len(vocab) - 1, "content": "<eos>"}
    config = {"eos_token": "<eos>", "tokenizer_class": "PreTrainedTokenizerFast"}
    write_byte_level(folder, vocab, end, config, merges=MERGES, use_regex=True)
    return folder
