"""Tokenizers without a tokenizer.json: transformers makes one of what older models come with."""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# By the names that transformers' classes give them.
OLDER_FILES = (
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.model",
    "tokenizer.model.v*",
    "spiece.model",
    "sentencepiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
    "source.spm",
    "target.spm",
    "tekken.json",
    "*.tiktoken",
    "vocab.bpe",
    "encoder.json",
    "bpe.codes",
    "dict.txt",
    "normalizer.json",
    "emoji.json",
)

_log = logging.getLogger("easydata")

# What reads a file of each kind, as a module and as pip knows it.
_READERS = {
    "sentencepiece": {"sentencepiece": "sentencepiece", "google.protobuf": "protobuf"},
    "tiktoken": {"tiktoken": "tiktoken"},
}


def older_files(folder: Path) -> list[str]:
    """The files of a folder that a tokenizer is made of, by name."""
    if not folder.is_dir():
        return []
    return sorted({file.name for pattern in OLDER_FILES for file in folder.glob(pattern)})


def auto_tokenizer(name: str, folder: Path, why: str) -> Any:
    """What `AutoTokenizer` makes of a folder; no code of the folder is run, and nobody is asked.

    Args:
        name: What errors call the tokenizer.
        folder: The folder.
        why: What takes transformers, for whom it is missing.

    Raises:
        ImportError: Without transformers.
        ValueError: It cannot load the folder, or makes something that no tokenizer.json describes.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise ImportError(f"{name}: {why}") from None
    try:
        # A folder may name code of its own (auto_map): unless it is told not to, transformers asks
        # on stdin whether to run it.
        live = AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # whatever it meets in these files, and Rust panics
        if (code := _own_code(folder)) is not None:
            raise ValueError(
                f"{name}: its tokenizer is code of its own ({code}), which EasyData does not run; "
                "make a tokenizer.json of it where you trust that code, and give the folder"
            ) from error
        raise ValueError(f"{name}: transformers cannot load this folder: {error}") from error
    if not callable(getattr(getattr(live, "backend_tokenizer", None), "to_str", None)):
        raise ValueError(
            f"{name}: transformers makes a {type(live).__name__} of this folder, which no "
            'tokenizer.json describes; use view="json"'
        )
    return live


def converted(name: str, folder: Path) -> Any:
    """The live tokenizer that transformers makes of a folder without a tokenizer.json.

    Raises:
        ImportError: It takes a library that is not installed.
        ValueError: transformers cannot make one.
    """
    files = older_files(folder)
    shown = ", ".join(files)
    missing = [] if _is_plain(files) else _missing_readers(folder, files)
    if missing and importlib.util.find_spec("transformers") is not None:
        # transformers would try one reader after the other, and tell of the last one.
        raise ImportError(
            f"{name} has no tokenizer.json, and what it has, {shown}, takes more to read: "
            f"pip install {' '.join(missing)}"
        )
    pip = " ".join(["'easydata[hf]'", *missing])
    live = auto_tokenizer(
        name,
        folder,
        f"it has no tokenizer.json, and to make one of what it has, {shown}, takes transformers: "
        f"pip install {pip}; or make one elsewhere, and give the folder:\n"
        "from transformers import AutoTokenizer\n"
        f'AutoTokenizer.from_pretrained("{name}").save_pretrained("tokenizer")',
    )
    if live.backend_tokenizer.get_vocab_size(with_added_tokens=False) == 0:
        raise ValueError(
            f"{name}: transformers makes a {type(live).__name__} without a vocabulary of {shown}; "
            "make a tokenizer.json where the tokenizer works, and give the folder"
        )
    _log.info("%s has no tokenizer.json: transformers made one of %s", name, shown)
    return live


def _is_plain(files: list[str]) -> bool:
    """Whether there is a vocabulary that takes no other library to read."""
    return any(name in files for name in ("vocab.json", "vocab.txt", "tekken.json"))


def _missing_readers(folder: Path, files: list[str]) -> list[str]:
    """What to install for the files, by pip's names."""
    kinds = {kind for name in files if (kind := _kind(folder / name)) is not None}
    return [
        pip
        for kind in sorted(kinds)
        for module, pip in _READERS[kind].items()
        if not _is_installed(module)
    ]


def _kind(file: Path) -> str | None:
    if file.suffix == ".tiktoken":
        return "tiktoken"
    if file.suffix != ".spm" and ".model" not in file.suffixes:
        return None
    with file.open("rb") as opened:
        start = opened.readline(1000)
    # Lines of a token in base64 and its rank; else a message of protobuf.
    is_lines = len(parts := start.split()) == 2 and parts[1].isdigit() and start.isascii()
    return "tiktoken" if is_lines else "sentencepiece"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # not even its package
        return False


def _own_code(folder: Path) -> str | None:
    """The class of its own that a folder's tokenizer is, if it is one."""
    try:
        config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        classes = config["auto_map"]["AutoTokenizer"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    named = classes if isinstance(classes, str) else next(filter(None, classes), None)
    return None if isinstance(classes, Mapping) or named is None else str(named)
