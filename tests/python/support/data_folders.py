"""Where test data lies: tests/data, which is ours, and ../shared/data, which not everyone has."""

from pathlib import Path
from typing import Any

import pytest

OWN = Path(__file__).resolve().parents[2] / "data"
SHARED = Path(__file__).resolve().parents[4] / "shared"
WITHOUT_SHARED = "../shared is not beside this checkout"

EOS = 1199  # of "byte-level"
OWN_TOKENIZERS = tuple(sorted(path.name for path in (OWN / "tokenizers").iterdir()))
# Real ones, of ../shared: one of each family (byte-level BPE, WordPiece, BPE with byte fallback,
# Unigram), which every run has, and others, which the slices have.
SHARED_FAMILIES = ("llama3.1", "bert-base-uncased", "llama2", "t5-small")
SHARED_TOKENIZERS = (
    *SHARED_FAMILIES,
    "gpt2",
    "qwen2.5",
    "tiny-bytelevel",
    "deepseek-v3",
    "gemma",
)

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=WITHOUT_SHARED)
# Folders that hold recorded values in the same form, for tests that compare with those of each.
ROOTS = [
    pytest.param(OWN, id="own"),
    pytest.param(SHARED / "data", id="shared", marks=needs_shared),
]

# Those with a chat template: two of ours, and real ones.
CHAT_TOKENIZERS = [
    "split",
    "splits",
    *(pytest.param(name, marks=needs_shared) for name in ("qwen2.5", "llama3.1", "deepseek-v3")),
]


def tokenizer_folder(name: str) -> Path:
    """The folder of a tokenizer, by its name alone."""
    root = OWN if name in OWN_TOKENIZERS else SHARED / "data"
    return root / "tokenizers" / name


def tokenizer_names(*names: str) -> list[Any]:
    """Parameters: all of our own tokenizers, and these of ../shared, or all of them."""
    shared = [
        pytest.param(
            name,
            marks=needs_shared if name in SHARED_FAMILIES else (needs_shared, pytest.mark.sliced),
        )
        for name in names or SHARED_TOKENIZERS
    ]
    return [*OWN_TOKENIZERS, *shared]
