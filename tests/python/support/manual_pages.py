"""The manual's pages as they are written: their code blocks, and what these find to work on."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PART = re.compile(r"^```(\w*)\n(.*?)^```|^(#+ [^\n]*)$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One block of Python of a page."""

    heading: str
    code: str

    def run(
        self, names: Mapping[str, Any], replace: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Runs the block with `names` there already; returns all names that it leaves.

        `easydel.data` is read as `easydata`; `replace` holds what else is read as something else.
        """
        code = self.code.replace("easydel.data", "easydata")
        for written, read in (replace or {}).items():
            assert written in code, f"the page does not say {written!r} here"
            code = code.replace(written, read)
        left = dict(names)
        exec(compile(code, self.heading, "exec"), left)
        return left


def blocks(shared: Path, page: str) -> list[Block]:
    """The Python blocks of a manual page ("002"), in order."""
    (path,) = (shared / "spec").glob(f"{page}_*.txt")
    out = []
    heading = ""
    for kind, code, title in _PART.findall(path.read_text(encoding="utf-8")):
        if title:
            heading = title.lstrip("# ")
        elif kind == "python":
            out.append(Block(heading, code))
    return out


def write_jsonl(path: str, rows: list[dict[str, Any]]) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_parquet(path: str, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def texts(count: int, words: int = 60, word: str = "word") -> list[str]:
    """Texts that differ, of different lengths."""
    return [
        " ".join(f"{word}{(i * 7 + j) % 91}" for j in range(1 + (i * 37) % words))
        for i in range(count)
    ]


def ids_of(folder: Path, documents: list[str], max_length: int = 2048) -> list[list[int]]:
    """What the `tokenizers` library makes of the texts."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length)
    return [encoding.ids for encoding in tokenizer.encode_batch(documents)]


def greedy_rows(
    documents: list[list[int]], eos: int | None, length: int, pad: int = 0
) -> list[list[int]]:
    """Documents end to end, closed by `eos` if it is given, cut into rows; the last one padded."""
    stream: list[int] = []
    for document in documents:
        is_closed = eos is None or (document and document[-1] == eos)
        stream += document if is_closed else [*document, eos]
    rows = [stream[i : i + length] for i in range(0, len(stream), length)]
    if rows and len(rows[-1]) < length:
        rows[-1] = rows[-1] + [pad] * (length - len(rows[-1]))
    return rows
