"""Small files that tests of whole pipelines read."""

import functools
import json
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


def jsonl(path: str, rows: Rows) -> str:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def tokens(path: str, count: int, first: int = 100) -> str:
    rows = [{"input_ids": [first + i] * (1 + i % 5)} for i in range(count)]
    return jsonl(path, rows)


@functools.cache
def tokenizer_of(folder: str) -> Any:
    """The `tokenizers` library's own, made once."""
    import tokenizers

    return tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")


def encode(folder: str, *texts: str, max_length: int = 2048) -> list[list[int]]:
    """What the `tokenizers` library makes of the texts."""
    return [tokenizer_of(folder).encode(text).ids[:max_length] for text in texts]


def three(folder: Path) -> list[dict[str, Any]]:
    return [
        {"data_files": tokens(f"{name}.jsonl", 20, first), "name": name}
        for name, first in (("a", 100), ("b", 200), ("c", 300))
    ]
